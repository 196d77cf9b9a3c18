//! Tokens to a tree, by recursive descent; `not` binds tighter than `and`, that than `xor`,
//! that than `or`. After a syntax error it goes on at the next `and`, `or` or `xor`, so that
//! one missing quote does not hide the other mistakes.

use crate::error::{Errors, Span};
use crate::ir::Quantifier;
use crate::lexer::{Token, TokenKind};
use crate::limits::MAX_DEPTH;
use crate::operand::height;
use crate::operator::Operands;
use crate::syntax::{Node, Operand, OperandKind, Right, Word};
use crate::{Field, Operator};
use crate::{lexer, suggest};

pub(crate) struct Parser<'t, 'e> {
    text: &'t str,
    tokens: Vec<Token<'t>>,
    pub(crate) at: usize,
    /// Parentheses, `not`s and calls around the current token.
    depth: usize,
    /// Whether the current token is inside `any(...)` or `all(...)`, which do not nest.
    quantified: bool,
    pub(crate) errors: &'e mut Errors,
}

/// Stops the current condition; the error is already known.
pub(crate) struct Stop;

/// A tree with its height, which later walks recurse.
type Tall<'t> = (Node<'t>, usize);

impl<'t, 'e> Parser<'t, 'e> {
    pub fn new(text: &'t str, errors: &'e mut Errors) -> Self {
        let tokens = lexer::tokens(text, errors);
        Self { text, tokens, at: 0, depth: 0, quantified: false, errors }
    }

    /// The whole text as a condition.
    pub fn condition(mut self) -> Node<'t> {
        if matches!(self.kind(), TokenKind::End) {
            let hint = "write a condition, such as http.host eq \"example.com\", or `true`".to_owned();
            self.errors.add(self.span(), "the expression is empty", Some(hint));
            return Node::Bad;
        }
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
            let starts =
                matches!(self.kind(), TokenKind::Word(_) | TokenKind::Operator(Operator::Not) | TokenKind::Mark(b'('));
            if starts && !self.errors.is_full() {
                let found = describe(self.kind());
                let hint = "join conditions by `and` or `or`".to_owned();
                self.errors.add(self.span(), format!("expected {expected}, found {found}"), Some(hint));
            } else {
                self.unexpected(expected);
            }
            return;
        }
    }

    pub(crate) fn kind(&self) -> &TokenKind<'t> {
        &self.tokens[self.at].kind
    }

    pub(crate) fn span(&self) -> Span {
        self.tokens[self.at].span
    }

    pub(crate) fn previous(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    pub(crate) fn is(&self, mark: u8) -> bool {
        matches!(self.kind(), TokenKind::Mark(found) if *found == mark)
    }

    pub(crate) fn take(&mut self, mark: u8) -> bool {
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

    /// The token after this one.
    pub(crate) fn next_kind(&self) -> &TokenKind<'t> {
        &self.tokens[(self.at + 1).min(self.tokens.len() - 1)].kind
    }

    /// Makes the current token another one.
    pub(crate) fn replace(&mut self, kind: TokenKind<'t>) {
        self.tokens[self.at].kind = kind;
    }

    /// The text at `span`, short enough for a message.
    pub(crate) fn shown(&self, span: Span) -> String {
        suggest::shorten(span.of(self.text))
    }

    /// Moves to the next token and gives the current one's kind.
    pub(crate) fn bump(&mut self) -> TokenKind<'t> {
        let kind = std::mem::replace(&mut self.tokens[self.at].kind, TokenKind::Bad);
        if matches!(kind, TokenKind::End) {
            self.tokens[self.at].kind = TokenKind::End;
        } else {
            self.at += 1;
        }
        kind
    }

    /// Reports that something else was expected here.
    pub(crate) fn unexpected(&mut self, expected: &str) -> Stop {
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
                TokenKind::Operator(operator) if open == 0 && operator.info().operands == Operands::Conditions => {
                    return;
                }
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
        self.errors.close();
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

    fn chain(
        &mut self,
        operator: Operator,
        next: fn(&mut Self) -> Tall<'t>,
        join: fn(Vec<Node<'t>>) -> Node<'t>,
    ) -> Tall<'t> {
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
        self.fix_not();
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
    pub(crate) fn nested<T>(&mut self, span: Span, inside: impl FnOnce(&mut Self) -> T) -> Result<T, Stop> {
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
        let tree = result.unwrap_or_else(|Stop| {
            self.recover();
            (Node::Bad, 0)
        });
        self.fix_joiner();
        tree
    }

    /// Whether `word` joins conditions but for its case.
    fn is_joiner(&self, word: &str) -> bool {
        Operator::from_text(&word.to_ascii_lowercase())
            .is_some_and(|operator| operator.info().operands == Operands::Conditions)
    }

    /// Whether `any(` or `all(` comes now.
    fn quantifier(&self) -> Option<Quantifier> {
        let quantifier = match self.kind() {
            TokenKind::Word("any") => Quantifier::Any,
            TokenKind::Word("all") => Quantifier::All,
            _ => return None,
        };
        matches!(self.next_kind(), TokenKind::Mark(b'(')).then_some(quantifier)
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
                    let message =
                        format!("`{}` compares a value, found a condition in parentheses", operator.info().name);
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
        if let TokenKind::Word(word @ ("any" | "all")) = *self.kind() {
            let hint = format!("write {word}(...) around the condition");
            self.errors.add(self.span(), format!("expected `(` after `{word}`"), Some(hint));
            return Err(Stop);
        }
        let left = self.operand("a field or a function")?;
        let height = height(&left);
        let (operator, span) = match self.kind() {
            TokenKind::Operator(operator) if operator.compares() => (*operator, self.span()),
            TokenKind::Operator(Operator::Not) => return Err(self.inverted(&left)),
            TokenKind::Word(word) if !self.is_joiner(word) => {
                let word = *word;
                (self.misspelt(&left, word)?, self.span())
            }
            TokenKind::Text(_) => {
                let hint = format!("write {} eq {}", self.shown(left.span), self.shown(self.span()));
                let found = describe(self.kind());
                self.errors.add(self.span(), format!("expected an operator, found {found}"), Some(hint));
                return Err(Stop);
            }
            TokenKind::List(_) | TokenKind::Mark(b'{' | b'(' | b'*') | TokenKind::Bad => {
                return Err(self.unexpected("an operator, such as `eq` or `in`"));
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
        if self.is(b'*') {
            let start = self.span();
            self.at += 1;
            let span = self.unquoted(start);
            let shown = self.shown(span);
            let hint = format!("put the pattern in double quotes: \"{shown}\"");
            self.errors.add(span, format!("expected {expected}, found `{shown}`"), Some(hint));
            return Err(Stop);
        }
        let mut operand = self.operand(expected)?;
        if matches!(&operand.kind, OperandKind::Word(Word::Name(name)) if Field::from_name(name).is_none()) {
            operand.span = self.unquoted(operand.span);
        }
        Ok(operand)
    }
}

/// A token in an error message.
pub(crate) fn describe(kind: &TokenKind<'_>) -> String {
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
