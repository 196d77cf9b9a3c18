//! Where things lie in a region's file: header, slots, the indices of all rings, the owner table, then the rings.
//!
//! All of it has its blocks reserved when the file is made: without blocks a full file system would kill with SIGBUS, and
//! workers, which are not trusted with the file's descriptor, cannot reserve any. So that 64 workers do not cost 270 MiB,
//! the rings between workers share [`PEERS_BYTES`]; those from and to control always have [`RING_BYTES`].

use std::sync::atomic::{AtomicU32, AtomicU64};

use crate::limits::{OWNER_ENTRIES, PEERS_BYTES, RING_BYTES};
use crate::owner::Entry;
use crate::slot::Slot;

/// "WEIRBUS" and the version of the layout.
pub(crate) const MAGIC: u64 = u64::from_be_bytes(*b"WEIRBUS\x02");

/// The header of the file. Written before the file gets its name, and constant from then on but for `claims`.
#[repr(C, align(64))]
pub(crate) struct Header {
    pub(crate) magic: u64,
    pub(crate) generation: u64,
    pub(crate) workers: u64,
    pub(crate) ring_bytes: u64,
    pub(crate) bytes: u64,
    pub(crate) created_ms: u64,
    /// Seed of the hash of keys, random for each region.
    pub(crate) seed: [u64; 2],
    /// Claims of keys so far: the last generation number given out.
    pub(crate) claims: AtomicU64,
    _line1: [u64; 7],
}

/// The indices of one ring, in words of 8 bytes since the region was made; they only grow. One cache line for each side.
#[repr(C, align(64))]
pub(crate) struct Producer {
    /// Written up to here. Storing it is what makes a message visible.
    pub(crate) tail: AtomicU64,
    /// `head` when the sender last looked: it reads the receiver's line only when the ring seems full.
    pub(crate) seen_head: AtomicU64,
}

/// See [`Producer`].
#[repr(C, align(64))]
pub(crate) struct Consumer {
    /// Read up to here. A message is given back when its handler has returned.
    pub(crate) head: AtomicU64,
    /// One more than the place of the message that a handler has, or had last.
    pub(crate) in_hand: AtomicU64,
    /// Number of deliveries of that message.
    pub(crate) deliveries: AtomicU32,
}

/// Both sides.
#[repr(C)]
pub(crate) struct Indices {
    pub(crate) producer: Producer,
    pub(crate) consumer: Consumer,
}

/// Offsets of the parts, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) participants: usize,
    pub(crate) slots: usize,
    pub(crate) indices: usize,
    pub(crate) owners: usize,
    /// The rings from and to control.
    pub(crate) rings: usize,
    /// The rings between workers.
    pub(crate) peers: usize,
    /// Bytes of a ring between workers.
    pub(crate) peer_bytes: usize,
    pub(crate) bytes: usize,
}

impl Layout {
    /// The layout for this many workers, at most [`WORKERS_MAX`](crate::WORKERS_MAX).
    pub(crate) fn new(workers: usize) -> Self {
        let participants = workers + 1;
        let slots = size_of::<Header>();
        let indices = slots + participants * size_of::<Slot>();
        let owners = indices + participants * participants * size_of::<Indices>();
        let rings = (owners + OWNER_ENTRIES * size_of::<Entry>()).next_multiple_of(4096);
        let peers = rings + (2 * workers + 1) * RING_BYTES;
        let share = PEERS_BYTES / (workers * workers);
        // The largest power of two that is no more than the share.
        let peer_bytes = (1 << share.ilog2()).min(RING_BYTES);
        let bytes = peers + workers * workers * peer_bytes;
        Self { participants, slots, indices, owners, rings, peers, peer_bytes, bytes }
    }

    /// The number of an ordered pair.
    pub(crate) fn pair(&self, from: usize, to: usize) -> usize {
        debug_assert!(from < self.participants && to < self.participants);
        to * self.participants + from
    }

    /// Offset and length of the ring of an ordered pair.
    pub(crate) fn ring(&self, from: usize, to: usize) -> (usize, usize) {
        let control = self.participants - 1;
        match (from == control, to == control) {
            (false, false) => (self.peers + (to * control + from) * self.peer_bytes, self.peer_bytes),
            (true, _) => (self.rings + to * RING_BYTES, RING_BYTES),
            (false, true) => (self.rings + (control + 1 + from) * RING_BYTES, RING_BYTES),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_aligned_and_do_not_overlap() {
        for (workers, peer_bytes) in [(1, 64 << 10), (2, 64 << 10), (16, 64 << 10), (17, 32 << 10), (64, 4 << 10)] {
            let layout = Layout::new(workers);
            assert!([layout.slots, layout.indices, layout.owners].iter().all(|at| at % 64 == 0));
            assert_eq!((layout.rings % 4096, layout.peer_bytes), (0, peer_bytes));
            let pairs = (0..=workers).flat_map(|from| (0..=workers).map(move |to| layout.ring(from, to)));
            let mut rings: Vec<(usize, usize)> = pairs.collect();
            rings.sort_unstable();
            let end = rings.iter().fold(layout.rings, |end, &(at, bytes)| {
                assert_eq!(end, at);
                at + bytes
            });
            assert_eq!(end, layout.bytes);
        }
        assert_eq!((size_of::<Slot>(), size_of::<Indices>(), size_of::<Entry>()), (256, 128, 16));
    }
}
