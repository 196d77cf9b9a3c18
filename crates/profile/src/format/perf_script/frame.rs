//! A line of a stack: `7f12a4c0 vfs_write+0x1c ([kernel.kallsyms])`.

use crate::label::{UNKNOWN, is_jit};
use crate::{Frame, Origin};

/// Printed by perf instead of a binary for an inlined function.
const INLINED: &str = "inlined";
/// Modules in brackets that are not the kernel's.
const USER: &[&str] = &["[unknown]", "[vdso]", "[heap]", "[stack]", "[anon]", "[uprobes]"];
/// Extensions of kernel modules.
const KERNEL_MODULES: &[&str] = &[".ko", ".ko.gz", ".ko.xz", ".ko.zst"];
/// Separates functions that a JIT has inlined into each other, if its symbols list them.
const JIT_CHAIN: &str = "->";

/// The frames of a line, innermost first; several if a JIT symbol lists inlined functions.
pub(super) fn parse(line: &str, comm: &str) -> Option<Vec<Frame>> {
    let (address, rest) = line.trim().split_once(char::is_whitespace)?;
    if address.is_empty() || !address.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let rest = rest.trim();
    let (symbol, module) = split_module(rest);
    // Without a binary, only an indented line is certainly a frame.
    if module.is_none() && !line.starts_with([' ', '\t']) {
        return None;
    }
    let module = module.unwrap_or_default();
    let symbol = without_offset(symbol);
    if symbol.starts_with('(') && !symbol.starts_with("(anonymous namespace)") {
        return None;
    }
    let origin = origin(module);
    if symbol == UNKNOWN || symbol.is_empty() {
        return Some(vec![super::unknown(module, origin)]);
    }
    let module = if module == INLINED || module == UNKNOWN { "" } else { module };
    if !is_jit(module) {
        let name = without_arguments(symbol).to_owned();
        return Some(vec![Frame { module: module.to_owned(), ..Frame::named(name, origin) }]);
    }
    let names = symbol.split(JIT_CHAIN).map(|name| java(without_arguments(name), comm));
    let mut frames: Vec<Frame> =
        names.map(|name| Frame { module: module.to_owned(), ..Frame::named(name, Origin::Inlined) }).collect();
    frames[0].origin = Origin::Native;
    frames.reverse();
    Some(frames)
}

/// Parses a line with the source position of the frame above it (`-F +srcline`): `access.c:300`,
/// `access.h:12 (inlined)`, `libc.so.6[27b25]`. Returns whether it is one.
pub(super) fn place(line: &str, frame: Option<&mut Frame>) -> bool {
    let (Some(frame), true) = (frame, line.starts_with([' ', '\t'])) else { return false };
    let (text, inlined) = match line.trim().strip_suffix(" (inlined)") {
        Some(text) => (text, true),
        None => (line.trim(), false),
    };
    if text.ends_with(']') && text.contains('[') && !text.contains(char::is_whitespace) {
        return true;
    }
    let Some((file, number)) = text.rsplit_once(':') else { return false };
    let Ok(number) = number.parse() else { return false };
    (frame.file, frame.line) = (file.to_owned(), number);
    if inlined {
        frame.origin = Origin::Inlined;
    }
    true
}

/// Splits `main (/usr/bin/x (deleted))` into the symbol and the binary.
fn split_module(text: &str) -> (&str, Option<&str>) {
    let Some(inner) = text.strip_suffix(')') else { return (text, None) };
    let inner = inner.strip_suffix(" (deleted)").unwrap_or(inner);
    match (inner.rfind(" ("), inner.strip_prefix('(')) {
        (Some(at), _) => (inner[..at].trim_end(), Some(&inner[at + 2..])),
        (None, Some(module)) => ("", Some(module)),
        (None, None) => (text, None),
    }
}

fn without_offset(symbol: &str) -> &str {
    match symbol.rsplit_once("+0x") {
        Some((name, offset)) if !offset.is_empty() && offset.bytes().all(|byte| byte.is_ascii_hexdigit()) => name,
        _ => symbol,
    }
}

fn origin(module: &str) -> Origin {
    let kernel = module.starts_with('[') && !USER.contains(&module) && !is_jit(module);
    let file = crate::label::file_name(module);
    if module == INLINED {
        Origin::Inlined
    } else if kernel || file.starts_with("vmlinux") || KERNEL_MODULES.iter().any(|end| file.ends_with(end)) {
        Origin::Kernel
    } else {
        Origin::Native
    }
}

/// A C++ name without its arguments, which make graphs unreadable; templates keep theirs.
///
/// Parentheses that belong to the name stay: `(anonymous namespace)`, Go's `(*Client)`, those
/// within `<...>` or `{...}`, `operator()`, and the arguments of a function around a lambda.
fn without_arguments(name: &str) -> &str {
    const KEPT: &[&str] = &["(anonymous namespace)", "(*"];
    let mut depth = 0_i32;
    let mut at = 0;
    while let Some(c) = name[at..].chars().next() {
        let rest = &name[at..];
        if let Some(operator) = rest.strip_prefix("operator") {
            let kept = if operator.starts_with("()") { 2 } else { sign(operator) };
            at += "operator".len() + kept;
            continue;
        }
        match c {
            '<' | '{' => depth += 1,
            '>' | '}' => depth = (depth - 1).max(0),
            '(' if depth == 0 && at > 0 && !KEPT.iter().any(|kept| rest.starts_with(kept)) => {
                match inner_scope(rest) {
                    Some(length) => at += length,
                    None => return name[..at].trim_end(),
                }
                continue;
            }
            _ => {}
        }
        at += c.len_utf8();
    }
    name
}

/// Length of arguments after which a name continues: `(int)::{lambda()#1}`.
fn inner_scope(text: &str) -> Option<usize> {
    let mut open = 0_i32;
    let close = text.bytes().position(|byte| {
        open += i32::from(byte == b'(') - i32::from(byte == b')');
        open == 0
    })?;
    text[close + 1..].starts_with("::").then_some(close + 1)
}

/// Length of the operator after `operator`: `<<`, `->`; 0 for `operator new`.
fn sign(text: &str) -> usize {
    text.bytes().take_while(|byte| b"<>=-!".contains(byte)).count()
}

/// Turns `Lorg/shop/Cart;::total` into `org/shop/Cart:::total`, as folding tools do.
fn java(name: &str, comm: &str) -> String {
    let name = name.replace(';', ":");
    let java = comm.starts_with("java") && name.contains('/');
    name.strip_prefix('L').filter(|_| java).unwrap_or(&name).to_owned()
}
