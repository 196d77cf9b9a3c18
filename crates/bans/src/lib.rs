//! Banned addresses and networks: one table in a mapped file of the runtime directory, which `weir control` writes and
//! nginx's workers read.
//!
//! # Why a table of its own
//!
//! Bans come and go by the thousand, and each holds for a while only. As lists in the journal they would make a revision
//! each, and every worker would build its own copy. Here a ban is one store into memory that all workers share, and
//! [ends](Entry::expires_s) without another.
//!
//! # What keeps readers safe
//!
//! Workers look a client up in the middle of a request, and are not trusted ([ADR 015]): they have the file for reading
//! only. There is no lock that a writer who is killed could keep: an entry becomes visible, changes and goes by one atomic
//! store of its last word, and a reader who finds that word changed reads the entry again, a bounded number of times. A
//! table that grows is written anew in the other half of the file, and becomes the current one by one store.
//!
//! [ADR 015]: ../../../docs/adr/015-workers-are-not-trusted.md

mod area;
mod entry;
mod error;
mod file;
mod layout;
mod network;
mod reader;
mod writer;

pub use entry::{Entry, Origin, Remedy};
pub use error::BansError;
pub use layout::{FILE_BYTES, MAX_ENTRIES};
pub use network::{Network, NetworkError};
pub use reader::Reader;
pub use writer::Writer;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
