//! Text labels of frames: in folded stacks, tables, and the boxes of a graph.
//!
//! The suffixes are those that flame-graph tools agreed on (`_[k]` kernel, `_[i]` inlined, `_[j]` compiled at run
//! time), so that folded stacks written here are coloured correctly elsewhere, and [`frame`] recovers the origin from
//! other tools' files. Labels are stable: parsing one and labelling the result gives the same text.

use crate::model::{Frame, Origin};

/// Name of a frame whose function is not known.
pub const UNKNOWN: &str = "[unknown]";
/// Name of the placeholder for frames that were not captured, or cut by a reader.
pub const TRUNCATED: &str = "[truncated]";
/// Module of code that was compiled at run time, if nothing better is known.
pub const JIT_MODULE: &str = "[jit]";

const KERNEL_MARK: &str = "_[k]";
const INLINED_MARK: &str = "_[i]";
const JIT_MARK: &str = "_[j]";
const TRACE_PREFIX: &str = "trace ";

/// A frame's label: `vfs_write_[k]`, `access.lua:read_vars:42`, `trace 7 access.lua:42_[j]`.
///
/// An unknown function of a known binary is named after the binary: `[libc.so.6]`.
#[must_use]
pub fn label(frame: &Frame) -> String {
    match frame.origin {
        Origin::Kernel => format!("{}{KERNEL_MARK}", frame.name),
        Origin::Inlined => format!("{}{INLINED_MARK}", frame.name),
        Origin::LuaTrace => format!("{}{JIT_MARK}", frame.name),
        Origin::Lua if frame.line > 0 => format!("{}:{}", frame.name, frame.line),
        Origin::Native if is_jit(&frame.module) => format!("{}{JIT_MARK}", frame.name),
        Origin::Marker if frame.name == UNKNOWN && !frame.module.is_empty() => in_brackets(&frame.module),
        _ => frame.name.clone(),
    }
}

/// The frame for a label, as far as it can be derived from the text.
#[must_use]
pub fn frame(label: &str) -> Frame {
    if let Some(name) = label.strip_suffix(KERNEL_MARK) {
        return Frame::named(name, Origin::Kernel);
    }
    if let Some(name) = label.strip_suffix(INLINED_MARK) {
        return Frame::named(name, Origin::Inlined);
    }
    if let Some(name) = label.strip_suffix(JIT_MARK) {
        if name.starts_with(TRACE_PREFIX) {
            return Frame::named(name, Origin::LuaTrace);
        }
        return Frame { module: JIT_MODULE.to_owned(), ..Frame::named(name, Origin::Native) };
    }
    if label.starts_with('[') && label.ends_with(']') {
        return Frame::named(label, Origin::Marker);
    }
    match lua_line(label) {
        Some((name, line)) => Frame { line, ..Frame::named(name, Origin::Lua) },
        None => Frame::named(label, Origin::Native),
    }
}

/// Whether a module name denotes code compiled at run time, as named by `perf` and the compilers.
#[must_use]
pub fn is_jit(module: &str) -> bool {
    let file = file_name(module);
    let mapped = file.strip_prefix("perf-").and_then(|rest| rest.strip_suffix(".map"));
    let dumped = file.strip_prefix("jitted-").and_then(|rest| rest.strip_suffix(".so"));
    module == JIT_MODULE
        || module.starts_with("[JIT]")
        || mapped.is_some_and(|pid| !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit()))
        || dumped.is_some_and(|id| id.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'))
}

/// The last part of a path.
#[must_use]
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn in_brackets(module: &str) -> String {
    if module.starts_with('[') && module.ends_with(']') {
        return module.to_owned();
    }
    format!("[{}]", file_name(module))
}

/// Splits `access.lua:read_vars:42` into a name and a line.
fn lua_line(label: &str) -> Option<(&str, u32)> {
    let (name, line) = label.rsplit_once(':')?;
    // Without a sign or a leading zero, so that the same digits are written again.
    let plain = line.bytes().all(|byte| byte.is_ascii_digit()) && !line.starts_with('0');
    let lua = name.contains(".lua:") && plain;
    lua.then(|| line.parse().ok().map(|line| (name, line)))?
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn labels_carry_the_marks_that_flame_graph_tools_know() {
        let module = |module: &str, frame: Frame| Frame { module: module.to_owned(), ..frame };
        let line = |line, frame: Frame| Frame { line, ..frame };
        let cases = [
            (Frame::named("vfs_write", Origin::Kernel), "vfs_write_[k]"),
            (Frame::named("ngx_min", Origin::Inlined), "ngx_min_[i]"),
            (line(42, Frame::named("main", Origin::Native)), "main"),
            (line(42, Frame::named("access.lua:read_vars", Origin::Lua)), "access.lua:read_vars:42"),
            (Frame::named("access.lua:read_vars", Origin::Lua), "access.lua:read_vars"),
            (Frame::named("trace 7 access.lua:42", Origin::LuaTrace), "trace 7 access.lua:42_[j]"),
            (Frame::named("string.gsub", Origin::LuaBuiltin), "string.gsub"),
            (module("/tmp/perf-12.map", Frame::named("Foo::bar", Origin::Native)), "Foo::bar_[j]"),
            (module("/tmp/perf-x.map", Frame::named("Foo::bar", Origin::Native)), "Foo::bar"),
            (Frame::named(UNKNOWN, Origin::Marker), "[unknown]"),
            (module("/usr/lib/libc.so.6", Frame::named(UNKNOWN, Origin::Marker)), "[libc.so.6]"),
            (module("[vdso]", Frame::named(UNKNOWN, Origin::Marker)), "[vdso]"),
        ];
        for (frame, expected) in cases {
            assert_eq!(label(&frame), expected);
        }
    }

    #[test]
    fn a_label_says_where_a_frame_comes_from() {
        let cases = [
            ("vfs_write_[k]", "vfs_write", Origin::Kernel),
            ("access.lua:read_vars:42", "access.lua:read_vars", Origin::Lua),
            ("access.lua:read_vars:042", "access.lua:read_vars:042", Origin::Native),
            ("std::vector<int>::push_back", "std::vector<int>::push_back", Origin::Native),
            ("trace 7 access.lua:42_[j]", "trace 7 access.lua:42", Origin::LuaTrace),
            ("[unknown]", "[unknown]", Origin::Marker),
            ("", "", Origin::Native),
        ];
        for (text, name, origin) in cases {
            let frame = frame(text);
            assert_eq!((frame.name.as_str(), frame.origin), (name, origin), "{text}");
        }
    }

    proptest! {
        #[test]
        fn reading_a_label_keeps_it(text in r"([a-z.:\[\]]|_\[[kij]\]|\.lua:|[0-9]|trace |\[unknown\]){0,8}") {
            prop_assert_eq!(label(&frame(&text)), text);
        }
    }
}
