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
//! # What it costs
//!
//! `cargo bench -p weir-bans --bench bans`, profile `quick`, on two cores that other builds kept busy; the least disturbed
//! of 100 samples. With 100,000 random addresses, each lookup is of another one, so it waits for memory.
//!
//! | lookup | ns |
//! | --- | --- |
//! | in an empty table | 14 |
//! | of a banned address, of another | 110, 100 |
//! | of another, with networks of eight more lengths | 160 |
//!
//! 500 removals and 500 additions take 0.06 ms, all 100,000 at once 14 ms. They take 6 MiB of the file's blocks.
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
