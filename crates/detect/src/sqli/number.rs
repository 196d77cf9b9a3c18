//! Numbers and similar tokens.

use super::class;
use super::token::Token;
use super::token_kind::TokenKind;
use super::tokenizer::Tokenizer;

impl<'a> Tokenizer<'a> {
    /// The number, or single dot, at this position.
    pub(super) fn number(&mut self) -> Token<'a> {
        let rest = &self.input[self.at..];
        match rest {
            [b'0', b'x' | b'X', digits @ ..] => return self.prefixed(digits, |byte| byte.is_ascii_hexdigit()),
            [b'0', b'b' | b'B', digits @ ..] => return self.prefixed(digits, |byte| matches!(byte, b'0' | b'1')),
            _ => {}
        }
        let mut length = digits_from(rest, 0);
        if rest.get(length) == Some(&b'.') {
            length = digits_from(rest, length + 1);
            if length == 1 {
                return self.take(TokenKind::Dot, 1);
            }
        }
        let mut kind = TokenKind::Number;
        if let Some(b'e' | b'E') = rest.get(length) {
            length += 1;
            length += usize::from(matches!(rest.get(length), Some(b'+' | b'-')));
            let exponent = digits_from(rest, length);
            // Without an exponent it is a name.
            kind = if exponent == length { TokenKind::Bareword } else { TokenKind::Number };
            length = exponent;
        }
        // Oracle's suffix of a float or double; before "union" it must not begin a word.
        if let [b'd' | b'D' | b'f' | b'F', after @ ..] = &rest[length..]
            && after.first().is_none_or(|byte| class::is_white(*byte) || matches!(byte, b';' | b'u' | b'U'))
        {
            length += 1;
        }
        self.take(kind, length)
    }

    /// `0x` or `0b` followed by `digits`; without any digits, a name. NUL bytes count as digits.
    fn prefixed(&mut self, digits: &[u8], digit: fn(u8) -> bool) -> Token<'a> {
        let count = digits.iter().position(|byte| *byte != 0 && !digit(*byte)).unwrap_or(digits.len());
        self.take(if count == 0 { TokenKind::Bareword } else { TokenKind::Number }, 2 + count)
    }
}

/// The end of the decimal digits that begin at `at`.
fn digits_from(text: &[u8], at: usize) -> usize {
    text[at..].iter().position(|byte| !byte.is_ascii_digit()).map_or(text.len(), |length| at + length)
}
