//! Rules about source files that a reviewer should not have to check: size and first line, reasons
//! for unsafe code, leftovers. Each failure lists every offender.

use std::path::Path;

use weir_tidy::{assert_none, files, read, sources};

/// The most lines of a source file (the goal is around 150; past 400, consider a split).
const MAX_LINES: usize = 500;
/// The number of lines above `unsafe` in which its reason must stand.
const SAFETY_WITHIN: usize = 8;

#[test]
fn source_files_are_short() {
    let long = sources().map(|(path, text)| (path, text.lines().count())).filter(|(_, lines)| *lines > MAX_LINES);
    let long: Vec<String> = long.map(|(path, lines)| format!("{}: {lines}", path.display())).collect();
    assert_none("longer than 500 lines", &long);
}

#[test]
fn source_files_start_with_their_purpose() {
    let exempt = |path: &Path| path.ends_with("build.rs") || path.ends_with("tests.rs");
    let silent = sources().filter(|(path, text)| !exempt(path) && !text.starts_with("//! "));
    let silent: Vec<String> = silent.map(|(path, _)| path.display().to_string()).collect();
    assert_none("no //! at the top", &silent);
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
    assert_none("unsafe without a SAFETY line above", &offenders);
}

#[test]
fn no_leftovers_are_marked_for_later() {
    let words = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("todo", "!("), concat!("unimplemented", "!(")];
    assert_none("left for later", &lines_with(|line| words.iter().any(|word| line.contains(word))));
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
    assert_none("paths of one machine", &lines_with(names_one));
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
