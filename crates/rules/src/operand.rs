//! The parts of the grammar that are values: constants, fields with their indexes, function
//! calls, and the sets on the right of `in`.

use crate::error::Span;
use crate::lexer::TokenKind;
use crate::limits::{MAX_ARGUMENTS, MAX_SET_ITEMS};
use crate::parser::{Parser, Stop, describe};
use crate::syntax::{Index, Item, Operand, OperandKind, Right, Word};

impl<'t> Parser<'t, '_> {
    /// A value with its indexes.
    pub(crate) fn operand(&mut self, expected: &str) -> Result<Operand<'t>, Stop> {
        let start = self.span();
        let kind = match self.kind() {
            TokenKind::Word(name) => {
                let name = *name;
                self.at += 1;
                if self.is(b'(') && matches!(Word::classify(name), Word::Name(_)) {
                    OperandKind::Call(start, name, self.arguments()?)
                } else {
                    OperandKind::Word(Word::classify(name))
                }
            }
            TokenKind::Text(_) => match self.bump() {
                TokenKind::Text(text) => OperandKind::Text(text),
                _ => return Err(Stop),
            },
            _ => return Err(self.unexpected(expected)),
        };
        let mut indexes = Vec::new();
        while self.is(b'[') {
            indexes.push(self.index()?);
        }
        Ok(Operand { span: start.to(self.previous()), kind, indexes })
    }

    /// The arguments of a call, from its opening parenthesis to the closing one.
    fn arguments(&mut self) -> Result<Vec<Operand<'t>>, Stop> {
        let open = self.span();
        self.at += 1;
        let mut arguments = Vec::new();
        if self.take(b')') {
            return Ok(arguments);
        }
        loop {
            if arguments.len() == MAX_ARGUMENTS {
                self.errors.add(self.span(), format!("more than {MAX_ARGUMENTS} arguments"), None);
                return Err(self.leave_call());
            }
            match self.nested(open, |parser| parser.operand("an argument")) {
                Ok(Ok(argument)) => arguments.push(argument),
                Ok(Err(Stop)) | Err(Stop) => return Err(self.leave_call()),
            }
            if self.take(b')') {
                return Ok(arguments);
            }
            if self.take(b',') {
                continue;
            }
            match self.kind() {
                TokenKind::End => self.errors.add(open, "this parenthesis is never closed", Some("add a `)`".into())),
                TokenKind::Operator(operator) if operator.compares() => {
                    let hint = "compare the result: close the parenthesis before the operator".to_owned();
                    let message = format!("expected `,` or `)`, found `{}`", operator.info().name);
                    self.errors.add(self.span(), message, Some(hint));
                }
                _ => {
                    self.unexpected("`,` or `)`");
                }
            }
            return Err(self.leave_call());
        }
    }

    /// Goes to the end of the call in which an error was found.
    fn leave_call(&mut self) -> Stop {
        let mut open = 0usize;
        loop {
            match self.kind() {
                TokenKind::End => return Stop,
                TokenKind::Mark(b')') if open == 0 => {
                    self.at += 1;
                    return Stop;
                }
                TokenKind::Mark(b'(') => open += 1,
                TokenKind::Mark(b')') => open -= 1,
                _ => {}
            }
            self.at += 1;
        }
    }

    fn index(&mut self) -> Result<(Span, Index), Stop> {
        let open = self.span();
        self.at += 1;
        let span = self.span();
        let mut hint = "write [*] for all values, [0] for the first, or [\"name\"]".to_owned();
        let index = match self.bump() {
            TokenKind::Mark(b'*') => Some(Index::Each),
            TokenKind::Text(text) => Some(Index::Key(text.bytes)),
            TokenKind::Word(word) => {
                if matches!(Word::classify(word), Word::Name(_)) {
                    hint = format!("put the name in double quotes: [\"{}\"]", self.shown(span));
                }
                word.parse().ok().filter(|_| word.starts_with(|first: char| first.is_ascii_digit())).map(Index::Number)
            }
            _ => None,
        };
        let Some(index) = index else {
            self.errors.add(span, "expected an index", Some(hint));
            return Err(Stop);
        };
        if !self.take(b']') {
            return Err(self.unexpected("`]`"));
        }
        Ok((open.to(self.previous()), index))
    }

    /// What follows `in`.
    pub(crate) fn set(&mut self) -> Result<Right<'t>, Stop> {
        let start = self.span();
        match self.kind() {
            TokenKind::List(name) => {
                let name = *name;
                self.at += 1;
                return Ok(Right::List(start, name));
            }
            TokenKind::Mark(b'{') => self.at += 1,
            TokenKind::Mark(b'[' | b'(') => {
                let found = describe(self.kind());
                let message = format!("expected `{{` or a named list, found {found}");
                self.errors.add(start, message, Some("sets are written in braces: {\"a\" \"b\"}".into()));
                return Err(Stop);
            }
            TokenKind::Word(word) if matches!(Word::classify(word), Word::Name(_)) => {
                let message = format!("expected `{{` or a named list, found `{word}`");
                let hint = format!("a named list is written ${word}, a set {{...}}");
                self.errors.add(start, message, Some(hint));
                self.at += 1;
                return Ok(Right::Bad);
            }
            TokenKind::Word(_) | TokenKind::Text(_) => {
                let found = describe(self.kind());
                let hint = format!("write it in braces: {{{}}}", found.trim_matches('`'));
                self.errors.add(start, format!("expected `{{` or a named list, found {found}"), Some(hint));
                self.at += 1;
                return Ok(Right::Bad);
            }
            _ => return Err(self.unexpected("`{` or a named list")),
        }
        self.items(start)
    }

    /// The items of a set, after its `{`.
    fn items(&mut self, open: Span) -> Result<Right<'t>, Stop> {
        let mut items = Vec::new();
        let mut commas = false;
        loop {
            let span = self.span();
            match self.bump() {
                TokenKind::Word(word) => items.push((span, Item::Word(Word::classify(word)))),
                TokenKind::Text(text) => items.push((span, Item::Text(text))),
                TokenKind::Mark(b'}') => return Ok(Right::Set(open.to(span), items)),
                TokenKind::Mark(b',') if commas => {}
                TokenKind::Mark(b',') => {
                    commas = true;
                    let hint = "separate the items by spaces: {80 443}".to_owned();
                    self.errors.add(span, "items of a set are not separated by commas", Some(hint));
                }
                TokenKind::Bad => {}
                TokenKind::End => {
                    self.errors.add(open, "this brace is never closed", Some("add a `}`".into()));
                    return Err(Stop);
                }
                kind => {
                    let found = describe(&kind);
                    let hint = "items are constants, separated by spaces: {80 443}".to_owned();
                    self.errors.add(span, format!("expected an item or `}}`, found {found}"), Some(hint));
                    return Err(Stop);
                }
            }
            if items.len() > MAX_SET_ITEMS {
                let hint = "put it into a file and use it as a named list".to_owned();
                self.errors.add(span, format!("more than {MAX_SET_ITEMS} items in a set"), Some(hint));
                return Err(Stop);
            }
        }
    }
}

/// How deep the calls of a value nest.
pub(crate) fn height(operand: &Operand<'_>) -> usize {
    match &operand.kind {
        OperandKind::Call(_, _, arguments) => 1 + arguments.iter().map(height).max().unwrap_or(0),
        OperandKind::Text(_) | OperandKind::Word(_) => 0,
    }
}
