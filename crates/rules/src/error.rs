//! Errors in expressions: position, cause and suggested fix.
//!
//! An error holds byte offsets only. The caller that shows it renders it against the text: the
//! policy loader adds file and line, the command line shows it alone.

use std::ops::Range;

use crate::limits::MAX_EXCERPT_COLUMNS;

/// One mistake in an expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExpressionError {
    /// Byte offsets into the text, on character boundaries. May be empty (at the end of the text).
    pub span: Range<usize>,
    /// What was expected and what was found: one line, no full stop.
    pub message: String,
    /// Suggested fix.
    pub hint: Option<String>,
}

impl ExpressionError {
    /// Line and column of the error, both from 1; columns count characters.
    #[must_use]
    pub fn position(&self, text: &str) -> (usize, usize) {
        let start = self.start(text);
        let before = &text[..start];
        let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
        let column = before[line_start(text, start)..].chars().count() + 1;
        (line, column)
    }

    /// The line of the text, `^^^^` under the error, and `hint: ...` if there is one, without the
    /// message and without a final newline. Long lines are cut around the error.
    #[must_use]
    pub fn render(&self, text: &str) -> String {
        let start = self.start(text);
        let first = line_start(text, start);
        let last = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let (_, column) = self.position(text);
        let line: Vec<char> = text[first..last].trim_end_matches('\r').chars().map(printable).collect();
        let end = floor_boundary(text, self.span.end).clamp(start, last);
        let width = text[start..end].chars().count().max(1);

        let skip =
            if line.len() > MAX_EXCERPT_COLUMNS { (column - 1).saturating_sub(MAX_EXCERPT_COLUMNS / 3) } else { 0 };
        let shown: String = line.iter().skip(skip).take(MAX_EXCERPT_COLUMNS).collect();
        let (head, indent) = if skip > 0 { ("… ", column + 1 - skip) } else { ("", column - 1) };
        let tail = if line.len() > skip + MAX_EXCERPT_COLUMNS { " …" } else { "" };
        let carets = width.min(MAX_EXCERPT_COLUMNS.saturating_sub(column - 1 - skip)).max(1);

        let mut out = format!("{head}{shown}{tail}\n{}{}", " ".repeat(indent), "^".repeat(carets));
        if let Some(hint) = &self.hint {
            out.push_str("\nhint: ");
            out.push_str(hint);
        }
        out
    }

    /// `line:column: message`, followed by the output of [`Self::render`].
    #[must_use]
    pub fn explain(&self, text: &str) -> String {
        let (line, column) = self.position(text);
        format!("{line}:{column}: {}\n{}", self.message, self.render(text))
    }

    /// Start of the span, safe for any text.
    fn start(&self, text: &str) -> usize {
        floor_boundary(text, self.span.start)
    }
}

/// The largest character boundary of `text` that is not after `at`.
fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Tabs and control characters take one column, like everything else.
fn printable(character: char) -> char {
    match character {
        '\t' => ' ',
        control if control.is_control() => '\u{fffd}',
        other => other,
    }
}

/// Messages quote text that may contain anything; logs and terminals need one clean line.
fn one_line(message: String) -> String {
    if message.contains(char::is_control) { message.replace(char::is_control, " ") } else { message }
}

/// A range of the text; the copyable form of [`ExpressionError::span`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub start: usize,
    pub end: usize,
}

impl Span {
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The range from the beginning of `self` to the end of `other`.
    pub fn to(self, other: Span) -> Self {
        Self { start: self.start, end: other.end }
    }

    /// The text in the range.
    pub fn of(self, text: &str) -> &str {
        &text[self.start..self.end]
    }
}

/// The errors found so far, at most [`crate::limits::MAX_ERRORS`].
#[derive(Debug, Default)]
pub(crate) struct Errors {
    all: Vec<ExpressionError>,
    closed: bool,
}

impl Errors {
    /// Adds an error, unless there are too many or one at the same position.
    pub fn add(&mut self, span: Span, message: impl Into<String>, hint: Option<String>) {
        let same = |error: &ExpressionError| error.span.start == span.start && error.span.end == span.end;
        if !self.is_full() && !self.all.iter().any(same) {
            let error = ExpressionError {
                span: span.start..span.end,
                message: one_line(message.into()),
                hint: hint.map(one_line),
            };
            self.all.push(error);
        }
    }

    /// Drops all further errors: anything after the last one is noise.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Whether further errors are dropped, so that looking for them is pointless.
    pub fn is_full(&self) -> bool {
        self.closed || self.all.len() >= crate::limits::MAX_ERRORS
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// All errors, in the order of the text.
    pub fn into_sorted(mut self) -> Vec<ExpressionError> {
        self.all.sort_by_key(|error| (error.span.start, error.span.end));
        self.all
    }
}
