//! The pipeline from text to the typed form: lexer, parser, checker.

use crate::check::Checker;
use crate::error::{Errors, Span};
use crate::ir::{Expr, ValueExpr};
use crate::limits::MAX_TEXT_BYTES;
use crate::parser::Parser;
use crate::{ExpressionError, ListKinds, NoLists};

/// Parses a condition.
///
/// # Errors
/// Every mistake that could be found, in the order of the text; at least one.
pub fn parse(text: &str, lists: &dyn ListKinds) -> Result<Expr, Vec<ExpressionError>> {
    let mut errors = Errors::default();
    let expr = if within_limit(text, &mut errors) { condition(text, lists, &mut errors) } else { None };
    finish(expr, errors)
}

/// Reads a condition of any length.
fn condition(text: &str, lists: &dyn ListKinds, errors: &mut Errors) -> Option<Expr> {
    let tree = Parser::new(text, errors).condition();
    Checker { text, lists, errors }.condition(&tree, None)
}

/// Parses a value: a constant, a field, or a function of values. Used for parameters of actions.
///
/// # Errors
/// Every mistake that could be found, in the order of the text; at least one.
pub fn parse_value(text: &str) -> Result<ValueExpr, Vec<ExpressionError>> {
    let mut errors = Errors::default();
    let value = if within_limit(text, &mut errors) {
        let operand = Parser::new(text, &mut errors).value();
        operand.and_then(|operand| Checker { text, lists: &NoLists, errors: &mut errors }.value(&operand))
    } else {
        None
    };
    finish(value.map(|(value, _)| value), errors)
}

fn within_limit(text: &str, errors: &mut Errors) -> bool {
    let fits = text.len() <= MAX_TEXT_BYTES;
    if !fits {
        let message = format!("the expression has {} bytes, at most {MAX_TEXT_BYTES} are allowed", text.len());
        errors.add(Span::new(0, 0), message, Some("move long sets to named lists, or split the rule".into()));
    }
    fits
}

fn finish<T>(result: Option<T>, errors: Errors) -> Result<T, Vec<ExpressionError>> {
    match result {
        Some(result) if errors.is_empty() => Ok(result),
        _ => {
            debug_assert!(!errors.is_empty(), "nothing fails without an error");
            Err(errors.into_sorted())
        }
    }
}

#[cfg(test)]
mod tests;
