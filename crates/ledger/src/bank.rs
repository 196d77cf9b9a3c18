//! Banks: cells for policies that come while nginx runs.
//!
//! Only nginx's master has the right to make files, and it makes them when nginx is configured. So it
//! reserves two banks of cells for each worker, and room for their names, in the same mapped file. New
//! policies take the bank that is not the latest; whoever comes first names it, and each worker clears
//! its own cells before it counts in them. Having control write the names was the alternative: it would
//! have had to compile policies, and be there.
//!
//! A bank is known by the *tag* of its policies, a hash of what they are made of. A worker's cells
//! belong to a bank's tag only if its row says so, so that a report never adds up what two policies
//! have counted.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::entry::Names;
use crate::{Entry, Ledger, Row};

/// Banks of a ledger: one in use, one for who comes next.
pub const BANKS: usize = 2;
/// Cells of a bank in each row, unless none are reserved: a rule set of 1,000 rules and the lanes of
/// some 30 plans. What is past it is not metered.
pub const BANK_ENTRIES: usize = 16_384;
/// Bytes of a bank's names (JSON); with longer ones the bank counts, but nobody can read it.
pub const NAMES_BYTES: usize = 2 << 20;

/// Words of the header that say how banks stand.
pub(crate) const WORD_LATEST: usize = 10;
const WORD_TAGS: usize = 11;
/// Low 32 bits of the tag that a bank's names are of, then their length in bytes: names that a
/// killed worker has left of others are no names.
const WORD_NAMES: usize = 13;

impl Ledger {
    /// Finds the bank of the policies with this tag (not 0), or takes the one that is not in use for
    /// them; `None` if the ledger has no banks. It is the latest from now on. `names` are the entries in
    /// the order of the cells, and `revision` what people know the policies by.
    ///
    /// Any worker may call it at any time, in any thread. One that is far behind may make older
    /// policies the latest for the moment until it catches up.
    pub fn claim_bank(&self, tag: u64, revision: &str, sample_every: u32, names: Vec<Entry>) -> Option<u8> {
        if self.bank_entries() == 0 {
            return None;
        }
        let bank = self.find_bank(tag);
        if length_of(self.word(WORD_NAMES + bank).load(Ordering::Acquire), tag).is_none() {
            // Several may write at a time, but then all the same.
            let names = Names { revision: revision.to_owned(), sample_every, entries: names };
            self.write_names(bank, tag, &serde_json::to_vec(&names).expect("names are plain data"));
        }
        self.word(WORD_LATEST).store(bank as u64 + 1, Ordering::Release);
        Some(bank as u8)
    }

    fn find_bank(&self, tag: u64) -> usize {
        /// Workers that may come between; each wins at most once.
        const TRIES: usize = 2 * crate::MAX_WORKERS;
        let mut free = 0;
        for _ in 0..TRIES {
            let tags = [0, 1].map(|bank| self.word(WORD_TAGS + bank).load(Ordering::Acquire));
            if let Some(bank) = tags.iter().position(|of| *of == tag) {
                return bank;
            }
            free = usize::from(self.word(WORD_LATEST).load(Ordering::Acquire) == 1);
            let word = self.word(WORD_TAGS + free);
            if word.compare_exchange(tags[free], tag, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                break;
            }
        }
        free
    }

    /// The cells of one worker in a bank, cleared if they were those of other policies. Past the end
    /// of a bank nothing is counted.
    #[must_use]
    pub fn bank_row(&self, worker: usize, bank: u8) -> Row<'_> {
        let whole = self.whole_row(worker);
        let (bank, entries) = (usize::from(bank) % BANKS, self.bank_entries());
        let start = self.entries() + bank * entries;
        let row = Row { cells: whole.cells.get(start..start + entries).unwrap_or_default(), ..whole };
        let tag = self.word(WORD_TAGS + bank).load(Ordering::Acquire);
        if row.head.tags[bank].get() != tag {
            row.clear();
            row.head.tags[bank].set(tag);
        }
        row
    }

    /// The latest bank, its tag and its names.
    pub(crate) fn latest(&self) -> Option<(usize, u64, Names)> {
        let bank = usize::try_from(self.word(WORD_LATEST).load(Ordering::Acquire)).ok()?.checked_sub(1)?;
        if bank >= BANKS || self.bank_entries() == 0 {
            return None;
        }
        let state = || [WORD_TAGS, WORD_NAMES].map(|word| self.word(word + bank).load(Ordering::Acquire));
        let before = state();
        let length = length_of(before[1], before[0])?;
        let words = &self.names_area(bank)[..length.div_ceil(8)];
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes()).collect();
        bytes.truncate(length);
        std::sync::atomic::fence(Ordering::Acquire);
        let mut names: Names = serde_json::from_slice(&bytes).ok()?;
        names.entries.truncate(self.bank_entries());
        (state() == before).then_some((bank, before[0], names))
    }

    fn write_names(&self, bank: usize, tag: u64, json: &[u8]) {
        if json.len() > NAMES_BYTES {
            return;
        }
        for (word, bytes) in self.names_area(bank).iter().zip(json.chunks(8)) {
            let mut eight = [b' '; 8];
            eight[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_ne_bytes(eight), Ordering::Relaxed);
        }
        self.word(WORD_NAMES + bank).store(tag << 32 | json.len() as u64, Ordering::Release);
    }

    fn names_area(&self, bank: usize) -> &[AtomicU64] {
        let words = self.all_words();
        let start = words.len() - (BANKS - bank) * NAMES_BYTES / 8;
        &words[start..start + NAMES_BYTES / 8]
    }
}

/// The length of the names if they are of this tag.
fn length_of(word: u64, tag: u64) -> Option<usize> {
    let length = usize::try_from(word & u64::from(u32::MAX)).ok()?;
    (word >> 32 == tag & u64::from(u32::MAX) && (1..=NAMES_BYTES).contains(&length)).then_some(length)
}
