//! A diagnosis for the terminal: a paragraph for each finding, the most expensive first.

use std::fmt::Write;

use super::{Diagnosis, NotAsked};
use crate::finding::{Evidence, Finding, Severity, percent};
use crate::rules::{RULES, Source};

/// Lines of a finding, unless all are wanted: a screen then has room for five findings.
const LINES: usize = 8;
/// Lines of evidence that are shown even if the fix is long.
const LEAST_EVIDENCE: usize = 2;
/// Columns that prose is broken at.
const WIDTH: usize = 100;

/// How it shall look.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    /// Whether to colour it.
    pub colours: bool,
    /// Whether to show all evidence.
    pub full: bool,
}

impl Look {
    fn paint(self, code: &str, text: &str) -> String {
        if self.colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    fn severity(self, severity: Severity, text: &str) -> String {
        self.paint(
            match severity {
                Severity::Serious => "1;31",
                Severity::Warning => "1;33",
                Severity::Note => "1",
            },
            text,
        )
    }
}

/// The report.
#[must_use]
pub fn text(diagnosis: &Diagnosis, look: Look) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{}", look.bold(&safe(&diagnosis.title)));
    for finding in &diagnosis.findings {
        out.push('\n');
        one(&mut out, finding, look);
    }
    let _ = write!(out, "\n{}", closing(diagnosis, look));
    out
}

fn one(out: &mut String, finding: &Finding, look: Look) {
    let severity = format!("{:7}", format!("{:?}", finding.severity).to_lowercase());
    let sentence = wrapped(&safe(&finding.sentence), WIDTH - 9);
    let lines = sentence.iter().enumerate().map(|(index, line)| {
        let head = if index == 0 { look.severity(finding.severity, &severity) } else { " ".repeat(7) };
        format!("{head}  {}\n", look.bold(line))
    });
    out.extend(lines);
    let _ = writeln!(
        out,
        "         {}",
        look.dim(&format!("{} · {}", finding.rule, format!("{:?}", finding.confidence).to_lowercase()))
    );
    let fix: Vec<String> = finding.fix.lines().flat_map(|line| wrapped(line, WIDTH - 17)).collect();
    let room = LINES.saturating_sub(sentence.len() + 2 + fix.len()).max(LEAST_EVIDENCE);
    let shown = if look.full { finding.evidence.len() } else { finding.evidence.len().min(room) };
    for evidence in &finding.evidence[..shown] {
        let _ = writeln!(out, "           {}", safe(&evidence_line(evidence)));
    }
    labelled(out, "fix", &fix, look);
    labelled(out, "verify", std::slice::from_ref(&finding.verify), look);
}

fn labelled(out: &mut String, label: &str, lines: &[String], look: Look) {
    for (index, line) in lines.iter().enumerate() {
        let head = if index == 0 { label } else { "" };
        let _ = writeln!(out, "         {}  {}", look.dim(&format!("{head:6}")), safe(line));
    }
}

fn evidence_line(evidence: &Evidence) -> String {
    match evidence {
        Evidence::Stack { share, frames } => format!("{:>7}  {}", percent(*share), frames.join(" > ")),
        Evidence::Place { file, line, text } => format!("{file}:{line}  {text}"),
        Evidence::Figure { name, value } => format!("{name}: {value}"),
    }
}

/// What was looked at, and what was not.
fn closing(diagnosis: &Diagnosis, look: Look) -> String {
    let mut out = String::new();
    let rules = |count: usize| format!("{count} rule{}", if count == 1 { "" } else { "s" });
    let said = match (diagnosis.findings.len(), diagnosis.asked) {
        (_, 0) => look.paint("33", "No rule could be asked."),
        (0, asked) => look.paint("32", &format!("Nothing found by {}.", rules(asked))),
        (found, asked) => format!("{found} of {} found something.", rules(asked)),
    };
    let _ = writeln!(out, "{said}");
    let seen: Vec<String> = diagnosis
        .looked
        .iter()
        .filter(|looked| looked.seen)
        .map(|looked| format!("{} ({})", looked.source.title(), looked.detail))
        .collect();
    if !seen.is_empty() {
        let lines = wrapped(&format!("looked at  {}", seen.join("; ")), WIDTH);
        out.extend(lines.iter().map(|line| look.dim(&safe(line)) + "\n"));
    }
    for source in Source::ALL {
        let silent: Vec<&str> =
            diagnosis.not_asked.iter().filter(|one| lacks_first(one, source)).map(|one| one.rule).collect();
        if !silent.is_empty() {
            let lines = wrapped(&format!("without {}, silent: {}", source.title(), silent.join(", ")), WIDTH);
            out.extend(lines.iter().map(|line| look.dim(line) + "\n"));
        }
    }
    for remark in &diagnosis.remarks {
        out.extend(wrapped(&format!("note  {}", safe(remark)), WIDTH).iter().map(|line| look.dim(line) + "\n"));
    }
    out
}

fn lacks_first(one: &NotAsked, source: Source) -> bool {
    one.lacks.first() == Some(&source)
}

/// The table of rules, for `--list`.
#[must_use]
pub fn table(look: Look) -> String {
    let mut out = String::new();
    for rule in RULES {
        let _ = writeln!(out, "{}  {}", look.bold(rule.id), rule.title);
        for (label, text) in [("looks at", rule.looks_at), ("speaks", rule.threshold)] {
            for (index, line) in wrapped(text, WIDTH - 12).iter().enumerate() {
                let head = if index == 0 { label } else { "" };
                let _ = writeln!(out, "  {}  {line}", look.dim(&format!("{head:8}")));
            }
        }
    }
    out
}

/// Lines of at most `width` characters, broken at spaces. Spaces at the start are kept.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let indent = text.len() - text.trim_start().len();
    let (mut lines, mut line) = (Vec::new(), " ".repeat(indent));
    // A line with room to spare is left as it is: spaces inside of it may line up with others.
    if text.chars().count() <= width {
        return vec![text.to_owned()];
    }
    for word in text.split_whitespace() {
        if line.trim().is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent) + word));
        }
    }
    lines.push(line);
    lines
}

/// Without control characters: names of processes, files and Lua functions are not ours.
pub(crate) fn safe(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
