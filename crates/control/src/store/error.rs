//! Errors of the store.

use std::io;
use std::path::PathBuf;

use rusqlite::ErrorCode;

use super::Owner;

/// The store failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// An error of SQLite.
    #[error("store: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// An error of the system.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// The operation that failed.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The stored data is invalid.
    #[error("store: {0}")]
    Damaged(String),
    /// There is a store where a new one is to be made.
    #[error("{} has a state already", dir.display())]
    Exists {
        /// The directory.
        dir: PathBuf,
    },
    /// Another process has the state directory.
    #[error("{} is in use by {}; two controls on one state would undo each other's changes",
        dir.display(), owner.as_ref().map_or_else(|| "another process".to_owned(), ToString::to_string))]
    Busy {
        /// The directory.
        dir: PathBuf,
        /// The process, if it could be read.
        owner: Option<Owner>,
    },
}

impl StoreError {
    pub(super) fn io(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { what, path, source }
    }

    /// Whether there is no space left.
    #[must_use]
    pub fn is_full(&self) -> bool {
        match self {
            Self::Sqlite(error) => {
                matches!(error.sqlite_error_code(), Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure))
            }
            Self::Io { source, .. } => matches!(source.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG)),
            Self::Damaged(_) | Self::Exists { .. } | Self::Busy { .. } => false,
        }
    }

    /// Whether the file is corrupt.
    #[must_use]
    pub fn is_corrupt(&self) -> bool {
        match self {
            Self::Sqlite(error) => {
                matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
                    || matches!(error, rusqlite::Error::InvalidColumnType(..) | rusqlite::Error::Utf8Error(..))
                    // A file of ours whose tables are gone.
                    || matches!(error, rusqlite::Error::SqliteFailure(code, _) if code.extended_code == 1)
            }
            Self::Damaged(_) => true,
            Self::Io { .. } | Self::Exists { .. } | Self::Busy { .. } => false,
        }
    }
}
