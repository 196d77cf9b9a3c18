//! Groups.

use super::parser::{Flags, Parser};
use super::tree::{Direction, Node};
use super::{MAX_DEPTH, PatternError, escape};

/// Types of groups.
#[derive(Clone, Copy)]
enum GroupKind {
    Plain,
    Capture,
    Atomic,
    Look { direction: Direction, negative: bool },
}

/// Openings that are complete tokens.
const OPENINGS: [(&[u8], GroupKind); 6] = [
    (b":", GroupKind::Plain),
    (b">", GroupKind::Atomic),
    (b"=", GroupKind::Look { direction: Direction::Ahead, negative: false }),
    (b"!", GroupKind::Look { direction: Direction::Ahead, negative: true }),
    (b"<=", GroupKind::Look { direction: Direction::Behind, negative: false }),
    (b"<!", GroupKind::Look { direction: Direction::Behind, negative: true }),
];

/// Unsupported groups: opening, message, hint.
const REFUSED: [(&[u8], &str, &str); 6] = [
    (b"|", "`(?|`, which numbers groups anew, is not supported", "write a separate group for each branch"),
    (b"(", "conditions are not supported", "write the two cases as branches"),
    (b"R", "recursion is not supported", NO_RECURSION),
    (b"&", "recursion is not supported", NO_RECURSION),
    (b"P>", "recursion is not supported", NO_RECURSION),
    (b"C", "callouts are not supported", "leave it out"),
];

const NO_RECURSION: &str = "write out the nesting to the necessary depth";

/// Parses a group whose `(` is at `start`; `None` if it only sets flags.
pub(super) fn open(parser: &mut Parser<'_>, start: usize) -> Result<Option<Node>, PatternError> {
    if parser.rest().starts_with(b"*") {
        return parser.fail_with(start, "verbs and named assertions are not supported", "remove it, or write `\\*`");
    }
    if !parser.eat(b"?") {
        let kind = if parser.flags.no_capture { GroupKind::Plain } else { GroupKind::Capture };
        return body(parser, start, kind, None, parser.flags).map(Some);
    }
    for (opening, message, hint) in REFUSED {
        if parser.rest().starts_with(opening) {
            return parser.fail_with(start, message, hint);
        }
    }
    for (opening, kind) in OPENINGS {
        if parser.eat(opening) {
            return body(parser, start, kind, None, parser.flags).map(Some);
        }
    }
    if parser.eat(b"P=") {
        let Some(name) = parser.until(b')') else { return unclosed(parser, start) };
        return escape::reference_to(parser, start, name).map(Some);
    }
    for (opening, end) in [(&b"P<"[..], b'>'), (b"<", b'>'), (b"'", b'\'')] {
        if parser.eat(opening) {
            let name = name(parser, end)?;
            return body(parser, start, GroupKind::Capture, Some(name), parser.flags).map(Some);
        }
    }
    let flags = flags(parser, start)?;
    match parser.next() {
        Some(b')') => {
            // In force until the end of the enclosing group, later branches included.
            parser.flags = flags;
            Ok(None)
        }
        Some(b':') => body(parser, start, GroupKind::Plain, None, flags).map(Some),
        _ => unclosed(parser, start),
    }
}

fn unclosed<T>(parser: &Parser<'_>, start: usize) -> Result<T, PatternError> {
    parser.fail_with(start, "a group that is not closed", "write `\\(` for the character")
}

/// Parses the rest of a group, with `flags` inside.
fn body<'s>(
    parser: &mut Parser<'s>,
    start: usize,
    kind: GroupKind,
    name: Option<&'s [u8]>,
    flags: Flags,
) -> Result<Node, PatternError> {
    if parser.depth == MAX_DEPTH {
        return parser.fail(start, format!("groups nested more than {MAX_DEPTH} deep"));
    }
    if matches!(kind, GroupKind::Capture) {
        parser.groups += 1;
        parser.names.extend(name.map(|name| (name, parser.groups)));
    }
    let outer = std::mem::replace(&mut parser.flags, flags);
    parser.depth += 1;
    let node = parser.branches()?;
    if !parser.eat(b")") {
        return unclosed(parser, start);
    }
    parser.depth -= 1;
    parser.flags = outer;
    let node = Box::new(node);
    Ok(match kind {
        GroupKind::Plain => *node,
        GroupKind::Atomic if *node == Node::Empty => *node,
        GroupKind::Capture => Node::Capture(node),
        GroupKind::Atomic => Node::Atomic(node),
        GroupKind::Look { direction, negative } => Node::Look { direction, negative, node },
    })
}

fn name<'s>(parser: &mut Parser<'s>, end: u8) -> Result<&'s [u8], PatternError> {
    let start = parser.at;
    let Some(name) = parser.until(end) else { return parser.fail(start, "a group name that is not closed") };
    let is_word = name.iter().all(|&byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if name.is_empty() || name[0].is_ascii_digit() || !is_word {
        return parser.fail_with(start, "not a group name", "letters, digits and `_`, no digit first");
    }
    if parser.names.iter().any(|(other, _)| *other == name) {
        return parser.fail(start, "two groups of the same name");
    }
    Ok(name)
}

/// Parses the letters of `(?i-s`, up to the character that ends them.
fn flags(parser: &mut Parser<'_>, start: usize) -> Result<Flags, PatternError> {
    let mut flags = parser.flags;
    if parser.eat(b"^") {
        flags = Flags { ungreedy: flags.ungreedy, ..Flags::NONE };
    }
    let mut on = true;
    while let Some(byte) = parser.peek() {
        match byte {
            b'-' => on = false,
            b'i' => flags.caseless = on,
            b'm' => flags.multiline = on,
            b's' => flags.dotall = on,
            b'n' => flags.no_capture = on,
            b'U' => flags.ungreedy = on,
            b'J' => {}
            b'x' => {
                flags.extended = on;
                flags.extended_more = on && parser.rest().starts_with(b"xx");
                parser.at += usize::from(parser.rest().starts_with(b"xx"));
            }
            b')' | b':' => return Ok(flags),
            b'0'..=b'9' | b'+' => return parser.fail_with(start, "recursion is not supported", NO_RECURSION),
            _ => return parser.fail_with(parser.at, "not a flag", "flags are i, m, n, s, x, xx, J and U"),
        }
        parser.at += 1;
    }
    unclosed(parser, start)
}
