//! ModSecurity's test vectors of the operators that are in this crate (see NOTICE): those of `weir-engine`, which tests
//! them all. Characters of an input are bytes.

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

#[test]
fn published_vectors() {
    let (mut passed, mut wrong) = (0, Vec::new());
    for line in include_str!("../../engine/tests/vectors/operators.jsonl").lines() {
        let (name, parameter, matching, other): (String, String, Vec<String>, Vec<String>) =
            serde_json::from_str(line).unwrap();
        let Some((_, operator)) = OPERATORS.iter().find(|(known, _)| *known == name) else { continue };
        let inputs = matching.iter().map(|input| (input, true)).chain(other.iter().map(|input| (input, false)));
        for (input, expected) in inputs {
            let bytes: Vec<u8> = input.chars().map(|character| u8::try_from(character).expect("a byte")).collect();
            if operator(&parameter, &bytes) == expected {
                passed += 1;
            } else {
                wrong.push(format!("{name} {parameter:?} of {input:?}: expected {expected}"));
            }
        }
    }
    println!("{passed} passed, {} failed", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(passed, 141);
}
