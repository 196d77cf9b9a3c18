//! Rules that a reviewer should not have to check: the size and first line of files, reasons for
//! unsafe code, leftovers, and documents that match the code. Each failure lists every offender.

use std::fs;
use std::path::{Path, PathBuf};

/// The most lines of a source file (the goal is around 150; past 400, consider a split).
const MAX_LINES: usize = 500;
/// The number of lines above `unsafe` in which its reason must stand.
const SAFETY_WITHIN: usize = 8;
/// Directories without hand-written files.
const SKIPPED: [&str; 9] =
    ["target", ".git", ".build", "corpus", "artifacts", "seeds", "node_modules", "results", "proptest-regressions"];

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    fs::canonicalize(root).expect("the repository is there")
}

/// Every hand-written file below `dir`, relative to the repository.
fn files() -> Vec<PathBuf> {
    let root = root();
    let mut found = Vec::new();
    let mut left = vec![root.clone()];
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(&dir).expect("is readable").flatten() {
            let name = entry.file_name();
            let kind = entry.file_type().expect("is known");
            if kind.is_dir() && !SKIPPED.iter().any(|skipped| name == *skipped) {
                left.push(entry.path());
            } else if kind.is_file() {
                found.push(entry.path().strip_prefix(&root).expect("is below").to_owned());
            }
        }
    }
    found.sort();
    assert!(found.len() > 50, "looked at the wrong place: {}", root.display());
    found
}

fn sources() -> impl Iterator<Item = (PathBuf, String)> {
    files().into_iter().filter(|path| path.extension().is_some_and(|end| end == "rs")).map(|path| {
        let text = read(&path);
        (path, text)
    })
}

/// The text of a file; empty if it is not text.
fn read(path: &Path) -> String {
    fs::read(root().join(path)).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

fn assert_none(what: &str, offenders: Vec<String>) {
    assert!(offenders.is_empty(), "{what}:\n  {}", offenders.join("\n  "));
}

#[test]
fn source_files_are_short() {
    let long = sources().map(|(path, text)| (path, text.lines().count())).filter(|(_, lines)| *lines > MAX_LINES);
    assert_none("longer than 500 lines", long.map(|(path, lines)| format!("{}: {lines}", path.display())).collect());
}

#[test]
fn source_files_start_with_their_purpose() {
    let exempt = |path: &Path| path.ends_with("build.rs") || path.ends_with("tests.rs");
    let silent = sources().filter(|(path, text)| !exempt(path) && !text.starts_with("//! "));
    assert_none("no //! at the top", silent.map(|(path, _)| path.display().to_string()).collect());
}

#[test]
fn unsafe_code_has_a_safety_comment() {
    let mut offenders = Vec::new();
    for (path, text) in sources() {
        let lines: Vec<&str> = text.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            let opens = [concat!("unsafe", " {"), concat!("unsafe", " impl")].iter().any(|word| code.contains(word));
            let above = &lines[index.saturating_sub(SAFETY_WITHIN)..=index];
            if opens && !code.contains('"') && !above.iter().any(|line| line.contains("SAFETY:")) {
                offenders.push(format!("{}:{}", path.display(), index + 1));
            }
        }
    }
    assert_none("unsafe without a SAFETY line above", offenders);
}

#[test]
fn no_leftovers_are_marked_for_later() {
    let words = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("todo", "!("), concat!("unimplemented", "!(")];
    assert_none("left for later", lines_with(|line| words.iter().any(|word| line.contains(word))));
}

#[test]
fn no_file_contains_paths_of_one_machine() {
    let roots = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];
    let names_one = |line: &str| {
        roots.iter().flat_map(|root| line.match_indices(root)).any(|(at, _)| {
            // A directory with this name further down is allowed, and so is a URL that a test requests.
            let before = line[..at].chars().next_back();
            !before.is_some_and(|c| c.is_alphanumeric() || "._-}".contains(c))
        })
    };
    assert_none("paths of one machine", lines_with(names_one));
}

fn lines_with(offends: impl Fn(&str) -> bool) -> Vec<String> {
    let mut offenders = Vec::new();
    for path in files().iter().filter(|path| !path.ends_with("Cargo.lock")) {
        for (index, line) in read(path).lines().enumerate() {
            if offends(line) {
                offenders.push(format!("{}:{}: {}", path.display(), index + 1, line.trim()));
            }
        }
    }
    offenders
}

#[test]
fn architecture_names_every_crate() {
    let map = read(Path::new("ARCHITECTURE.md"));
    let crates = fs::read_dir(root().join("crates")).expect("is readable").flatten();
    let names = crates.filter(|entry| entry.path().join("Cargo.toml").is_file()).map(|entry| entry.file_name());
    let missing = names.map(|name| format!("crates/{}", name.display())).filter(|name| !map.contains(name.as_str()));
    assert_none("not in ARCHITECTURE.md", missing.collect());
}

#[test]
fn the_changelog_has_an_unreleased_section() {
    assert!(read(Path::new("CHANGELOG.md")).contains("\n## [Unreleased]\n"));
}

#[test]
fn reference_pages_match_the_tables() {
    let dir = Path::new("docs/reference");
    let stale = weir_cli::reference::pages().into_iter().filter(|(name, text)| read(&dir.join(name)) != *text);
    assert_none("out of date, run `make docs`", stale.map(|(name, _)| name.to_owned()).collect());
}

#[test]
fn links_between_documents_have_targets() {
    let mut broken = Vec::new();
    for path in files().iter().filter(|path| path.extension().is_some_and(|end| end == "md")) {
        let text = read(path);
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = target.split('#').next().unwrap_or_default();
            let elsewhere = file.contains("://") || file.is_empty() || file.contains(char::is_whitespace);
            let dir = path.parent().unwrap_or(Path::new(""));
            if !elsewhere && !root().join(dir).join(file).exists() {
                broken.push(format!("{}: {target}", path.display()));
            }
        }
    }
    assert_none("links to nowhere", broken);
}
