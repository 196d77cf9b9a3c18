//! How a command says that it failed: one line, and a hint of what to do.

use std::fmt;

use weir_ledger::LedgerError;

use crate::style::{Stream, Style};

/// A command failed.
#[derive(Debug)]
pub struct Failure {
    message: String,
    hint: Option<String>,
    code: u8,
}

/// The exit code if it is unknown whether a change was made.
const UNKNOWN: u8 = 3;

impl Failure {
    /// With what failed, in one line. Exit code 1.
    pub fn new(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), hint: None, code: 1 }
    }

    /// With what may have been done or not, in one line. Exit code 3.
    pub(crate) fn unknown(message: impl fmt::Display) -> Self {
        Self { code: UNKNOWN, ..Self::new(message) }
    }

    /// The exit code.
    pub(crate) fn code(&self) -> u8 {
        self.code
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl fmt::Display) -> Self {
        self.hint = Some(hint.to_string());
        self
    }

    /// Begins with the name of what failed.
    pub(crate) fn naming(self, name: &str) -> Self {
        Self { message: format!("{name}: {}", self.message), ..self }
    }

    /// For the terminal.
    pub(crate) fn render(&self, stream: Stream) -> String {
        let style = Style::of(stream);
        let mut text = format!("{} {}", style.red("weir:"), self.message);
        if let Some(hint) = &self.hint {
            text.push_str(&format!("\n{} {hint}", style.bold("hint:")));
        }
        text
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Self {
        Self::new(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(error)
    }
}
