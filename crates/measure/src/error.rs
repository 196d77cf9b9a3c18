//! What can go wrong in a measurement. A run that cannot be trusted is an error, never a row:
//! a variant that answers something else than 200 has measured the cost of its error page.

use std::io;
use std::path::PathBuf;

/// Why a run ended without a result.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A program could not be started, or ended when it should not have.
    #[error("{program}: {message}")]
    Program {
        /// Its name.
        program: String,
        /// What happened, with the end of its own output.
        message: String,
    },
    /// Something the scenario needs is not installed.
    #[error("{0}")]
    Missing(String),
    /// A variant does not do the work that its name promises.
    #[error("{variant}: {message}")]
    Wrong {
        /// The variant.
        variant: String,
        /// What was sent, expected and seen.
        message: String,
    },
    /// Arguments that make no sense together.
    #[error("{0}")]
    Usage(String),
    /// The user ended the run.
    #[error("interrupted; everything that was started has been stopped")]
    Interrupted,
}

impl MeasureError {
    /// A file error with its path.
    pub fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }

    /// A program error.
    pub fn program(program: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Program { program: program.into(), message: message.into() }
    }

    /// A variant that does not do its work.
    pub fn wrong(variant: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Wrong { variant: variant.into(), message: message.into() }
    }
}
