//! The bounds of the bus, each with its reason. Memory is reserved for what they allow, so that no queue grows.

/// Workers of one region. A bit in one `u64` for each.
pub const WORKERS_MAX: usize = 64;

/// Participants of one region: the workers and control.
pub const PARTICIPANTS_MAX: usize = WORKERS_MAX + 1;

/// Bytes of the ring of one ordered pair; a power of two. Some 700 messages of 64 bytes: what a worker that is held for
/// a millisecond misses at 700,000 messages a second; and four times the longest message. With more than 16 workers the
/// rings between workers are smaller, see [`PEERS_BYTES`].
pub const RING_BYTES: usize = 64 << 10;

/// Bytes that the rings between workers have together at most. All rings have their memory reserved before the workers
/// are forked: 16 MiB is what 16 workers need for whole rings; 64 workers have rings of 4 KiB for one another.
pub const PEERS_BYTES: usize = 16 << 20;

/// The longest message, key and payload together, in bytes. A quarter of a ring, so that one that has to be put behind
/// unused space at the ring's end always fits in an empty ring; also where rings are smaller. What is longer belongs into
/// the journal.
pub const MESSAGE_MAX: usize = 16 << 10;

/// Messages of one ring that one call of `receive` hands over before it lets the event loop go on: at 100 ns each a
/// sender cannot hold it for longer than 50 µs.
pub const BATCH: usize = 512;

/// Times that a receiver may die with the same message in its hands until its successor leaves it out. One may be
/// chance and two bad luck; a third proves that the message is what kills.
pub const DELIVERIES_MAX: u32 = 3;

/// Keys that can have an owner at a time; few under Miri, which takes minutes to fill a large table.
pub const OWNERS_MAX: usize = if cfg!(miri) { 1 << 8 } else { 1 << 16 };

/// Entries of the owner table: twice as many as keys, so that runs of used entries stay short.
pub(crate) const OWNER_ENTRIES: usize = OWNERS_MAX * 2;

/// Entries that are looked at for one key. At half load, runs of entries longer than this have a chance below
/// 1 in 10^10 (Knuth, The Art of Computer Programming, vol. 3, section 6.4).
pub(crate) const OWNER_WINDOW: usize = 128;

/// Bytes that one clearing of a bell reads at most: 16 times 4 KiB, the capacity of a FIFO.
pub(crate) const BELL_READS: usize = 16;

/// The longest frame of the journal, in bytes: a policy file with lists of some million addresses.
pub const FRAME_MAX: usize = 256 << 20;
