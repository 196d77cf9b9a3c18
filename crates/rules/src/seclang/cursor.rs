//! A position in a rule file, and the lexical elements shared by all directives.
//!
//! Text is read in place instead of being joined into logical lines first, so that the position of every byte is
//! known. The lexical rules are those of ModSecurity v3's scanner; where the scanner misreads its input (a `%` before
//! a quote, a quote that begins a parameter with its backslash), they follow its intention.

use super::diagnostic::SourceLocation;

/// A reading position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'t> {
    pub(super) bytes: &'t [u8],
    pub(super) at: usize,
    /// Location of the first byte.
    pub(super) origin: SourceLocation,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(bytes: &'t [u8], origin: SourceLocation) -> Self {
        Self { bytes, at: 0, origin }
    }

    pub(super) fn spot(&self) -> SourceLocation {
        self.origin.plus(self.at)
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(super) fn rest(&self) -> &'t [u8] {
        &self.bytes[self.at..]
    }

    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let is = self.peek() == Some(byte);
        self.at += usize::from(is);
        is
    }

    /// Takes bytes while `wanted` accepts them.
    pub(super) fn take_while(&mut self, wanted: impl Fn(u8) -> bool) -> &'t [u8] {
        let rest = self.rest();
        let length = rest.iter().position(|&byte| !wanted(byte)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// Reads a name: letters, digits, `_`.
    pub(super) fn name(&mut self) -> &'t str {
        let name = self.take_while(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        std::str::from_utf8(name).expect("ASCII")
    }

    /// Whether the line, or the file, ends here.
    pub(super) fn at_line_end(&self) -> bool {
        matches!(self.rest(), [] | [b'\n', ..] | [b'\r', b'\n', ..] | [b'\r'])
    }

    /// Length of a backslash and the line end after it, if they come next.
    fn continuation(&self) -> usize {
        match self.rest() {
            [b'\\', b'\n', ..] => 2,
            [b'\\', b'\r', b'\n', ..] => 3,
            _ => 0,
        }
    }

    /// Skips blanks and escaped line ends.
    pub(super) fn blanks(&mut self) {
        loop {
            self.take_while(is_blank);
            match self.continuation() {
                0 => return,
                length => self.at += length,
            }
        }
    }

    /// Skips to the next line that is not a continuation.
    pub(super) fn next_line(&mut self) {
        while let Some(byte) = self.peek() {
            self.at += match self.continuation() {
                0 => 1,
                length => length,
            };
            if byte == b'\n' {
                return;
            }
        }
    }

    /// As [`Self::quoted`], but also `None` if the text runs into another directive, because the
    /// quote that was found then opens something else.
    pub(super) fn closed(&mut self, quote: u8) -> Option<&'t [u8]> {
        let before = self.at;
        let text = self.quoted(quote)?;
        let mut lines = text.split(|&byte| byte == b'\n').skip(1);
        if lines.any(|line| line.trim_ascii_start().starts_with(b"Sec")) {
            self.at = before;
            return None;
        }
        Some(text)
    }

    /// The text up to an unescaped quote, without the quote; backslashes are kept. `None` if there
    /// is none. The cursor must be after the opening quote.
    pub(super) fn quoted(&mut self, quote: u8) -> Option<&'t [u8]> {
        let rest = self.rest();
        let mut escaped = false;
        for (at, &byte) in rest.iter().enumerate() {
            if byte == quote && !escaped {
                self.at += at + 1;
                return Some(&rest[..at]);
            }
            escaped = byte == b'\\' && !escaped;
        }
        None
    }
}

pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// The text without escaped line ends and the indentation after them.
pub(super) fn joined(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut cursor = Cursor::new(text, SourceLocation::default());
    while let Some(byte) = cursor.peek() {
        if cursor.continuation() > 0 {
            cursor.blanks();
        } else {
            plain.push(byte);
            cursor.at += 1;
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_end_at_one_that_is_not_escaped() {
        let cases: &[(&str, Option<&str>)] = &[
            (r#"a" b"#, Some("a")),
            (r#"a\"b" c"#, Some(r#"a\"b"#)),
            (r#"a\\" c"#, Some(r"a\\")),
            (r#"\"a" c"#, Some(r#"\"a"#)),
            (r#"50%" c"#, Some("50%")),
            ("a\nb\" c", Some("a\nb")),
            (r#"a\""#, None),
            ("", None),
        ];
        for (text, expected) in cases {
            let mut cursor = Cursor::new(text.as_bytes(), SourceLocation::default());
            assert_eq!(cursor.quoted(b'"'), expected.map(str::as_bytes), "{text}");
        }
    }

    #[test]
    fn lines_go_on_behind_a_backslash() {
        let mut cursor = Cursor::new(b"a \\\n  b \\\r\n\tc\nd", SourceLocation::default());
        cursor.next_line();
        assert_eq!(cursor.rest(), b"d");
        assert_eq!(joined(b"a: \\\n   b\\\r\nc\\d"), b"a: bc\\d");
    }
}
