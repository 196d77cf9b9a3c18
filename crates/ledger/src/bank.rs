//! Banks: cells for policies that change while nginx runs.
//!
//! Only nginx's master has permission to create files, and it does so when nginx is configured. It
//! reserves two banks of cells for each worker, and room for their names, in the same mapped file. New
//! policies take the bank that is not the latest. The first worker that loads them writes the names, and
//! each worker clears its own cells before it counts in them, or goes on with the counts of entries that
//! have not changed ([`Row::continue_from`]). The alternative was that the daemon writes the names; it
//! would have to compile policies, and to be running.
//!
//! A bank is identified by the *tag* of its policies, a hash of their content. A worker's cells belong to
//! a tag only if its row says so; a report therefore never adds the counts of different policies.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::entry::Names;
use crate::{Entry, Ledger, Row};

/// Banks of a ledger: one in use, one for the next policies.
pub const BANKS: usize = 2;
/// Cells of a bank in each row, unless none are reserved: a rule set of 1,000 rules and the lanes of
/// some 30 plans. Entries beyond it are not metered.
pub const BANK_ENTRIES: usize = 16_384;
/// Bytes of a bank's names (JSON). A bank with longer names counts, but cannot be read.
pub const NAMES_BYTES: usize = 2 << 20;

/// Words of the header that describe the banks.
pub(crate) const WORD_LATEST: usize = 10;
const WORD_TAGS: usize = 11;
/// Low 32 bits of the tag that a bank's names belong to, then the length of the names in bytes: names of
/// another tag, left by a killed worker, are ignored.
const WORD_NAMES: usize = 13;

impl Ledger {
    /// Returns the bank of the policies with this tag (not 0), or claims the bank that is not in use;
    /// `None` if the ledger has no banks. The bank is the latest from now on. `names` are the entries in
    /// the order of the cells, `revision` is the name of the policies in reports.
    ///
    /// Any worker may call this at any time, in any thread. A worker that is far behind may make older
    /// policies the latest until it catches up.
    pub fn claim_bank(&self, tag: u64, revision: &str, sample_every: u32, names: Vec<Entry>) -> Option<u8> {
        if self.bank_entries() == 0 {
            return None;
        }
        let bank = self.find_bank(tag);
        if length_of(self.word(WORD_NAMES + bank).load(Ordering::Acquire), tag).is_none() {
            // Workers may write at the same time, but they write the same.
            let names = Names { revision: revision.to_owned(), sample_every, entries: names };
            self.write_names(bank, tag, &serde_json::to_vec(&names).expect("names are plain data"));
        }
        self.word(WORD_LATEST).store(bank as u64 + 1, Ordering::Release);
        Some(bank as u8)
    }

    fn find_bank(&self, tag: u64) -> usize {
        /// The most workers that may win the race; each wins at most once.
        const TRIES: usize = 2 * crate::MAX_WORKERS;
        let mut free = 0;
        for _ in 0..TRIES {
            // Before the tags: of two workers that claim a bank for the same policies, one sees what the other has
            // claimed, or both claim the same one.
            free = usize::from(self.word(WORD_LATEST).load(Ordering::Acquire) == 1);
            let tags = [0, 1].map(|bank| self.word(WORD_TAGS + bank).load(Ordering::Acquire));
            if let Some(bank) = tags.iter().position(|of| *of == tag) {
                return bank;
            }
            let word = self.word(WORD_TAGS + free);
            if word.compare_exchange(tags[free], tag, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                break;
            }
        }
        free
    }

    /// The cells of one worker in a bank, cleared if they belonged to other policies. Nothing is counted
    /// past the end of a bank.
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

/// The length of the names if they belong to this tag.
fn length_of(word: u64, tag: u64) -> Option<usize> {
    let length = usize::try_from(word & u64::from(u32::MAX)).ok()?;
    (word >> 32 == tag & u64::from(u32::MAX) && (1..=NAMES_BYTES).contains(&length)).then_some(length)
}
