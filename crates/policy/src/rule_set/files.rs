//! File names with wildcards, as people write them in `files`.
//!
//! Only the last part of a path may have `*` and `?`: that is what rule sets need, and a pattern
//! that walks whole trees would have no bound.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::files::FileSource;

/// Most files that one pattern may match.
const MAX_MATCHES: usize = 1000;

/// Why a pattern gives no files.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FileError {
    /// A wildcard in a folder's name.
    WildFolder,
    /// The folder cannot be read.
    Folder(PathBuf),
    /// Nothing matches.
    Nothing,
    /// More than [`MAX_MATCHES`] files match.
    TooMany,
}

impl FileError {
    /// In words.
    pub fn describe(&self) -> String {
        match self {
            Self::WildFolder => "only the file's name may have `*` and `?`, not its folder's".to_owned(),
            Self::Folder(folder) => format!("the folder `{}` cannot be read", folder.display()),
            Self::Nothing => "no file matches".to_owned(),
            Self::TooMany => format!("more than {MAX_MATCHES} files match"),
        }
    }
}

/// The files that `pattern` names, sorted by name; a path without wildcards is itself, whether it
/// is there or not.
pub(crate) fn expand(files: &dyn FileSource, pattern: &Path) -> Result<Vec<PathBuf>, FileError> {
    let (Some(name), Some(folder)) = (pattern.file_name(), pattern.parent()) else {
        return Ok(vec![pattern.to_owned()]);
    };
    if is_wild(folder.as_os_str()) {
        return Err(FileError::WildFolder);
    }
    if !is_wild(name) {
        return Ok(vec![pattern.to_owned()]);
    }
    let name = name.as_encoded_bytes();
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let unreadable = |_| FileError::Folder(folder.to_owned());
    let names = files.list(folder).map_err(unreadable)?;
    let mut found: Vec<PathBuf> = names
        .iter()
        .filter(|candidate| fits(name, candidate.as_bytes()))
        .map(|candidate| folder.join(candidate))
        .filter(|path| files.is_file(path))
        .take(MAX_MATCHES + 1)
        .collect();
    found.sort_unstable();
    match found.len() {
        0 => Err(FileError::Nothing),
        1..=MAX_MATCHES => Ok(found),
        _ => Err(FileError::TooMany),
    }
}

/// Whether a name is a pattern. What is not is looked for in no folder.
pub(crate) fn is_wild(name: &OsStr) -> bool {
    name.as_encoded_bytes().iter().any(|byte| matches!(byte, b'*' | b'?'))
}

/// Whether a name fits a pattern of `*` and `?`; hidden files only fit if the pattern begins with
/// a dot. Linear but for the length of the text between two stars.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    if name.first() == Some(&b'.') && pattern.first() != Some(&b'.') {
        return false;
    }
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p + 1, n));
                p += 1;
            }
            Some(byte) if *byte == b'?' || *byte == name[n] => {
                (p, n) = (p + 1, n + 1);
            }
            _ => {
                let Some((after, from)) = star else { return false };
                star = Some((after, from + 1));
                (p, n) = (after, from + 1);
            }
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use weir_rules::seclang::Disk;

    use super::*;

    #[test]
    fn stars_and_question_marks_fit_as_in_a_shell() {
        for (pattern, name, expected) in [
            ("*.conf", "REQUEST-901.conf", true),
            ("*.conf", "REQUEST-901.conf.example", false),
            ("*.conf", ".hidden.conf", false),
            (".*", ".hidden.conf", true),
            ("REQUEST-9?1*", "REQUEST-911-METHOD.conf", true),
            ("REQUEST-9?1*", "REQUEST-91", false),
            ("*a*b", "aab", true),
            ("*a*b", "aabc", false),
            ("*", "", true),
            ("?", "", false),
        ] {
            assert_eq!(fits(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn files_come_sorted_and_folders_and_other_names_do_not() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.conf", "a.conf", "c.txt"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        fs::create_dir(folder.path().join("d.conf")).unwrap();
        let found = expand(&Disk, &folder.path().join("*.conf")).unwrap();
        assert_eq!(found, [folder.path().join("a.conf"), folder.path().join("b.conf")]);
        assert_eq!(expand(&Disk, &folder.path().join("x*")), Err(FileError::Nothing));
        assert_eq!(expand(&Disk, Path::new("/*/x.conf")), Err(FileError::WildFolder));
        assert_eq!(expand(&Disk, Path::new("/nowhere/x.conf")).unwrap(), [Path::new("/nowhere/x.conf")]);
        assert_eq!(expand(&Disk, Path::new("/nowhere/*")), Err(FileError::Folder("/nowhere".into())));
    }
}
