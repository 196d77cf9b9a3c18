//! Verdicts of libinjection 3.9.2 (in libmodsecurity 3.0.9) for the same inputs.

use super::*;

#[test]
fn finds_what_libinjection_finds() {
    for (input, fingerprint) in [
        ("1' or '1'='1", "s&sos"),
        ("1 union select 1,2,3 from users", "1UE1k"),
        ("' or 1=1 -- ", "s&1c"),
        ("1; drop table users", "1;Tnn"),
        ("admin'--", "sc"),
        ("1 and sleep(5)", "1&f(1"),
        ("1/*!union*/", "X"),
        ("1 /* /* */ */", "X"),
        ("\" or \"\"=\"", "s&sos"),
        ("foo' + 'bar", "sos"),
        ("sexy and 17<18", "n&1"),
        ("1234-ABCDEFEhfhihwuefi--", "1c"),
        ("1234--", "1c"),
        ("a group by 1", "nB1"),
        ("1;if(1=1)", "1;T(1"),
        ("q'[x]' or 1=1", "s&1"),
        ("$$x$$ or 1=1", "s&1"),
        ("x'1f' or 1=1", "1&1"),
        ("{`` foo}", "X"),
        ("1 in (2) or 3 in (4)", "1&1o("),
    ] {
        let found = sqli(input.as_bytes()).map(|found| found.to_string());
        assert_eq!(found.as_deref(), Some(fingerprint), "{input}");
    }
}

#[test]
fn finds_nothing_where_libinjection_finds_nothing() {
    for input in [
        "",
        "plain words and nothing else",
        "1 UNION",
        "1 or 1",
        "sexy and 17",
        "select into outfile 'x'",
        "user(1)",
        "'",
        "''",
        "\0",
    ] {
        assert_eq!(sqli(input.as_bytes()), None, "{input}");
    }
}

/// Inputs that would take quadratic time if bytes were read repeatedly.
#[test]
fn long_inputs_take_linear_time() {
    for piece in
        ["'", "\\'", "''", "/*", "/*/", "$a$b", "$a", "`", "q'[", "--", "1,", "1+", "(", "\\", "{a", "x'", "[", "@@'"]
    {
        let input = piece.repeat(300_000 / piece.len());
        let _ = sqli(input.as_bytes());
        let _ = sqli_possible(input.as_bytes());
    }
}
