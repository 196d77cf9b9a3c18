//! The published vectors of SecLang's operators (`operators/*.json` of owasp-modsecurity's
//! secrules-language-tests). They are not part of this repository: `SECLANG_TESTS` names their
//! directory; without it the test prints a note and passes.

use std::path::{Path, PathBuf};

use regex_automata::Input;
use regex_automata::meta::Regex;
use regex_automata::util::syntax;
use weir_detect::{ByteRange, check_url_encoding, check_utf8, is_card_number, is_cpf, is_ssn, is_svnr, sqli, xss};

type Operator = fn(parameter: &str, input: &[u8]) -> bool;

const OPERATORS: [(&str, Operator); 9] = [
    ("detectSQLi", |_, input| sqli(input).is_some()),
    ("detectXSS", |_, input| xss(input)),
    ("validateByteRange", |range, input| !ByteRange::parse_leniently(range).0.allows(input)),
    ("validateUrlEncoding", |_, input| check_url_encoding(input).is_err()),
    ("validateUtf8Encoding", |_, input| check_utf8(input).is_err()),
    ("verifyCC", |pattern, input| any_match_in_place(pattern, input, is_card_number)),
    ("verifycpf", |pattern, input| any_match(pattern, input, is_cpf)),
    ("verifyssn", |pattern, input| any_match(pattern, input, is_ssn)),
    ("verifysvnr", |pattern, input| any_match(pattern, input, is_svnr)),
];

fn regex(pattern: &str) -> Regex {
    let syntax = syntax::Config::new().unicode(false).utf8(false).dot_matches_new_line(true).multi_line(true);
    Regex::builder().syntax(syntax).build(pattern).expect("a pattern")
}

/// Whether `pattern` has a match that is `valid` in the rest of `input` from some offset on.
fn any_match(pattern: &str, input: &[u8], valid: fn(&[u8]) -> bool) -> bool {
    let regex = regex(pattern);
    let mut suffixes = (0..input.len()).map(|from| &input[from..]);
    suffixes.any(|suffix| regex.find(suffix).is_some_and(|found| valid(&suffix[found.range()])))
}

/// The same, but a match at an offset takes the text before it into account: `^` does not match
/// there.
fn any_match_in_place(pattern: &str, input: &[u8], valid: fn(&[u8]) -> bool) -> bool {
    let regex = regex(pattern);
    let mut spans = (0..input.len()).map(|from| Input::new(input).range(from..));
    spans.any(|span| regex.find(span).is_some_and(|found| valid(&input[found.range()])))
}

fn folder() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/secrules-language-tests");
    std::env::var_os("SECLANG_TESTS").map(PathBuf::from).or(Some(beside)).filter(|folder| folder.is_dir())
}

#[test]
fn published_vectors() {
    let Some(folder) = folder() else {
        println!("skipped: SECLANG_TESTS names no folder with the vectors");
        return;
    };
    let mut wrong = Vec::new();
    for (name, operator) in OPERATORS {
        let text = std::fs::read_to_string(folder.join("operators").join(name).with_extension("json")).unwrap();
        let cases: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
        assert!(!cases.is_empty(), "{name}");
        for case in &cases {
            let input = bytes(case["input"].as_str().unwrap());
            let found = operator(case["param"].as_str().unwrap_or_default(), &input);
            if found != (case["ret"] == 1) {
                wrong.push(case.to_string());
            }
        }
        println!("{name}: {} vectors", cases.len());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// An input as ModSecurity's own test runner reads it: up to a NUL byte, with its own escapes.
fn bytes(text: &str) -> Vec<u8> {
    let text = text.split('\0').next().unwrap_or_default();
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, after @ ..] = rest {
        let hexadecimal = rest.strip_prefix(b"\\x").and_then(|digits| digits.get(..2));
        let byte = hexadecimal.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &rest[4..] } else { after };
    }
    bytes
}
