//! Escape sequences.

use super::PatternError;
use super::parser::Parser;
use super::set::Set;
use super::tree::{Assertion, Node};

/// The meaning of an escape, inside or outside a class.
pub(super) enum Escape {
    Byte(u8),
    Set(Set),
}

/// Assertions, outside classes only.
const ASSERTIONS: [(u8, Assertion); 5] = [
    (b'A', Assertion::TextStart),
    (b'z', Assertion::TextEnd),
    (b'Z', Assertion::LastLineEnd),
    (b'b', Assertion::WordBoundary),
    (b'B', Assertion::NotWordBoundary),
];

/// `\R`: a line end, matched atomically.
fn line_end() -> Node {
    let crlf = Node::Concat(b"\r\n".iter().map(|&byte| Node::Set(Set::of(&[byte]))).collect());
    Node::Atomic(Box::new(Node::Either(vec![crlf, Node::Set(Set::of(b"\n\x0b\x0c\r\x85"))])))
}

/// Parses the item whose backslash, at `start`, has been read.
pub(super) fn item(parser: &mut Parser<'_>, start: usize) -> Result<Node, PatternError> {
    let Some(letter) = parser.peek() else {
        return parser.fail_with(start, "a backslash at the end", "write `\\\\` for the character");
    };
    if let Some((_, assertion)) = ASSERTIONS.iter().find(|(other, _)| *other == letter) {
        parser.at += 1;
        return Ok(Node::Assert(*assertion));
    }
    match letter {
        b'K' | b'R' | b'N' | b'C' | b'k' | b'g' => parser.at += 1,
        b'1'..=b'9' => return reference_or_octal(parser, start),
        _ => return plain(parser, start),
    }
    Ok(match letter {
        b'K' => Node::Keep,
        b'R' => line_end(),
        b'C' => Node::Set(Set::ALL),
        b'N' if matches!(parser.rest(), [b'{', b'A'..=b'Z', ..]) => {
            return unsupported(parser, start, "write the character");
        }
        b'N' => Node::Set(Set::of(b"\n").not()),
        b'k' => return named_reference(parser, start),
        _ => return numbered_reference(parser, start),
    })
}

fn plain(parser: &mut Parser<'_>, start: usize) -> Result<Node, PatternError> {
    Ok(match escape(parser, start)? {
        Escape::Byte(byte) => parser.literal(byte),
        Escape::Set(set) => Node::Set(set),
    })
}

/// Parses an escape that stands for bytes, after its backslash.
pub(super) fn escape(parser: &mut Parser<'_>, start: usize) -> Result<Escape, PatternError> {
    let Some(letter) = parser.next() else { return parser.fail(start, "a backslash at the end") };
    if let Some(set) = class_of(letter) {
        return Ok(Escape::Set(set));
    }
    Ok(Escape::Byte(match letter {
        b'a' => 0x07,
        b'e' => 0x1b,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'0'..=b'7' => {
            parser.at -= 1;
            octal(parser, start)?
        }
        b'c' => match parser.next() {
            Some(byte @ 0x20..=0x7e) => byte.to_ascii_uppercase() ^ 0x40,
            _ => return parser.fail_with(start, "`\\c` without a character", "as in `\\cA`"),
        },
        b'o' => braced(parser, start, 8)?,
        b'x' if parser.rest().starts_with(b"{") => braced(parser, start, 16)?,
        b'x' => {
            let digits = parser.rest().iter().take(2).take_while(|byte| byte.is_ascii_hexdigit()).count();
            let value = number(&parser.rest()[..digits], 16);
            parser.at += digits;
            value as u8
        }
        b'p' | b'P' | b'X' => return unsupported(parser, start, "patterns match bytes: write the bytes as `\\xHH`"),
        b'G' => return unsupported(parser, start, "write `\\A`"),
        b'8' | b'9' => letter,
        _ if letter.is_ascii_alphanumeric() => {
            return unsupported(parser, start, "write the letter without the backslash if it is meant");
        }
        _ => letter,
    }))
}

fn unsupported<T>(parser: &Parser<'_>, start: usize, hint: &str) -> Result<T, PatternError> {
    let end = (start + 2).min(parser.source.len());
    let escape = parser.source[start..end].escape_ascii().to_string().replace("\\\\", "\\");
    parser.fail_with(start, format!("`{escape}` is not supported"), hint)
}

/// The class for an escape letter, in the C locale.
fn class_of(letter: u8) -> Option<Set> {
    let set = match letter.to_ascii_lowercase() {
        b'd' => Set::range(b'0', b'9'),
        b'h' => Set::of(b"\t \xa0"),
        b's' => Set::of(b"\t\n\x0b\x0c\r "),
        b'v' => Set::of(b"\n\x0b\x0c\r\x85"),
        b'w' => word(),
        _ => return None,
    };
    Some(if letter.is_ascii_uppercase() { set.not() } else { set })
}

pub(super) fn word() -> Set {
    Set::range(b'0', b'9').union(Set::range(b'a', b'z')).caseless().union(Set::of(b"_"))
}

/// Up to three octal digits.
fn octal(parser: &mut Parser<'_>, start: usize) -> Result<u8, PatternError> {
    let digits = parser.rest().iter().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
    let value = number(&parser.rest()[..digits], 8);
    parser.at += digits;
    byte(parser, start, value)
}

/// `{...}` with digits of the given radix.
fn braced(parser: &mut Parser<'_>, start: usize, radix: u32) -> Result<u8, PatternError> {
    let digits = if parser.eat(b"{") { parser.until(b'}') } else { None };
    match digits {
        Some(digits) if !digits.is_empty() && digits.iter().all(|&digit| char::from(digit).is_digit(radix)) => {
            byte(parser, start, number(digits, radix))
        }
        _ => parser.fail(start, "expected digits in braces"),
    }
}

fn byte(parser: &Parser<'_>, start: usize, value: u32) -> Result<u8, PatternError> {
    match u8::try_from(value) {
        Ok(byte) => Ok(byte),
        Err(_) => {
            parser.fail_with(start, "a character above 255", "patterns match bytes: write the bytes of its UTF-8 form")
        }
    }
}

fn number(digits: &[u8], radix: u32) -> u32 {
    let values = digits.iter().filter_map(|&digit| char::from(digit).to_digit(radix));
    values.fold(0, |value, digit| value.saturating_mul(radix).saturating_add(digit))
}

/// `\1`: a reference if it has one digit, begins with 8 or 9, or there are that many groups before
/// it; otherwise an octal character.
fn reference_or_octal(parser: &mut Parser<'_>, start: usize) -> Result<Node, PatternError> {
    let first = parser.peek();
    let group = parser.number().unwrap_or(0);
    if group < 10 || group <= parser.groups || matches!(first, Some(b'8' | b'9')) {
        return Ok(reference(parser, start, group));
    }
    parser.at = start + 1;
    plain(parser, start)
}

fn reference(parser: &mut Parser<'_>, start: usize, group: u32) -> Node {
    if group > parser.highest_reference.0 {
        parser.highest_reference = (group, start);
    }
    Node::Reference { group, caseless: parser.flags.caseless }
}

/// `\g1`, `\g{1}`, `\g{-1}`, `\g{name}`.
fn numbered_reference(parser: &mut Parser<'_>, start: usize) -> Result<Node, PatternError> {
    if parser.rest().starts_with(b"<") || parser.rest().starts_with(b"'") {
        return parser.fail_with(start, "recursion is not supported", "write `\\g{1}` for a reference");
    }
    let braced = parser.eat(b"{");
    let back = parser.eat(b"-");
    let forward = !back && parser.eat(b"+");
    if braced && !back && !forward && !parser.peek().is_some_and(|byte| byte.is_ascii_digit()) {
        return match parser.until(b'}') {
            Some(name) => reference_to(parser, start, name),
            None => parser.fail(start, "a reference that is not closed"),
        };
    }
    let group = match parser.number() {
        Some(number @ 1..) if back => parser.groups.checked_sub(number - 1).filter(|&group| group > 0),
        Some(number @ 1..) if forward => Some(parser.groups.saturating_add(number)),
        Some(number) if !back && !forward && number > 0 => Some(number),
        _ => None,
    };
    match group {
        Some(group) if !braced || parser.eat(b"}") => Ok(reference(parser, start, group)),
        _ => parser.fail(start, "not a reference to a group"),
    }
}

/// `\k<name>`, `\k{name}`, `\k'name'`.
fn named_reference(parser: &mut Parser<'_>, start: usize) -> Result<Node, PatternError> {
    let end = match parser.next() {
        Some(b'<') => b'>',
        Some(b'{') => b'}',
        Some(b'\'') => b'\'',
        _ => return parser.fail_with(start, "`\\k` without a name", "as in `\\k<name>`"),
    };
    match parser.until(end) {
        Some(name) => reference_to(parser, start, name),
        None => parser.fail(start, "a reference that is not closed"),
    }
}

pub(super) fn reference_to(parser: &mut Parser<'_>, start: usize, name: &[u8]) -> Result<Node, PatternError> {
    match parser.names.iter().find(|(other, _)| *other == name) {
        Some(&(_, group)) => Ok(reference(parser, start, group)),
        None => parser.fail(start, format!("no group named `{}` before it", name.escape_ascii())),
    }
}
