//! Where things lie in the file: a page that says which half is current, then two halves, each a hash table of slots of
//! three words. The file is sparse: blocks are reserved as a half grows, because touching a page without one kills with
//! SIGBUS when the file system is full.

use std::sync::atomic::AtomicU64;

/// "WEIRBAN" and the version of the layout.
pub(crate) const MAGIC: u64 = u64::from_be_bytes(*b"WEIRBAN\x01");

/// Slots of the smallest and the largest table, as powers of two.
pub(crate) const MIN_BITS: u32 = 10;
/// See [`MIN_BITS`].
pub(crate) const MAX_BITS: u32 = 18;

/// The most bans: three quarters of the largest table, beyond which runs of used slots get long.
pub const MAX_ENTRIES: usize = (3 << MAX_BITS) / 4;

/// Words of a slot: the network's address, high and low, then the word of [`crate::entry::word`].
pub(crate) const SLOT_WORDS: usize = 3;

/// Slots that are looked at for one network. At three quarters, no run has half as many.
pub(crate) const WINDOW: usize = 1 << 10;

/// Times that a reader begins anew because the table has changed under its hands. Each takes a whole new table, or a
/// change of the very slot, within the microsecond of a lookup.
pub(crate) const ATTEMPTS: usize = 4;

/// Words of the first page, and of each half.
pub(crate) const HEADER_WORDS: usize = 512;
const HALF_WORDS: usize = SLOT_WORDS << MAX_BITS;

/// Length of the file: 12 MiB and a page.
pub const FILE_BYTES: usize = (HEADER_WORDS + 2 * HALF_WORDS) * 8;

/// Words of the first page.
pub(crate) const FORMAT: usize = 0;
/// The number of the current table; 0 if there was none yet. Its lowest bit says which half it is in.
pub(crate) const CURRENT: usize = 1;
/// Two words, random for each file: nobody can choose addresses that come to lie side by side.
pub(crate) const SEED: usize = 2;
/// Descriptions of the halves, a cache line each.
const ABOUT: usize = 64;

/// Words of a description: the table's size as a power of two, then a bit for each prefix length that is in use: one word
/// for IPv4, two for IPv6 with the lengths from 1 and from 65 on.
pub(crate) const BITS: usize = 0;
/// See [`BITS`].
pub(crate) const LENGTHS: usize = 1;

/// The description of the half of a table.
pub(crate) fn about(words: &[AtomicU64], table: u64) -> &[AtomicU64] {
    let at = ABOUT + 8 * (table & 1) as usize;
    &words[at..at + 8]
}

/// The first word of the half of a table.
pub(crate) fn half(table: u64) -> usize {
    HEADER_WORDS + HALF_WORDS * (table & 1) as usize
}
