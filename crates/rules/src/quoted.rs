//! Strings: `"..."` with escapes, `r"..."` and `r#"..."#` without.
//!
//! The string after `matches` is special. Its author thinks in regular expressions, where `\s`, `\d` and `\.` mean
//! something and `\\` is a backslash; a second layer of escapes would turn each of them into an error or, worse, into
//! something else. There the text between the quotes *is* the pattern, character for character; only `\"` stands for
//! `"`. Cloudflare's engine reads patterns in the same way. The rejected alternative, to decode `\\` and keep the
//! rest, would read `"\\d"` as a digit and `"\\."` as any dot, unlike every regular expression tool.
//!
//! After `wildcard`, `\*` stays as written too, so that both `"\*"` and Cloudflare's `"\\*"` mean a
//! star. Everywhere else an unknown escape is an error that explains how to write it.

use crate::error::{Errors, Span};

/// A decoded string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Quoted {
    /// The decoded bytes.
    pub bytes: Vec<u8>,
    /// Offset of its first byte in the text, after the opening quote.
    pub start: usize,
    /// Offsets in `bytes` before which a backslash was left out (patterns only).
    pub dropped: Vec<usize>,
}

impl Quoted {
    /// Position in the text of byte `at` of the string.
    pub fn origin(&self, at: usize) -> usize {
        self.start + at + self.dropped.iter().filter(|&&before| before <= at).count()
    }
}

/// How backslashes in a string are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EscapeMode {
    /// `\" \\ \n \r \t \0 \xHH`
    Text,
    /// As `Text`, but `\*` is kept.
    Wildcard,
    /// Only `\"`; the rest belongs to the pattern.
    Pattern,
}

/// Reads the string that opens at `at`; returns it with the offset after its closing quote, or
/// reports that it is not closed.
pub(crate) fn read(
    text: &str,
    at: usize,
    quote: u8,
    escapes: EscapeMode,
    errors: &mut Errors,
) -> Option<(Quoted, usize)> {
    let source = text.as_bytes();
    let mut out = Quoted { bytes: Vec::new(), start: at + 1, dropped: Vec::new() };
    let mut here = at + 1;
    while let Some(&byte) = source.get(here) {
        if byte == quote {
            return Some((out, here + 1));
        }
        if byte == b'\\' {
            here = escape(text, here, quote, escapes, &mut out, errors);
        } else {
            out.bytes.push(byte);
            here += 1;
        }
    }
    let hint = if quote == b'"' { "end the string with a double quote" } else { "write strings in double quotes" };
    errors.add(Span::new(at, at + 1), "this string is never closed", Some(hint.into()));
    None
}

/// Reads the escape that begins at `at`; returns the offset after it.
fn escape(text: &str, at: usize, quote: u8, escapes: EscapeMode, out: &mut Quoted, errors: &mut Errors) -> usize {
    let Some(next) = text[at + 1..].chars().next() else {
        out.bytes.push(b'\\');
        return at + 1;
    };
    let end = at + 1 + next.len_utf8();
    let plain = match next {
        _ if next as u32 == u32::from(quote) => {
            if escapes == EscapeMode::Pattern {
                out.dropped.push(out.bytes.len());
            }
            Some(quote)
        }
        _ if escapes == EscapeMode::Pattern || (escapes == EscapeMode::Wildcard && next == '*') => {
            out.bytes.extend_from_slice(&text.as_bytes()[at..end]);
            return end;
        }
        '"' | '\'' | '\\' => Some(next as u8),
        'n' => Some(b'\n'),
        'r' => Some(b'\r'),
        't' => Some(b'\t'),
        '0' => Some(0),
        'x' => {
            let digits = text.get(end..end + 2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
            if let Some(byte) = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
                out.bytes.push(byte);
                return end + 2;
            }
            None
        }
        _ => None,
    };
    if let Some(byte) = plain {
        out.bytes.push(byte);
        return end;
    }
    let hint = if next == 'x' {
        "write two hexadecimal digits, such as \\x00".to_owned()
    } else {
        format!("write `\\\\{next}` for a backslash and `{next}`, or use a raw string: r\"...\"")
    };
    errors.add(Span::new(at, end), format!("unknown escape `\\{}` in a string", next.escape_default()), Some(hint));
    out.bytes.extend_from_slice(&text.as_bytes()[at..end]);
    end
}

/// Whether a raw string begins at `at`: `r"` or `r#"`.
pub(crate) fn is_raw(text: &str, at: usize) -> bool {
    let rest = &text.as_bytes()[at..];
    rest.first() == Some(&b'r') && {
        let hashes = rest[1..].iter().take_while(|&&byte| byte == b'#').count();
        rest.get(1 + hashes) == Some(&b'"')
    }
}

/// Reads the raw string that begins at `at`; returns it with the offset after its end, or reports
/// that it is not closed.
pub(crate) fn read_raw(text: &str, at: usize, errors: &mut Errors) -> Option<(Quoted, usize)> {
    let hashes = text.as_bytes()[at + 1..].iter().take_while(|&&byte| byte == b'#').count();
    let start = at + 1 + hashes + 1;
    let mut closing = String::with_capacity(hashes + 1);
    closing.push('"');
    closing.extend(std::iter::repeat_n('#', hashes));
    let Some(length) = text[start..].find(&closing) else {
        errors.add(Span::new(at, start), "this raw string is never closed", Some(format!("end it with `{closing}`")));
        return None;
    };
    let end = start + length;
    Some((Quoted { bytes: text.as_bytes()[start..end].to_vec(), start, dropped: Vec::new() }, end + closing.len()))
}
