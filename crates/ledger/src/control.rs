//! The control file: the run-time switches and the workers' own counters.
//!
//! Its size is fixed, so that it outlives reloads and restarts. The switches keep their state until they
//! are changed or the directory is removed (on tmpfs: until the machine restarts).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, io};

use crate::LedgerError;
use crate::file::{Existing, Mapped, check_owner, make_dir};
use crate::inspector::{self, InspectorReport, InspectorSlot, MAX_INSPECTOR_SLOTS};
use crate::process::{identity, lives, pid_of};
use crate::slot::claim;
use crate::topics::{self, MAX_TOPICS_SLOTS, TopicsCounts, TopicsSlot};
use crate::worker::{MAX_WORKERS, WorkerReport, WorkerSlot};

/// The bytes "WEIRCTRL".
const MAGIC: u64 = u64::from_ne_bytes(*b"WEIRCTRL");
/// Changes with the layout below.
const VERSION: u64 = 5;
const FILE_NAME: &str = "control";

/// Words of the header. The switches share a line of their own that is hardly ever written, so
/// that reading one is a hit in every worker's first-level cache.
const HEADER_WORDS: usize = 32;
const WORD_MAGIC: usize = 0;
const WORD_VERSION: usize = 1;
const WORD_BYTES: usize = 2;
const WORD_SILENCE: usize = 16;
const WORD_LOG_LEVEL: usize = 17;
const WORD_GENERATION: usize = 18;

const INSPECTORS_AT: usize = HEADER_WORDS * 8 + MAX_WORKERS * size_of::<WorkerSlot>();
const TOPICS_AT: usize = INSPECTORS_AT + MAX_INSPECTOR_SLOTS * size_of::<InspectorSlot>();
const BYTES: usize = TOPICS_AT + MAX_TOPICS_SLOTS * size_of::<TopicsSlot>();
const _: () = assert!((HEADER_WORDS * 8).is_multiple_of(align_of::<WorkerSlot>()));
const _: () = assert!(TOPICS_AT.is_multiple_of(align_of::<TopicsSlot>()));
const _: () = assert!(INSPECTORS_AT.is_multiple_of(align_of::<InspectorSlot>()));

/// The control file, mapped.
pub struct Control {
    mapped: Mapped,
}

impl Control {
    /// Opens the control file of `dir`; creates the directory and the file if they are missing. For nginx's master.
    ///
    /// A file of another version of Weir is replaced; processes of that version keep theirs.
    pub fn open_or_create(dir: &Path) -> Result<Self, LedgerError> {
        make_dir(dir)?;
        let path = dir.join(FILE_NAME);
        check_owner(&path)?;
        let existing = match Self::open(dir) {
            Err(LedgerError::Missing { .. }) => Existing::Keep,
            Err(LedgerError::Version { .. }) => Existing::Replace,
            other => return other,
        };
        let created = Mapped::create(&path, BYTES, existing, |mapped| {
            let words = mapped.words();
            words[WORD_VERSION].store(VERSION, Ordering::Relaxed);
            words[WORD_BYTES].store(BYTES as u64, Ordering::Relaxed);
            words[WORD_MAGIC].store(MAGIC, Ordering::Relaxed);
        })?;
        // Another master has created the same file in the meantime.
        created.map_or_else(|| Self::open(dir), |mapped| Ok(Self { mapped }))
    }

    /// Whether [`Control::open_or_create`] will succeed, as far as can be told without making the file: makes the
    /// directory, and a file in it that is removed at once. A full file system may have room again by then.
    pub fn check(dir: &Path) -> Result<(), LedgerError> {
        make_dir(dir)?;
        check_owner(&dir.join(FILE_NAME))?;
        let path = dir.join(format!("check.{}", std::process::id()));
        match fs::File::create(&path).and_then(|_| fs::remove_file(&path)) {
            Err(source) if source.kind() != io::ErrorKind::StorageFull => {
                return Err(LedgerError::Io { path: dir.to_owned(), doing: "create a file in it", source });
            }
            _ => {}
        }
        match Self::open(dir) {
            Ok(_) | Err(LedgerError::Missing { .. } | LedgerError::Version { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Opens the control file of `dir`.
    pub fn open(dir: &Path) -> Result<Self, LedgerError> {
        let path = dir.join(FILE_NAME);
        let mapped =
            Mapped::open(&path, HEADER_WORDS, |header| check_header(&path, header, MAGIC, VERSION).map(|()| BYTES))?;
        if mapped.words()[WORD_BYTES].load(Ordering::Relaxed) != BYTES as u64 {
            return Err(LedgerError::Damaged { path, detail: "its header gives another size".into() });
        }
        Ok(Self { mapped })
    }

    /// Path of the control file.
    #[must_use]
    pub fn path(&self) -> &PathBuf {
        &self.mapped.path
    }

    fn word(&self, word: usize) -> &AtomicU64 {
        &self.mapped.words()[word]
    }

    /// Whether Weir lets every request pass uninspected.
    #[inline]
    #[must_use]
    pub fn silenced(&self) -> bool {
        self.word(WORD_SILENCE).load(Ordering::Relaxed) != 0
    }

    /// Turns silence on or off for all workers, from their next request on.
    pub fn set_silence(&self, on: bool) {
        self.word(WORD_SILENCE).store(u64::from(on), Ordering::Relaxed);
    }

    /// The diagnostic log level set at run time: nginx's 1 (emerg) to 8 (debug), or 0 for the
    /// configured level.
    #[inline]
    #[must_use]
    pub fn log_level(&self) -> u32 {
        self.word(WORD_LOG_LEVEL).load(Ordering::Relaxed) as u32
    }

    /// Sets the diagnostic log level; more than 8 counts as 8.
    pub fn set_log_level(&self, level: u32) {
        self.word(WORD_LOG_LEVEL).store(u64::from(level.min(8)), Ordering::Relaxed);
    }

    /// The current generation of the ledger; 0 before the first.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.word(WORD_GENERATION).load(Ordering::Acquire)
    }

    /// Sets the current generation. Its ledger exists already, or there is no room for one.
    pub fn set_generation(&self, generation: u64) {
        self.word(WORD_GENERATION).store(generation, Ordering::Release);
    }

    fn slots(&self) -> &[WorkerSlot] {
        let words = &self.mapped.words()[HEADER_WORDS..];
        // SAFETY: the file is BYTES long (checked before mapping): MAX_WORKERS slots follow the
        // header, aligned because the mapping is page-aligned and the header a multiple of their
        // alignment. A slot consists of atomics, for which any bits are valid.
        unsafe { std::slice::from_raw_parts(words.as_ptr().cast::<WorkerSlot>(), MAX_WORKERS) }
    }

    fn inspector_slots(&self) -> &[InspectorSlot] {
        let words = &self.mapped.words()[INSPECTORS_AT / 8..];
        // SAFETY: as for `slots`, which these follow.
        unsafe { std::slice::from_raw_parts(words.as_ptr().cast::<InspectorSlot>(), MAX_INSPECTOR_SLOTS) }
    }

    /// A slot for what the process `pid` counts of an inspector, from zero unless it has one already; `None` if all are
    /// taken by living processes.
    pub fn claim_inspector(&self, pid: u32, name: &str) -> Option<&InspectorSlot> {
        claim(self.inspector_slots(), pid, name)
    }

    /// What living workers have counted of inspectors.
    #[must_use]
    pub fn inspectors(&self) -> Vec<InspectorReport> {
        inspector::report(self.inspector_slots())
    }

    fn topics_slots(&self) -> &[TopicsSlot] {
        let words = &self.mapped.words()[TOPICS_AT / 8..];
        // SAFETY: as for `slots`, which these follow behind those of inspectors.
        unsafe { std::slice::from_raw_parts(words.as_ptr().cast::<TopicsSlot>(), MAX_TOPICS_SLOTS) }
    }

    /// As [`Control::claim_inspector`], for a set of topics.
    pub fn claim_topics(&self, pid: u32, name: &str) -> Option<&TopicsSlot> {
        claim(self.topics_slots(), pid, name)
    }

    /// What living workers have counted of topics, by set.
    #[must_use]
    pub fn topics(&self) -> BTreeMap<String, TopicsCounts> {
        topics::report(self.topics_slots())
    }

    /// The slot of the process `pid`: the one that it has already, or a free one, whose counters start at
    /// zero. A slot is free if it was never claimed or its process is dead.
    pub fn claim_worker(&self, pid: u32) -> Result<&WorkerSlot, LedgerError> {
        let me = identity(pid);
        let owner_of = |slot: &WorkerSlot| slot.owner.load(Ordering::Relaxed);
        if let Some(slot) = self.slots().iter().find(|slot| owner_of(slot) == me) {
            return Ok(slot);
        }
        for slot in self.slots() {
            let owner = owner_of(slot);
            if (owner == 0 || !lives(owner))
                && slot.owner.compare_exchange(owner, me, Ordering::AcqRel, Ordering::Relaxed).is_ok()
            {
                slot.reset();
                return Ok(slot);
            }
        }
        Err(LedgerError::Limit { what: "workers", wanted: MAX_WORKERS + 1, limit: MAX_WORKERS })
    }

    /// Living workers that acknowledge revisions of the gateway here, not in the bus: the number of the slot, the process,
    /// revision and digest.
    pub fn followers(&self) -> impl Iterator<Item = Follower> {
        let all = self.slots().iter().enumerate();
        all.filter_map(|(slot, worker)| {
            let (revision, digest) = worker.followed()?;
            let owner = worker.owner.load(Ordering::Acquire);
            lives(owner).then(|| Follower { slot, pid: pid_of(owner), revision, digest })
        })
    }

    /// All slots that were ever claimed, also those of dead workers.
    #[must_use]
    pub fn workers(&self) -> Vec<WorkerReport> {
        self.slots().iter().filter(|slot| slot.pid() != 0).map(WorkerSlot::report).collect()
    }
}

/// A worker that acknowledges revisions of the gateway in the control file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Follower {
    /// Number of its slot.
    pub slot: usize,
    /// Its process id.
    pub pid: u32,
    /// The revision that it serves.
    pub revision: u64,
    /// The digest of the state that it serves.
    pub digest: u64,
}

/// Checks the beginning that all files of the ledger share.
pub(crate) fn check_header(path: &Path, header: &[u64], magic: u64, version: u64) -> Result<(), LedgerError> {
    if header.iter().all(|&word| word == 0) {
        return Err(LedgerError::Foreign { path: path.to_owned(), detail: "it is empty".into() });
    }
    if header[WORD_MAGIC] != magic {
        return Err(LedgerError::Foreign {
            path: path.to_owned(),
            detail: "it does not begin with Weir's mark".into(),
        });
    }
    if header[WORD_VERSION] == 0 {
        return Err(LedgerError::Damaged { path: path.to_owned(), detail: "it ends within its header".into() });
    }
    if header[WORD_VERSION] != version {
        let found = u32::try_from(header[WORD_VERSION]).unwrap_or(u32::MAX);
        return Err(LedgerError::Version { path: path.to_owned(), found, expected: version as u32 });
    }
    Ok(())
}
