//! Diagnostics for wrong and for dubious text. The files under `golden/` hold the cases: lines that
//! begin with `>>> ` are the text, those up to the next such line the diagnostics.
//! `WEIR_GOLDEN=write cargo test` updates them; review the difference.

use std::fmt::Write;
use std::path::Path;

use weir_rules::seclang::{Memory, Options, RuleSource, load_from};

fn report(text: &str, lint: bool) -> String {
    let root = RuleSource::Text { name: "rules".into(), text: text.into() };
    let options = Options { lint, ..Options::default() };
    let problems = match load_from(&[root], &options, &Memory::default()) {
        Ok(loaded) => loaded.warnings,
        Err(problems) => problems,
    };
    problems.iter().map(|problem| format!("{problem}\n")).collect()
}

fn check(file: &str, least: usize, lint: bool) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    let golden = std::fs::read_to_string(&path).expect("the golden file is there");
    let mut texts: Vec<Vec<&str>> = Vec::new();
    let mut in_text = false;
    for line in golden.lines() {
        if let Some(text) = line.strip_prefix(">>>") {
            if !in_text {
                texts.push(Vec::new());
            }
            texts.last_mut().expect("just pushed").push(text.strip_prefix(' ').unwrap_or(text));
        }
        in_text = line.starts_with(">>>");
    }
    assert!(texts.len() >= least, "{file} has {} cases only", texts.len());
    let mut written = String::new();
    for text in texts {
        for line in &text {
            let _ = writeln!(written, "{}", format!(">>> {line}").trim_end());
        }
        let said = report(&text.join("\n"), lint);
        written.push_str(if said.is_empty() { "nothing\n" } else { &said });
    }
    if std::env::var_os("WEIR_GOLDEN").is_some() {
        std::fs::write(&path, &written).expect("can be written");
    }
    for (expected, found) in golden.lines().zip(written.lines()) {
        assert_eq!(found, expected, "{file}");
    }
    assert_eq!(written.lines().count(), golden.lines().count(), "{file}");
}

#[test]
fn wrong_text_is_reported_as_a_whole() {
    check("seclang_errors.txt", 30, false);
}

#[test]
fn dubious_text_is_reported_by_lint() {
    check("seclang_lint.txt", 25, true);
}
