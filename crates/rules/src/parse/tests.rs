use super::*;
use crate::hang;

/// The worst texts of every kind at 64 times the length that is allowed. Looking again at all that came before would take
/// half an hour.
#[test]
fn work_is_not_quadratic_in_the_text() {
    let kinds: &[(&str, &str)] = &[
        ("", "("),
        ("", "a and "),
        ("", "not "),
        ("", "\""),
        ("", "'"),
        ("", "r#"),
        ("", "r\""),
        ("", "“"),
        ("", "$"),
        ("", "strict "),
        ("", "http.host eq 1 or "),
        ("", "http.request.uri.pat eq \"\" or "),
        ("", "lower("),
        ("", "any("),
        ("", "x["),
        ("", "1..2 "),
        ("http.host in {", "\"a\" "),
        ("tcp.dstport in {", "9..1 "),
        ("tcp.dstport in {", "5 "),
        ("ip.src in {", "1::1..f::e "),
        ("http.host matches \"", "\\\""),
        ("http.host matches \"", "(a"),
        ("http.host matches \"", "[a"),
        ("http.host eq \"", "\\q"),
        ("http.host wildcard \"", "*"),
        ("ssl ", "foo "),
        ("http.host eq ", "foo "),
        ("", "# \n"),
        ("", "http.host[*]"),
        ("", ")"),
    ];
    for (start, repeated) in kinds {
        let text = start.to_string() + &repeated.repeat(64 * MAX_TEXT_BYTES / repeated.len());
        hang::ends(&format!("{start}{repeated}"), move || {
            let mut errors = Errors::default();
            drop(condition(&text, &NoLists, &mut errors));
            errors.into_sorted()
        });
    }
}
