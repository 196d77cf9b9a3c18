//! Quoted tokens: plain strings, and strings with a letter or a dollar prefix.

use memchr::{memchr_iter, memmem};

use super::token::Token;
use super::token_kind::TokenKind;
use super::tokenizer::Tokenizer;

impl<'a> Tokenizer<'a> {
    /// The string whose text begins `offset` bytes after `begin` and ends at `quote`, unless the
    /// quote is escaped by a backslash or doubled.
    pub(super) fn string(&mut self, begin: usize, offset: usize, quote: u8, opened: u8) -> Token<'a> {
        let text = &self.input[begin + offset..];
        match string_end(text, quote) {
            Some(end) => {
                self.at = begin + offset + end + 1;
                Token::new(TokenKind::Text, &text[..end]).quoted(opened, quote)
            }
            None => {
                self.at = self.input.len();
                Token::new(TokenKind::Text, text).quoted(opened, 0)
            }
        }
    }

    /// A token that begins with a letter that may precede a quote: `E'..'`, `U&'..'`, `x'..'`.
    pub(super) fn prefixed_string(&mut self, letter: u8) -> Token<'a> {
        let (second, third) = (self.peek(1), self.peek(2));
        // Something must follow the quote.
        let quoted = second == Some(b'\'') && third.is_some();
        match letter {
            b'e' | b'E' | b'n' | b'N' if quoted => self.string(self.at, 2, b'\'', b'\''),
            b'n' | b'N' if matches!(second, Some(b'q' | b'Q')) => self.oracle_string(1),
            b'u' | b'U' if second == Some(b'&') && third == Some(b'\'') => {
                let token = self.string(self.at + 2, 1, b'\'', b'\'');
                token.quoted(b'u', if token.closed == b'\'' { b'u' } else { token.closed })
            }
            b'q' | b'Q' if quoted => self.oracle_string(0),
            b'b' | b'B' if quoted => self.digits(|byte| matches!(byte, 0 | b'0' | b'1')),
            b'x' | b'X' if quoted => self.digits(|byte| byte == 0 || byte.is_ascii_hexdigit()),
            _ => self.word(),
        }
    }

    /// `x'1f'`, if there are only `digits` up to the second quote; otherwise a word. A NUL byte
    /// counts as a digit, as with `strchr` in the original.
    fn digits(&mut self, digit: fn(u8) -> bool) -> Token<'a> {
        let inside = &self.input[self.at + 2..];
        match inside.iter().position(|byte| !digit(*byte)) {
            Some(end) if inside[end] == b'\'' => self.take(TokenKind::Number, end + 3),
            _ => self.word(),
        }
    }

    /// Oracle's `q'[text]'`, `skipped` bytes from here.
    fn oracle_string(&mut self, skipped: usize) -> Token<'a> {
        let quote = self.peek(skipped + 1);
        let Some(delimiter @ 33..=127) = self.peek(skipped + 2).filter(|_| quote == Some(b'\'')) else {
            return self.word();
        };
        let closing = match delimiter {
            b'(' => b')',
            b'[' => b']',
            b'{' => b'}',
            b'<' => b'>',
            other => other,
        };
        let begin = self.at + skipped + 3;
        self.string_until(begin, &[closing, b'\''], b'q')
    }

    /// The string from `begin` to the next occurrence of `end`, or to the end of the input.
    fn string_until(&mut self, begin: usize, end: &[u8], sign: u8) -> Token<'a> {
        let text = &self.input[begin..];
        match memmem::find(text, end) {
            Some(length) => {
                self.at = begin + length + end.len();
                Token::new(TokenKind::Text, &text[..length]).quoted(sign, sign)
            }
            None => {
                self.at = self.input.len();
                Token::new(TokenKind::Text, text).quoted(sign, 0)
            }
        }
    }

    /// Money, or PostgreSQL's `$tag$text$tag$`. NUL bytes count as digits and letters.
    pub(super) fn dollar(&mut self) -> Token<'a> {
        let rest = &self.input[self.at + 1..];
        let run = |of: fn(u8) -> bool| rest.iter().position(|byte| !of(*byte)).unwrap_or(rest.len());
        let digits = run(|byte| matches!(byte, 0 | b'.' | b',' | b'0'..=b'9'));
        if digits == 1 && rest[0] == b'.' {
            return self.word();
        }
        if digits > 0 {
            return self.take(TokenKind::Number, 1 + digits);
        }
        let tag = run(|byte| byte == 0 || byte.is_ascii_alphabetic());
        if rest.get(tag) != Some(&b'$') {
            return self.take(TokenKind::Bareword, 1);
        }
        let tag = &self.input[self.at..self.at + tag + 2];
        self.string_until(self.at + tag.len(), tag, b'$')
    }
}

/// The position in `text` of the closing `quote`.
pub(super) fn string_end(text: &[u8], quote: u8) -> Option<usize> {
    let mut after = 0;
    for end in memchr_iter(quote, text) {
        if end < after {
            continue;
        }
        let backslashes = text[..end].iter().rev().take_while(|byte| **byte == b'\\').count();
        if backslashes % 2 == 1 {
            continue;
        }
        if text.get(end + 1) == Some(&quote) {
            after = end + 2;
            continue;
        }
        return Some(end);
    }
    None
}
