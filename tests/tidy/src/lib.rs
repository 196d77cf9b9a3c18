//! The repository as the tidy checks read it. This package depends on no other crate of Weir, so that
//! any change can be checked in seconds: `cargo test --profile quick -p weir-tidy`.

use std::fs;
use std::path::{Path, PathBuf};

pub mod cycles;
pub mod dependencies;
pub mod figures;
mod modules;
pub mod timed;
pub mod tokens;

/// Directories without hand-written files; `.git` is a file in a linked checkout.
const SKIPPED: [&str; 9] =
    ["target", ".git", ".build", "corpus", "artifacts", "seeds", "node_modules", "results", "proptest-regressions"];

/// The root of the repository.
///
/// # Panics
///
/// If the directory of this package is gone.
#[must_use]
pub fn root() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).expect("the repository is there")
}

/// Every hand-written file, relative to the repository, sorted.
///
/// # Panics
///
/// If a directory cannot be read.
#[must_use]
pub fn files() -> Vec<PathBuf> {
    let root = root();
    let mut found = Vec::new();
    let mut left = vec![root.clone()];
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(&dir).expect("is readable").flatten() {
            let name = entry.file_name();
            let file_type = entry.file_type().expect("is known");
            if SKIPPED.iter().any(|skipped| name == *skipped) {
                continue;
            }
            if file_type.is_dir() {
                left.push(entry.path());
            } else if file_type.is_file() {
                found.push(entry.path().strip_prefix(&root).expect("is below").to_owned());
            }
        }
    }
    found.sort();
    assert!(found.len() > 50, "looked at the wrong place: {}", root.display());
    found
}

/// Every Rust source file with its text.
pub fn sources() -> impl Iterator<Item = (PathBuf, String)> {
    files().into_iter().filter(|path| path.extension().is_some_and(|end| end == "rs")).map(|path| {
        let text = read(&path);
        (path, text)
    })
}

/// Names of the directories below `crates`, sorted.
///
/// # Panics
///
/// If the directory cannot be read.
#[must_use]
pub fn crates() -> Vec<String> {
    let entries = fs::read_dir(root().join("crates")).expect("is readable").flatten();
    let with_manifest = entries.filter(|entry| entry.path().join("Cargo.toml").is_file());
    let mut names: Vec<String> = with_manifest.map(|entry| entry.file_name().display().to_string()).collect();
    names.sort();
    names
}

/// The text of a file, given relative to the repository; empty if it is not text.
#[must_use]
pub fn read(path: &Path) -> String {
    fs::read(root().join(path)).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

/// Fails with the list of all offenders, if there are any.
///
/// # Panics
///
/// If there is an offender.
pub fn assert_none(what: &str, offenders: &[String]) {
    assert!(offenders.is_empty(), "{what}:\n  {}", offenders.join("\n  "));
}
