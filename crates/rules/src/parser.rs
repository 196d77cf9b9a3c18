//! Tokens to a tree, by recursive descent; `not` binds tighter than `and`, that than `xor`,
//! that than `or`. After a syntax error it goes on at the next `and`, `or` or `xor`, so that
//! one missing quote does not hide the other mistakes.

use crate::error::{Errors, Span};
use crate::ir::Quantifier;
use crate::lexer::{Token, TokenKind};
use crate::limits::{MAX_DEPTH, MAX_SET_ITEMS};
use crate::operator::{MISSPELLINGS, Operands};
use crate::suggest;
use crate::syntax::{Index, Item, Node, Operand, OperandKind, Right, Word};
use crate::Operator;

pub(crate) struct Parser<'t, 'e> {
    tokens: Vec<Token<'t>>,
    at: usize,
    /// Parentheses, `not`s and calls around the current token.
    depth: usize,
    /// Whether the current token is inside `any(...)` or `all(...)`, which do not nest.
    quantified: bool,
    errors: &'e mut Errors,
}

/// Stops the current condition; the error is already known.
pub(crate) struct Stop;

/// A tree with its height, which later walks recurse.
type Tall<'t> = (Node<'t>, usize);

impl<'t, 'e> Parser<'t, 'e> {
    pub fn new(tokens: Vec<Token<'t>>, errors: &'e mut Errors) -> Self {
        Self { tokens, at: 0, depth: 0, quantified: false, errors }
    }

    /// The whole text as a condition.
    pub fn condition(mut self) -> Node<'t> {
        let (node, _) = self.or();
        self.end("`and`, `or` or the end of the expression");
        node
    }

    /// The whole text as a value.
    pub fn value(mut self) -> Option<Operand<'t>> {
        let value = self.operand("a field, a function or a constant").ok()?;
        self.end("the end of the value");
        Some(value)
    }

    fn end(&mut self, expected: &str) {
        while !matches!(self.kind(), TokenKind::End) {
            if self.is(b')') {
                self.errors.add(self.span(), "this parenthesis closes nothing", Some("remove it, or add a `(`".into()));
                self.at += 1;
                continue;
            }
            self.unexpected(expected);
            return;
        }
    }

    fn kind(&self) -> &TokenKind<'t> {
        &self.tokens[self.at].kind
    }

    fn span(&self) -> Span {
        self.tokens[self.at].span
    }

    fn previous(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    fn is(&self, mark: u8) -> bool {
        matches!(self.kind(), TokenKind::Mark(found) if *found == mark)
    }

    fn take(&mut self, mark: u8) -> bool {
        let found = self.is(mark);
        self.at += usize::from(found);
        found
    }

    /// Takes the operator if it comes now.
    fn take_operator(&mut self, operator: Operator) -> bool {
        let found = matches!(self.kind(), TokenKind::Operator(found) if *found == operator);
        self.at += usize::from(found);
        found
    }

    /// Moves to the next token and gives the current one's kind.
    fn bump(&mut self) -> TokenKind<'t> {
        let kind = std::mem::replace(&mut self.tokens[self.at].kind, TokenKind::Bad);
        if matches!(kind, TokenKind::End) {
            self.tokens[self.at].kind = TokenKind::End;
        } else {
            self.at += 1;
        }
        kind
    }

    /// Reports that something else was expected here.
    fn unexpected(&mut self, expected: &str) -> Stop {
        let found = describe(self.kind());
        if !matches!(self.kind(), TokenKind::Bad) {
            self.errors.add(self.span(), format!("expected {expected}, found {found}"), None);
        }
        Stop
    }

    /// Goes on after an error: to the next joining operator, or to what closes this level.
    fn recover(&mut self) {
        let mut open = 0usize;
        loop {
            match self.kind() {
                TokenKind::End => return,
                TokenKind::Operator(operator) if open == 0 && operator.info().operands == Operands::Conditions => return,
                TokenKind::Mark(b'(') => open += 1,
                TokenKind::Mark(b')') if open == 0 => return,
                TokenKind::Mark(b')') => open -= 1,
                _ => {}
            }
            self.at += 1;
        }
    }

    fn too_deep(&mut self, span: Span) -> Stop {
        let hint = "join conditions on one level, or split the rule".to_owned();
        self.errors.add(span, format!("nested more than {MAX_DEPTH} deep"), Some(hint));
        // Nothing inside can be parsed any more, and what follows is noise.
        self.at = self.tokens.len() - 1;
        Stop
    }

    fn or(&mut self) -> Tall<'t> {
        self.chain(Operator::Or, Self::xor, Node::Or)
    }

    fn xor(&mut self) -> Tall<'t> {
        let (mut left, mut height) = self.and();
        while self.take_operator(Operator::Xor) {
            let span = self.previous();
            let (right, other) = self.and();
            height = height.max(other) + 1;
            if self.depth + height > MAX_DEPTH {
                self.too_deep(span);
                return (Node::Bad, 0);
            }
            left = Node::Xor(Box::new(left), Box::new(right));
        }
        (left, height)
    }

    fn and(&mut self) -> Tall<'t> {
        self.chain(Operator::And, Self::not, Node::And)
    }

    fn chain(&mut self, operator: Operator, next: fn(&mut Self) -> Tall<'t>, join: fn(Vec<Node<'t>>) -> Node<'t>) -> Tall<'t> {
        let (first, mut height) = next(self);
        if !matches!(self.kind(), TokenKind::Operator(found) if *found == operator) {
            return (first, height);
        }
        let mut all = vec![first];
        while self.take_operator(operator) {
            let (one, other) = next(self);
            height = height.max(other);
            all.push(one);
        }
        (join(all), height + 1)
    }

    fn not(&mut self) -> Tall<'t> {
        let span = self.span();
        if !self.take_operator(Operator::Not) {
            return self.primary();
        }
        match self.nested(span, Self::not) {
            Ok((node, height)) => (Node::Not(Box::new(node)), height + 1),
            Err(Stop) => (Node::Bad, 0),
        }
    }

    /// Runs `inside` one level deeper.
    fn nested<T>(&mut self, span: Span, inside: impl FnOnce(&mut Self) -> T) -> Result<T, Stop> {
        if self.depth >= MAX_DEPTH {
            return Err(self.too_deep(span));
        }
        self.depth += 1;
        let result = inside(self);
        self.depth -= 1;
        Ok(result)
    }

    fn primary(&mut self) -> Tall<'t> {
        let result = match self.quantifier() {
            Some(quantifier) => self.quantified(quantifier),
            None if self.is(b'(') => {
                let open = self.span();
                self.at += 1;
                self.nested(open, |parser| parser.parenthesised(open)).unwrap_or_else(Err)
            }
            None => self.comparison(),
        };
        result.unwrap_or_else(|Stop| {
            self.recover();
            (Node::Bad, 0)
        })
    }

    /// Whether `any(` or `all(` comes now.
    fn quantifier(&self) -> Option<Quantifier> {
        let quantifier = match self.kind() {
            TokenKind::Word("any") => Quantifier::Any,
            TokenKind::Word("all") => Quantifier::All,
            _ => return None,
        };
        matches!(self.tokens[self.at + 1].kind, TokenKind::Mark(b'(')).then_some(quantifier)
    }

    fn quantified(&mut self, quantifier: Quantifier) -> Result<Tall<'t>, Stop> {
        let name = self.span();
        self.at += 2;
        if std::mem::replace(&mut self.quantified, true) {
            let hint = "leave out the inner one".to_owned();
            self.errors.add(name, "any() and all() do not nest", Some(hint));
            self.at -= 1;
            return Err(Stop);
        }
        let result = self.parenthesised(self.previous());
        self.quantified = false;
        result.map(|(node, height)| (Node::Quantified(quantifier, name, Box::new(node)), height))
    }

    /// What stands in parentheses, after the opening one.
    fn parenthesised(&mut self, open: Span) -> Result<Tall<'t>, Stop> {
        let node = self.or();
        if self.take(b')') {
            return match self.kind() {
                TokenKind::Operator(operator) if operator.compares() => {
                    let hint = "leave out the parentheses around the left side".to_owned();
                    let message = format!("`{}` compares a value, found a condition in parentheses", operator.info().name);
                    self.errors.add(self.span(), message, Some(hint));
                    Err(Stop)
                }
                _ => Ok(node),
            };
        }
        match self.kind() {
            TokenKind::End => self.errors.add(open, "this parenthesis is never closed", Some("add a `)`".into())),
            _ => {
                self.unexpected("`and`, `or` or `)`");
            }
        }
        self.recover();
        self.take(b')');
        Ok((Node::Bad, 0))
    }

    fn comparison(&mut self) -> Result<Tall<'t>, Stop> {
        let left = self.operand("a field or a function")?;
        let height = height(&left);
        let (operator, span) = match self.kind() {
            TokenKind::Operator(operator) if operator.compares() => (*operator, self.span()),
            TokenKind::Operator(Operator::Not) => return Err(self.inverted()),
            TokenKind::Word(word) => match self.misspelt(word) {
                Some(operator) => (operator, self.span()),
                None => return Err(self.unexpected("an operator")),
            },
            TokenKind::Text(_) | TokenKind::List(_) | TokenKind::Mark(b'{') => {
                let expected = "an operator, such as `eq` or `in`";
                return Err(self.unexpected(expected));
            }
            TokenKind::Mark(b'(') => {
                let name = self.previous();
                return Err(self.not_callable(name));
            }
            _ => return Ok((Node::Value(left), height)),
        };
        self.at += 1;
        // One more than the value: `ssl eq false` becomes `not ssl`.
        if self.depth + height + 1 > MAX_DEPTH {
            return Err(self.too_deep(span));
        }
        let right = if operator == Operator::In { self.set()? } else { Right::Operand(self.right(operator)?) };
        Ok((Node::Compare(left, operator, span, right), height + 1))
    }

    fn right(&mut self, operator: Operator) -> Result<Operand<'t>, Stop> {
        let expected = match operator.info().operands {
            Operands::Pattern => "a pattern in double quotes",
            _ => "a constant",
        };
        if matches!(self.kind(), TokenKind::List(_) | TokenKind::Mark(b'{')) {
            let found = describe(self.kind());
            let hint = "use `in` to look a value up in a set or list".to_owned();
            self.errors.add(self.span(), format!("expected {expected}, found {found}"), Some(hint));
            return Err(Stop);
        }
        self.operand(expected)
    }

    /// `x not in {...}`: reported with how to write it.
    fn inverted(&mut self) -> Stop {
        let next = &self.tokens[self.at + 1].kind;
        match next {
            TokenKind::Operator(operator) if operator.compares() => {
                let hint = format!("write `not` before the whole comparison: not ... {} ...", operator.info().name);
                self.errors.add(self.span(), "expected an operator, found `not`", Some(hint));
                Stop
            }
            _ => self.unexpected("an operator"),
        }
    }

    /// The operator that `word` was meant to be; reported.
    fn misspelt(&mut self, word: &str) -> Option<Operator> {
        let lower = word.to_ascii_lowercase();
        let known = MISSPELLINGS.iter().find(|(wrong, _)| *wrong == lower).map(|(_, operator)| *operator);
        let operator = known.or_else(|| Operator::from_text(&lower)).or_else(|| suggest::operator(&lower))?;
        let message = format!("expected an operator, found `{word}`");
        let hint = if operator.compares() || known.is_some() || lower != word {
            format!("did you mean `{}`?", operator.info().name)
        } else {
            return None;
        };
        self.errors.add(self.span(), message, Some(hint));
        operator.compares().then_some(operator)
    }

    fn not_callable(&mut self, name: Span) -> Stop {
        self.errors.add(self.span(), "expected an operator, found `(`", None);
        let _ = name;
        Stop
    }

    /// A value with its indexes.
    fn operand(&mut self, expected: &str) -> Result<Operand<'t>, Stop> {
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

    fn arguments(&mut self) -> Result<Vec<Operand<'t>>, Stop> {
        let open = self.span();
        self.at += 1;
        let mut arguments = Vec::new();
        if self.take(b')') {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.nested(open, |parser| parser.operand("an argument"))??);
            if self.take(b')') {
                return Ok(arguments);
            }
            if !self.take(b',') {
                return Err(match self.kind() {
                    TokenKind::End => {
                        self.errors.add(open, "this parenthesis is never closed", Some("add a `)`".into()));
                        Stop
                    }
                    TokenKind::Operator(operator) if operator.compares() => {
                        let hint = "compare the result: close the parenthesis before the operator".to_owned();
                        let message = format!("expected `,` or `)`, found `{}`", operator.info().name);
                        self.errors.add(self.span(), message, Some(hint));
                        Stop
                    }
                    _ => self.unexpected("`,` or `)`"),
                });
            }
        }
    }

    fn index(&mut self) -> Result<(Span, Index), Stop> {
        let open = self.span();
        self.at += 1;
        let index = match self.bump() {
            TokenKind::Mark(b'*') => Some(Index::Each),
            TokenKind::Text(text) => Some(Index::Key(text.bytes)),
            TokenKind::Word(word) if !word.starts_with('+') => word.parse().ok().map(Index::Number),
            _ => None,
        };
        let inside = self.previous();
        let Some(index) = index else {
            let hint = "write [*] for all values, [0] for the first, or [\"name\"]".to_owned();
            self.errors.add(open.to(inside), "expected an index", Some(hint));
            return Err(Stop);
        };
        if !self.take(b']') {
            return Err(self.unexpected("`]`"));
        }
        Ok((open.to(self.previous()), index))
    }

    /// What follows `in`.
    fn set(&mut self) -> Result<Right<'t>, Stop> {
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
        loop {
            let span = self.span();
            match self.bump() {
                TokenKind::Word(word) => items.push((span, Item::Word(Word::classify(word)))),
                TokenKind::Text(text) => items.push((span, Item::Text(text))),
                TokenKind::Mark(b'}') => return Ok(Right::Set(open.to(span), items)),
                TokenKind::Mark(b',') => {
                    let hint = "separate the items by spaces: {80 443}".to_owned();
                    self.errors.add(span, "items of a set are not separated by commas", Some(hint));
                    while self.take(b',') || matches!(self.kind(), TokenKind::Word(_) | TokenKind::Text(_)) {
                        if matches!(self.kind(), TokenKind::Word(_) | TokenKind::Text(_)) {
                            break;
                        }
                    }
                }
                TokenKind::Bad => {}
                TokenKind::End => {
                    self.errors.add(open, "this brace is never closed", Some("add a `}`".into()));
                    return Err(Stop);
                }
                kind => {
                    let found = describe(&kind);
                    self.errors.add(span, format!("expected an item or `}}`, found {found}"), None);
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
fn height(operand: &Operand<'_>) -> usize {
    match &operand.kind {
        OperandKind::Call(_, _, arguments) => 1 + arguments.iter().map(height).max().unwrap_or(0),
        OperandKind::Text(_) | OperandKind::Word(_) => 0,
    }
}

/// A token in an error message.
fn describe(kind: &TokenKind<'_>) -> String {
    match kind {
        TokenKind::Word(word) => format!("`{}`", suggest::shorten(word)),
        TokenKind::Text(text) => {
            format!("the string \"{}\"", suggest::shorten(&String::from_utf8_lossy(&text.bytes)).escape_debug())
        }
        TokenKind::Operator(operator) => format!("`{}`", operator.info().name),
        TokenKind::List(name) => format!("the list `${}`", suggest::shorten(name)),
        TokenKind::Mark(mark) => format!("`{}`", *mark as char),
        TokenKind::Bad => "this".to_owned(),
        TokenKind::End => "the end".to_owned(),
    }
}
