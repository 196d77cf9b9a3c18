//! Where things lie in the file: a page about the whole, the slots of followers, a page about each stream, and the
//! streams' messages. Everything is a word of 8 bytes that is accessed as an atomic, messages too: another process may
//! write to any of them at any time.

use std::sync::atomic::AtomicU64;

use crate::owner::Entry;

/// "WEIRMSG" and the version of the layout.
pub(super) const MAGIC: u64 = u64::from_be_bytes(*b"WEIRMSG\x01");

/// Streams of a file that have names.
pub const STREAMS: usize = 16;

/// The stream behind them, for messages of plugins.
pub const BUS: usize = STREAMS;

/// All streams.
const ALL: usize = STREAMS + 1;

/// Groups of subscribers of which one gets each message; as many bits as the word of a message has for them.
pub const GROUPS: usize = 20;

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
    /// The hash of the name of each group; 0 if it is free.
    pub(crate) const GROUPS: usize = 100;
    /// Random, of the hash of keys.
    pub(crate) const SEED: usize = 6;
    /// The last generation of a claim.
    pub(crate) const CLAIMS: usize = 8;
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
    /// How many processes have had the slot.
    pub(crate) const INCARNATION: usize = 2;
    /// Start time in ms (upper 48 bits) and one more than the worker's number; 0 if it is not a worker.
    pub(crate) const WORKER: usize = 3;
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
const DATA_AT: usize = HEADS_AT + ALL * head::WORDS;

/// Length of a file with this many bytes of messages.
pub(super) fn file_bytes(bytes: usize) -> usize {
    8 * DATA_AT + ALL * stream_granules(bytes) * GRANULE + owner_entries(bytes) * size_of::<Entry>()
}

/// Entries of the table of owners: an eighth of the memory of messages.
pub(super) fn owner_entries(bytes: usize) -> usize {
    1 << (bytes / 8 / size_of::<Entry>()).ilog2()
}

/// The keys that can have an owner at a time, with this many bytes of messages: 65,536 with 16 MiB, a million with
/// 256 MiB.
pub fn keys_max(bytes: usize) -> usize {
    owner_entries(bytes) / 2
}

pub(super) fn owners_of(words: &[AtomicU64], bytes: usize) -> &[AtomicU64] {
    let entries = owner_entries(bytes) * (size_of::<Entry>() / 8);
    &words[words.len() - entries..]
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
