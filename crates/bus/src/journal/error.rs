//! What can be wrong with the journal.

use std::io;
use std::path::{Path, PathBuf};

use crate::limits::FRAME_MAX;

/// The journal cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The system refused something.
    #[error("cannot {what} the journal {path}: {source}{hint}", hint = hint(source))]
    Io {
        /// The operation: "open", "append to".
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// The file is not a journal, or its header has another layout.
    #[error(
        "{path} is not a journal of this version of Weir ({reason}); stop nginx and control, remove it, start both"
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Difference from a journal of this version.
        reason: &'static str,
    },
    /// The newest generation is in another format. What is served stays as it is.
    #[error(
        "the journal is in format {found} and this build of Weir reads format {reads}; \
         control and nginx have to be of the same version"
    )]
    OtherFormat {
        /// Format of the generation.
        found: u32,
        /// Format of this build.
        reads: u32,
    },
    /// Another process writes the journal.
    #[error("the journal {path} is written by process {pid}; only one control can run in a runtime directory")]
    Locked {
        /// The file.
        path: PathBuf,
        /// Process id of the writer; 0 if unknown.
        pid: u32,
    },
    /// Something was appended before the first `begin`.
    #[error("the journal has no generation of this writer yet; begin one first")]
    NotBegun,
    /// A frame is too long.
    #[error("a frame of {bytes} bytes is longer than the journal takes ({FRAME_MAX})")]
    TooLong {
        /// Length of the frame in bytes.
        bytes: usize,
    },
    /// The area is full.
    #[error("the journal's area is full; begin a new generation")]
    AreaFull,
    /// The journal is damaged. The reader stays where it is until a new generation begins.
    #[error(
        "the journal is damaged at offset {offset} of generation {generation}: {reason}; restart control, it writes it anew"
    )]
    Damaged {
        /// Bytes from the beginning of the file.
        offset: u64,
        /// The generation that was read.
        generation: u64,
        /// Description of the damage.
        reason: &'static str,
    },
}

impl JournalError {
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> JournalError {
        let path = path.to_path_buf();
        move |source| JournalError::Io { what, path, source }
    }
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull => "; make room in the file system of the runtime directory",
        io::ErrorKind::NotFound => "; it is made by nginx or control, whichever starts first",
        _ => "",
    }
}
