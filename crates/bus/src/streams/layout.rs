//! Where things lie in the file: a page about the whole, the slots of followers, a page about each stream, and the
//! streams' messages. Everything is a word of 8 bytes that is accessed as an atomic, messages too: another process may
//! write to any of them at any time.

use std::sync::atomic::AtomicU64;

/// "WEIRMSG" and the version of the layout.
pub(super) const MAGIC: u64 = u64::from_be_bytes(*b"WEIRMSG\x01");

/// Streams of a file.
pub const STREAMS: usize = 16;

/// Followers of a file at a time: the workers of two cycles during a reload, twice what [`WORKERS_MAX`] asks for on most
/// machines, and some other processes. Each has a bell, and each worker holds all of them open.
///
/// [`WORKERS_MAX`]: crate::WORKERS_MAX
pub const FOLLOWERS_MAX: usize = 256;

/// The bells that are made for this many workers: those of a cycle, of the one before, and of one that goes while another
/// comes; and eight for other processes.
pub(super) fn followers_for(workers: usize) -> usize {
    (3 * workers + 8).min(FOLLOWERS_MAX)
}

/// Words of a granule, the unit of positions: a cache line, so that two senders never write to the same one.
pub(super) const GRANULE_WORDS: usize = 8;

/// Bytes of a granule.
pub const GRANULE: usize = 8 * GRANULE_WORDS;

/// The smallest memory for all streams together: a part of 128 KiB for each.
pub const STREAMS_BYTES_MIN: usize = 2 << 20;

/// The largest: with it, each part has 1 GiB.
pub const STREAMS_BYTES_MAX: usize = 16 << 30;

/// Words of the header.
pub(super) mod header {
    pub(crate) const FORMAT: usize = 0;
    /// Random for each file; what positions refer to.
    pub(crate) const EPOCH: usize = 1;
    /// Bytes of the streams' messages.
    pub(crate) const BYTES: usize = 2;
    pub(crate) const FOLLOWERS: usize = 3;
    /// A hash of the machine's boot id.
    pub(crate) const BOOT: usize = 4;
    /// The hash of the name of each stream; 0 if it is free.
    pub(crate) const NAMES: usize = 16;
    /// Where each stream was when it got its name: what is before belongs to another name.
    pub(crate) const BEGINS: usize = 48;
    /// A bit for each follower's slot that is in use.
    pub(crate) const ACTIVE: usize = 80;
    pub(crate) const WORDS: usize = 512;
}

/// Words of a follower's slot, a cache line.
pub(super) mod slot {
    /// Pid and start time, see `process.rs`; 0 if it is free.
    pub(crate) const PROCESS: usize = 0;
    /// Not 0 if it was rung since it last looked.
    pub(crate) const PENDING: usize = 1;
    pub(crate) const WORDS: usize = 8;
}

/// Words of a stream's head.
pub(super) mod head {
    /// Begin and length of the last reservation.
    pub(crate) const TAIL: usize = 0;
    /// For each 64th of the stream, where the first message begins that was reserved in it.
    pub(crate) const SECTORS: usize = 8;
    pub(crate) const SECTOR_COUNT: usize = 64;
    pub(crate) const PUBLISHED: usize = 80;
    pub(crate) const ABANDONED: usize = 81;
    pub(crate) const WORDS: usize = 512;
}

const SLOTS_AT: usize = header::WORDS;
const HEADS_AT: usize = SLOTS_AT + FOLLOWERS_MAX * slot::WORDS;
const DATA_AT: usize = HEADS_AT + STREAMS * head::WORDS;

/// Length of a file with this many bytes of messages.
pub(super) fn file_bytes(bytes: usize) -> usize {
    8 * DATA_AT + STREAMS * stream_granules(bytes) * GRANULE
}

/// Granules of one stream.
pub(super) fn stream_granules(bytes: usize) -> usize {
    bytes / STREAMS / GRANULE
}

pub(super) fn slot_of(words: &[AtomicU64], n: usize) -> &[AtomicU64] {
    &words[SLOTS_AT + n * slot::WORDS..][..slot::WORDS]
}

pub(super) fn head_of(words: &[AtomicU64], stream: usize) -> &[AtomicU64] {
    &words[HEADS_AT + stream * head::WORDS..][..head::WORDS]
}

pub(super) fn data_of(words: &[AtomicU64], stream: usize, granules: usize) -> &[AtomicU64] {
    let each = granules * GRANULE_WORDS;
    &words[DATA_AT + stream * each..][..each]
}
