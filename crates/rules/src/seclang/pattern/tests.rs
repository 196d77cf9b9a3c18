use proptest::prelude::*;
use regex_automata::meta;
use regex_automata::util::syntax;

use super::{Form, MAX_DEPTH, MAX_SOURCE_BYTES, Pattern, RUST_NEST_LIMIT, narrow_offset, widen};

fn syntax() -> syntax::Config {
    syntax::Config::new().unicode(false).utf8(false).nest_limit(RUST_NEST_LIMIT)
}

fn find(pattern: &Pattern, text: &[u8]) -> Option<(usize, usize)> {
    let config = meta::Config::new().utf8_empty(false);
    let regex = meta::Regex::builder().syntax(syntax()).configure(config).build(pattern.rust()).unwrap();
    regex.find(text).map(|found| (found.start(), found.end()))
}

/// Source, text, and what PCRE2 10.42 finds.
type Case = (&'static str, &'static [u8], Option<(usize, usize)>);

const LINEAR: &[Case] = &[
    ("", b"a", Some((0, 0))),
    // Flags that ModSecurity sets, and switching them.
    ("a.b", b"a\nb", Some((0, 3))),
    ("(?-s)a.b", b"a\nb", None),
    ("^b$", b"a\nb\nc", Some((2, 3))),
    ("(?-m)^b", b"a\nb", None),
    ("a(?i)b|c", b"C", Some((0, 1))),
    ("(?:a(?i)b)c", b"aBC", None),
    ("(?i:[^a])b", b"AB", None),
    ("(?^:A)", b"a", None),
    ("(?x) a b # c\n c", b"abc", Some((0, 3))),
    ("(?xx)[a b]+", b"a b", Some((0, 1))),
    ("(?U)a+", b"aaa", Some((0, 1))),
    ("(?U)a+?", b"aaa", Some((0, 3))),
    ("a(?#b)+c", b"aac", Some((0, 3))),
    // Escapes.
    ("\\<a\\>", b"<a>", Some((0, 3))),
    ("\\Qa.b\\E+", b"a.bb", Some((0, 4))),
    ("\\h\\H\\v\\V", b"\xa0a\x85b", Some((0, 4))),
    ("\\N+", b"a\nb", Some((0, 1))),
    ("a\\R", b"a\r\n", Some((0, 3))),
    ("\\e\\cA\\0\\012\\x1\\x{2}\\o{3}", b"\x1b\x01\0\n\x01\x02\x03", Some((0, 7))),
    ("\\x", b"a\0", Some((1, 2))),
    ("\\11", b"\t", Some((0, 1))),
    ("\\s", b"\x0b", Some((0, 1))),
    ("\\w+", b"a\xe9", Some((0, 1))),
    ("\\bfoo\\b", b"a foo\xff", Some((2, 5))),
    // Classes.
    ("[]a]+", b"a]", Some((0, 2))),
    ("[^]a]+", b"b]", Some((0, 1))),
    ("[\\w-.]+", b"a-.", Some((0, 3))),
    ("[+--]+", b"-,+", Some((0, 3))),
    ("[a&&b]+", b"a&b", Some((0, 3))),
    ("[!--b]+", b"!-b", Some((0, 3))),
    ("[~~]+", b"~~", Some((0, 2))),
    ("[[a]+", b"[a", Some((0, 2))),
    ("[[:alpha:][:^space:]]+", b"a1 ", Some((0, 2))),
    ("[\\b]", b"\x08", Some((0, 1))),
    ("[\\Qa]\\E]+", b"]a", Some((0, 2))),
    ("[#-\\x5B]+", b"Z[\\", Some((0, 2))),
    // Bytes: a character of two bytes is two items.
    ("\u{e9}+", b"\xc3\xa9\xa9", Some((0, 3))),
    ("[\u{e9}]", b"\xa9", Some((0, 1))),
    ("(?i)\u{e9}", "\u{c9}".as_bytes(), None),
    ("\\x{c2}\\x{b4}", b"\xc2\xb4", Some((0, 2))),
    // Braces.
    ("a{,2}", b"a{,2}", Some((0, 5))),
    ("a{2,1x}", b"a{2,1x}", Some((0, 7))),
    ("x{a}", b"x{a}", Some((0, 4))),
    ("a{2}", b"aaa", Some((0, 2))),
    // Possessive and atomic forms that make no difference.
    ("\\s*+=", b"  =", Some((0, 3))),
    ("a++", b"aa", Some((0, 2))),
    ("(?>ab)c", b"abc", Some((0, 3))),
    ("(?>a*)b", b"aab", Some((0, 3))),
    ("(?:a*+b)*c", b"aabbc", Some((0, 5))),
    // The first branch wins, even if both share a prefix.
    ("a[^b]+$|a[^b]+\\[", b"a1\n2[b", Some((0, 2))),
];

#[test]
fn linear_patterns_find_what_pcre_finds() {
    for &(source, text, expected) in LINEAR {
        let pattern = Pattern::parse(source).unwrap_or_else(|error| panic!("{source}: {error}"));
        assert!(!pattern.needs_backtracking(), "{source}");
        assert_eq!(find(&pattern, text), expected, "{source} is {} on {}", pattern.rust(), text.escape_ascii());
    }
}

#[test]
fn what_is_not_linear_has_a_filter_and_a_backtracking_form() {
    let cases = [
        ("<\\?(?!xml)", "\\x3C\\x3F", "\\x3C\\x3F(?!xml)"),
        ("(a)\\1", "(a)[\\x00-\\xFF]*", "(a)(?:\\1)"),
        ("(?i)(?<n>a)\\k<n>", "([Aa])[\\x00-\\xFF]*", "([Aa])(?i:\\1)"),
        ("(?<!ab|c)d", "d", "(?:(?<!ab)(?<!c))d"),
        ("(?<=ab|c)d", "d", "(?:(?<=ab)|(?<=c))d"),
        ("a++a", "(?:a+)a", "(?>a+)a"),
        ("(?>a|ab)c", "(?:a|ab)c", "(?>a|ab)c"),
        ("(?:a++){2}", "(?:(?:a+)){2}", "(?:(?>a+)){2}"),
        ("a\\Kb", "ab", "a\\Kb"),
        ("a\\Z", "a(?m:$)", "a(?=\\x0A?\\z)"),
        ("\\Rb?\\n", "(?:\\x0D\\x0A|[\\x0A-\\x0D\\x85])b?\\x0A", "(?>\\x0D\\x0A|[\\x0A-\\x0D\\x85])b?\\x0A"),
        ("(?=a)*b", "(?:|)b", "(?:(?=a)|)b"),
    ];
    for (source, rust, fancy) in cases {
        let pattern = Pattern::parse(source).unwrap_or_else(|error| panic!("{source}: {error}"));
        assert_ne!(pattern.form(), &Form::Linear, "{source}");
        assert_eq!((pattern.rust(), pattern.fancy()), (rust, Some(fancy)), "{source}");
    }
}

#[test]
fn conditions_on_the_next_byte_are_marks() {
    let cases = [
        ("=\\s*+[^;]", "\\x3D(?:[\\x09-\\x0D\\x20]*\\b{start})[\\x00-\\x3A\\x3C-\\xFF]"),
        ("a(?!b)c*+c", "a\\b{start}(?:c*\\b{end})c"),
        ("a(?=b+)", "a\\b{end-half}(?:b+)"),
        ("a(?!bc|b?d)", ""), // A choice of lengths is not written as strings.
        (
            "<(?!a[bc]|ad)",
            "\\x3C\\b{end-half}(?:\\z|a(?:\\z|[bc](?:\\z[\\x00-\\xFF])|d(?:\\z[\\x00-\\xFF])|[\\x00-ae-\\xFF])|[\\x00-\\x60b-\\xFF])",
        ),
        ("(a(?!bc))", ""), // The group would end too late.
        ("a(?!bc)()", ""),
        ("a(?!bc)d", ""),
        ("(a)\\1++", ""),
    ];
    for (source, text) in cases {
        match Pattern::parse(source).unwrap().form() {
            Form::Marked(marked) => assert_eq!(marked.text, text, "{source}"),
            form => assert_eq!((form, text), (&Form::Backtracking, ""), "{source}"),
        }
    }
}

#[test]
fn look_behind_at_the_beginning_and_two_words_have_forms() {
    let cases = [
        ("(?<!&(?:amp|[lg]t));|a", "behind"),
        ("(?:(?<=a|bc)d|e)f", "behind"),
        ("a(?<!b)", "backtracking"),
        ("(?<!a)b|(?<!c)b", "backtracking"),
        ("(?<!a)b(?!cd)", "backtracking"),
        ("\\b(\\w+)\\b=\\b\\1\\b", "words"),
        ("[ ']*\\b([\\d\\w]+)\\b(?:<(?!\\b\\1\\b)\\w+|(?i: +is +\\b\\1\\b))", "backtracking"), // of one case only
        ("(?i)[ ']*\\b([\\d\\w]+)\\b(?:<(?!\\b\\1\\b)\\w+| +is +\\b\\1\\b)", "words"),
        ("\\w*\\b(\\w+)\\b=\\b\\1\\b", "backtracking"),
        ("\\b([a-z]+)\\b=\\b\\1\\b", "backtracking"),
        ("\\b(\\w+)\\b(=)\\b\\1\\b", "backtracking"),
        ("\\b(\\w+)\\b.*=\\b\\1\\b", "backtracking"),
        ("\\b(\\w+)\\b=(?!\\b\\1\\b)\\w", "backtracking"),
        ("\\b(\\w+)\\b=\\1", "backtracking"),
        ("\\b(\\w+)\\b=\\b\\1\\b;", "backtracking"),
    ];
    for (source, expected) in cases {
        let name = match Pattern::parse(source).unwrap().form() {
            Form::Behind(_) => "behind",
            Form::Words(_) => "words",
            Form::Backtracking => "backtracking",
            Form::Linear | Form::Marked(_) => "other",
        };
        assert_eq!(name, expected, "{source}");
    }
}

#[test]
fn only_what_may_be_empty_behind_a_caret_differs_after_a_final_newline() {
    for (source, differs) in
        [("^$", true), ("^a*$", true), ("^", true), ("^a", false), ("(?:^|;)a", false), ("(?-m)^", false)]
    {
        let pattern = Pattern::parse(source).unwrap();
        assert_eq!(pattern.differs_after_final_newline(), differs, "{source}");
        assert_eq!(pattern.fancy().is_some(), differs, "{source}");
    }
}

#[test]
fn groups_are_counted_as_pcre_counts_them() {
    for (source, captures) in [("a", 0), ("(a)(?:b)(c(d))", 3), ("(?<x>a)(?P<y>b)(?'z'c)", 3), ("(?n)(a)(?<x>b)", 1)] {
        assert_eq!(Pattern::parse(source).unwrap().captures(), captures, "{source}");
    }
}

#[test]
fn errors_say_where() {
    let deep = "(".repeat(MAX_DEPTH as usize + 1);
    let long = "a".repeat(MAX_SOURCE_BYTES + 1);
    let cases = [
        ("a)", 1, "`)` without `(`"),
        ("a(b", 1, "a group that is not closed"),
        ("[a", 0, "a class that is not closed"),
        ("*a", 0, "nothing to repeat"),
        ("a**", 2, "nothing to repeat"),
        ("a{2}{3}", 4, "nothing to repeat"),
        ("a{3,2}", 1, "counts out of order"),
        ("a{65536}", 1, "a count above 65535"),
        ("[b-a]", 1, "a range out of order"),
        ("[[:foo:]]", 1, "not a POSIX class"),
        ("a\\", 1, "a backslash at the end"),
        ("\\y", 0, "`\\y` is not supported"),
        ("\\pL", 0, "`\\p` is not supported"),
        ("\\x{100}", 0, "a character above 255"),
        ("(a)\\2", 3, "no group 2 to refer to: the pattern has 1"),
        ("(?1)", 0, "recursion is not supported"),
        ("(?R)", 0, "recursion is not supported"),
        ("(?(1)a)", 0, "conditions are not supported"),
        ("(*UTF8)a", 0, "verbs and named assertions are not supported"),
        ("(?|a)", 0, "`(?|`, which numbers groups anew, is not supported"),
        ("(?q)", 2, "not a flag"),
        ("(?<1>a)", 3, "not a group name"),
        ("(?<a>a)(?<a>b)", 10, "two groups of the same name"),
        ("(?#", 0, "a comment that is not closed"),
        (&deep, MAX_DEPTH as usize, "groups nested more than 100 deep"),
        (&long, MAX_SOURCE_BYTES, "the pattern is longer than 65536 bytes"),
    ];
    for (source, offset, message) in cases {
        let error = Pattern::parse(source).unwrap_err();
        assert_eq!((error.offset, error.message.as_str()), (offset, message), "{source}");
    }
}

#[test]
fn offsets_survive_widening() {
    let mut text = String::new();
    widen(b"a\xe9b", &mut text);
    assert_eq!((text.as_str(), narrow_offset(&text, 3)), ("a\u{e9}b", 2));
}

/// Fragments of patterns that random text rarely produces.
const PIECES: &[&str] = &[
    "a",
    "\u{e9}",
    ".",
    "^",
    "$",
    "*",
    "+",
    "?",
    "{2}",
    "{,3}",
    "(",
    "(?:",
    "(?>",
    "(?=",
    "(?<!",
    "(?i)",
    "(?x)",
    ")",
    "|",
    "[",
    "]",
    "[^",
    "-",
    "\\",
    "\\Q",
    "\\E",
    "\\d",
    "\\R",
    "\\1",
    "\\x",
    "[:alpha:]",
    "&&",
    "#",
    " ",
    "\n",
    "\\b",
    "(?<n>",
    "\\k<n>",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_accepted_can_be_compiled(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..20)) {
        if let Ok(pattern) = Pattern::parse(&pieces.concat()) {
            let parsed = syntax::parse_with(pattern.rust(), &syntax());
            prop_assert!(parsed.is_ok(), "{}: {parsed:?}", pattern.rust());
            prop_assert!(pattern.fancy().is_some() || !pattern.needs_backtracking());
        }
    }

    #[test]
    fn no_text_panics(source in "\\PC{0,60}") {
        if let Err(error) = Pattern::parse(&source) {
            prop_assert!(error.offset <= source.len());
        }
    }
}
