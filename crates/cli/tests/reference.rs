//! The reference pages in the repository match the tables that they are generated from.

use std::fs;
use std::path::Path;

#[test]
fn reference_pages_match_the_tables() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let stale = weir_cli::reference::pages()
        .into_iter()
        .filter(|(name, text)| fs::read_to_string(dir.join(name)).ok().as_ref() != Some(text));
    let names: Vec<&str> = stale.map(|(name, _)| name).collect();
    assert!(names.is_empty(), "out of date, run `make docs`: {names:?}");
}
