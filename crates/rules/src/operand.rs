//! The grammar of values: constants, fields with indexes, function calls, and the sets to the right of `in`.

use crate::error::Span;
use crate::lexer::TokenKind;
use crate::limits::{MAX_ARGUMENTS, MAX_SET_ITEMS};
use crate::parser::{ErrorReported, Parser, describe};
use crate::syntax::{Index, Operand, OperandKind, RightSide, SetItem, Word};

impl<'t> Parser<'t, '_> {
    /// A value with its indexes.
    pub(crate) fn operand(&mut self, expected: &str) -> Result<Operand<'t>, ErrorReported> {
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
                _ => return Err(ErrorReported),
            },
            _ => return Err(self.unexpected(expected)),
        };
        let mut indexes = Vec::new();
        while self.is(b'[') {
            indexes.push(self.index()?);
        }
        Ok(Operand { span: start.to(self.previous()), kind, indexes })
    }

    /// Call arguments, from the opening to the closing parenthesis.
    fn arguments(&mut self) -> Result<Vec<Operand<'t>>, ErrorReported> {
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
                Ok(Err(ErrorReported)) | Err(ErrorReported) => return Err(self.leave_call()),
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

    /// Skips to the end of a call that contains an error.
    fn leave_call(&mut self) -> ErrorReported {
        let mut open = 0usize;
        loop {
            match self.kind() {
                TokenKind::End => return ErrorReported,
                TokenKind::Mark(b')') if open == 0 => {
                    self.at += 1;
                    return ErrorReported;
                }
                TokenKind::Mark(b'(') => open += 1,
                TokenKind::Mark(b')') => open -= 1,
                _ => {}
            }
            self.at += 1;
        }
    }

    fn index(&mut self) -> Result<(Span, Index), ErrorReported> {
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
            return Err(ErrorReported);
        };
        if !self.take(b']') {
            return Err(self.unexpected("`]`"));
        }
        Ok((open.to(self.previous()), index))
    }

    /// The right side of `in`.
    pub(crate) fn set(&mut self) -> Result<RightSide<'t>, ErrorReported> {
        let start = self.span();
        match self.kind() {
            TokenKind::List(name) => {
                let name = *name;
                self.at += 1;
                return Ok(RightSide::List(start, name));
            }
            TokenKind::Mark(b'{') => self.at += 1,
            TokenKind::Mark(b'[' | b'(') => {
                let found = describe(self.kind());
                let message = format!("expected `{{` or a named list, found {found}");
                self.errors.add(start, message, Some("sets are written in braces: {\"a\" \"b\"}".into()));
                return Err(ErrorReported);
            }
            TokenKind::Word(word) if matches!(Word::classify(word), Word::Name(_)) => {
                let message = format!("expected `{{` or a named list, found `{word}`");
                let hint = format!("a named list is written ${word}, a set {{...}}");
                self.errors.add(start, message, Some(hint));
                self.at += 1;
                return Ok(RightSide::Bad);
            }
            TokenKind::Word(_) | TokenKind::Text(_) => {
                let found = describe(self.kind());
                let hint = format!("write it in braces: {{{}}}", found.trim_matches('`'));
                self.errors.add(start, format!("expected `{{` or a named list, found {found}"), Some(hint));
                self.at += 1;
                return Ok(RightSide::Bad);
            }
            _ => return Err(self.unexpected("`{` or a named list")),
        }
        self.items(start)
    }

    /// The items of a set, after the opening brace.
    fn items(&mut self, open: Span) -> Result<RightSide<'t>, ErrorReported> {
        let mut items = Vec::new();
        let mut commas = false;
        loop {
            let span = self.span();
            match self.bump() {
                TokenKind::Word(word) => items.push((span, SetItem::Word(Word::classify(word)))),
                TokenKind::Text(text) => items.push((span, SetItem::Text(text))),
                TokenKind::Mark(b'}') => return Ok(RightSide::Set(open.to(span), items)),
                TokenKind::Mark(b',') if commas => {}
                TokenKind::Mark(b',') => {
                    commas = true;
                    let hint = "separate the items with spaces: {80 443}".to_owned();
                    self.errors.add(span, "items of a set are not separated by commas", Some(hint));
                }
                TokenKind::Bad => {}
                TokenKind::End => {
                    self.errors.add(open, "this brace is never closed", Some("add a `}`".into()));
                    return Err(ErrorReported);
                }
                kind => {
                    let found = describe(&kind);
                    let hint = "items are constants, separated by spaces: {80 443}".to_owned();
                    self.errors.add(span, format!("expected an item or `}}`, found {found}"), Some(hint));
                    return Err(ErrorReported);
                }
            }
            if items.len() > MAX_SET_ITEMS {
                let hint = "move the items to a file and use a named list".to_owned();
                self.errors.add(span, format!("more than {MAX_SET_ITEMS} items in a set"), Some(hint));
                return Err(ErrorReported);
            }
        }
    }
}

/// Nesting depth of the calls in a value.
pub(crate) fn height(operand: &Operand<'_>) -> usize {
    match &operand.kind {
        OperandKind::Call(_, _, arguments) => 1 + arguments.iter().map(height).max().unwrap_or(0),
        OperandKind::Text(_) | OperandKind::Word(_) => 0,
    }
}
