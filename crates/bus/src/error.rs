//! Errors, for the person who reads the log and for the code that decides what to do next.

use std::io;
use std::path::{Path, PathBuf};

use crate::address::Address;
use crate::limits::WORKERS_MAX;

/// A region cannot be made, opened or joined.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
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
    /// Too many workers, or none.
    #[error("the bus takes 1 to {WORKERS_MAX} workers, not {0}; set worker_processes accordingly")]
    Workers(usize),
    /// Not a region, or one of another version of Weir.
    #[error("{path}: {reason}; start nginx and control from the same version of Weir")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Difference from a region of this version.
        reason: &'static str,
    },
    /// There is no such worker in the region.
    #[error("no slot for {address:?}: the region has {workers} workers")]
    NoSlot {
        /// Address that wanted to attach.
        address: Address,
        /// Number of workers of the region.
        workers: usize,
    },
    /// All places of those that follow messages are taken.
    #[error("{max} processes follow messages already")]
    NoFollower {
        /// The number of places.
        max: usize,
    },
}

impl BusError {
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> BusError {
        let path = path.to_path_buf();
        move |source| BusError::Io { what, path, source }
    }
}

/// A message was not sent. The receiver will see nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The receiver's ring is full. Try again when it had time to read, or drop the message: the choice is the sender's.
    #[error("the receiver's ring is full")]
    Full,
    /// The receiver has left, or never was there.
    #[error("the receiver is gone")]
    Gone,
    /// Key and payload together are too long.
    #[error("the message is longer than {max} bytes")]
    TooLong {
        /// The longest message, in bytes.
        max: usize,
    },
    /// The key has not been claimed.
    #[error("the key has no owner")]
    NoOwner,
    /// A reply to a message that was not a request.
    #[error("only a request can be replied to")]
    NotARequest,
}

/// A key was not claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OwnerError {
    /// A living worker owns the key.
    #[error("the key is owned by {by:?}")]
    Taken {
        /// The owner.
        by: Address,
    },
    /// No entry is free where this key would have to be.
    #[error("no more keys can have an owner")]
    TableFull,
    /// Only workers own keys.
    #[error("control cannot own keys")]
    NotAWorker,
}
