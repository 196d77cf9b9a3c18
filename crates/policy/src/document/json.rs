//! JSON (RFC 8259), with places.
//!
//! JSON nearly is YAML, but a YAML parser refuses tabs as indentation in places, joins no
//! surrogate pairs, and would forgive in a `.json` file what every other JSON reader refuses.

use std::rc::Rc;

use super::{Kind, MAX_DEPTH, Node, Style, SyntaxError};
use crate::source::Source;

struct Reader<'s> {
    text: &'s str,
    at: usize,
    depth: usize,
}

/// Reads the one value of a JSON file.
pub(super) fn parse(source: &Source) -> Result<Rc<Node>, SyntaxError> {
    let mut reader = Reader { text: &source.text, at: 0, depth: 0 };
    reader.space();
    if reader.at == source.text.len() {
        return Err(SyntaxError::new(
            0,
            "the file is empty; expected a document",
            Some("the smallest policy is `{\"policies\": [...]}`"),
        ));
    }
    let root = reader.value()?;
    reader.space();
    if reader.at < source.text.len() {
        return Err(reader.expected("the end of the file"));
    }
    Ok(root)
}

impl Reader<'_> {
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn expected(&self, what: &str) -> SyntaxError {
        let found = self.text[self.at..].chars().next().map_or("the end of the file".to_owned(), |c| format!("{c:?}"));
        let hint = match self.byte() {
            Some(b'/' | b'#') => Some("JSON has no comments; YAML has (`#`), in a file whose name ends in .yaml"),
            Some(b'\'') => Some("JSON texts are written in double quotes"),
            _ => None,
        };
        SyntaxError::new(self.at, format!("not valid JSON: expected {what}, found {found}"), hint)
    }

    /// A value; recursion is bounded by [`MAX_DEPTH`].
    fn value(&mut self) -> Result<Rc<Node>, SyntaxError> {
        let at = self.at;
        match self.byte() {
            Some(b'{') => self
                .container(b'}', |reader, pairs: &mut Vec<_>| {
                    if reader.byte() != Some(b'"') {
                        return Err(reader.expected("a key in double quotes"));
                    }
                    let key = reader.string()?;
                    reader.space();
                    if reader.byte() != Some(b':') {
                        return Err(reader.expected("`:`"));
                    }
                    reader.at += 1;
                    reader.space();
                    pairs.push((key, reader.value()?));
                    Ok(())
                })
                .and_then(|pairs| Node::container(at, Kind::Mapping(pairs))),
            Some(b'[') => self
                .container(b']', |reader, items: &mut Vec<_>| {
                    items.push(reader.value()?);
                    Ok(())
                })
                .and_then(|items| Node::container(at, Kind::Sequence(items))),
            Some(b'"') => self.string(),
            _ => self.word(),
        }
    }

    fn container<T>(
        &mut self,
        close: u8,
        mut item: impl FnMut(&mut Self, &mut Vec<T>) -> Result<(), SyntaxError>,
    ) -> Result<Vec<T>, SyntaxError> {
        if self.depth >= MAX_DEPTH {
            return Err(SyntaxError::too_deep(self.at));
        }
        self.depth += 1;
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        while self.byte() != Some(close) {
            item(self, &mut items)?;
            self.space();
            match self.byte() {
                Some(b',') => self.at += 1,
                Some(byte) if byte == close => break,
                _ => return Err(self.expected(&format!("`,` or `{}`", char::from(close)))),
            }
            self.space();
            if self.byte() == Some(close) {
                return Err(self.expected("another item after the comma"));
            }
        }
        self.at += 1;
        self.depth -= 1;
        Ok(items)
    }

    /// `true`, `false`, `null` or a number.
    fn word(&mut self) -> Result<Rc<Node>, SyntaxError> {
        let rest = &self.text[self.at..];
        let length =
            rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+')).count();
        let word = &rest[..length];
        if !(matches!(word, "true" | "false" | "null") || is_number(word)) {
            return Err(self.expected("a value"));
        }
        let node = Node::scalar(self.at, word.to_owned(), Style::Plain);
        self.at += length;
        Ok(node)
    }

    fn string(&mut self) -> Result<Rc<Node>, SyntaxError> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.bytes().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..=0x1f)).count();
            text.push_str(&rest[..plain]);
            self.at += plain;
            match self.byte() {
                Some(b'"') => break,
                Some(b'\\') => text.push(self.escape()?),
                _ => return Err(self.expected("`\"` at the end of the text")),
            }
        }
        self.at += 1;
        Ok(Node::scalar(start, text, Style::DoubleQuoted))
    }

    fn escape(&mut self) -> Result<char, SyntaxError> {
        let at = self.at;
        self.at += 1;
        let escaped = self.byte();
        self.at += usize::from(escaped.is_some_and(|byte| byte.is_ascii()));
        let simple = match escaped {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(at),
            _ => {
                return Err(SyntaxError::new(
                    at,
                    "not valid JSON: unknown escape",
                    Some("a backslash inside a text is written twice: \"\\\\s\" for \\s"),
                ));
            }
        };
        Ok(simple)
    }

    fn unicode(&mut self, at: usize) -> Result<char, SyntaxError> {
        let bad =
            || SyntaxError::new(at, "not valid JSON: expected \\u and four hexadecimal digits of a character", None);
        let first = self.hex4().ok_or_else(bad)?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first).ok_or_else(bad);
        }
        if !self.text[self.at..].starts_with("\\u") {
            return Err(bad());
        }
        self.at += 2;
        let second = self.hex4().filter(|low| (0xdc00..0xe000).contains(low)).ok_or_else(bad)?;
        char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)).ok_or_else(bad)
    }

    fn hex4(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        let all_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        self.at += 4;
        if all_hex { u32::from_str_radix(digits, 16).ok() } else { None }
    }
}

/// RFC 8259, section 6.
fn is_number(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let rest = word.strip_prefix('-').unwrap_or(word);
    let (mantissa, exponent) = rest.split_once(['e', 'E']).map_or((rest, None), |(m, e)| (m, Some(e)));
    let (whole, fraction) = mantissa.split_once('.').map_or((mantissa, None), |(w, f)| (w, Some(f)));
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|exponent| digits(exponent.strip_prefix(['-', '+']).unwrap_or(exponent)))
}
