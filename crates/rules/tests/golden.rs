//! Valid expressions with their printed form, and invalid ones with every error as displayed. The
//! files under `golden/` hold the cases: lines that begin with `>>> ` are the text, those up to the
//! next such line the result. `WEIR_GOLDEN=write cargo test` updates them; review the difference.

use std::collections::BTreeMap;
use std::path::Path;

use weir_rules::{ListKind, parse, parse_value};

fn lists() -> BTreeMap<String, ListKind> {
    BTreeMap::from([
        ("office".to_owned(), ListKind::Addresses),
        ("blocked".to_owned(), ListKind::Addresses),
        ("bad_bots".to_owned(), ListKind::Strings),
        ("ports".to_owned(), ListKind::Integers),
    ])
}

/// Runs every case of `file` through `run`, which returns whether the outcome is of the file's
/// kind.
fn check(file: &str, least: usize, run: impl Fn(&str) -> Result<String, String>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    let golden = std::fs::read_to_string(&path).expect("the golden file is there");
    let mut cases: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
    let mut in_text = false;
    for line in golden.lines() {
        if let Some(text) = line.strip_prefix(">>>") {
            if !in_text {
                cases.push((Vec::new(), Vec::new()));
            }
            cases.last_mut().expect("just pushed").0.push(text.strip_prefix(' ').unwrap_or(text));
            in_text = true;
        } else if let Some(case) = cases.last_mut() {
            case.1.push(line);
            in_text = false;
        }
    }
    let mut written = String::new();
    let mut wrong = String::new();
    for (text, expected) in &cases {
        let text = text.join("\n");
        let outcome = match run(&text) {
            Ok(outcome) => outcome,
            Err(outcome) => {
                wrong.push_str(&format!("{text}\nis of the other kind:\n{outcome}\n\n"));
                continue;
            }
        };
        for line in text.split('\n') {
            written.push_str(format!(">>> {line}").trim_end());
            written.push('\n');
        }
        let lines: Vec<&str> = outcome.lines().map(str::trim_end).collect();
        written.push_str(&format!("{}\n", lines.join("\n")));
        if lines != *expected {
            wrong.push_str(&format!("{text}\nexpected:\n{}\nfound:\n{}\n\n", expected.join("\n"), lines.join("\n")));
        }
    }
    assert!(cases.len() >= least, "{file} has {} cases only", cases.len());
    if std::env::var_os("WEIR_GOLDEN").is_some() {
        std::fs::write(&path, written).expect("the golden file can be written");
    } else {
        assert!(wrong.is_empty(), "{wrong}");
    }
}

fn explain(text: &str, errors: &[weir_rules::ExpressionError]) -> String {
    assert!(!errors.is_empty(), "{text}");
    errors.iter().map(|error| error.explain(text)).collect::<Vec<_>>().join("\n")
}

#[test]
fn good_conditions_print_as_expected_and_parse_again() {
    check("good.txt", 60, |text| {
        let expr = parse(text, &lists()).map_err(|errors| explain(text, &errors))?;
        let printed = expr.to_string();
        assert_eq!(parse(&printed, &lists()).as_ref(), Ok(&expr), "{printed}");
        Ok(printed)
    });
}

#[test]
fn good_values_print_as_expected_and_parse_again() {
    check("values.txt", 10, |text| {
        let value = parse_value(text).map_err(|errors| explain(text, &errors))?;
        let printed = value.to_string();
        assert_eq!(parse_value(&printed).as_ref(), Ok(&value), "{printed}");
        Ok(printed)
    });
}

#[test]
fn bad_conditions_are_explained() {
    check("bad.txt", 60, |text| match parse(text, &lists()) {
        Ok(expr) => Err(expr.to_string()),
        Err(errors) => Ok(explain(text, &errors)),
    });
}

#[test]
fn bad_values_are_explained() {
    check("bad_values.txt", 4, |text| match parse_value(text) {
        Ok(value) => Err(value.to_string()),
        Err(errors) => Ok(explain(text, &errors)),
    });
}
