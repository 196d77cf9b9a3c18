//! One generation of the ledger: a mapped file with a cell for every entry and worker, and a file with
//! the names.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::bank::{BANK_ENTRIES, BANKS, NAMES_BYTES};
use crate::control::check_header;
use crate::entry::Names;
use crate::file::{Existing, Mapped, make_dir};
use crate::process::now_ms;
use crate::row::{Cell, Row, RowHead};
use crate::{Clock, Entry, LedgerError, MAX_WORKERS};

/// The bytes "WEIRLDGR".
const MAGIC: u64 = u64::from_ne_bytes(*b"WEIRLDGR");
/// Changes with the layout below.
const VERSION: u64 = 2;

/// The most entries in a ledger: ten times the largest policy that is measured (10,000 rules in the growth
/// scenario of `make bench`).
pub const MAX_ENTRIES: usize = 100_000;
/// The most bytes in a ledger, so that a large policy on a large machine cannot fill `/run`: 10,000 entries
/// for 256 workers, and some room.
pub const MAX_LEDGER_BYTES: usize = 256 << 20;

const HEADER_WORDS: usize = 16;
const WORD_BYTES: usize = 2;
const WORD_GENERATION: usize = 3;
const WORD_ENTRIES: usize = 4;
const WORD_WORKERS: usize = 5;
const WORD_CREATED_MS: usize = 6;
const WORD_CLOCK_SCALE: usize = 7;
const WORD_CLOCK_OVERHEAD: usize = 8;
const WORD_BANK_ENTRIES: usize = 9;

const _: () = assert!((HEADER_WORDS * 8).is_multiple_of(align_of::<RowHead>()));
const _: () = assert!(size_of::<RowHead>().is_multiple_of(align_of::<RowHead>()) && size_of::<Cell>() == 64);

/// A generation of the ledger in a mapped file.
pub struct Ledger {
    mapped: Mapped,
    entries: usize,
    bank_entries: usize,
    workers: usize,
}

/// Whether cells are reserved for policies that change while nginx runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserve {
    /// No: the policies come from nginx's configuration.
    Nothing,
    /// Two banks (`BANK_ENTRIES` cells for each worker, and their names).
    Banks,
}

impl Ledger {
    /// Creates the files of a generation and removes those of older ones; processes that have mapped an
    /// older one continue to use it.
    ///
    /// `revision` is the policy's, `workers` the number of rows; one request in `sample_every` is timed;
    /// `reserve` says whether policies change while nginx runs. Not for `nginx -t`, which would replace the
    /// ledger of the running nginx.
    pub fn create(
        dir: &Path,
        generation: u64,
        revision: &str,
        entries: &[Entry],
        workers: usize,
        sample_every: u32,
        reserve: Reserve,
    ) -> Result<Self, LedgerError> {
        limit("entries of the ledger", entries.len(), MAX_ENTRIES)?;
        limit("workers of the ledger", workers, MAX_WORKERS)?;
        let bank_entries = if reserve == Reserve::Banks { BANK_ENTRIES } else { 0 };
        let bytes = bytes_for(entries.len(), bank_entries, workers);
        limit("bytes of the ledger", bytes, MAX_LEDGER_BYTES)?;
        make_dir(dir)?;
        let names = Names { revision: revision.to_owned(), sample_every, entries: entries.to_vec() };
        names.write(&names_path(dir, generation))?;
        let clock = Clock::calibrate();
        let mapped = Mapped::create(&cells_path(dir, generation), bytes, Existing::Replace, |mapped| {
            let header = [
                MAGIC,
                VERSION,
                bytes as u64,
                generation,
                entries.len() as u64,
                workers as u64,
                now_ms(),
                clock.scale(),
                clock.overhead_ticks(),
                bank_entries as u64,
            ];
            for (word, value) in mapped.words().iter().zip(header) {
                word.store(value, Ordering::Relaxed);
            }
        })?;
        let mapped = mapped.expect("a file that replaces another is always made");
        unlink_other_generations(dir, generation);
        Ok(Self { mapped, entries: entries.len(), bank_entries, workers })
    }

    /// Opens a generation that another process has created.
    pub fn open(dir: &Path, generation: u64) -> Result<Self, LedgerError> {
        let path = cells_path(dir, generation);
        let (mut entries, mut bank_entries, mut workers) = (0, 0, 0);
        let mapped = Mapped::open(&path, HEADER_WORDS, |header| {
            check_header(&path, header, MAGIC, VERSION)?;
            let within = |word: usize, most: usize| usize::try_from(header[word]).ok().filter(|&n| n <= most);
            let rows = within(WORD_ENTRIES, MAX_ENTRIES).zip(within(WORD_WORKERS, MAX_WORKERS));
            let banks = within(WORD_BANK_ENTRIES, BANK_ENTRIES).filter(|cells| [0, BANK_ENTRIES].contains(cells));
            let sizes = rows.zip(banks).map(|((entries, workers), banks)| (entries, banks, workers));
            let agrees = |&(entries, banks, workers): &(usize, usize, usize)| {
                header[WORD_BYTES] == bytes_for(entries, banks, workers) as u64 && header[WORD_GENERATION] == generation
            };
            (entries, bank_entries, workers) = sizes.filter(agrees).ok_or_else(|| LedgerError::Damaged {
                path: path.clone(),
                detail: "the sizes in its header contradict each other".into(),
            })?;
            Ok(bytes_for(entries, bank_entries, workers))
        })?;
        Ok(Self { mapped, entries, bank_entries, workers })
    }

    /// Number of rows.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// Number of entries, without those of banks.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.entries
    }

    pub(crate) fn bank_entries(&self) -> usize {
        self.bank_entries
    }

    /// The cells of one worker, `worker` counted from 0 (nginx: `ngx_worker`); past the number of
    /// workers it is the last row, which is then shared and may lose counts.
    ///
    /// A worker that needs a `Row<'static>` leaks its share of the ledger, which it needs until
    /// its end anyway: `Box::leak(Box::new(Arc::clone(&ledger))).row(worker)`.
    #[must_use]
    pub fn row(&self, worker: usize) -> Row<'_> {
        let whole = self.whole_row(worker);
        Row { cells: &whole.cells[..self.entries], ..whole }
    }

    /// The cells of one worker, followed by those of the banks.
    pub(crate) fn whole_row(&self, worker: usize) -> Row<'_> {
        let worker = worker.min(self.workers.saturating_sub(1));
        let cells_each = self.entries + BANKS * self.bank_entries;
        let start = HEADER_WORDS * 8 + worker * row_bytes(cells_each);
        row_in(&self.mapped.words()[start / 8..], cells_each, self.clock())
    }

    pub(crate) fn word(&self, word: usize) -> &AtomicU64 {
        &self.mapped.words()[word]
    }

    pub(crate) fn all_words(&self) -> &[AtomicU64] {
        self.mapped.words()
    }

    pub(crate) fn created_ms(&self) -> u64 {
        self.word(WORD_CREATED_MS).load(Ordering::Relaxed)
    }

    /// The writers' clock.
    pub(crate) fn clock(&self) -> Clock {
        let [scale, overhead] =
            [WORD_CLOCK_SCALE, WORD_CLOCK_OVERHEAD].map(|word| self.word(word).load(Ordering::Relaxed));
        Clock::recorded(scale, overhead)
    }
}

/// The row at the beginning of `words`, which are aligned as a mapping is.
///
/// # Panics
/// If the row is longer than the words, or they are not aligned.
fn row_in(words: &[AtomicU64], cells: usize, clock: Clock) -> Row<'_> {
    let row = words[..row_bytes(cells) / 8].as_ptr();
    assert!(row.addr().is_multiple_of(align_of::<RowHead>()));
    // SAFETY: the slice just taken has row_bytes bytes: a head and `cells` cells. Both consist of atomics, for which any
    // bits are valid, and are aligned: header and row are multiples of 128.
    unsafe {
        let first = row.byte_add(size_of::<RowHead>()).cast::<Cell>();
        Row::new(&*row.cast::<RowHead>(), std::slice::from_raw_parts(first, cells), clock)
    }
}

fn row_bytes(entries: usize) -> usize {
    (size_of::<RowHead>() + entries * size_of::<Cell>()).next_multiple_of(align_of::<RowHead>())
}

fn bytes_for(entries: usize, bank_entries: usize, workers: usize) -> usize {
    let names = if bank_entries > 0 { BANKS * NAMES_BYTES } else { 0 };
    HEADER_WORDS * 8 + workers.max(1) * row_bytes(entries + BANKS * bank_entries) + names
}

fn limit(what: &'static str, wanted: usize, limit: usize) -> Result<(), LedgerError> {
    if wanted > limit { Err(LedgerError::Limit { what, wanted, limit }) } else { Ok(()) }
}

pub(crate) fn cells_path(dir: &Path, generation: u64) -> PathBuf {
    dir.join(format!("ledger.{generation}"))
}

pub(crate) fn names_path(dir: &Path, generation: u64) -> PathBuf {
    dir.join(format!("ledger.{generation}.json"))
}

/// Removes the files of older generations and of interrupted writers. Failures do no harm.
fn unlink_other_generations(dir: &Path, generation: u64) {
    let Ok(files) = fs::read_dir(dir) else { return };
    for file in files.flatten() {
        let name = file.file_name();
        let number =
            name.to_str().and_then(|name| name.strip_prefix("ledger.")).and_then(|rest| rest.split('.').next());
        if number.and_then(|number| number.parse::<u64>().ok()).is_some_and(|number| number < generation) {
            let _ = fs::remove_file(file.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory that is aligned as a mapping is.
    #[repr(C, align(128))]
    struct Line([AtomicU64; 16]);

    #[test]
    fn rows_in_a_row_count_for_themselves_and_touch_nothing_else() {
        for cells in [0, 1, 7] {
            let words = row_bytes(cells) / 8;
            let lines: Vec<Line> = (0..3 * words / 16).map(|_| Line([const { AtomicU64::new(0) }; 16])).collect();
            // SAFETY: lines are arrays of atomics without gaps.
            let all: &[AtomicU64] = unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), 3 * words) };
            let rows = [0, 1, 2].map(|row| row_in(&all[row * words..], cells, Clock::recorded(1 << 32, 0)));
            for entry in 0..=cells as u32 {
                rows[1].add(entry, true);
                rows[1].time(entry, 5);
            }
            rows[1].request();
            let known = cells as u64;
            assert_eq!(rows.map(|row| row.totals(usize::MAX)), [(0, 0), (known, known), (0, 0)]);
            rows[1].clear();
            assert_eq!(all.iter().map(|word| word.load(Ordering::Relaxed)).sum::<u64>(), 1, "the request");
        }
    }
}
