//! Errors, with what to do about them.

use std::io;
use std::path::{Path, PathBuf};

use crate::layout::MAX_ENTRIES;

/// The table cannot be opened, or takes no more.
#[derive(Debug, thiserror::Error)]
pub enum BansError {
    /// The system refused something.
    #[error("cannot {what} {path}: {source}")]
    Io {
        /// The operation: "create", "map".
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// Not a table of bans, or one of another version of Weir.
    #[error("{path} is not a table of bans of this version; start nginx and control from the same version of Weir")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The table is full.
    #[error("the table has {MAX_ENTRIES} bans, which is all it takes; ban networks instead of their addresses")]
    Full,
}

impl BansError {
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { what, path, source }
    }
}
