//! The README's tour, and its continuation: every command in their `console` blocks is run against a `weir up`, in one
//! shell, and must print the output shown.
//!
//! In the output, `...` stands for any text within a line and, alone on a line, for any number of
//! lines. Port 8080 is replaced by the port of this test.

use std::process::{Command, Stdio};

use crate::running::{Running, root, weir};

/// The pause between two commands: a reader takes longer, and logs are flushed after 100 ms.
const PAUSE: &str = "sleep 0.4";
const MARK: &str = "=== end of a command ===";

/// A command of a page, and the output that the page shows for it.
#[derive(Debug, PartialEq)]
pub struct Step {
    pub command: String,
    pub shown: Vec<String>,
}

/// The commands of all `console` blocks, with the output shown after each.
pub fn steps(markdown: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let (mut inside, mut continues) = (false, false);
    for line in markdown.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if inside && continues {
            let step = steps.last_mut().expect("something is continued");
            step.command.push('\n');
            step.command.push_str(line);
            continues = line.ends_with('\\');
        } else if let (true, Some(command)) = (inside, line.strip_prefix("$ ")) {
            continues = command.ends_with('\\');
            steps.push(Step { command: command.to_owned(), shown: Vec::new() });
        } else if inside {
            steps.last_mut().expect("a block begins with a command").shown.push(line.to_owned());
        }
    }
    steps
}

fn line_matches(pattern: &str, line: &str) -> bool {
    let parts: Vec<&str> = pattern.split("...").collect();
    let [first, middle @ .., last] = parts.as_slice() else { return pattern == line };
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// Whether the lines match the output shown.
pub fn lines_match(patterns: &[String], lines: &[&str]) -> bool {
    match patterns {
        [] => lines.is_empty(),
        [any, rest @ ..] if any == "..." => (0..=lines.len()).any(|skip| lines_match(rest, &lines[skip..])),
        [one, rest @ ..] => lines.first().is_some_and(|line| line_matches(one, line)) && lines_match(rest, &lines[1..]),
    }
}

#[test]
fn every_command_of_the_tour_prints_what_it_shows() {
    let pages = ["README.md", "docs/tour.md"].map(|page| std::fs::read_to_string(root().join(page)).expect("is there"));
    let steps = steps(&pages.concat());
    assert!(steps.len() >= 8, "the tour has shrunk to {} commands", steps.len());
    let up = Running::start(&[]);
    let port = up.port.to_string();
    let script: String =
        steps.iter().map(|step| format!("{}\necho '{MARK}'\n{PAUSE}\n", step.command.replace("8080", &port))).collect();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("bash")
        .args(["-c", &format!("exec 2>&1\n{script}")])
        .current_dir(root())
        .env("PATH", format!("{}:{path}", weir().parent().expect("is in a directory").display()))
        .env_remove("WEIR_RUNTIME")
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .output()
        .expect("bash runs");
    let output = String::from_utf8(output.stdout).expect("is text");
    let mut wrong = Vec::new();
    for (step, printed) in steps.iter().zip(output.split(&format!("{MARK}\n"))) {
        let printed = printed.replace(&port, "8080");
        if !lines_match(&step.shown, &printed.lines().collect::<Vec<_>>()) {
            wrong.push(format!("$ {}\nshown:\n{}\nprinted:\n{printed}", step.command, step.shown.join("\n")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert_eq!(output.matches(MARK).count(), steps.len());
}

#[test]
fn steps_include_continued_lines_and_output() {
    let text = "a\n```sh\n$ no\n```\n```console\n$ one \\\n  more\nout\n$ two\n```\nb\n";
    let step = |command: &str, shown: &[&str]| Step {
        command: command.into(),
        shown: shown.iter().map(|line| (*line).to_owned()).collect(),
    };
    assert_eq!(steps(text), [step("one \\\n  more", &["out"]), step("two", &[])]);
}

#[test]
fn dots_match_any_text() {
    let cases =
        [("a...c", "abc", true), ("a...c", "ac", true), ("a...c", "ab", false), ("...", "", true), ("a", "ab", false)];
    for (pattern, line, want) in cases {
        assert_eq!(line_matches(pattern, line), want, "{pattern} {line}");
    }
    let patterns = ["a".to_owned(), "...".to_owned(), "z".to_owned()];
    assert!(lines_match(&patterns, &["a", "b", "c", "z"]) && lines_match(&patterns, &["a", "z"]));
    assert!(!lines_match(&patterns, &["a", "b"]));
}
