//! The detectors find nothing in inputs that the pre-filters dismiss: tested with all short inputs,
//! and many longer ones, made of fragments significant to SQL and HTML.

use proptest::prelude::*;
use weir_detect::{byte_set, sqli, sqli_possible, sqli_possible_with, xss, xss_possible, xss_possible_with};

/// Fragments of inputs; `\u{a0}` stands for the byte, which is white space in SQL.
const PIECES: &[&str] = &[
    "select",
    "union",
    "all",
    "or",
    "and",
    "not",
    "in",
    "like",
    "is",
    "1",
    "2.5",
    "0x1f",
    "0b1",
    "1e",
    "1e5",
    "1f",
    "'",
    "\"",
    "`",
    "--",
    "#",
    "/*",
    "*/",
    "/*!",
    ";",
    ",",
    "(",
    ")",
    "{",
    "}",
    ".",
    "@",
    "@@",
    "$",
    "$$",
    "$a$",
    "\\",
    "\\N",
    "=",
    "<",
    ">",
    "<=>",
    "!=",
    "||",
    "&&",
    "|",
    "&",
    "+",
    "-",
    "*",
    "/",
    "%",
    "^",
    "~",
    "!",
    "::",
    ":=",
    ":",
    "?",
    "[",
    "]",
    " ",
    "\t",
    "\n",
    "\0",
    "\u{a0}",
    "é",
    "\u{7f}",
    "user",
    "password",
    "database",
    "current_user",
    "group",
    "order",
    "by",
    "into",
    "outfile",
    "from",
    "where",
    "case",
    "null",
    "true",
    "int",
    "binary",
    "collate",
    "latin1_bin",
    "foo",
    "bar",
    "a",
    "n",
    "N'",
    "e'",
    "x'1f'",
    "b'01'",
    "q'[",
    "u&'",
    "nq'(",
    "if",
    "sleep",
    "drop table",
    "exec",
    "declare",
    "having",
    "sp_password",
    "dec",
    "_utf8",
    "at",
    "time",
    "zone",
    "sys.x",
    "union.x",
    "select.1",
    "1.or.1",
    "for",
    "with",
    "table",
    "it's",
    "don't",
    "<script",
    "</script",
    "<img ",
    "src=",
    "href",
    "on",
    "onclick=",
    "style",
    "javascript:",
    "data:",
    "&#106;",
    "<!--",
    "-->",
    "<![cdata[",
    "]]>",
    "<!doctype",
    "<?",
    "<%",
    "<svg",
    "xmlns",
    "xlink:href=",
    "attributename=",
    "/>",
    "</>",
];

fn check(input: &[u8]) {
    let set = byte_set(input);
    assert_eq!(sqli_possible(input), sqli_possible_with(input, &set));
    assert_eq!(xss_possible(input), xss_possible_with(input, &set));
    let shown = || String::from_utf8_lossy(input).into_owned();
    if let Some(fingerprint) = sqli(input) {
        assert!(sqli_possible(input), "{fingerprint} in {:?}", shown());
        assert!((1..=5).contains(&fingerprint.as_str().len()));
    }
    assert!(xss_possible(input) || !xss(input), "{:?}", shown());
}

/// All inputs of up to `length` of the `pieces`.
fn check_all(pieces: &[&str], length: u32) {
    for length in 0..=length {
        for number in 0..pieces.len().pow(length) {
            let mut rest = number;
            let mut input = Vec::new();
            for _ in 0..length {
                input.extend_from_slice(pieces[rest % pieces.len()].as_bytes());
                rest /= pieces.len();
            }
            check(&input);
        }
    }
}

#[test]
fn short_inputs_of_sql() {
    check_all(&["1", "'", "or ", "a ", "-", "(", ")", "/*", "#", ",", "="], 5);
    check_all(&["1", "\"", "union ", "in", "--", ";", "@", "`", "{", "\\", "not ", ".", "::", "int ", "b"], 4);
    check_all(&["0", "b", "1", "x", "e", "d", "u", "or", "union"], 5);
}

#[test]
fn short_inputs_of_html() {
    check_all(&["<", "a", ">", "=", "'", " ", "/", "onab", "\0", "!--", "src"], 5);
}

#[test]
fn all_pairs_of_bytes() {
    for pair in 0..=u16::MAX {
        check(&pair.to_le_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn inputs_of_pieces(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..12), spaces: bool) {
        let mut input = Vec::new();
        for piece in pieces {
            input.extend_from_slice(if piece == "\u{a0}" { b"\xa0" } else { piece.as_bytes() });
            if spaces {
                input.push(b' ');
            }
        }
        check(&input);
    }

    #[test]
    fn any_bytes(input in prop::collection::vec(any::<u8>(), 0..64)) {
        check(&input);
    }
}

/// Typical values, and whether the pre-filters may dismiss them.
#[test]
fn everyday_values() {
    let cases: &[(&str, bool, bool)] = &[
        // value, SQL injection possible, XSS possible
        ("", false, false),
        ("hello", false, false),
        ("42", false, false),
        ("3.14", false, false),
        ("-1,234.50", false, false),
        ("true", false, false),
        ("select", false, false),
        ("Größe", false, false),
        ("2024-01-02", false, false),
        ("2024-01-02 03:04:05", false, false),
        ("2024-01-02T03:04:05Z", false, false),
        ("550e8400-e29b-41d4-a716-446655440000", false, false),
        ("d41d8cd98f00b204e9800998ecf8427e", false, false),
        ("192.168.1.10", false, false),
        ("2001:db8::1", false, false),
        ("john.doe@example.com", false, false),
        ("john-doe+news@example.com", false, false),
        ("John Smith", false, false),
        ("O'Reilly", false, false),
        ("it's a nice day", false, false),
        ("Fish & Chips", false, false),
        ("Berlin, Germany", false, false),
        ("my-blog-post", false, false),
        ("/index.html", false, false),
        ("/path/to/page?id=42&lang=en", false, false),
        ("https://www.example.com/path?id=42&lang=en", false, false),
        ("a=1&b=2&c=3", false, false),
        ("gzip, deflate, br", false, false),
        ("50%", false, false),
        ("$19.99", false, false),
        ("+49 30 1234567", false, false),
        ("(030) 123-456", true, false),
        ("{\"name\":\"value\",\"n\":1}", false, false),
        ("This page says nothing of a database, or does it? Not now.", false, false),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0", false, false),
        ("text/html,application/xhtml+xml,*/*;q=0.8", true, false),
        ("en-US,en;q=0.5", true, false),
        ("session=abc123; theme=dark", true, false),
        ("red, green and blue", true, false),
        ("select a colour", true, false),
        ("a < b", false, false),
        ("I <3 you", false, false),
        ("<b>bold</b>", false, true),
        ("to=5", false, true),
        ("price = 5", false, false),
        ("1' or '1'='1", true, false),
        ("<script>alert(1)</script>", false, true),
        ("' onclick=alert(1)", false, true),
    ];
    for (value, sql, html) in cases {
        let possible = (sqli_possible(value.as_bytes()), xss_possible(value.as_bytes()));
        assert_eq!(possible, (*sql, *html), "{value}");
        check(value.as_bytes());
    }
}
