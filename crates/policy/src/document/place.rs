//! Where in the file a byte of a scalar's text was written.
//!
//! An error inside an expression should point at the very column, however the expression is
//! quoted, escaped, folded or indented. All that YAML does to a scalar besides quotes and escapes
//! is to change its white space: the characters that are not white space come out in the order
//! in which they were written. So the text and the source are laid side by side by those alone;
//! if they do not agree after all, the scalar's beginning is the answer.

use super::{Node, Style};
use crate::source::Source;

/// Byte offset in the file of byte `within` of the scalar's text.
#[must_use]
pub fn place(source: &Source, node: &Node, within: usize) -> usize {
    let Some(scalar) = node.as_scalar() else { return node.at };
    let written = Written::new(source, node.at, scalar.style);
    align(&scalar.text, within, written).unwrap_or(node.at)
}

fn align(text: &str, within: usize, mut written: Written<'_>) -> Option<usize> {
    let mut after = None;
    let mut blanks = 0;
    for (at, c) in text.char_indices() {
        if c.is_whitespace() {
            if at >= within {
                // Inside white space: as far behind the character before it.
                return after.map(|end: usize| written.skip_blanks(end, blanks));
            }
            blanks += 1;
            continue;
        }
        let (start, end, found) = written.next()?;
        if found != c {
            return None;
        }
        if at + c.len_utf8() > within {
            return Some(start);
        }
        (after, blanks) = (Some(end), 0);
    }
    after.map(|end| written.skip_blanks(end, blanks))
}

/// The characters of a scalar in the source that are not white space, unescaped, with the
/// offsets of their first byte and of the byte after them.
struct Written<'s> {
    text: &'s str,
    at: usize,
    style: Style,
}

impl<'s> Written<'s> {
    fn new(source: &'s Source, at: usize, style: Style) -> Self {
        let text = source.text.as_str();
        let at = match style {
            Style::Plain | Style::Block => at,
            Style::SingleQuoted | Style::DoubleQuoted => at + 1,
        };
        Self { text, at, style }
    }

    /// `count` blanks after `end`, as far as they are on the same line.
    fn skip_blanks(&self, end: usize, count: usize) -> usize {
        let blanks = self.text[end..].bytes().take(count).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        end + blanks
    }

    /// An escape of a double-quoted scalar: its character, if it yields one, and its length.
    fn escape(&self) -> Option<(Option<char>, usize)> {
        let rest = &self.text[self.at..];
        let code = rest.chars().nth(1)?;
        let digits = match code {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            '\r' | '\n' => return Some((None, 2)),
            '0' => return Some((Some('\0'), 2)),
            'a' => return Some((Some('\u{7}'), 2)),
            'b' => return Some((Some('\u{8}'), 2)),
            'e' => return Some((Some('\u{1b}'), 2)),
            't' | 'n' | 'v' | 'f' | 'r' | ' ' | '\t' | 'N' | '_' | 'L' | 'P' => return Some((None, 2)),
            other => return Some((Some(other), 1 + other.len_utf8())),
        };
        let value = u32::from_str_radix(rest.get(2..2 + digits)?, 16).ok()?;
        if (0xd800..0xdc00).contains(&value) {
            let low = u32::from_str_radix(rest.get(6..12)?.strip_prefix("\\u")?, 16).ok()?;
            let joined = 0x10000 + ((value - 0xd800) << 10) + low.checked_sub(0xdc00)?;
            return Some((char::from_u32(joined), 12));
        }
        Some((char::from_u32(value).filter(|c| !c.is_whitespace()), 2 + digits))
    }
}

impl Iterator for Written<'_> {
    type Item = (usize, usize, char);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let start = self.at;
            let c = self.text[start..].chars().next()?;
            let (found, length) = match (self.style, c) {
                (Style::DoubleQuoted, '\\') => self.escape()?,
                (Style::SingleQuoted, '\'') => (Some('\''), 2),
                _ => (Some(c).filter(|c| !c.is_whitespace()), c.len_utf8()),
            };
            self.at = (start + length).min(self.text.len());
            if let Some(c) = found {
                return Some((start, self.at, c));
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
