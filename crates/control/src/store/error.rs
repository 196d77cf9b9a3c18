//! Why the store failed.

use std::io;
use std::path::PathBuf;

use rusqlite::ErrorCode;

/// The store failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite says no.
    #[error("store: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The system says no.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// What was read makes no sense.
    #[error("store: {0}")]
    Damaged(String),
    /// Another process has it.
    #[error("{}: another process has the store open; is `weir control` running already?", .0.display())]
    Busy(PathBuf),
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
            Self::Damaged(_) | Self::Busy(_) => false,
        }
    }

    /// Whether the file is not what it was.
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
            Self::Io { .. } | Self::Busy(_) => false,
        }
    }
}
