//! One generation of the ledger: a cell for every entry and worker, in one mapped file, and the
//! names beside it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::control::check_header;
use crate::entry::Names;
use crate::file::{Existing, Mapped, make_dir};
use crate::process::now_ms;
use crate::row::{Cell, Row, RowHead};
use crate::{Clock, Entry, LedgerError, MAX_WORKERS};

/// "WEIRLDGR" as it lies in memory.
const MAGIC: u64 = u64::from_ne_bytes(*b"WEIRLDGR");
/// Changes with the layout below.
const VERSION: u64 = 1;

/// Entries in a ledger: ten times the largest policy that is measured (10,000 rules in the growth
/// scenario of `make bench`).
pub const MAX_ENTRIES: usize = 100_000;
/// Bytes in a ledger, so that a large policy on a large machine cannot fill `/run` by itself:
/// 10,000 entries for 256 workers and some room.
pub const MAX_LEDGER_BYTES: usize = 256 << 20;

const HEADER_WORDS: usize = 16;
const WORD_BYTES: usize = 2;
const WORD_GENERATION: usize = 3;
const WORD_ENTRIES: usize = 4;
const WORD_WORKERS: usize = 5;
const WORD_CREATED_MS: usize = 6;
const WORD_CLOCK_SCALE: usize = 7;
const WORD_CLOCK_OVERHEAD: usize = 8;

const _: () = assert!((HEADER_WORDS * 8).is_multiple_of(align_of::<RowHead>()));
const _: () = assert!(size_of::<RowHead>().is_multiple_of(align_of::<RowHead>()) && size_of::<Cell>() == 64);

/// A generation of the ledger, mapped.
pub struct Ledger {
    mapped: Mapped,
    entries: usize,
    workers: usize,
}

impl Ledger {
    /// Makes the files of a generation and removes those of older ones; processes that still have
    /// an older one mapped go on using it unseen.
    ///
    /// `revision` is the policy's, `workers` the number of rows, `sample_every` says that every
    /// n-th request is timed. Not for `nginx -t`: it would take the ledger of the running nginx.
    pub fn create(
        dir: &Path,
        generation: u64,
        revision: &str,
        entries: &[Entry],
        workers: usize,
        sample_every: u32,
    ) -> Result<Self, LedgerError> {
        limit("entries of the ledger", entries.len(), MAX_ENTRIES)?;
        limit("workers of the ledger", workers, MAX_WORKERS)?;
        let bytes = bytes_for(entries.len(), workers);
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
            ];
            for (word, value) in mapped.words().iter().zip(header) {
                word.store(value, Ordering::Relaxed);
            }
        })?;
        let mapped = mapped.expect("a file that replaces another is always made");
        unlink_other_generations(dir, generation);
        Ok(Self { mapped, entries: entries.len(), workers })
    }

    /// Opens a generation that somebody else made.
    pub fn open(dir: &Path, generation: u64) -> Result<Self, LedgerError> {
        let path = cells_path(dir, generation);
        let (mut entries, mut workers) = (0, 0);
        let mapped = Mapped::open(&path, HEADER_WORDS, |header| {
            check_header(&path, header, MAGIC, VERSION)?;
            let within = |word: usize, most: usize| usize::try_from(header[word]).ok().filter(|&n| n <= most);
            let sizes = within(WORD_ENTRIES, MAX_ENTRIES).zip(within(WORD_WORKERS, MAX_WORKERS));
            let agrees = |&(entries, workers): &(usize, usize)| {
                header[WORD_BYTES] == bytes_for(entries, workers) as u64 && header[WORD_GENERATION] == generation
            };
            (entries, workers) = sizes.filter(agrees).ok_or_else(|| LedgerError::Damaged {
                path: path.clone(),
                detail: "its header gives sizes that do not fit together".into(),
            })?;
            Ok(bytes_for(entries, workers))
        })?;
        Ok(Self { mapped, entries, workers })
    }

    /// Number of rows.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// Number of entries.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.entries
    }

    /// The cells of one worker, `worker` counted from 0 (nginx: `ngx_worker`); past the number of
    /// workers the last row, which is then shared and may lose counts.
    ///
    /// A worker that needs a `Row<'static>` leaks its share of the ledger, which it needs until
    /// its end anyway: `Box::leak(Box::new(Arc::clone(&ledger))).row(worker)`.
    #[must_use]
    pub fn row(&self, worker: usize) -> Row<'_> {
        let worker = worker.min(self.workers.saturating_sub(1));
        let start = HEADER_WORDS * 8 + worker * row_bytes(self.entries);
        let row = self.mapped.words()[start / 8..][..row_bytes(self.entries) / 8].as_ptr();
        // SAFETY: the slice just taken has row_bytes bytes: a head and `entries` cells. Both
        // consist of atomics, for which any bits are valid, and are aligned: the mapping to a
        // page, header and row to multiples of 128.
        unsafe {
            let cells = row.byte_add(size_of::<RowHead>()).cast::<Cell>();
            Row::new(&*row.cast::<RowHead>(), std::slice::from_raw_parts(cells, self.entries), self.clock())
        }
    }

    fn word(&self, word: usize) -> &AtomicU64 {
        &self.mapped.words()[word]
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

fn row_bytes(entries: usize) -> usize {
    (size_of::<RowHead>() + entries * size_of::<Cell>()).next_multiple_of(align_of::<RowHead>())
}

fn bytes_for(entries: usize, workers: usize) -> usize {
    HEADER_WORDS * 8 + workers.max(1) * row_bytes(entries)
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

/// Removes what older generations and interrupted writers left; failing to is no harm.
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
