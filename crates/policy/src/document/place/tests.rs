//! Every style of scalar, with the place of every character.

use proptest::prelude::*;

use super::super::{Kind, parse};
use super::*;

/// The one value of `k` in a document, as `name` says YAML or JSON.
fn check(text: &str, name: &str) -> Result<(), TestCaseError> {
    let source = Source::new(name.into(), text);
    let root = parse(&source).map_err(|error| TestCaseError::fail(format!("{error:?}\n{text}")))?;
    let Kind::Mapping(pairs) = &root.kind else { return Err(TestCaseError::fail("a mapping")) };
    let node = &pairs[0].1;
    let scalar = node.as_scalar().unwrap();
    for (within, c) in scalar.text.char_indices().filter(|(_, c)| !c.is_whitespace()) {
        let at = place(&source, node, within);
        let written = &source.text[at..];
        let same = written.starts_with(c) || (written.starts_with('\\') && scalar.style == Style::DoubleQuoted);
        prop_assert!(same, "{c:?} at {within} of {:?} is not at {at} of\n{text}", scalar.text);
    }
    Ok(())
}

/// What expressions are made of, and what YAML makes something else of.
fn expression() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "[a-z.]{1,6}",
        Just("\"it's\"".to_owned()),
        Just("'".to_owned()),
        Just("\"a\\\\b\"".to_owned()),
        Just("ä→😀".to_owned()),
        Just("x[*]".to_owned()),
    ];
    prop::collection::vec(word, 1..8).prop_map(|words| words.join(" "))
}

proptest! {
    #[test]
    fn every_character_is_found_where_it_was_written(words in expression(), indent in 1usize..5, fold in any::<bool>()) {
        let pad = " ".repeat(indent);
        let broken = if fold { words.replace(' ', &format!("\n{pad}")) } else { words.clone() };
        check(&format!("k: '{}'\n", broken.replace('\'', "''")), "p.yaml")?;
        check(&format!("k: \"{}\"\n", broken.replace('\\', "\\\\").replace('"', "\\\"")), "p.yaml")?;
        check(&format!("k: |\n{pad}{broken}\n"), "p.yaml")?;
        check(&format!("k: >-\n\n{pad}{broken}\n\n"), "p.yaml")?;
        check(&format!("k:   # why\n{pad}z{broken}\n"), "p.yaml")?;
        check(&format!("{{\n\t\"k\": {}}}\n", serde_json::to_string(&broken).unwrap()), "p.json")?;
    }
}

#[test]
fn places_in_white_space_and_after_escapes_are_exact() {
    for (text, within, expected) in [
        ("k: 'a  b'", 1, "  b'"),
        ("k: 'a  b'", 2, " b'"),
        ("k: 'a  b'", 4, "'"),
        ("k: \"\\x41\\u00e4b\"", 3, "b\""),
        ("k: \"\\x41\\u00e4b\"", 1, "\\u00e4"),
        ("k: \"a\\tb\"", 2, "b\""),
        ("k: \"a\\\n  b\"", 1, "b\""),
        ("k: |2\n    a\n   b\n", 5, "b\n"),
        ("k: >\n  a\n\n  b\n", 2, "b\n"),
        ("k: |\n  > 5\n", 2, "5\n"),
        ("- 'a'", 0, "- 'a'"),
    ] {
        let source = Source::new("p.yaml".into(), text);
        let root = parse(&source).unwrap();
        let node = if let Kind::Mapping(pairs) = &root.kind { &pairs[0].1 } else { &root };
        let at = place(&source, node, within);
        assert!(source.text[at..].starts_with(expected), "{text:?} {within}: {:?}", &source.text[at..]);
    }
}
