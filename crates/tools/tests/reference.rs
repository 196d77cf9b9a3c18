//! The reference pages in the repository match the tables that they are generated from.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn weir_tools() -> Command {
    Command::new(env!("CARGO_BIN_EXE_weir-tools"))
}

#[test]
fn reference_pages_match_the_tables() {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let output = weir_tools().arg("docs").arg(pages).arg("--check").output().expect("weir-tools runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn pages_are_written_once_and_then_compared() {
    let dir = tempfile::tempdir().expect("temp dir");
    let pages = dir.path().join("reference");
    let docs = |check: &[&str]| -> Output {
        weir_tools().arg("docs").arg(&pages).args(check).output().expect("weir-tools runs")
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
    let output = weir_tools().arg("version").output().expect("weir-tools runs");
    assert!(String::from_utf8_lossy(&output.stderr).contains("no such command") && output.status.code() == Some(1));
}
