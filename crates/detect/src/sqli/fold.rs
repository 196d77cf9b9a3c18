//! Shortens the tokens of an input to the at most five that make its fingerprint: what SQL says in
//! several ways comes out one way (`1, 2, 3` as `1`), and what means nothing is dropped.
//!
//! Here is the loop, in `rules.rs` what it does to tokens side by side. Both follow libinjection's
//! (`libinjection_sqli_fold`), for the order of things shows in the verdicts. Each step reads a token, drops one, or moves on by one of at most six places, so that
//! the whole is linear.

use super::fingerprints::LONGEST;
use super::kind::Kind::{self, Bareword, Close, Comma, Comment, Number, Open, Operator, Type};
use super::token::Token;
use super::tokenizer::{Context, Tokenizer};

/// The tokens of an input, shortened.
pub(crate) struct Folded<'a> {
    tokens: [Token<'a>; LONGEST + 3],
    length: usize,
    /// How many tokens were read, comments included.
    pub(crate) read: usize,
    /// Would MySQL have read other tokens?
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
            // PHP takes a lone tick at the end for a comment.
            if last.kind == Bareword && last.opened == b'`' && last.closed == 0 && last.text.is_empty() {
                last.kind = Comment;
            }
        }
        Folded { tokens, length, read: folder.source.count, ambiguous: folder.source.ambiguous }
    }

    /// What is left.
    pub(crate) fn tokens(&self) -> &[Token<'a>] {
        &self.tokens[..self.length]
    }
}

/// What became of the tokens at `left`.
pub(super) enum Step {
    /// They were changed: look again.
    Again,
    /// No rule is for them.
    Keep,
    /// The input is an attack, whatever follows.
    Evil,
}

pub(super) struct Folder<'a> {
    pub(super) tokens: [Token<'a>; LONGEST + 3],
    /// How many tokens are held.
    pub(super) end: usize,
    /// How many of them are done with, until a change before them.
    pub(super) left: usize,
    more: bool,
    /// The comment after the last token held, if there was one.
    comment: Option<Token<'a>>,
    source: Tokenizer<'a>,
}

impl<'a> Folder<'a> {
    /// How many of the tokens make the fingerprint.
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
                Step::Again => continue,
                Step::Keep => {}
                Step::Evil => return self.left + 2,
            }
            self.read(3);
            if self.end - self.left < 3 {
                self.left = self.end;
                continue;
            }
            if let Step::Keep = self.triple() {
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

    /// Reads until there are `wanted` tokens not done with, or no room.
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

    /// Do the first five tokens say no more than the first?
    fn is_plain_list(&self) -> bool {
        let kinds: [Kind; LONGEST] = std::array::from_fn(|at| self.tokens[at].kind);
        matches!(
            kinds,
            [Number, Operator | Comma, Open, Number, Close]
                | [Bareword, Operator, Open, Bareword | Number, Close]
                | [Number, Close, Comma, Open, Number]
                | [Bareword, Close, Operator, Open, Bareword]
        )
    }
}
