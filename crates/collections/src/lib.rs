//! Persistent collections of SecLang rules (`IP`, `GLOBAL`, `SESSION`, ...) in memory of a fixed
//! size that all workers share.
//!
//! ModSecurity keeps them either in LMDB, which costs system calls for each request, or in process memory, which is
//! invisible to other workers. Here a record is stored in one bucket of 2 KiB, behind a lock word that holds its
//! owner's process id. The holder of the lock copies the bucket out, works on plain bytes, and copies it back: some
//! hundred nanoseconds and no unsafe code. If a worker is killed meanwhile, the next one sees a dead owner and clears
//! that bucket, so that a half-written one is never read.
//!
//! Memory is bounded: a full bucket first evicts expired members, then those that expire next.

mod bucket;
mod table;

pub use bucket::{MAX_NAME_BYTES, MAX_VALUE_BYTES};
pub use table::{Counts, MIN_WORDS, Table};
