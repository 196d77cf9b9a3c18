//! Any text is an expression or has errors whose positions are within it, and a printed expression
//! parses to the same expression.
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use weir_rules::limits::{MAX_ERRORS, MAX_TEXT_BYTES};
use weir_rules::{ExpressionError, ListKind, parse, parse_value};

fn check(text: &str, errors: &[ExpressionError]) {
    assert!(!errors.is_empty() && errors.len() <= MAX_ERRORS);
    for error in errors {
        assert!(text.get(error.span.clone()).is_some(), "{error:?} points outside of the text");
        assert!(!error.message.contains(char::is_control), "{error:?} is more than a line");
        assert!(error.explain(text).contains('^'));
    }
}

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let lists = BTreeMap::from([
        ("office".to_owned(), ListKind::Addresses),
        ("bad_bots".to_owned(), ListKind::Strings),
        ("ports".to_owned(), ListKind::Integers),
    ]);
    match parse(&text, &lists) {
        Err(errors) => check(&text, &errors),
        Ok(expr) => {
            let printed = expr.to_string();
            // A range of addresses prints as up to 254 networks, so the text may exceed its bound.
            if printed.len() <= MAX_TEXT_BYTES {
                assert_eq!(parse(&printed, &lists), Ok(expr), "{printed}");
            }
        }
    }
    match parse_value(&text) {
        Err(errors) => check(&text, &errors),
        Ok(value) => {
            let printed = value.to_string();
            assert_eq!(parse_value(&printed), Ok(value), "{printed}");
        }
    }
});
