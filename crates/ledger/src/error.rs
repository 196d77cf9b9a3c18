//! Errors of the ledger's files, with a remedy in each message.

use std::io;
use std::path::PathBuf;

/// A file of the ledger cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// There is no such file: nginx with Weir is not running, or with another directory.
    #[error(
        "{}: not there; is nginx running with Weir, and with this runtime directory (`weir_runtime`, --runtime)?", path.display()
    )]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("{}: cannot {doing}: {source}{}", path.display(), permission_hint(source))]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was attempted.
        doing: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// The file is not one of Weir's.
    #[error("{}: not a file of Weir ({detail}); if nothing else needs it, remove it", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The evidence.
        detail: String,
    },
    /// The file was written by another version of Weir.
    #[error("{}: has format {found}, this is format {expected}; use the `weir` that belongs to the running module", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The format of the file.
        found: u32,
        /// The format of this version.
        expected: u32,
    },
    /// The file is shorter than its header says, or its header contradicts itself.
    #[error("{}: damaged: {detail}; remove it and restart nginx", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The contradiction.
        detail: String,
    },
    /// The ledger has no room for so many.
    #[error("{what}: {wanted} is over the limit of {limit}")]
    Limit {
        /// The limited resource.
        what: &'static str,
        /// The number that was requested.
        wanted: usize,
        /// The largest number possible.
        limit: usize,
    },
}

fn permission_hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; run this as the user who started nginx, usually root",
        io::ErrorKind::StorageFull => "; the file system is full",
        _ => "",
    }
}
