//! Reads Lua code in a configuration, and in the files that it names.

use memchr::memmem;

use super::{LuaFacts, LuaHandler};
use crate::facts::nginx::{Block, Configuration, Directive, Files, NginxFacts, lua_text};

/// Maximum number of handlers.
const MAX_HANDLERS: usize = 1000;
/// Maximum number and size of handlers' files that are read.
const MAX_FILES: usize = 200;
const MAX_FILE_BYTES: u64 = 4 << 20;
/// Maximum nesting of blocks.
const MAX_SCOPES: usize = 8;

/// The facts about nginx's Lua; `None` if it has none.
///
/// `library`: path and bytes of the binary that contains LuaJIT.
#[must_use]
pub(in crate::facts) fn lua_facts(
    nginx: Option<&NginxFacts>,
    library: Option<(&str, &[u8])>,
    files: &dyn Files,
) -> Option<LuaFacts> {
    let mut facts = LuaFacts::default();
    if let Some((path, bytes)) = library {
        facts.version = version(bytes).unwrap_or_default();
        facts.library = path.to_owned();
    }
    if let Some(nginx) = nginx {
        configured(nginx, files, &mut facts);
    }
    let any = !facts.library.is_empty() || !facts.handlers.is_empty();
    any.then_some(facts)
}

fn configured(nginx: &NginxFacts, files: &dyn Files, facts: &mut LuaFacts) {
    let configuration: &Configuration = &nginx.configuration;
    let off = configuration.all("lua_code_cache").into_iter().filter(|directive| directive.value() == "off");
    facts.code_cache_off = off.map(|directive| directive.place.clone()).collect();
    let mut read = 0;
    walk(&configuration.directives, &mut Vec::new(), &mut |directive, scope| {
        if facts.handlers.len() >= MAX_HANDLERS {
            return;
        }
        let Some((handler, code)) = handler(directive, scope) else { return };
        if !handler.file.is_empty() && !handler.file.contains('$') && read < MAX_FILES {
            read += 1;
            let path = crate::facts::nginx::absolute(&handler.file, &nginx.prefix);
            let text = files.read(&path, MAX_FILE_BYTES).unwrap_or_default();
            facts.jit_off.extend(jit_off_in(&text).into_iter().map(|line| format!("{path}:{}", line + 1)));
        }
        let place = &handler.place;
        facts.jit_off.extend(
            jit_off_in(code.as_bytes()).into_iter().map(|line| format!("{}:{}", place.file, place.line + line)),
        );
        facts.handlers.push(handler);
    });
}

fn walk<'d>(
    level: &'d [Directive],
    scope: &mut Vec<&'d Directive>,
    with: &mut impl FnMut(&'d Directive, &[&Directive]),
) {
    for directive in level {
        with(directive, scope);
        if scope.len() < MAX_SCOPES && !directive.children().is_empty() {
            scope.push(directive);
            walk(directive.children(), scope, with);
            scope.pop();
        }
    }
}

/// A handler with its code; `None` if the directive is not a handler.
fn handler<'d>(directive: &'d Directive, scope: &[&Directive]) -> Option<(LuaHandler, &'d str)> {
    let name = directive.name.as_str();
    let (file, code) = match &directive.block {
        Block::Lua(code) => ("", code.as_str()),
        // `set_by_lua $variable code`, `set_by_lua_file $variable file`: the variable comes first.
        Block::None => {
            let argument =
                directive.arguments.get(usize::from(name.starts_with("set_by_lua"))).map_or("", String::as_str);
            match name {
                name if name.ends_with("_by_lua_file") => (argument, ""),
                name if name.ends_with("_by_lua") => ("", argument),
                _ => return None,
            }
        }
        Block::Directives(_) => return None,
    };
    let named = scope.iter().filter(|block| block.name != "http");
    let names: Vec<String> =
        named.map(|block| format!("{} {}", block.name, block.arguments.join(" ")).trim_end().to_owned()).collect();
    let handler = LuaHandler {
        directive: name.to_owned(),
        file: file.to_owned(),
        lines: u32::try_from(code.lines().filter(|line| !line.trim().is_empty()).count()).unwrap_or(u32::MAX),
        place: directive.place.clone(),
        scope: names.join(", "),
    };
    Some((handler, code))
}

/// Lines (from 0) with `jit.off()`, which disables the compiler globally if it has no arguments.
#[must_use]
pub(in crate::facts) fn jit_off_in(code: &[u8]) -> Vec<u32> {
    lua_text::lines_with(code, "jit.off()")
}

/// LuaJIT's version string in its library (`LUAJIT_VERSION`).
fn version(bytes: &[u8]) -> Option<String> {
    memmem::find_iter(bytes, b"LuaJIT 2.").find_map(|at| {
        let text: Vec<u8> =
            bytes[at..].iter().copied().take(64).take_while(|byte| byte.is_ascii_graphic() || *byte == b' ').collect();
        let text = String::from_utf8(text).ok()?;
        // `LuaJIT 2.1.0-beta3 -- Copyright (C) ...` is the same string with a suffix.
        Some(text.split(" -- ").next().unwrap_or(&text).trim().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_is_off_only_where_code_says_so() {
        let cases: [(&str, &[u32]); 6] = [
            ("jit.off()", &[0]),
            ("local x\n jit . off ( )\n", &[1]),
            ("-- jit.off()\n", &[]),
            ("local s = 'jit.off()'", &[]),
            ("jit.off(f)", &[]),
            ("--[[ jit.off() ]]\n\njit.off()", &[2]),
        ];
        for (code, want) in cases {
            assert_eq!(jit_off_in(code.as_bytes()), want, "{code}");
        }
    }

    #[test]
    fn the_library_says_its_version() {
        assert_eq!(version(b"\0LuaJIT 2.1.0-beta3\0").as_deref(), Some("LuaJIT 2.1.0-beta3"));
        assert_eq!(version(b"\0Lua 5.1\0"), None);
    }
}
