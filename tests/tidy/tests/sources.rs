//! Rules about source files that a reviewer should not have to check: size and first line, reasons
//! for unsafe code, leftovers. Each failure lists every offender.

use std::path::Path;

use weir_tidy::tokens::{Token, tokens};
use weir_tidy::{assert_none, files, read, sources, timed};

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

/// A test that returns early, or prints that it was skipped, counts as passed although nothing was tested: it fails with
/// what is missing, or has `#[ignore = "why"]`.
#[test]
fn tests_fail_or_are_ignored_where_something_is_missing() {
    let offenders: Vec<String> = sources()
        .flat_map(|(path, text)| {
            early_returns(&text).into_iter().map(move |name| format!("{}: {name}", path.display()))
        })
        .collect();
    assert_none("tests that return early", &offenders);
    assert_none("tests that skip", &lines_with(skips));
}

#[test]
fn early_returns_of_tests_are_found() {
    let bodies = [
        ("let Some(folder) = std::env::var_os(\"VECTORS\") else { return };", true),
        ("if !installed() {\n        return;\n    }", true),
        ("Err(_) => return println!(\"there is no gcc\"),", true),
        ("let twice = |n: u32| { return n * 2; };", false),
        ("let script = \"if x then return end return; \";", false),
        ("assert!(installed()); // or return;", false),
    ];
    for (body, offends) in bodies {
        let test = |attribute: &str| {
            format!("#[test]\n{attribute}fn a() {{\n    {body}\n}}\nfn b() {{ if c {{ return; }} }}\n")
        };
        let expected: &[&str] = if offends { &["a"] } else { &[] };
        assert_eq!(early_returns(&test("")), expected, "{body}");
        assert_eq!(early_returns(&test("#[ignore = \"no gcc\"]\n")), [""; 0], "{body}");
    }
    for (line, offends) in [("SKIPPED: no gcc", true), ("skipped: no gcc", true), ("no gcc", false)] {
        assert_eq!(skips(&format!("    eprintln!(\"{line}\");")), offends, "{line}");
    }
}

/// Whether a line prints that something was skipped.
fn skips(line: &str) -> bool {
    line.to_ascii_lowercase().contains(concat!("println!(\"", "skipped"))
}

/// Names of the tests in a source file that are not ignored and return without a value before their end.
fn early_returns(text: &str) -> Vec<String> {
    let tokens = tokens(text);
    let word = |at: usize| tokens.get(at).and_then(Token::word);
    let is = |at: usize, sign: char| tokens.get(at) == Some(&Token::Sign(sign));
    let mut found = Vec::new();
    for start in (0..tokens.len()).filter(|&at| is(at, '[') && word(at + 1) == Some("test") && is(at + 2, ']')) {
        let Some(function) = (start..tokens.len()).find(|&at| word(at) == Some("fn")) else { continue };
        if (start..function).any(|at| word(at) == Some("ignore")) {
            continue;
        }
        let mut depth = 0;
        for at in function..tokens.len() {
            depth += i32::from(is(at, '{')) - i32::from(is(at, '}'));
            if depth == 0 && is(at, '}') {
                break;
            }
            let prints = matches!(word(at + 1), Some("println" | "eprintln"));
            if word(at) == Some("return") && (is(at + 1, ';') || is(at + 1, '}') || prints) {
                found.extend(word(function + 1).map(str::to_owned));
                break;
            }
        }
    }
    found
}

#[test]
fn tests_do_not_assert_time() {
    let mut offenders = Vec::new();
    for (path, text) in sources() {
        let line = |at: usize| text.lines().nth(at - 1).unwrap_or_default().trim();
        let lines = timed::assertions(&path, &text).into_iter();
        offenders.extend(lines.map(|at| format!("{}:{at}: {}", path.display(), line(at))));
    }
    for path in files().iter().filter(|path| path.extension().is_some_and(|end| end == "java")) {
        let is_test = path.iter().any(|part| part == "test");
        let text = read(path);
        let lines = (1..).zip(text.lines()).filter(|(_, line)| is_test && timed::asserts_in_java(line));
        offenders.extend(lines.map(|(at, line)| format!("{}:{at}: {}", path.display(), line.trim())));
    }
    assert_none("time is asserted; count events or work, or compare what may hang with a PATIENCE", &offenders);
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
