//! A token: its type and its piece of the input.
//!
//! libinjection copies each token's text into 32 bytes. Here it is a slice: of the input or, once
//! two words have been merged to a phrase, of the word list. Only its length is bounded in the same
//! way, because the rules see no more of it.

use super::token_kind::TokenKind;
use super::words;

/// One token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'a> {
    /// What it is.
    pub(crate) kind: TokenKind,
    /// For quoted tokens: the opening quote, 0 if there was none.
    pub(crate) opened: u8,
    /// For quoted tokens: the closing quote, 0 if the input ended first.
    pub(crate) closed: u8,
    /// Whether it can be the first part of a phrase.
    pub(crate) begins_phrase: bool,
    /// The first [`words::LONGEST`] bytes of its text, without quotes.
    pub(crate) text: &'a [u8],
}

impl<'a> Token<'a> {
    /// Fills unused positions.
    pub(crate) const NONE: Self = Token::new(TokenKind::Unknown, b"");

    /// A token of `kind` that is `text`.
    #[inline]
    pub(crate) const fn new(kind: TokenKind, text: &'a [u8]) -> Self {
        let text = match text.split_at_checked(words::LONGEST) {
            Some((head, _)) => head,
            None => text,
        };
        Token { kind, opened: 0, closed: 0, begins_phrase: false, text }
    }

    /// The same token, quoted.
    #[inline]
    pub(crate) const fn quoted(self, opened: u8, closed: u8) -> Self {
        Token { opened, closed, ..self }
    }

    /// Whether it has type `kind` and, ignoring case, this `text`.
    pub(crate) fn is(&self, kind: TokenKind, text: &[u8]) -> bool {
        self.kind == kind && self.text.eq_ignore_ascii_case(text)
    }

    /// Whether it can be a sign of a number.
    pub(crate) fn is_unary(&self) -> bool {
        self.kind == TokenKind::Operator
            && match self.text {
                [sign] => matches!(sign, b'+' | b'-' | b'!' | b'~'),
                b"!!" => true,
                text => text.eq_ignore_ascii_case(b"NOT"),
            }
    }

    /// Whether it is an arithmetic operator.
    pub(crate) fn is_arithmetic(&self) -> bool {
        self.kind == TokenKind::Operator && matches!(self.text, [b'*' | b'/' | b'-' | b'+' | b'%'])
    }

    /// The phrase formed by this token and `next`, if they form one.
    pub(crate) fn merge(&self, next: &Token<'_>) -> Option<Token<'a>> {
        use TokenKind::{Bareword, Expression, Function, Keyword, Logic, Operator, Statement, Type, Union};
        let first =
            matches!(self.kind, Keyword | Bareword | Operator | Union | Function | Expression | Statement | Type);
        let second = matches!(
            next.kind,
            Keyword | Bareword | Operator | Union | Function | Expression | Statement | Type | Logic
        );
        let length = self.text.len() + 1 + next.text.len();
        if !(self.begins_phrase && first && second && length <= words::LONGEST) {
            return None;
        }
        let mut phrase = [b' '; words::LONGEST];
        phrase[..self.text.len()].copy_from_slice(self.text);
        phrase[self.text.len() + 1..length].copy_from_slice(next.text);
        let word = words::find(&phrase[..length])?;
        Some(Token { kind: word.kind?, text: word.text, begins_phrase: word.begins_phrase, ..*self })
    }
}
