//! Persistent collections of SecLang rules (`IP`, `GLOBAL`, `SESSION`, ...) in memory of a fixed
//! size that all workers share.
//!
//! ModSecurity keeps them in LMDB or in a process of its own; the one costs system calls for each
//! request, the other forgets what its sibling workers saw. Here a record lives in one bucket of
//! 2 KiB, behind a lock word that holds its owner's process id. Whoever holds the lock copies the
//! bucket out, works on plain bytes, and copies it back: some hundred nanoseconds, no unsafe code,
//! and if a worker is killed meanwhile, the next one sees a dead owner and forgets that bucket,
//! never a half-written one.
//!
//! Memory is bounded: a full bucket first gives up what has expired, then what would expire first.

mod bucket;
mod table;

pub use bucket::{MAX_NAME_BYTES, MAX_VALUE_BYTES};
pub use table::{Counts, MIN_WORDS, Table};
