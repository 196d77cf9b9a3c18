//! A recursive-descent parser; `not` binds tighter than `and`, `and` tighter than `xor`, `xor`
//! tighter than `or`. After a syntax error it resumes at the next `and`, `or` or `xor`, so that one
//! missing quote does not hide the other mistakes.

use crate::error::{Errors, Span};
use crate::ir::Quantifier;
use crate::lexer::{Token, TokenKind};
use crate::limits::MAX_DEPTH;
use crate::operand::height;
use crate::operator::Operands;
use crate::syntax::{Node, Operand, OperandKind, RightSide, Word};
use crate::{Field, Operator};
use crate::{lexer, suggest};

pub(crate) struct Parser<'t, 'e> {
    text: &'t str,
    tokens: Vec<Token<'t>>,
    pub(crate) at: usize,
    /// Number of parentheses, `not`s and calls around the current token.
    depth: usize,
    /// Whether the current token is inside `any(...)` or `all(...)`, which do not nest.
    quantified: bool,
    pub(crate) errors: &'e mut Errors,
}

/// Abandons the current condition; the error has been reported.
pub(crate) struct ErrorReported;

/// A tree with its height, which bounds the recursion of later passes.
type NodeWithHeight<'t> = (Node<'t>, usize);

impl<'t, 'e> Parser<'t, 'e> {
    pub fn new(text: &'t str, errors: &'e mut Errors) -> Self {
        let tokens = lexer::tokens(text, errors);
        Self { text, tokens, at: 0, depth: 0, quantified: false, errors }
    }

    /// Parses the whole text as a condition.
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

    /// Parses the whole text as a value.
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
                let hint = "join conditions with `and` or `or`".to_owned();
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

    /// Consumes the operator if it is the current token.
    fn take_operator(&mut self, operator: Operator) -> bool {
        let found = matches!(self.kind(), TokenKind::Operator(found) if *found == operator);
        self.at += usize::from(found);
        found
    }

    /// The token after this one.
    pub(crate) fn next_kind(&self) -> &TokenKind<'t> {
        &self.tokens[(self.at + 1).min(self.tokens.len() - 1)].kind
    }

    /// Replaces the current token.
    pub(crate) fn replace(&mut self, kind: TokenKind<'t>) {
        self.tokens[self.at].kind = kind;
    }

    /// The text at `span`, shortened for a message.
    pub(crate) fn shown(&self, span: Span) -> String {
        suggest::shorten(span.of(self.text))
    }

    /// Advances to the next token and returns the current one's kind.
    pub(crate) fn bump(&mut self) -> TokenKind<'t> {
        let kind = std::mem::replace(&mut self.tokens[self.at].kind, TokenKind::Bad);
        if matches!(kind, TokenKind::End) {
            self.tokens[self.at].kind = TokenKind::End;
        } else {
            self.at += 1;
        }
        kind
    }

    /// Reports that `expected` was not found here.
    pub(crate) fn unexpected(&mut self, expected: &str) -> ErrorReported {
        let found = describe(self.kind());
        if !matches!(self.kind(), TokenKind::Bad) {
            self.errors.add(self.span(), format!("expected {expected}, found {found}"), None);
        }
        ErrorReported
    }

    /// Resumes after an error: at the next logical operator, or at the end of this nesting level.
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

    fn too_deep(&mut self, span: Span) -> ErrorReported {
        let hint = "join conditions on one level, or split the rule".to_owned();
        self.errors.add(span, format!("nested more than {MAX_DEPTH} deep"), Some(hint));
        self.errors.close();
        self.at = self.tokens.len() - 1;
        ErrorReported
    }

    fn or(&mut self) -> NodeWithHeight<'t> {
        self.chain(Operator::Or, Self::xor, Node::Or)
    }

    fn xor(&mut self) -> NodeWithHeight<'t> {
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

    fn and(&mut self) -> NodeWithHeight<'t> {
        self.chain(Operator::And, Self::not, Node::And)
    }

    fn chain(
        &mut self,
        operator: Operator,
        next: fn(&mut Self) -> NodeWithHeight<'t>,
        join: fn(Vec<Node<'t>>) -> Node<'t>,
    ) -> NodeWithHeight<'t> {
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

    fn not(&mut self) -> NodeWithHeight<'t> {
        self.fix_not();
        let span = self.span();
        if !self.take_operator(Operator::Not) {
            return self.primary();
        }
        match self.nested(span, Self::not) {
            Ok((node, height)) => (Node::Not(Box::new(node)), height + 1),
            Err(ErrorReported) => (Node::Bad, 0),
        }
    }

    /// Runs `inside` one level deeper.
    pub(crate) fn nested<T>(&mut self, span: Span, inside: impl FnOnce(&mut Self) -> T) -> Result<T, ErrorReported> {
        if self.depth >= MAX_DEPTH {
            return Err(self.too_deep(span));
        }
        self.depth += 1;
        let result = inside(self);
        self.depth -= 1;
        Ok(result)
    }

    fn primary(&mut self) -> NodeWithHeight<'t> {
        let result = match self.quantifier() {
            Some(quantifier) => self.quantified(quantifier),
            None if self.is(b'(') => {
                let open = self.span();
                self.at += 1;
                self.nested(open, |parser| parser.parenthesised(open)).unwrap_or_else(Err)
            }
            None => self.comparison(),
        };
        let tree = result.unwrap_or_else(|ErrorReported| {
            self.recover();
            (Node::Bad, 0)
        });
        self.fix_joiner();
        tree
    }

    /// Whether `word` is a logical operator except for its case.
    fn is_joiner(&self, word: &str) -> bool {
        Operator::from_text(&word.to_ascii_lowercase())
            .is_some_and(|operator| operator.info().operands == Operands::Conditions)
    }

    /// The quantifier if `any(` or `all(` comes next.
    fn quantifier(&self) -> Option<Quantifier> {
        let quantifier = match self.kind() {
            TokenKind::Word("any") => Quantifier::Any,
            TokenKind::Word("all") => Quantifier::All,
            _ => return None,
        };
        matches!(self.next_kind(), TokenKind::Mark(b'(')).then_some(quantifier)
    }

    fn quantified(&mut self, quantifier: Quantifier) -> Result<NodeWithHeight<'t>, ErrorReported> {
        let name = self.span();
        self.at += 2;
        if std::mem::replace(&mut self.quantified, true) {
            let hint = "leave out the inner one".to_owned();
            self.errors.add(name, "any() and all() do not nest", Some(hint));
            self.at -= 1;
            return Err(ErrorReported);
        }
        let result = self.parenthesised(self.previous());
        self.quantified = false;
        result.map(|(node, height)| (Node::Quantified(quantifier, name, Box::new(node)), height))
    }

    /// The contents of parentheses, after the opening one.
    fn parenthesised(&mut self, open: Span) -> Result<NodeWithHeight<'t>, ErrorReported> {
        let node = self.or();
        if self.take(b')') {
            return match self.kind() {
                TokenKind::Operator(operator) if operator.compares() => {
                    let hint = "leave out the parentheses around the left side".to_owned();
                    let message =
                        format!("`{}` compares a value, found a condition in parentheses", operator.info().name);
                    self.errors.add(self.span(), message, Some(hint));
                    Err(ErrorReported)
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

    fn comparison(&mut self) -> Result<NodeWithHeight<'t>, ErrorReported> {
        if let TokenKind::Word(word @ ("any" | "all")) = *self.kind() {
            let hint = format!("write {word}(...) around the condition");
            self.errors.add(self.span(), format!("expected `(` after `{word}`"), Some(hint));
            return Err(ErrorReported);
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
                return Err(ErrorReported);
            }
            TokenKind::List(_) | TokenKind::Mark(b'{' | b'(' | b'*') | TokenKind::Bad => {
                return Err(self.unexpected("an operator, such as `eq` or `in`"));
            }
            _ => return Ok((Node::Value(left), height)),
        };
        self.at += 1;
        // One more than the value, because `ssl eq false` becomes `not ssl`.
        if self.depth + height + 1 > MAX_DEPTH {
            return Err(self.too_deep(span));
        }
        let right = if operator == Operator::In { self.set()? } else { RightSide::Operand(self.right(operator)?) };
        Ok((Node::Compare(left, operator, span, right), height + 1))
    }

    fn right(&mut self, operator: Operator) -> Result<Operand<'t>, ErrorReported> {
        let expected = match operator.info().operands {
            Operands::Pattern => "a pattern in double quotes",
            _ => "a constant",
        };
        if matches!(self.kind(), TokenKind::List(_) | TokenKind::Mark(b'{')) {
            let found = describe(self.kind());
            let hint = "use `in` to look a value up in a set or list".to_owned();
            self.errors.add(self.span(), format!("expected {expected}, found {found}"), Some(hint));
            return Err(ErrorReported);
        }
        if self.is(b'*') {
            let start = self.span();
            self.at += 1;
            let span = self.unquoted(start);
            let shown = self.shown(span);
            let hint = format!("put the pattern in double quotes: \"{shown}\"");
            self.errors.add(span, format!("expected {expected}, found `{shown}`"), Some(hint));
            return Err(ErrorReported);
        }
        let mut operand = self.operand(expected)?;
        if matches!(&operand.kind, OperandKind::Word(Word::Name(name)) if Field::from_name(name).is_none()) {
            operand.span = self.unquoted(operand.span);
        }
        Ok(operand)
    }
}

/// Describes a token in an error message.
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
