//! Reduces the tokens of an input to the at most five that form its fingerprint: equivalent forms
//! become the same (`1, 2, 3` becomes `1`), and meaningless tokens are dropped.
//!
//! This file holds the loop, `rules.rs` the reductions of adjacent tokens. Both follow libinjection
//! (`libinjection_sqli_fold`), because verdicts depend on the order of the steps. Each step reads a
//! token, drops one, or advances by one of at most six positions, so that the whole is linear.

use super::fingerprints::LONGEST;
use super::token::Token;
use super::token_kind::TokenKind::{self, Bareword, Close, Comma, Comment, Number, Open, Operator, Type};
use super::tokenizer::{Context, Tokenizer};

/// The reduced tokens of an input.
pub(crate) struct Folded<'a> {
    tokens: [Token<'a>; LONGEST + 3],
    length: usize,
    /// Number of tokens read, comments included.
    pub(crate) read: usize,
    /// Whether MySQL would have read other tokens.
    pub(crate) ambiguous: bool,
}

impl<'a> Folded<'a> {
    /// Reads and shortens `input`.
    pub(crate) fn new(input: &'a [u8], context: Context) -> Self {
        let source = Tokenizer::new(input, context);
        let mut folder =
            Folder { tokens: [Token::NONE; LONGEST + 3], end: 0, left: 0, more: true, comment: None, source };
        let length = folder.run();
        let mut tokens = folder.tokens;
        if length > 2 {
            let last = &mut tokens[length - 1];
            // PHP treats a lone tick at the end as a comment.
            if last.kind == Bareword && last.opened == b'`' && last.closed == 0 && last.text.is_empty() {
                last.kind = Comment;
            }
        }
        Folded { tokens, length, read: folder.source.count, ambiguous: folder.source.ambiguous }
    }

    /// The remaining tokens.
    pub(crate) fn tokens(&self) -> &[Token<'a>] {
        &self.tokens[..self.length]
    }
}

/// The outcome of applying the rules to the tokens at `left`.
pub(super) enum FoldStep {
    /// The tokens were changed and must be examined again.
    Again,
    /// No rule applies.
    Keep,
    /// The input is an attack, whatever follows.
    Evil,
}

pub(super) struct Folder<'a> {
    pub(super) tokens: [Token<'a>; LONGEST + 3],
    /// Number of tokens held.
    pub(super) end: usize,
    /// Number of tokens that are finished unless a token before them changes.
    pub(super) left: usize,
    more: bool,
    /// The comment after the last token held, if any.
    comment: Option<Token<'a>>,
    source: Tokenizer<'a>,
}

impl<'a> Folder<'a> {
    /// Reduces the input; returns the number of tokens in the fingerprint.
    fn run(&mut self) -> usize {
        loop {
            let Some(token) = self.source.next() else { return 0 };
            if !(matches!(token.kind, Comment | Open | Type) || token.is_unary()) {
                self.tokens[0] = token;
                self.end = 1;
                break;
            }
        }
        loop {
            if self.end >= LONGEST && self.is_plain_list() {
                if self.end > LONGEST {
                    self.tokens[1] = self.tokens[LONGEST];
                    self.end = 2;
                } else {
                    self.end = 1;
                }
                self.left = 0;
            }
            if !self.more || self.left >= LONGEST {
                self.left = self.end;
                break;
            }
            self.read(2);
            if self.end - self.left < 2 {
                self.left = self.end;
                continue;
            }
            match self.pair() {
                FoldStep::Again => continue,
                FoldStep::Keep => {}
                FoldStep::Evil => return self.left + 2,
            }
            self.read(3);
            if self.end - self.left < 3 {
                self.left = self.end;
                continue;
            }
            if let FoldStep::Keep = self.triple() {
                self.left += 1;
            }
        }
        if self.left < LONGEST
            && let Some(comment) = self.comment
        {
            self.tokens[self.left] = comment;
            self.left += 1;
        }
        self.left.min(LONGEST)
    }

    /// Reads until `wanted` tokens are unfinished, or there is no room.
    fn read(&mut self, wanted: usize) {
        while self.more && self.end <= LONGEST && self.end - self.left < wanted {
            match self.source.next() {
                None => self.more = false,
                Some(token) if token.kind == Comment => self.comment = Some(token),
                Some(token) => {
                    self.comment = None;
                    self.tokens[self.end] = token;
                    self.end += 1;
                }
            }
        }
    }

    /// Whether the first five tokens are equivalent to the first one.
    fn is_plain_list(&self) -> bool {
        let kinds: [TokenKind; LONGEST] = std::array::from_fn(|at| self.tokens[at].kind);
        matches!(
            kinds,
            [Number, Operator | Comma, Open, Number, Close]
                | [Bareword, Operator, Open, Bareword | Number, Close]
                | [Number, Close, Comma, Open, Number]
                | [Bareword, Close, Operator, Open, Bareword]
        )
    }
}
