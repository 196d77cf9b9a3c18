//! A diagnosis for the terminal: a paragraph for each finding, the most expensive first.

use std::fmt::Write;

use super::{Diagnosis, SkippedRule};
use crate::finding::{Evidence, Finding, Severity, percent};
use crate::rules::{FactSource, RULES};
use weir_profile::amount::counted;

/// Maximum number of lines of a finding, unless all are requested: a screen then holds five findings.
const LINES: usize = 8;
/// Minimum number of lines of evidence, even if the fix is long.
const LEAST_EVIDENCE: usize = 2;
/// Line width for prose.
const WIDTH: usize = 100;

/// Options of the text.
#[derive(Clone, Copy, Debug, Default)]
pub struct TextStyle {
    /// Whether to use colours.
    pub colours: bool,
    /// Whether to show all evidence.
    pub full: bool,
}

impl TextStyle {
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

/// The diagnosis as text.
#[must_use]
pub fn text(diagnosis: &Diagnosis, look: TextStyle) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{}", look.bold(&safe(&diagnosis.title)));
    for finding in &diagnosis.findings {
        out.push('\n');
        one(&mut out, finding, look);
    }
    let _ = write!(out, "\n{}", summary(diagnosis, look));
    out
}

fn one(out: &mut String, finding: &Finding, look: TextStyle) {
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

fn labelled(out: &mut String, label: &str, lines: &[String], look: TextStyle) {
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

/// The summary of examined and missing sources.
fn summary(diagnosis: &Diagnosis, look: TextStyle) -> String {
    let mut out = String::new();
    let rules = |count: usize| counted(count as u64, "rule");
    let said = match (diagnosis.findings.len(), diagnosis.asked) {
        (_, 0) => look.paint("33", "No rule could be evaluated."),
        (0, asked) => look.paint("32", &format!("Nothing found by {}.", rules(asked))),
        (found, asked) => format!("{found} of {} found a problem.", rules(asked)),
    };
    let _ = writeln!(out, "{said}");
    let seen: Vec<String> = diagnosis
        .looked
        .iter()
        .filter(|looked| looked.seen)
        .map(|looked| format!("{} ({})", looked.source.title(), looked.detail))
        .collect();
    if !seen.is_empty() {
        let lines = wrapped(&format!("examined  {}", seen.join("; ")), WIDTH);
        out.extend(lines.iter().map(|line| look.dim(&safe(line)) + "\n"));
    }
    for source in FactSource::ALL {
        let silent: Vec<&str> =
            diagnosis.not_asked.iter().filter(|one| lacks_first(one, source)).map(|one| one.rule).collect();
        if !silent.is_empty() {
            let lines = wrapped(&format!("skipped without {}: {}", source.title(), silent.join(", ")), WIDTH);
            out.extend(lines.iter().map(|line| look.dim(line) + "\n"));
        }
    }
    for remark in &diagnosis.remarks {
        out.extend(wrapped(&format!("note  {}", safe(remark)), WIDTH).iter().map(|line| look.dim(line) + "\n"));
    }
    out
}

fn lacks_first(one: &SkippedRule, source: FactSource) -> bool {
    one.lacks.first() == Some(&source)
}

/// The table of rules, for `--list`.
#[must_use]
pub fn table(look: TextStyle) -> String {
    let mut out = String::new();
    for rule in RULES {
        let _ = writeln!(out, "{}  {}", look.bold(rule.id), rule.title);
        for (label, text) in [("uses", rule.looks_at), ("threshold", rule.threshold)] {
            for (index, line) in wrapped(text, WIDTH - 12).iter().enumerate() {
                let head = if index == 0 { label } else { "" };
                let _ = writeln!(out, "  {}  {line}", look.dim(&format!("{head:8}")));
            }
        }
    }
    out
}

/// Wraps text at spaces to lines of at most `width` characters. Leading spaces are kept.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let indent = text.len() - text.trim_start().len();
    let (mut lines, mut line) = (Vec::new(), " ".repeat(indent));
    // A line that fits is kept unchanged, because inner spaces may align it with others.
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

/// Removes control characters: names of processes, files and Lua functions are untrusted.
pub(crate) fn safe(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
