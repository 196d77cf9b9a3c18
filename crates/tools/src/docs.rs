//! `weir docs`: writes the reference pages, or says which of them are out of date.

use std::fs;

use crate::reference::pages;
use weir_cli::Failure;
use weir_cli::arguments::Docs;

pub(crate) fn run(docs: &Docs) -> Result<(), Failure> {
    let fail = |path: &std::path::Path, error: std::io::Error| Failure::new(format!("{}: {error}", path.display()));
    let mut stale = Vec::new();
    for (name, text) in pages() {
        let path = docs.dir.join(name);
        if fs::read_to_string(&path).is_ok_and(|have| have == text) {
            continue;
        }
        if docs.check {
            stale.push(path.display().to_string());
            continue;
        }
        fs::create_dir_all(&docs.dir).map_err(|error| fail(&docs.dir, error))?;
        fs::write(&path, text).map_err(|error| fail(&path, error))?;
        println!("{}", path.display());
    }
    if stale.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!("out of date: {}", stale.join(", "))).hint("run: make docs"))
}
