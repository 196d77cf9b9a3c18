//! Errors, warnings and notes, with position and suggested fix.
//!
//! Parsing goes on after a mistake, so that all of them are reported at once. A problem is recorded
//! with a byte offset; line and column are only computed for the final report.

use std::fmt;
use std::sync::Arc;

use super::limits::Limits;
use crate::suggest;

/// Longest line whose characters are counted.
const MAX_COUNTED: usize = 64 << 10;

/// Longest message or hint, in characters.
const MAX_MESSAGE: usize = 500;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The rules are not loaded.
    Error,
    /// Probably a mistake, or something left out.
    Warning,
    /// Information.
    Note,
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// File name as given or as found.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1, in characters.
    pub column: u32,
    /// The word in question; may be empty.
    pub token: String,
    /// Problem and expectation: one line, no full stop.
    pub message: String,
    /// Suggested fix.
    pub hint: Option<String>,
    /// How bad it is.
    pub severity: Severity,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}:{}:{}: ", self.file, self.line, self.column)?;
        match self.severity {
            Severity::Error => {}
            Severity::Warning => to.write_str("warning: ")?,
            Severity::Note => to.write_str("note: ")?,
        }
        to.write_str(&self.message)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(to, "; {hint}"))
    }
}

/// A location: a file and a byte offset in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SourceLocation {
    pub(super) file: u32,
    pub(super) offset: u32,
}

impl SourceLocation {
    /// The location that many bytes further.
    pub(super) fn plus(self, bytes: usize) -> Self {
        Self { offset: self.offset.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX)), ..self }
    }
}

/// A file that has been read.
#[derive(Clone, Debug)]
pub(super) struct SourceText {
    pub(super) name: String,
    pub(super) bytes: Arc<[u8]>,
    /// Offsets of line starts.
    lines: Vec<u32>,
}

impl SourceText {
    pub(super) fn new(name: String, bytes: Vec<u8>) -> Self {
        let starts = bytes.iter().zip(1_u32..).filter(|(byte, _)| **byte == b'\n').map(|(_, at)| at);
        let lines = std::iter::once(0).chain(starts).collect();
        Self { name, bytes: bytes.into(), lines }
    }

    /// Line and column of a byte, from 1.
    fn position(&self, offset: u32) -> (u32, u32) {
        let line = self.lines.partition_point(|&start| start <= offset);
        let start = self.lines[line - 1] as usize;
        let end = (offset as usize).clamp(start, self.bytes.len());
        // In an overlong line, which was not typed by hand, bytes are counted.
        let before = &self.bytes[start..end];
        let column =
            if before.len() > MAX_COUNTED { before.len() } else { String::from_utf8_lossy(before).chars().count() };
        (clamp(line), clamp(column + 1))
    }
}

fn clamp(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Whether an unsupported feature is an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnUnsupported {
    /// An error.
    #[default]
    Error,
    /// A warning; the rule is left out with its whole chain.
    Warn,
}

/// All files, and the problems found in them.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) texts: Vec<SourceText>,
    pub(super) limits: Limits,
    on_unsupported: OnUnsupported,
    found: Vec<(SourceLocation, Problem)>,
    dropped: usize,
    errors: usize,
    /// Number of bytes that may still be read.
    bytes_left: usize,
}

#[derive(Debug)]
struct Problem {
    token: String,
    message: String,
    hint: Option<String>,
    severity: Severity,
}

impl Report {
    pub(super) fn new(limits: Limits, on_unsupported: OnUnsupported) -> Self {
        Self {
            texts: Vec::new(),
            limits,
            on_unsupported,
            found: Vec::new(),
            dropped: 0,
            errors: 0,
            bytes_left: limits.total_bytes,
        }
    }

    /// Counts bytes read; returns false beyond the limit.
    pub(super) fn spend(&mut self, bytes: usize, spot: SourceLocation) -> bool {
        let left = self.bytes_left.checked_sub(bytes);
        self.bytes_left = left.unwrap_or(0);
        if left.is_none() {
            self.error(spot, "", format!("more than {} bytes in all files", self.limits.total_bytes), None);
        }
        left.is_some()
    }

    pub(super) fn line(&self, spot: SourceLocation) -> u32 {
        self.texts.get(spot.file as usize).map_or(1, |text| text.position(spot.offset).0)
    }

    /// `file:line`, for messages that mention a second location.
    pub(super) fn place(&self, spot: SourceLocation) -> String {
        let name = self.texts.get(spot.file as usize).map_or("", |text| text.name.as_str());
        format!("{name}:{}", self.line(spot))
    }

    pub(super) fn add(
        &mut self,
        severity: Severity,
        spot: SourceLocation,
        token: &str,
        message: String,
        hint: Option<String>,
    ) {
        if severity == Severity::Error {
            self.errors += 1;
        }
        if self.found.len() >= self.limits.problems {
            self.dropped += 1;
            return;
        }
        let (token, message, hint) =
            (suggest::shorten(&one_line(token)), one_line(&message), hint.as_deref().map(one_line));
        self.found.push((spot, Problem { token, message, hint, severity }));
    }

    pub(super) fn error(&mut self, spot: SourceLocation, token: &str, message: impl Into<String>, hint: Option<&str>) {
        self.add(Severity::Error, spot, token, message.into(), hint.map(str::to_owned));
    }

    pub(super) fn warn(&mut self, spot: SourceLocation, token: &str, message: impl Into<String>, hint: Option<&str>) {
        self.add(Severity::Warning, spot, token, message.into(), hint.map(str::to_owned));
    }

    pub(super) fn note(&mut self, spot: SourceLocation, token: &str, message: impl Into<String>) {
        self.add(Severity::Note, spot, token, message.into(), None);
    }

    /// Reports a feature that Weir lacks.
    pub(super) fn unsupported(&mut self, spot: SourceLocation, token: &str, why: &str) {
        let message = format!("`{}` is not supported: {why}", suggest::shorten(token));
        match self.on_unsupported {
            OnUnsupported::Error => {
                let hint = "remove it, or load with on_unsupported: warn, which leaves out the rules that need it";
                self.error(spot, token, message, Some(hint));
            }
            OnUnsupported::Warn => self.warn(spot, token, message, Some("rules that need it are left out")),
        }
    }

    pub(super) fn failed(&self) -> bool {
        self.errors > 0
    }

    /// All problems, in the order of files and lines.
    pub(super) fn finish(mut self) -> (Vec<Diagnostic>, Vec<SourceText>) {
        self.found.sort_by_key(|(spot, problem)| (*spot, problem.severity));
        let shown = |(spot, problem): (SourceLocation, Problem)| {
            let text = self.texts.get(spot.file as usize);
            let (line, column) = text.map_or((1, 1), |text| text.position(spot.offset));
            let file = text.map_or_else(String::new, |text| one_line(&text.name));
            let Problem { token, message, hint, severity } = problem;
            Diagnostic { file, line, column, token, message, hint, severity }
        };
        let mut all: Vec<Diagnostic> = std::mem::take(&mut self.found).into_iter().map(shown).collect();
        if let (true, Some(last)) = (self.dropped > 0, all.last().cloned()) {
            let severity = if self.errors > 0 { Severity::Error } else { Severity::Warning };
            let message = suggest::counted(self.dropped, "more problem");
            all.push(Diagnostic { token: String::new(), message, hint: None, severity, ..last });
        }
        (all, self.texts)
    }
}

/// A single line of limited length, whatever it quotes.
fn one_line(text: &str) -> String {
    let line = text.replace(|character: char| character.is_control(), " ");
    match line.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Bytes as text for a message.
pub(super) fn shown(bytes: &[u8]) -> String {
    suggest::shorten(&String::from_utf8_lossy(bytes)).replace(|character: char| character.is_control(), " ")
}
