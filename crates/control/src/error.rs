//! Why control cannot start, or go on.

use std::io;
use std::path::PathBuf;

use weir_bus::{BusError, JournalError};

use crate::store::StoreError;

/// Control cannot start, or go on.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The bus.
    #[error(transparent)]
    Bus(#[from] BusError),
    /// The stored state is none that this version accepts.
    #[error("the stored state is not valid: {0}; use the version that wrote it, or move the state directory aside")]
    State(String),
    /// The system.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// The operation that failed.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The task that publishes has died, which is a fault of ours.
    #[error("the publisher has died: {0}")]
    Publisher(String),
    /// A listener.
    #[error("{0}")]
    Listen(String),
}

impl ControlError {
    pub(crate) fn io(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { what, path, source }
    }
}
