//! Texts at and beyond every limit: rejected with an error that names the limit, without a crash.

use weir_rules::limits::{MAX_ARGUMENTS, MAX_DEPTH, MAX_ERRORS, MAX_PATTERN_BYTES, MAX_TEXT_BYTES};
use weir_rules::{NoLists, parse};

fn message(text: &str) -> String {
    let errors = parse(text, &NoLists).expect_err("past a bound");
    assert!(errors.len() <= MAX_ERRORS);
    for error in &errors {
        assert!(!error.explain(text).is_empty());
    }
    errors[0].message.clone()
}

fn nested(open: &str, inner: &str, close: &str, times: usize) -> String {
    format!("{}{inner}{}", open.repeat(times), close.repeat(times))
}

#[test]
fn text_has_a_longest_length() {
    let padding = " ".repeat(MAX_TEXT_BYTES - "ssl".len());
    assert!(parse(&format!("{padding}ssl"), &NoLists).is_ok());
    assert_eq!(message(&format!("{padding} ssl")), "the expression has 65537 bytes, at most 65536 are allowed");
}

#[test]
fn nesting_has_a_deepest_level() {
    let deep = format!("nested more than {MAX_DEPTH} deep");
    let cases = [("(", "ssl", ")"), ("not ", "ssl", ""), ("lower(", "http.host", ")")];
    for (open, inner, close) in cases {
        let tail = if inner == "ssl" { "" } else { " eq \"a\"" };
        let fits = format!("{}{tail}", nested(open, inner, close, MAX_DEPTH - 1));
        let expr = parse(&fits, &NoLists).unwrap_or_else(|errors| panic!("{open}: {}", errors[0].explain(&fits)));
        assert_eq!(parse(&expr.to_string(), &NoLists), Ok(expr));
        for times in [MAX_DEPTH + 1, 5_000] {
            assert_eq!(message(&format!("{}{tail}", nested(open, inner, close, times))), deep);
        }
    }
}

#[test]
fn chains_are_wide_except_those_of_xor_which_nest() {
    let chain = |joiner: &str, times: usize| vec!["ssl"; times].join(joiner);
    for joiner in [" and ", " or "] {
        assert!(parse(&chain(joiner, 5_000), &NoLists).is_ok());
    }
    assert!(parse(&chain(" xor ", MAX_DEPTH), &NoLists).is_ok());
    assert_eq!(message(&chain(" xor ", 5_000)), format!("nested more than {MAX_DEPTH} deep"));
}

#[test]
fn what_fits_prints_to_something_that_fits() {
    // Forms whose printed form is longer than the source, at the deepest level where they fit.
    let leaves = [
        "ssl eq false",
        "http.request.uri.args.values contains \"x\"",
        "starts_with(http.request.uri.args, \"a\") eq false",
    ];
    for leaf in leaves {
        for open in ["not (ssl and ", "(ssl xor ", "(ssl or http.host eq \"a\" and not "] {
            let close = ")";
            for times in (0..=MAX_DEPTH).rev() {
                let text = nested(open, leaf, close, times);
                if let Ok(expr) = parse(&text, &NoLists) {
                    assert_eq!(parse(&expr.to_string(), &NoLists), Ok(expr), "{text}");
                }
            }
        }
    }
}

#[test]
fn calls_have_a_largest_number_of_arguments() {
    let text = |count: usize| format!("concat({}) eq \"\"", vec!["http.host"; count].join(", "));
    assert!(parse(&text(MAX_ARGUMENTS), &NoLists).is_ok());
    assert_eq!(message(&text(MAX_ARGUMENTS + 1)), format!("more than {MAX_ARGUMENTS} arguments"));
}

#[test]
fn patterns_have_a_longest_length() {
    let text = |length: usize| format!("http.host matches \"{}\"", "a".repeat(length));
    assert!(parse(&text(MAX_PATTERN_BYTES), &NoLists).is_ok());
    assert_eq!(message(&text(MAX_PATTERN_BYTES + 1)), format!("the pattern is longer than {MAX_PATTERN_BYTES} bytes"));
    assert!(message(&format!("http.host matches \"{}\"", nested("(", "a", ")", 1000))).contains("nest"));
}

#[test]
fn errors_stop_at_a_number() {
    let text = "foo eq 1 and ".repeat(1_000) + "ssl";
    assert_eq!(parse(&text, &NoLists).expect_err("unknown fields").len(), MAX_ERRORS);
}
