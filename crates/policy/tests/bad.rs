//! Bad policies and the exact text that their authors see.
//!
//! `golden/bad.txt` holds the cases: a title, the policy, the errors. `WEIR_GOLDEN=write` rewrites the
//! errors; read the difference before committing it.

use std::fmt::Write;
use std::path::Path;

use weir_policy::Snapshot;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/bad.txt");

struct Case<'t> {
    title: &'t str,
    policy: &'t str,
    errors: &'t str,
}

fn cases(text: &str) -> Vec<Case<'_>> {
    let blocks = text.split("\n=== ").skip(1);
    let case = |block| {
        let (title, rest): (&str, &str) = str::split_once(block, '\n').expect("a title ends its line");
        let (policy, errors) = rest.split_once("--- errors\n").expect("a case has a line `--- errors`");
        Case { title, policy, errors: errors.trim_end() }
    };
    blocks.map(case).collect()
}

/// The errors with the files' folder left out.
fn errors(case: &Case<'_>) -> String {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/files"));
    let name = if case.title.contains("(json)") { "policy.json" } else { "policy.yaml" };
    match Snapshot::parse(case.policy, &folder.join(name)) {
        Ok(_) => "no errors".to_owned(),
        Err(errors) => errors.to_string().replace(&format!("{}/", folder.display()), ""),
    }
}

#[test]
fn every_fault_is_told_at_its_place_with_advice() {
    let golden = std::fs::read_to_string(GOLDEN).expect("the golden file is there");
    let cases = cases(&golden);
    assert!(cases.len() > 40, "only {} cases", cases.len());
    let mut blessed = golden.split("\n=== ").next().unwrap_or_default().to_owned();
    let mut differing = Vec::new();
    for case in &cases {
        let errors = errors(case);
        let _ = write!(blessed, "\n=== {}\n{}--- errors\n{errors}\n", case.title, case.policy);
        if errors != case.errors {
            differing.push(format!("{}\n--- expected\n{}\n--- found\n{errors}", case.title, case.errors));
        }
    }
    if std::env::var_os("WEIR_GOLDEN").is_some() {
        std::fs::write(GOLDEN, blessed).expect("the golden file can be written");
    } else {
        assert!(differing.is_empty(), "{}", differing.join("\n\n"));
    }
}
