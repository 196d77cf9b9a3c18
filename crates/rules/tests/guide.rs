//! Every example in docs/expressions.md behaves as the guide states.

use std::collections::BTreeMap;
use std::path::Path;

use weir_rules::{ListKind, parse, parse_value};

fn guide() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/expressions.md");
    std::fs::read_to_string(path).expect("the guide is there")
}

/// The fenced blocks of that language.
fn blocks<'g>(guide: &'g str, language: &str) -> Vec<&'g str> {
    let open = format!("```{language}\n");
    let after = guide.split(&open).skip(1);
    after.map(|rest| rest.split_once("```").expect("a closed block").0.trim_end()).collect()
}

fn lists() -> BTreeMap<String, ListKind> {
    [("office", ListKind::Addresses), ("bad_networks", ListKind::Integers)]
        .map(|(name, kind)| (name.to_owned(), kind))
        .into()
}

#[test]
fn every_condition_of_the_guide_parses() {
    let guide = guide();
    let mut count = 0;
    for block in blocks(&guide, "weir") {
        // One expression a line, unless the whole block is one.
        if parse(block, &lists()).is_ok() {
            count += 1;
            continue;
        }
        for line in block.lines() {
            if let Err(errors) = parse(line, &lists()) {
                panic!("{}", errors.iter().map(|error| error.explain(line)).collect::<Vec<_>>().join("\n"));
            }
            count += 1;
        }
    }
    assert!(count >= 30, "{count}");
}

#[test]
fn every_value_of_the_guide_parses() {
    let guide = guide();
    let values = blocks(&guide, "weir-value");
    assert!(values.len() >= 3);
    for value in values {
        assert!(parse_value(value).is_ok(), "{value}");
    }
}

#[test]
fn the_errors_of_the_guide_are_shown_like_that() {
    let guide = guide();
    for block in blocks(&guide, "text") {
        let text = block.lines().nth(1).expect("the expression is on the second line");
        let errors = parse(text, &lists()).expect_err("an example of errors");
        assert_eq!(errors.iter().map(|error| error.explain(text)).collect::<Vec<_>>().join("\n"), block);
    }
}

#[test]
fn the_guide_names_its_bounds_rightly() {
    use weir_rules::limits::{MAX_DEPTH, MAX_TEXT_BYTES};
    assert_eq!((MAX_TEXT_BYTES, MAX_DEPTH), (64 << 10, 128));
    assert!(guide().contains("at most 64 KiB and 128 levels of parentheses"));
}
