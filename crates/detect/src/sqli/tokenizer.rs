//! Splits an input into SQL tokens in the broadest sense: anything that any of the usual databases
//! reads as a token is one.
//!
//! The rules are those of libinjection 3.9.2 (`libinjection_sqli.c`), quirks included. Every byte
//! is read a bounded number of times, so that the whole is linear.

use memchr::{memchr, memmem};

use super::class::{self, ByteClass, CLASSES, ENDS};
use super::token::Token;
use super::token_kind::TokenKind;
use super::words;

/// The assumed context of the input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context {
    /// The quote that is open before the input, if any.
    pub(crate) quote: Option<u8>,
    /// Comments as in MySQL, where `#` begins one and `--` must be followed by white space.
    pub(crate) mysql: bool,
}

/// The rest of an input, to be read as tokens.
pub(crate) struct Tokenizer<'a> {
    pub(super) input: &'a [u8],
    /// Start of the next token, or of white space before it.
    pub(super) at: usize,
    context: Context,
    /// Number of tokens read.
    pub(crate) count: usize,
    /// Whether there was a comment that only MySQL sees, or that only MySQL does not see.
    pub(crate) ambiguous: bool,
}

impl<'a> Tokenizer<'a> {
    pub(crate) fn new(input: &'a [u8], context: Context) -> Self {
        Tokenizer { input, at: 0, context, count: 0, ambiguous: false }
    }

    /// The next token, comments included.
    pub(crate) fn next(&mut self) -> Option<Token<'a>> {
        if self.at == 0
            && let Some(quote) = self.context.quote
            && !self.input.is_empty()
        {
            self.count += 1;
            return Some(self.string(0, 0, quote, 0));
        }
        while let Some(byte) = self.input.get(self.at) {
            let token = match CLASSES[*byte as usize] {
                ByteClass::White => {
                    self.at += 1;
                    continue;
                }
                ByteClass::Word => self.word(),
                ByteClass::PrefixedString => self.prefixed_string(*byte),
                ByteClass::Number => self.number(),
                ByteClass::Sign => self.sign(kind_of_sign(*byte)),
                ByteClass::Operator => self.sign(TokenKind::Operator),
                ByteClass::LongOperator => self.long_operator(*byte),
                ByteClass::Quote => self.string(self.at, 1, *byte, *byte),
                ByteClass::Tick => self.tick(),
                ByteClass::Bracket => self.bracket(),
                ByteClass::Hash => self.hash(),
                ByteClass::Dash => self.dash(),
                ByteClass::Slash => self.slash(),
                ByteClass::Backslash => self.backslash(),
                ByteClass::Dollar => self.dollar(),
                ByteClass::At => self.variable(),
                ByteClass::Unknown => self.sign(TokenKind::Unknown),
            };
            self.count += 1;
            return Some(token);
        }
        None
    }

    /// The byte at `ahead` bytes from the start of the token.
    pub(super) fn peek(&self, ahead: usize) -> Option<u8> {
        self.input.get(self.at + ahead).copied()
    }

    /// Consumes a token of `length` bytes.
    pub(super) fn take(&mut self, kind: TokenKind, length: usize) -> Token<'a> {
        let text = &self.input[self.at..self.at + length];
        self.at += length;
        Token::new(kind, text)
    }

    fn sign(&mut self, kind: TokenKind) -> Token<'a> {
        self.take(kind, 1)
    }

    /// The longest operator at this position.
    fn long_operator(&mut self, first: u8) -> Token<'a> {
        let rest = &self.input[self.at..];
        if rest.starts_with(b"<=>") {
            return self.take(TokenKind::Operator, 3);
        }
        let pair = rest.first_chunk::<2>().and_then(|pair| words::find(pair)?.kind);
        match pair {
            Some(kind) => self.take(kind, 2),
            // At the end of the input even a colon is an operator.
            None if first == b':' && rest.len() > 1 => self.sign(TokenKind::Colon),
            None => self.sign(TokenKind::Operator),
        }
    }

    fn comment_to_line_end(&mut self) -> Token<'a> {
        let rest = &self.input[self.at..];
        let length = memchr(b'\n', rest);
        let token = self.take(TokenKind::Comment, length.unwrap_or(rest.len()));
        self.at += usize::from(length.is_some());
        token
    }

    fn hash(&mut self) -> Token<'a> {
        self.ambiguous = true;
        if self.context.mysql { self.comment_to_line_end() } else { self.sign(TokenKind::Operator) }
    }

    fn dash(&mut self) -> Token<'a> {
        if self.peek(1) != Some(b'-') {
            return self.sign(TokenKind::Operator);
        }
        if self.peek(2).is_none_or(class::is_white) {
            return self.comment_to_line_end();
        }
        if self.context.mysql {
            return self.sign(TokenKind::Operator);
        }
        self.ambiguous = true;
        self.comment_to_line_end()
    }

    /// A C-style comment. PostgreSQL nests comments and MySQL may execute their contents, so signs
    /// of either condemn the input.
    fn slash(&mut self) -> Token<'a> {
        if self.peek(1) != Some(b'*') {
            return self.sign(TokenKind::Operator);
        }
        let inside = &self.input[self.at + 2..];
        let end = memmem::find(inside, b"*/");
        // libinjection searches for a nested comment up to and including the star of the end.
        let nested = end.is_some_and(|end| memmem::find(&inside[..=end], b"/*").is_some());
        let kind = if nested || inside.first() == Some(&b'!') { TokenKind::Evil } else { TokenKind::Comment };
        self.take(kind, end.map_or(inside.len(), |end| end + 2) + 2)
    }

    fn backslash(&mut self) -> Token<'a> {
        // MySQL's \N is NULL.
        if self.peek(1) == Some(b'N') { self.take(TokenKind::Number, 2) } else { self.sign(TokenKind::Backslash) }
    }

    /// SQL Server's name in brackets.
    fn bracket(&mut self) -> Token<'a> {
        let rest = &self.input[self.at..];
        let length = memchr(b']', rest).map_or(rest.len(), |end| end + 1);
        self.take(TokenKind::Bareword, length)
    }

    /// A word, or the keyword that ends at a dot or tick within it.
    pub(super) fn word(&mut self) -> Token<'a> {
        let rest = &self.input[self.at..];
        let mut ends = 0;
        let length = rest.iter().position(|byte| {
            ends |= ENDS[*byte as usize];
            ENDS[*byte as usize] & class::WORD != 0
        });
        let length = length.unwrap_or(rest.len());
        let word = &rest[..length];
        if ends & class::SPLIT != 0 {
            for at in 0..length.min(words::LONGEST) {
                if ENDS[word[at] as usize] & class::SPLIT != 0
                    && let Some(found) = words::find(&word[..at])
                    && let Some(kind) = found.kind
                    && kind != TokenKind::Bareword
                {
                    let token = self.take(kind, at);
                    return Token { begins_phrase: found.begins_phrase, ..token };
                }
            }
        }
        let token = self.take(TokenKind::Bareword, length);
        match words::find(word) {
            Some(found) => {
                Token { kind: found.kind.unwrap_or(TokenKind::Bareword), begins_phrase: found.begins_phrase, ..token }
            }
            None => token,
        }
    }

    /// MySQL's quoted name, which may be a function name.
    fn tick(&mut self) -> Token<'a> {
        let token = self.string(self.at, 1, b'`', b'`');
        let found = words::find(token.text);
        let function = found.is_some_and(|word| word.kind == Some(TokenKind::Function));
        Token {
            kind: if function { TokenKind::Function } else { TokenKind::Bareword },
            begins_phrase: found.is_some_and(|word| word.begins_phrase),
            ..token
        }
    }

    fn variable(&mut self) -> Token<'a> {
        self.at += if self.peek(1) == Some(b'@') { 2 } else { 1 };
        let token = match self.peek(0) {
            Some(b'`') => self.tick(),
            Some(quote @ (b'\'' | b'"')) => self.string(self.at, 1, quote, quote),
            _ => {
                let rest = &self.input[self.at..];
                let length = rest.iter().position(|byte| ENDS[*byte as usize] & class::VARIABLE != 0);
                self.take(TokenKind::Variable, length.unwrap_or(rest.len()))
            }
        };
        Token { kind: TokenKind::Variable, ..token }
    }
}

fn kind_of_sign(byte: u8) -> TokenKind {
    match byte {
        b'(' => TokenKind::Open,
        b')' => TokenKind::Close,
        b',' => TokenKind::Comma,
        b';' => TokenKind::Semicolon,
        b'{' => TokenKind::OpenBrace,
        _ => TokenKind::CloseBrace,
    }
}
