//! The lexer, in one pass. A mistake with an obvious meaning (`=`, `&`, single quotes) is reported
//! and then read as intended, so that the rest can be checked as well.
//!
//! Names, integers and addresses overlap (`dead:beef::1`, `10..20`, `example.com`), so the lexer takes the longest
//! run of characters that any of them may contain and leaves the classification to [`crate::syntax::Word`].

use crate::error::{Errors, Span};
use crate::operator::{MISSPELLINGS, OPERATORS};
use crate::quoted::{self, EscapeMode, Quoted};
use crate::{Operator, suggest};

#[derive(Debug)]
pub(crate) struct Token<'t> {
    pub span: Span,
    pub kind: TokenKind<'t>,
}

#[derive(Debug)]
pub(crate) enum TokenKind<'t> {
    /// A name, integer, address, network or range.
    Word(&'t str),
    Text(Quoted),
    Operator(Operator),
    /// `$name`, without the dollar sign.
    List(&'t str),
    /// One of `( ) { } [ ] , *`.
    Mark(u8),
    /// Not a token; the error has been reported.
    Bad,
    /// The end of the text.
    End,
}

/// All tokens of `text`; the last one is [`TokenKind::End`].
pub(crate) fn tokens<'t>(text: &'t str, errors: &mut Errors) -> Vec<Token<'t>> {
    let mut lexer = Lexer { text, at: 0, tokens: Vec::new(), errors };
    while lexer.token() {}
    lexer.tokens
}

/// Typographic quotation marks that word processors substitute for `"`.
const QUOTES: &[char] = &['“', '”', '„', '«', '»', '‘', '’', '‚', '`'];

/// Whether this character can be part of a word.
pub(crate) fn is_word(character: char) -> bool {
    match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '.' | ':' | '-' | '/' | '%' | '@' | '\\' | ';' | '?' => true,
        other => !other.is_ascii() && !other.is_whitespace() && !QUOTES.contains(&other),
    }
}

struct Lexer<'t, 'e> {
    text: &'t str,
    at: usize,
    tokens: Vec<Token<'t>>,
    errors: &'e mut Errors,
}

impl<'t> Lexer<'t, '_> {
    /// Reads one token; returns false after the last.
    fn token(&mut self) -> bool {
        self.skip_space();
        let start = self.at;
        let Some(first) = self.text[start..].chars().next() else {
            self.push(start, TokenKind::End);
            return false;
        };
        match first {
            '"' => self.quoted(b'"'),
            '\'' => self.single_quoted(),
            'r' if quoted::is_raw(self.text, start) => {
                let string = quoted::read_raw(self.text, start, self.errors);
                self.string(start, string);
            }
            _ if QUOTES.contains(&first) => self.typographic(first),
            '(' | ')' | '{' | '}' | '[' | ']' | ',' | '*' => {
                self.at += 1;
                self.push(start, TokenKind::Mark(first as u8));
            }
            '$' => self.list(),
            _ if is_word(first) => self.word(),
            _ => self.symbol(first),
        }
        true
    }

    fn push(&mut self, start: usize, kind: TokenKind<'t>) {
        self.tokens.push(Token { span: Span::new(start, self.at), kind });
    }

    /// Skips white space and comments: `#` to the end of the line.
    fn skip_space(&mut self) {
        loop {
            let rest = &self.text[self.at..];
            self.at += rest.len() - rest.trim_start().len();
            if !self.text[self.at..].starts_with('#') {
                return;
            }
            self.at += self.text[self.at..].find('\n').unwrap_or(self.text.len() - self.at);
        }
    }

    /// How backslashes are read in a string at this position.
    fn escapes(&self) -> EscapeMode {
        match self.tokens.last().map(|token| &token.kind) {
            Some(TokenKind::Operator(Operator::Matches)) => EscapeMode::Pattern,
            Some(TokenKind::Operator(Operator::Wildcard | Operator::StrictWildcard)) => EscapeMode::Wildcard,
            _ => EscapeMode::Text,
        }
    }

    /// Adds a string token. If the string is not closed, the rest of the text is skipped.
    fn string(&mut self, start: usize, string: Option<(Quoted, usize)>) {
        let (kind, end) = match string {
            Some((text, end)) => (TokenKind::Text(text), end),
            None => (TokenKind::Bad, self.text.len()),
        };
        self.at = end;
        self.push(start, kind);
    }

    fn quoted(&mut self, quote: u8) {
        let escapes = self.escapes();
        let string = quoted::read(self.text, self.at, quote, escapes, self.errors);
        self.string(self.at, string);
    }

    fn single_quoted(&mut self) {
        let start = self.at;
        self.quoted(b'\'');
        if matches!(self.tokens.last().map(|token| &token.kind), Some(TokenKind::Bad)) {
            return;
        }
        let inside = self.text[start + 1..self.at].trim_end_matches('\'').replace('"', "\\\"");
        let hint = format!("write it in double quotes: \"{}\"", suggest::shorten(&inside));
        let message = "expected a string in double quotes, found a single quote";
        self.errors.add(Span::new(start, self.at), message, Some(hint));
    }

    /// A string in typographic quotation marks.
    fn typographic(&mut self, first: char) {
        let start = self.at;
        let inside = start + first.len_utf8();
        let stop = |character: char| character == '\n' || QUOTES.contains(&character);
        let end =
            self.text[inside..].find(stop).map(|end| inside + end).filter(|&end| !self.text[end..].starts_with('\n'));
        self.at = end.unwrap_or(inside);
        let kind = match end {
            Some(end) => {
                self.at = end + self.text[end..].chars().next().map_or(0, char::len_utf8);
                TokenKind::Text(Quoted {
                    bytes: self.text.as_bytes()[inside..end].to_vec(),
                    start: inside,
                    dropped: Vec::new(),
                })
            }
            None => TokenKind::Bad,
        };
        let hint = "write straight double quotes: \"...\"".to_owned();
        let message = format!("expected a string in double quotes, found `{first}`");
        self.errors.add(Span::new(start, self.at), message, Some(hint));
        self.push(start, kind);
    }

    fn list(&mut self) {
        let start = self.at;
        self.at += 1;
        self.at += self.run();
        if self.at == start + 1 {
            let hint = "a named list is written $name".to_owned();
            self.errors.add(Span::new(start, self.at), "expected the name of a list after `$`", Some(hint));
            self.push(start, TokenKind::Bad);
        } else {
            self.push(start, TokenKind::List(&self.text[start + 1..self.at]));
        }
    }

    /// Length of the run of word characters at this position.
    fn run(&self) -> usize {
        let rest = &self.text[self.at..];
        rest.find(|character| !is_word(character)).unwrap_or(rest.len())
    }

    fn word(&mut self) {
        let start = self.at;
        self.at += self.run();
        let word = &self.text[start..self.at];
        if let Some(operator) = self.two_words(word).or_else(|| Operator::from_text(word)) {
            return self.push(start, TokenKind::Operator(operator));
        }
        self.push(start, TokenKind::Word(word));
    }

    /// The two-word operator that begins with `first`, if the second word follows.
    fn two_words(&mut self, first: &str) -> Option<Operator> {
        let row =
            OPERATORS.iter().find(|row| row.name.strip_prefix(first).is_some_and(|rest| rest.starts_with(' ')))?;
        let second = &row.name[first.len() + 1..];
        let rest = self.text[self.at..].trim_start();
        let follows = rest.strip_prefix(second)?;
        if follows.starts_with(is_word) {
            return None;
        }
        self.at = self.text.len() - follows.len();
        Some(row.operator)
    }

    fn symbol(&mut self, first: char) {
        let start = self.at;
        let rest = &self.text[start..];
        // Longest first: `===` before `==` before `=`.
        for length in (1..=3).rev() {
            let Some(symbol) = rest.get(..length) else { continue };
            if let Some(operator) = Operator::from_text(symbol) {
                self.at += length;
                return self.push(start, TokenKind::Operator(operator));
            }
            if let Some((_, operator)) = MISSPELLINGS.iter().find(|(wrong, _)| *wrong == symbol) {
                self.at += length;
                let row = operator.info();
                let alias = row.aliases.first().map(|alias| format!(" or `{alias}`")).unwrap_or_default();
                let hint = format!("write `{}`{alias}", row.name);
                self.errors.add(Span::new(start, self.at), format!("`{symbol}` is not an operator"), Some(hint));
                return self.push(start, TokenKind::Operator(*operator));
            }
        }
        self.at += first.len_utf8();
        let message = format!("unexpected character `{}`", first.escape_debug());
        self.errors.add(Span::new(start, self.at), message, None);
        self.push(start, TokenKind::Bad);
    }
}
