//! Changing the table: what only `weir control` does.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};

use crate::area::{Area, length_bit};
use crate::entry::{self, EMPTY, Entry, REMOVED};
use crate::error::BansError;
use crate::file::{self, Map};
use crate::layout::{self, BITS, CURRENT, LENGTHS, MAX_BITS, MAX_ENTRIES, MIN_BITS, SLOT_WORDS};
use crate::network::Network;

/// The table, for writing. One process has it at a time: the one that has the journal's lock.
pub struct Writer {
    file: File,
    map: Map,
    path: PathBuf,
    /// The number of the current table.
    table: u64,
    /// Entries, and slots that have or had one.
    live: usize,
    used: usize,
    /// Entries by the code of their network.
    counts: [u32; 256],
    /// Of the next entry that is written.
    version: u8,
}

impl Writer {
    /// Opens the table of a runtime directory, as whoever wrote it before has left it, or makes an empty one.
    ///
    /// # Errors
    /// If it cannot be made or mapped, or is of another version.
    pub fn open(dir: &Path) -> Result<Self, BansError> {
        let path = file::path(dir);
        let (file, map) = file::open(&path, true)?;
        let table = map.words()[CURRENT].load(Relaxed);
        let mut writer = Self { file, map, path, table, live: 0, used: 0, counts: [0; 256], version: 0 };
        let entries: Vec<Entry> = if table == 0 { Vec::new() } else { writer.area().entries().collect() };
        writer.replace(entries)?;
        Ok(writer)
    }

    fn area(&self) -> Area<'_> {
        Area::of(self.map.words(), self.table)
    }

    /// All entries, in no order.
    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        self.area().entries()
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.live
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Whether the file still has its name in the directory: not if someone has replaced the directory.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        let inode = |about: fs::Metadata| (about.dev(), about.ino());
        let ours = self.file.metadata().map(inode).ok();
        ours.is_some() && ours == fs::metadata(&self.path).map(inode).ok()
    }

    /// Adds an entry, or replaces the one of its network.
    ///
    /// # Errors
    /// If the table is full, or cannot grow because the file system is.
    pub fn put(&mut self, entry: &Entry) -> Result<(), BansError> {
        if self.change(entry) {
            return Ok(());
        }
        if self.live >= MAX_ENTRIES {
            return Err(BansError::Full);
        }
        if (self.used + 1) * 4 > self.area().slots().len() * 3 {
            let entries: Vec<Entry> = self.entries().collect();
            self.replace(entries)?;
        }
        if self.insert(entry) { Ok(()) } else { Err(BansError::Full) }
    }

    /// Changes the entry of a network; false if it has none.
    fn change(&mut self, entry: &Entry) -> bool {
        let Some(at) = self.find(entry.network) else { return false };
        let word = entry::word(entry, self.next_version());
        self.area().slots()[at][2].store(word, Release);
        true
    }

    /// Writes an entry whose network has none; false if no slot is free where it may be.
    fn insert(&mut self, entry: &Entry) -> bool {
        let area = self.area();
        let free = area.run(entry.network).find_map(|at| {
            let word = area.slots()[at][2].load(Relaxed);
            (word == EMPTY || word == REMOVED).then_some((at, word))
        });
        let Some((at, before)) = free else { return false };
        let code = entry.network.code();
        let (lengths, bit) = length_bit(code);
        let word = entry::word(entry, self.next_version());
        let area = self.area();
        let slot = &area.slots()[at];
        // A reader who saw the entry that was here before must not take the new address for its address.
        fence(Release);
        let (high, low) = entry.network.words();
        slot[0].store(high, Relaxed);
        slot[1].store(low, Relaxed);
        area.about[lengths].fetch_or(bit, Release);
        slot[2].store(word, Release);
        self.used += usize::from(before == EMPTY);
        self.live += 1;
        self.counts[usize::from(code)] += 1;
        true
    }

    /// Removes the entry of a network; false if it has none.
    pub fn remove(&mut self, network: Network) -> bool {
        let Some(at) = self.find(network) else { return false };
        let area = self.area();
        let (slots, mask) = (area.slots(), area.slots().len() - 1);
        slots[at][2].store(REMOVED, Release);
        // At the end of a run, slots become as good as new: nothing that is searched for lies behind them.
        let mut freed = 0;
        let mut last = at;
        if slots[(at + 1) & mask][2].load(Relaxed) == EMPTY {
            while slots[last][2].load(Relaxed) == REMOVED {
                slots[last][2].store(EMPTY, Release);
                freed += 1;
                last = last.wrapping_sub(1) & mask;
            }
        }
        self.used -= freed;
        self.live -= 1;
        let count = &mut self.counts[usize::from(network.code())];
        *count -= 1;
        if *count == 0 {
            let (lengths, bit) = length_bit(network.code());
            self.area().about[lengths].fetch_and(!bit, Release);
        }
        true
    }

    fn find(&self, network: Network) -> Option<usize> {
        let area = self.area();
        let wanted = network.words();
        for at in area.run(network) {
            let [high, low, word] = [0, 1, 2].map(|n| area.slots()[at][n].load(Relaxed));
            if word == EMPTY {
                return None;
            }
            if entry::code_of(word) == network.code() && (high, low) == wanted {
                return Some(at);
            }
        }
        None
    }

    /// Replaces everything in one step; of two entries of a network the first one counts. Returns the number of entries
    /// that found no place.
    ///
    /// # Errors
    /// If the file system has no room. The table is as it was.
    pub fn replace(
        &mut self,
        entries: impl IntoIterator<Item = Entry, IntoIter: ExactSizeIterator>,
    ) -> Result<usize, BansError> {
        let entries = entries.into_iter();
        let wanted = entries.len().min(MAX_ENTRIES).saturating_mul(2).next_power_of_two();
        let bits = wanted.ilog2().clamp(MIN_BITS, MAX_BITS);
        let (next, words) = (self.table + 1, SLOT_WORDS << bits);
        file::reserve(&self.file, layout::half(next), words)
            .map_err(BansError::io("reserve memory for", &self.path))?;
        let clear = |words: &[AtomicU64]| words.iter().for_each(|word| word.store(0, Relaxed));
        let all = self.map.words();
        // Readers who are still in this half see that it is not the current one after their last load of it.
        fence(Release);
        clear(&all[layout::half(next)..][..words]);
        let about = layout::about(all, next);
        clear(&about[LENGTHS..LENGTHS + 3]);
        about[BITS].store(bits.into(), Relaxed);
        self.table = next;
        (self.live, self.used, self.counts) = (0, 0, [0; 256]);
        let mut left_out = 0;
        for entry in entries {
            let is_known = self.find(entry.network).is_some();
            if !is_known && (self.live >= MAX_ENTRIES || !self.insert(&entry)) {
                left_out += 1;
            }
        }
        self.map.words()[CURRENT].store(next, Release);
        Ok(left_out)
    }

    fn next_version(&mut self) -> u8 {
        self.version = self.version.wrapping_add(1);
        self.version
    }
}
