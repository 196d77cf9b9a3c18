//! The journal's first page: which generation is the newest, and for each area what is in it and how much of that is
//! committed. Writer and readers map it; its block is reserved when the file is made.
//!
//! The writer fills an area and its description before it stores `active`; an area is written anew only when it is four
//! generations old, so what a reader took from it is good if the newest generation is less than two ahead afterwards.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};

use memmap2::MmapRaw;

/// "WEIRLOG" and the version of this page's layout.
pub(crate) const MAGIC: u64 = u64::from_be_bytes(*b"WEIRLOG\x01");

/// Bytes of the header's page.
pub(crate) const HEADER_BYTES: usize = 4096;

/// Areas: the newest generation, the one before it, which readers may still be in, the one whose blocks are being given
/// back, and the one that is being written.
pub(crate) const AREAS: u64 = 4;

/// Bytes of address space of an area: a million routes take a tenth. The file is sparse, so this costs nothing.
pub(crate) const AREA_BYTES: u64 = 4 << 30;

/// Length of the file. The header has an area's length to itself.
pub(crate) const FILE_BYTES: u64 = (AREAS + 1) * AREA_BYTES;

/// Offset of a generation's area in the file.
pub(crate) fn area_start(generation: u64) -> u64 {
    (generation % AREAS + 1) * AREA_BYTES
}

#[repr(C, align(64))]
struct Page {
    magic: AtomicU64,
    /// The newest generation; 0 if none was ever begun.
    active: AtomicU64,
    /// The process that has the lock, for the message to a second one.
    writer: AtomicU64,
    _line: [u64; 5],
    areas: [Area; AREAS as usize],
}

#[repr(C, align(64))]
struct Area {
    generation: AtomicU64,
    epoch: AtomicU64,
    revision: AtomicU64,
    digest: AtomicU64,
    base_bytes: AtomicU64,
    format: AtomicU64,
    _line0: [u64; 2],
    committed: AtomicU64,
    _line1: [u64; 7],
}

const _: () = assert!(size_of::<Page>() <= HEADER_BYTES);

/// The header's description of a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Description {
    pub(crate) generation: u64,
    pub(crate) epoch: u64,
    pub(crate) revision: u64,
    pub(crate) digest: u64,
    /// Bytes of the base, its commit included.
    pub(crate) base_bytes: u64,
    /// See [`journal_format`](super::journal_format); 0 if it was written before formats had numbers.
    pub(crate) format: u32,
}

/// The mapped header.
pub(crate) struct Header(MmapRaw);

impl Header {
    /// Takes a mapping of the first [`HEADER_BYTES`] of a journal.
    pub(crate) fn new(map: MmapRaw) -> Self {
        assert!(map.len() >= HEADER_BYTES);
        Self(map)
    }

    fn page(&self) -> &Page {
        // SAFETY: the mapping is page-aligned, long enough, and lives as long as `self`; all fields are atomics or unused.
        unsafe { &*self.0.as_ptr().cast::<Page>() }
    }

    fn area(&self, generation: u64) -> &Area {
        &self.page().areas[(generation % AREAS) as usize]
    }

    pub(crate) fn magic(&self) -> u64 {
        self.page().magic.load(Relaxed)
    }

    pub(crate) fn writer(&self) -> u32 {
        self.page().writer.load(Relaxed) as u32
    }

    pub(crate) fn set_writer(&self, pid: u32) {
        self.page().writer.store(u64::from(pid), Relaxed);
    }

    pub(crate) fn active(&self) -> u64 {
        self.page().active.load(Acquire)
    }

    /// How much of this generation's area is committed, in bytes. What was written before is visible.
    pub(crate) fn committed(&self, generation: u64) -> u64 {
        self.area(generation).committed.load(Acquire)
    }

    pub(crate) fn commit(&self, generation: u64, bytes: u64) {
        self.area(generation).committed.store(bytes, Release);
    }

    /// The description in this generation's area. A reader can tell from it if another generation has the area by now.
    pub(crate) fn describe(&self, generation: u64) -> Description {
        let area = self.area(generation);
        Description {
            generation: area.generation.load(Acquire),
            epoch: area.epoch.load(Acquire),
            revision: area.revision.load(Acquire),
            digest: area.digest.load(Acquire),
            base_bytes: area.base_bytes.load(Acquire),
            format: area.format.load(Acquire) as u32,
        }
    }

    /// Makes a generation that is completely written the newest one.
    pub(crate) fn activate(&self, description: Description, committed: u64) {
        let area = self.area(description.generation);
        area.generation.store(description.generation, Release);
        area.epoch.store(description.epoch, Release);
        area.revision.store(description.revision, Release);
        area.digest.store(description.digest, Release);
        area.base_bytes.store(description.base_bytes, Release);
        area.format.store(description.format.into(), Release);
        area.committed.store(committed, Release);
        self.page().active.store(description.generation, Release);
    }

    /// Whether something that was read from this generation's area before this call can be trusted.
    pub(crate) fn still_holds(&self, generation: u64) -> bool {
        // The fence keeps the load behind the loads of what was read.
        fence(Acquire);
        self.page().active.load(Acquire).wrapping_sub(generation) < 2
    }
}
