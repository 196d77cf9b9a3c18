//! The strings in nginx's binary that `nginx -V` prints, which survive `strip`.

use memchr::memmem;

use super::{Module, ModuleOrigin};

/// Maximum length of the arguments; those of distributions have 2 to 4 KiB.
const MAX_ARGUMENTS_BYTES: usize = 64 << 10;

/// Version and arguments of `configure`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NginxBinary {
    /// `nginx`, `openresty`, ...
    pub flavour: String,
    /// `1.22.1`
    pub version: String,
    /// Arguments without quotes.
    pub arguments: Vec<String>,
}

impl NginxBinary {
    /// Searches a binary; `None` if it is not nginx.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let version = text_after(bytes, b"nginx version: ")?;
        let (flavour, version) = version.split_once('/')?;
        let arguments = text_after(bytes, b"configure arguments:").unwrap_or_default();
        let version = version.split_whitespace().next().unwrap_or("");
        Some(Self { flavour: flavour.to_owned(), version: version.to_owned(), arguments: words(&arguments) })
    }

    /// The value of `--name=value`.
    #[must_use]
    pub fn argument(&self, name: &str) -> Option<&str> {
        self.arguments.iter().rev().find_map(|argument| argument.strip_prefix(name)?.strip_prefix('='))
    }

    /// The installation prefix; nginx's default if it is not given.
    #[must_use]
    pub fn prefix(&self) -> &str {
        let default = if self.flavour == "openresty" { "/usr/local/openresty/nginx" } else { "/usr/local/nginx" };
        self.argument("--prefix").unwrap_or(default)
    }

    /// The configuration used unless the command line names another. May be relative to the prefix.
    #[must_use]
    pub fn configuration_path(&self) -> &str {
        self.argument("--conf-path").unwrap_or("conf/nginx.conf")
    }

    /// Modules named in the arguments. Default modules are not listed.
    #[must_use]
    pub fn modules(&self) -> Vec<Module> {
        let named = |argument: &String| {
            let (name, origin) = if let Some(path) = argument.strip_prefix("--add-module=") {
                (path.trim_end_matches('/').rsplit('/').next().unwrap_or(path), ModuleOrigin::Added)
            } else if let Some(name) = argument.strip_prefix("--without-") {
                (name, ModuleOrigin::LeftOut)
            } else {
                (argument.strip_prefix("--with-")?, ModuleOrigin::BuiltIn)
            };
            let counts = origin != ModuleOrigin::BuiltIn || name.ends_with("_module");
            counts.then(|| Module { name: name.to_owned(), origin })
        };
        self.arguments.iter().filter_map(named).collect()
    }
}

/// The text after a mark, to the end of its line. A binary may contain the mark for other reasons
/// (Weir's does), so the first one followed by text is used.
fn text_after(bytes: &[u8], mark: &[u8]) -> Option<String> {
    memmem::find_iter(bytes, mark).find_map(|at| {
        let rest = &bytes[at + mark.len()..];
        let rest = &rest[..rest.len().min(MAX_ARGUMENTS_BYTES)];
        let end = rest.iter().position(|&byte| matches!(byte, 0 | b'\n'))?;
        let text = std::str::from_utf8(&rest[..end]).ok()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    })
}

/// Words with single quotes, as `configure` writes them.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted, mut any) = (Vec::new(), String::new(), false, false);
    for character in text.chars() {
        match character {
            '\'' => (quoted, any) = (!quoted, true),
            ' ' if !quoted => {
                if any {
                    words.push(std::mem::take(&mut word));
                }
                any = false;
            }
            _ => {
                word.push(character);
                any = true;
            }
        }
    }
    if any {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_and_arguments_stand_in_the_binary() {
        let bytes = b"\x7fELF nginx version: \0 nginx version: nginx/1.22.1 (x)\n\0configure arguments: --with-cc-opt='-g -O2' --prefix=/p --with-http_v2_module --with-mail=dynamic --with-threads --add-module=/x/y/ --without-http_gzip_module\n\0";
        let binary = NginxBinary::of(bytes).expect("is one");
        assert_eq!((binary.flavour.as_str(), binary.version.as_str()), ("nginx", "1.22.1"));
        assert_eq!(binary.argument("--with-cc-opt"), Some("-g -O2"));
        assert_eq!((binary.prefix(), binary.configuration_path()), ("/p", "conf/nginx.conf"));
        let modules: Vec<_> = binary.modules().into_iter().map(|module| (module.name, module.origin)).collect();
        let want = [
            ("http_v2_module", ModuleOrigin::BuiltIn),
            ("y", ModuleOrigin::Added),
            ("http_gzip_module", ModuleOrigin::LeftOut),
        ];
        assert_eq!(modules, want.map(|(name, origin)| (name.to_owned(), origin)));
    }

    #[test]
    fn other_binaries_are_none() {
        for bytes in [&b""[..], b"nginx version: ", b"nginx version: nginx\0"] {
            assert_eq!(NginxBinary::of(bytes), None);
        }
    }
}
