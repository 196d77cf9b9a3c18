//! The reference pages in the repository match the tables that they are generated from.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

#[test]
fn reference_pages_match_the_tables() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let stale = weir_tools::reference::pages()
        .into_iter()
        .filter(|(name, text)| fs::read_to_string(dir.join(name)).ok().as_ref() != Some(text));
    let names: Vec<&str> = stale.map(|(name, _)| name).collect();
    assert!(names.is_empty(), "out of date, run `make docs`: {names:?}");
}

#[test]
fn pages_are_written_once_and_then_compared() {
    let dir = tempfile::tempdir().expect("temp dir");
    let pages = dir.path().join("reference");
    let docs = |check: &[&str]| -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir-tools"));
        command.arg("docs").arg(&pages).args(check).output().expect("weir-tools runs")
    };
    assert_eq!(docs(&["--check"]).status.code(), Some(1));
    assert!(docs(&[]).status.success());
    assert!(docs(&["--check"]).status.success());
    fs::write(pages.join("policy.md"), "old").expect("writes");
    let output = docs(&["--check"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("policy.md") && output.status.code() == Some(1));
}

#[test]
fn other_commands_are_left_to_weir() {
    let output = Command::new(env!("CARGO_BIN_EXE_weir-tools")).arg("version").output().expect("weir-tools runs");
    assert!(String::from_utf8_lossy(&output.stderr).contains("no such command") && output.status.code() == Some(1));
}
