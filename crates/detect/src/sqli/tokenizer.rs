//! Cuts an input into the tokens of SQL, in the broadest sense: what any of the usual databases
//! would read as a token is one.
//!
//! The rules are those of libinjection 3.9.2 (`libinjection_sqli.c`), down to their quirks. Every
//! byte is looked at a bounded number of times, so that the whole is linear.

use memchr::{memchr, memmem};

use super::class::{self, CLASSES, Class, ENDS};
use super::kind::Kind;
use super::token::Token;
use super::words;

/// What the text around the input is taken for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context {
    /// The quote that was opened before the input, if one was.
    pub(crate) quote: Option<u8>,
    /// Comments as in MySQL, where `#` begins one and `--` needs white space behind it.
    pub(crate) mysql: bool,
}

/// The rest of an input, to be read as tokens.
pub(crate) struct Tokenizer<'a> {
    pub(super) input: &'a [u8],
    /// Where the next token begins, or white space before it.
    pub(super) at: usize,
    context: Context,
    /// How many tokens were read.
    pub(crate) count: usize,
    /// Was there a comment that MySQL sees where others do not, or the other way around?
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
                Class::White => {
                    self.at += 1;
                    continue;
                }
                Class::Word => self.word(),
                Class::PrefixedString => self.prefixed_string(*byte),
                Class::Number => self.number(),
                Class::Sign => self.sign(kind_of_sign(*byte)),
                Class::Operator => self.sign(Kind::Operator),
                Class::LongOperator => self.long_operator(*byte),
                Class::Quote => self.string(self.at, 1, *byte, *byte),
                Class::Tick => self.tick(),
                Class::Bracket => self.bracket(),
                Class::Hash => self.hash(),
                Class::Dash => self.dash(),
                Class::Slash => self.slash(),
                Class::Backslash => self.backslash(),
                Class::Dollar => self.dollar(),
                Class::At => self.variable(),
                Class::Unknown => self.sign(Kind::Unknown),
            };
            self.count += 1;
            return Some(token);
        }
        None
    }

    /// The byte `ahead` of where the token begins.
    pub(super) fn peek(&self, ahead: usize) -> Option<u8> {
        self.input.get(self.at + ahead).copied()
    }

    /// The token of `length` bytes that begins here; it is read.
    pub(super) fn take(&mut self, kind: Kind, length: usize) -> Token<'a> {
        let text = &self.input[self.at..self.at + length];
        self.at += length;
        Token::new(kind, text)
    }

    fn sign(&mut self, kind: Kind) -> Token<'a> {
        self.take(kind, 1)
    }

    /// The longest operator that begins here.
    fn long_operator(&mut self, first: u8) -> Token<'a> {
        let rest = &self.input[self.at..];
        if rest.starts_with(b"<=>") {
            return self.take(Kind::Operator, 3);
        }
        let pair = rest.first_chunk::<2>().and_then(|pair| words::find(pair)?.kind);
        match pair {
            Some(kind) => self.take(kind, 2),
            // At the end of the input even a colon is an operator.
            None if first == b':' && rest.len() > 1 => self.sign(Kind::Colon),
            None => self.sign(Kind::Operator),
        }
    }

    fn comment_to_line_end(&mut self) -> Token<'a> {
        let rest = &self.input[self.at..];
        let length = memchr(b'\n', rest);
        let token = self.take(Kind::Comment, length.unwrap_or(rest.len()));
        self.at += usize::from(length.is_some());
        token
    }

    fn hash(&mut self) -> Token<'a> {
        self.ambiguous = true;
        if self.context.mysql { self.comment_to_line_end() } else { self.sign(Kind::Operator) }
    }

    fn dash(&mut self) -> Token<'a> {
        if self.peek(1) != Some(b'-') {
            return self.sign(Kind::Operator);
        }
        if self.peek(2).is_none_or(class::is_white) {
            return self.comment_to_line_end();
        }
        if self.context.mysql {
            return self.sign(Kind::Operator);
        }
        self.ambiguous = true;
        self.comment_to_line_end()
    }

    /// A comment in C's manner. PostgreSQL nests them and MySQL may execute what is in them, so
    /// signs of either condemn the input.
    fn slash(&mut self) -> Token<'a> {
        if self.peek(1) != Some(b'*') {
            return self.sign(Kind::Operator);
        }
        let inside = &self.input[self.at + 2..];
        let end = memmem::find(inside, b"*/");
        // libinjection looks for a nested beginning up to and with the star of the end.
        let nested = end.is_some_and(|end| memmem::find(&inside[..=end], b"/*").is_some());
        let kind = if nested || inside.first() == Some(&b'!') { Kind::Evil } else { Kind::Comment };
        self.take(kind, end.map_or(inside.len(), |end| end + 2) + 2)
    }

    fn backslash(&mut self) -> Token<'a> {
        // MySQL's \N is NULL.
        if self.peek(1) == Some(b'N') { self.take(Kind::Number, 2) } else { self.sign(Kind::Backslash) }
    }

    /// SQL Server's name in brackets.
    fn bracket(&mut self) -> Token<'a> {
        let rest = &self.input[self.at..];
        let length = memchr(b']', rest).map_or(rest.len(), |end| end + 1);
        self.take(Kind::Bareword, length)
    }

    /// A word, or the key word that ends at a dot or tick in it.
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
                    && kind != Kind::Bareword
                {
                    let token = self.take(kind, at);
                    return Token { begins_phrase: found.begins_phrase, ..token };
                }
            }
        }
        let token = self.take(Kind::Bareword, length);
        match words::find(word) {
            Some(found) => {
                Token { kind: found.kind.unwrap_or(Kind::Bareword), begins_phrase: found.begins_phrase, ..token }
            }
            None => token,
        }
    }

    /// MySQL's quoted name; it may be that of a function.
    fn tick(&mut self) -> Token<'a> {
        let token = self.string(self.at, 1, b'`', b'`');
        let found = words::find(token.text);
        let function = found.is_some_and(|word| word.kind == Some(Kind::Function));
        Token {
            kind: if function { Kind::Function } else { Kind::Bareword },
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
                self.take(Kind::Variable, length.unwrap_or(rest.len()))
            }
        };
        Token { kind: Kind::Variable, ..token }
    }
}

fn kind_of_sign(byte: u8) -> Kind {
    match byte {
        b'(' => Kind::Open,
        b')' => Kind::Close,
        b',' => Kind::Comma,
        b';' => Kind::Semicolon,
        b'{' => Kind::OpenBrace,
        _ => Kind::CloseBrace,
    }
}
