//! Misspelt operators: reported, then read as intended, so that the rest of the expression is checked as well.

use crate::error::Span;
use crate::lexer::TokenKind;
use crate::operator::{MISSPELLINGS, Operands};
use crate::parser::{ErrorReported, Parser};
use crate::syntax::Operand;
use crate::{FUNCTIONS, Field, Function, Operator, ValueType, suggest};

impl Parser<'_, '_> {
    /// `AND`, `Or`: reported and replaced by the operator.
    pub(crate) fn fix_joiner(&mut self) {
        self.fix_case(Operands::Conditions);
    }

    /// `NOT`: reported and replaced by the operator.
    pub(crate) fn fix_not(&mut self) {
        self.fix_case(Operands::Condition);
    }

    /// Replaces a word that is such an operator except for its case.
    fn fix_case(&mut self, operands: Operands) {
        let TokenKind::Word(word) = *self.kind() else { return };
        let Some(operator) = Operator::from_text(&word.to_ascii_lowercase()) else { return };
        if operator.info().operands == operands {
            let message = format!("expected an operator, found `{word}`");
            self.errors.add(self.span(), message, Some(format!("did you mean `{}`?", operator.info().name)));
            self.replace(TokenKind::Operator(operator));
        }
    }

    /// The operator that `word`, found after `left`, was probably meant to be.
    pub(crate) fn misspelt(&mut self, left: &Operand<'_>, word: &str) -> Result<Operator, ErrorReported> {
        let shown = suggest::shorten(word);
        let message = format!("expected an operator, found `{shown}`");
        if self.errors.is_full() {
            return Err(ErrorReported);
        }
        if Field::from_name(word).is_some() || matches!(self.next_kind(), TokenKind::Mark(b'(')) {
            self.errors.add(self.span(), message, Some("join conditions with `and` or `or`".into()));
            return Err(ErrorReported);
        }
        let lower = word.to_ascii_lowercase();
        if let Some(function) = infix(&lower) {
            let hint = format!("{function} is a function: {function}({}, ...)", self.shown(left.span));
            self.errors.add(self.span(), message, Some(hint));
            return Err(ErrorReported);
        }
        let known = MISSPELLINGS.iter().find(|(wrong, _)| *wrong == lower).map(|(_, operator)| *operator);
        let meant = known.or_else(|| Operator::from_text(&lower)).or_else(|| suggest::operator(&lower));
        let hint = meant.map(|operator| format!("did you mean `{}`?", operator.info().name));
        self.errors.add(self.span(), message, hint);
        meant.filter(|operator| operator.compares()).ok_or(ErrorReported)
    }

    /// `x not in {...}`: reported together with the correct form.
    pub(crate) fn inverted(&mut self, left: &Operand<'_>) -> ErrorReported {
        let operator = match self.next_kind() {
            TokenKind::Operator(operator) if operator.compares() => *operator,
            TokenKind::List(_) | TokenKind::Mark(b'{') => Operator::In,
            _ => return self.unexpected("an operator"),
        };
        let hint = format!(
            "write `not` before the whole comparison: not {} {} ...",
            self.shown(left.span),
            operator.info().name
        );
        self.errors.add(self.span(), "expected an operator, found `not`", Some(hint));
        ErrorReported
    }

    /// Unquoted text may be several words: takes the remaining ones for the message.
    pub(crate) fn unquoted(&mut self, first: Span) -> Span {
        let mut all = first;
        loop {
            match self.kind() {
                TokenKind::Mark(b'*') => {}
                TokenKind::Word(word) if Operator::from_text(&word.to_ascii_lowercase()).is_none() => {}
                _ => break,
            }
            if matches!(self.next_kind(), TokenKind::Operator(operator) if operator.compares()) {
                break;
            }
            all = all.to(self.span());
            self.at += 1;
        }
        all
    }
}

/// The function that `word` names, exactly or nearly, if it is commonly mistaken for an operator.
fn infix(word: &str) -> Option<&'static str> {
    let tests = || FUNCTIONS.iter().filter(|row| row.returns == ValueType::Bool).map(|row| row.name);
    match word {
        "begins_with" | "beginswith" | "starts" | "prefix" => Some(Function::StartsWith.info().name),
        "ends" | "suffix" => Some(Function::EndsWith.info().name),
        _ => suggest::nearest(word, tests()),
    }
}
