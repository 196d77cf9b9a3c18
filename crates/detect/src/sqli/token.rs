//! A token: its kind and the piece of the input that it is.
//!
//! libinjection copies each token's text into 32 bytes. Here it is a slice: of the input or, once
//! two words were merged to a phrase, of the list of words. Only its length is bound as there,
//! because the rules see no more of it.

use super::kind::Kind;
use super::words;

/// One token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'a> {
    /// What it is.
    pub(crate) kind: Kind,
    /// For what is quoted: how the quotes began, 0 if there was no sign for it.
    pub(crate) opened: u8,
    /// For what is quoted: how the quotes ended, 0 if the input did.
    pub(crate) closed: u8,
    /// May it be the first part of a phrase?
    pub(crate) begins_phrase: bool,
    /// The first [`words::LONGEST`] bytes of it, without quotes.
    pub(crate) text: &'a [u8],
}

impl<'a> Token<'a> {
    /// What stands in places not yet taken.
    pub(crate) const NONE: Self = Token::new(Kind::Unknown, b"");

    /// A token of `kind` that is `text`.
    #[inline]
    pub(crate) const fn new(kind: Kind, text: &'a [u8]) -> Self {
        let text = match text.split_at_checked(words::LONGEST) {
            Some((head, _)) => head,
            None => text,
        };
        Token { kind, opened: 0, closed: 0, begins_phrase: false, text }
    }

    /// The same, quoted.
    #[inline]
    pub(crate) const fn quoted(self, opened: u8, closed: u8) -> Self {
        Token { opened, closed, ..self }
    }

    /// Is it `kind` and, in any case, `text`?
    pub(crate) fn is(&self, kind: Kind, text: &[u8]) -> bool {
        self.kind == kind && self.text.eq_ignore_ascii_case(text)
    }

    /// Can it stand before a number?
    pub(crate) fn is_unary(&self) -> bool {
        self.kind == Kind::Operator
            && match self.text {
                [sign] => matches!(sign, b'+' | b'-' | b'!' | b'~'),
                b"!!" => true,
                text => text.eq_ignore_ascii_case(b"NOT"),
            }
    }

    /// Is it one of the operators of arithmetic?
    pub(crate) fn is_arithmetic(&self) -> bool {
        self.kind == Kind::Operator && matches!(self.text, [b'*' | b'/' | b'-' | b'+' | b'%'])
    }

    /// The phrase that this token and the `next` are, if they are one.
    pub(crate) fn merge(&self, next: &Token<'_>) -> Option<Token<'a>> {
        use Kind::{Bareword, Expression, Function, Keyword, Logic, Operator, Statement, Type, Union};
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
