//! What is wrong with a policy, all of it in one go.
//!
//! A policy is refused whole, so whoever mends it should see every fault at once, each with its
//! place, the line itself and, where one can be given, advice.

use std::fmt;

use weir_gateway::resource::ResourceKind;

use crate::action::sec_lang;
use crate::check::What;
use crate::document::SyntaxError;
use crate::source::{Source, file_of};

/// What is wrong with a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// JSON pointer (RFC 6901) within the document: `/split/1/weight`; empty for the whole.
    pub pointer: String,
    /// What is wrong, in a sentence without a full stop.
    pub message: String,
    /// What was expected, if one thing was.
    pub expected: Option<String>,
    /// What was found there.
    pub found: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
}

/// One fault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyError {
    /// The file, as it was named.
    pub file: String,
    /// Line, from 1; 0 if the fault is the whole file's.
    pub line: u32,
    /// Column in characters, from 1; 0 if the fault is the whole line's or file's.
    pub column: u32,
    /// What was expected and what was found.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The line with a caret below the place; empty if there is none to show.
    pub excerpt: String,
    /// Of a gateway's policies: the document whose fault it is. `file` is then the document itself
    /// (`policies/demo.json`), the text of a rule set (`rule_sets/own`), or a file that the document names.
    pub document: Option<DocumentPosition>,
}

/// A place in a document of a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentPosition {
    /// The document's kind.
    pub kind: ResourceKind,
    /// Its id.
    pub id: String,
    /// JSON pointer within it.
    pub pointer: String,
}

impl PolicyError {
    /// The fault as it is shown beside its document: where the pointer does not lead to the very place, the message
    /// begins with file and line. What a file contains is not quoted: whoever may name a file in a document need not
    /// be allowed to read it.
    #[must_use]
    pub fn in_document(&self) -> Option<(ResourceKind, &str, Fault)> {
        let DocumentPosition { kind, id, pointer } = self.document.as_ref()?;
        let (file, line) = (&self.file, self.line);
        let mut hint = self.hint.clone();
        let message = match &self.message {
            message if *file == file_of(*kind, id) => message.clone(),
            message if *file == sec_lang::named(id) => format!("line {line}: {message}"),
            message if line == 0 => format!("{file}: {message}"),
            message => {
                hint = Some("lines of files are not shown here; `weir check` on the host shows them".to_owned());
                format!("{file}, line {line}: {}", without_content(message))
            }
        };
        let fault = Fault { pointer: pointer.clone(), message, hint, ..Fault::default() };
        Some((*kind, id, fault))
    }
}

/// What was expected, if the message says it before what was found.
fn without_content(message: &str) -> &str {
    match message.split_once(", found ") {
        Some((expected, _)) if !expected.contains('`') => expected,
        _ => "the line is not valid",
    }
}

/// All faults of a policy, each file's in the order of its lines; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyErrors {
    errors: Vec<PolicyError>,
    more: usize,
}

impl PolicyErrors {
    /// The faults; at most [`MAX_ERRORS`] of them.
    #[must_use]
    pub fn errors(&self) -> &[PolicyError] {
        &self.errors
    }

    /// How many were found beyond those.
    #[must_use]
    pub fn more(&self) -> usize {
        self.more
    }
}

impl From<Vec<PolicyError>> for PolicyErrors {
    fn from(errors: Vec<PolicyError>) -> Self {
        Self { errors, more: 0 }
    }
}

/// How many faults are kept: a list file in the wrong format would give a million.
pub const MAX_ERRORS: usize = 100;

impl fmt::Display for PolicyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:", self.file)?;
        for number in [self.line, self.column] {
            if number > 0 {
                write!(out, "{number}:")?;
            }
        }
        write!(out, " {}", self.message)?;
        if !self.excerpt.is_empty() {
            write!(out, "\n{}", self.excerpt)?;
        }
        match &self.hint {
            Some(hint) => write!(out, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for PolicyErrors {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().enumerate() {
            let separator = if index > 0 { "\n" } else { "" };
            write!(out, "{separator}{error}")?;
        }
        if self.more > 0 {
            write!(out, "\nand {}", weir_rules::counted(self.more, "more error"))?;
        }
        Ok(())
    }
}

impl std::error::Error for PolicyError {}
impl std::error::Error for PolicyErrors {}

/// Collects faults while the policy is read.
#[derive(Debug, Default)]
pub struct Reporter {
    errors: Vec<PolicyError>,
    more: usize,
    warnings: Vec<PolicyError>,
    /// Faults of a document that is not a file, with their byte offsets and without pointers.
    faults: Option<Vec<(usize, Fault)>>,
    /// Whose fault it is what is wrong in a file or text that a document names.
    pub(crate) context: Option<DocumentPosition>,
    /// Whether what is looked at may hold secrets: then faults quote neither values nor lines.
    pub hides: bool,
}

impl Reporter {
    /// A reporter for a document that is not a file.
    #[must_use]
    pub fn of_document() -> Self {
        Self { faults: Some(Vec::new()), ..Self::default() }
    }

    /// The faults of a document, each with its byte offset; the pointers are still to be filled in.
    #[must_use]
    pub fn into_faults(self) -> Vec<(usize, Fault)> {
        self.faults.unwrap_or_default()
    }

    /// Whether something was wrong.
    pub fn has_faults(&self) -> bool {
        !self.errors.is_empty() || self.faults.as_ref().is_some_and(|faults| !faults.is_empty())
    }

    /// Something was expected at a byte offset, for something, and something else was found.
    pub fn mismatch(
        &mut self,
        source: &Source,
        offset: usize,
        (expected, found): (&str, &str),
        what: Option<What<'_>>,
        hint: Option<String>,
    ) {
        let purpose = what.map_or(String::new(), |what| format!(" for {what}"));
        let found = if self.hides { "something else" } else { found };
        let message = format!("expected {expected}{purpose}, found {found}");
        let (expected, found) = (Some(expected.to_owned()), Some(found.to_owned()));
        match &mut self.faults {
            Some(faults) if faults.len() < MAX_ERRORS => {
                faults.push((offset, Fault { message, expected, found, hint, ..Fault::default() }));
            }
            Some(_) => self.more += 1,
            None => self.at(source, offset, message, hint),
        }
    }

    /// A fault at a byte offset of a source.
    pub fn at(&mut self, source: &Source, offset: usize, message: impl Into<String>, hint: Option<String>) {
        if self.is_full() {
            self.more += 1;
            return;
        }
        if let Some(faults) = &mut self.faults {
            faults.push((offset, Fault { message: message.into(), hint, ..Fault::default() }));
            return;
        }
        let mut fault = fault_at(source, offset, message.into(), hint);
        if self.hides {
            fault.excerpt.clear();
        }
        self.push(fault);
    }

    /// A source that cannot be read at all. If it has credentials, its line is not quoted.
    pub fn syntax(&mut self, source: &Source, error: SyntaxError) {
        let hides = std::mem::replace(&mut self.hides, source.text.contains("credentials"));
        self.at(source, error.at, error.message, error.hint);
        self.hides = hides;
    }

    /// Something odd at a byte offset of a source, which refuses nothing.
    pub fn warn_at(&mut self, source: &Source, offset: usize, message: impl Into<String>, hint: Option<String>) {
        self.warn(fault_at(source, offset, message.into(), hint));
    }

    /// Something odd, which refuses nothing.
    pub fn warn(&mut self, mut warning: PolicyError) {
        warning.document = warning.document.or_else(|| self.context.clone());
        if self.warnings.len() < MAX_ERRORS && !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// What was odd.
    pub fn take_warnings(&mut self) -> Vec<PolicyError> {
        std::mem::take(&mut self.warnings)
    }

    /// A fault of a line (0: of the whole file) of a file whose text is not kept.
    pub fn line(&mut self, file: &str, line: u32, message: impl Into<String>, hint: Option<String>) {
        let (file, message) = (file.to_owned(), message.into());
        self.push(PolicyError { file, line, column: 0, message, hint, excerpt: String::new(), document: None });
    }

    /// Whether further faults will only be counted.
    pub fn is_full(&self) -> bool {
        self.faults.as_ref().map_or(self.errors.len(), Vec::len) >= MAX_ERRORS
    }

    /// A fault that has a place already.
    pub fn push(&mut self, mut error: PolicyError) {
        error.document = error.document.or_else(|| self.context.clone());
        // An anchor that is used ten times shows its fault once.
        if self.errors.contains(&error) {
            return;
        }
        if self.is_full() { self.more += 1 } else { self.errors.push(error) }
    }

    /// The result, if no fault was found; else the faults, each file's in the order of its lines.
    pub fn finish<T>(mut self, value: Option<T>) -> Result<T, PolicyErrors> {
        match value {
            Some(value) if self.errors.is_empty() => Ok(value),
            _ => {
                let files: Vec<String> = self.errors.iter().map(|error| error.file.clone()).collect();
                let first = |error: &PolicyError| files.iter().position(|file| *file == error.file);
                self.errors.sort_by_cached_key(|error| (first(error), error.line, error.column));
                Err(PolicyErrors { errors: self.errors, more: self.more })
            }
        }
    }
}

/// A fault at a byte offset of a source.
pub fn fault_at(source: &Source, offset: usize, message: String, hint: Option<String>) -> PolicyError {
    let position = source.position(offset);
    PolicyError {
        file: source.file.clone(),
        line: position.line,
        column: position.column,
        message,
        hint,
        excerpt: source.excerpt(offset),
        document: source.document_position(offset),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn errors_beyond_the_bound_are_counted() {
        let mut reporter = Reporter::default();
        for line in 0..250 {
            reporter.line("f", line, "bad", None);
        }
        let errors = reporter.finish(Some(())).unwrap_err();
        assert_eq!((errors.errors().len(), errors.more()), (MAX_ERRORS, 150));
        assert!(errors.to_string().ends_with("and 150 more errors"));
    }
}
