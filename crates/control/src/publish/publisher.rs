//! The publisher: the one task that changes anything. Its steps are in the files beside this one.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{Mutex, mpsc};
use weir_bus::{ControlBell, Frame, Writer};

use super::bell::{Bell, NewFiles};
use super::queue::Submitted;
use super::runtime::RuntimeFacts;
use super::verification::{Compiled, Verified};
use super::waiting::Waiting;
use crate::error::ControlError;
use crate::health::Supervisor;
use crate::log;
use crate::sandbox::Rejected;
use crate::shared::Shared;
use crate::state::State;
use crate::store::Snapshot;
use crate::workers::{Refused, Roster, Standing};

/// The result of the sandbox for a change.
#[derive(Debug)]
pub(super) struct Verdict {
    pub submitted: Submitted,
    pub verified: Verified,
    pub rejected: Option<Rejected>,
}

/// A revision that was undone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undone {
    pub revision: u64,
    pub undone_by: u64,
}

/// The progress of snapshots.
#[derive(Debug)]
pub(super) struct Snapshots {
    /// The revision of the newest complete snapshot.
    pub done: u64,
    pub under_way: Option<Snapshot>,
    /// The time of the first change since.
    pub changed: Option<Instant>,
    pub prune: bool,
}

impl Snapshots {
    pub fn new(done: u64) -> Self {
        Self { done, under_way: None, changed: None, prune: false }
    }

    /// Notes a change.
    pub fn changed(&mut self) {
        self.changed.get_or_insert_with(Instant::now);
    }

    /// Whether a snapshot or a deletion is in progress.
    pub fn is_busy(&self) -> bool {
        self.under_way.is_some() || self.prune
    }
}

/// The state of the publisher.
pub(crate) struct Publisher {
    pub(super) parts: Shared,
    pub(super) writer: Writer,
    pub(super) roster: Roster,
    pub(super) health: Supervisor,
    pub(super) known: RuntimeFacts,
    pub(super) waiting: Waiting,
    pub(super) standing: Vec<Standing>,
    pub(super) last: Vec<Standing>,
    pub(super) refused: Vec<Refused>,
    pub(super) undone: VecDeque<Undone>,
    pub(super) heavy: VecDeque<(Submitted, Compiled)>,
    pub(super) heavy_runs: bool,
    /// Changes whose files are being read.
    pub(super) reading: usize,
    /// Held by the one that reads.
    pub(super) lane: Arc<Mutex<()>>,
    pub(super) read: mpsc::UnboundedSender<Submitted>,
    pub(super) read_in: mpsc::UnboundedReceiver<Submitted>,
    /// When files are captured that were named before control started, if that has not succeeded.
    pub(super) learn_at: Instant,
    /// When contents of files that are not needed any more are deleted.
    pub(super) forget_at: Option<Instant>,
    pub(super) verdicts: mpsc::UnboundedSender<Verdict>,
    pub(super) snapshots: Snapshots,
    pub(super) used: u64,
    pub(super) bell: Bell,
    pub(super) files: NewFiles,
    pub(super) next_look: Instant,
    /// When the files in the runtime directory are looked after.
    pub(super) files_at: Instant,
    pub(super) verdicts_in: mpsc::UnboundedReceiver<Verdict>,
    pub(super) runtime: PathBuf,
    /// The journals of earlier runtime directories that workers still follow.
    pub(super) former: Vec<Writer>,
    /// How often in a row the journal was not there.
    pub(super) missing: u32,
    pub(super) said_not_moved: bool,
    /// The epoch of the store, constant while it is open.
    epoch: u64,
}

impl Publisher {
    /// Opens the journal, begins a new generation of it with the state, and finds the workers.
    pub fn new(parts: Shared, runtime: &Path, health: Supervisor, snapshot: u64) -> Result<Self, ControlError> {
        let writer = Writer::open(runtime)?;
        let before = super::runtime::read(runtime);
        let at = |what| ControlError::io(what, runtime);
        let bell = Bell::new(ControlBell::open(runtime)?).map_err(at("watch the bell in"))?;
        let files = NewFiles::of(runtime).map_err(at("watch"))?;
        let (verdicts, verdicts_in) = mpsc::unbounded_channel();
        let (read, read_in) = mpsc::unbounded_channel();
        let own_epoch = parts.store().epoch();
        let mut publisher = Self {
            parts,
            writer,
            roster: Roster::new(runtime),
            health,
            known: before.known,
            waiting: Waiting::default(),
            standing: Vec::new(),
            last: Vec::new(),
            refused: Vec::new(),
            undone: VecDeque::new(),
            heavy: VecDeque::new(),
            heavy_runs: false,
            reading: 0,
            lane: Arc::default(),
            read,
            read_in,
            learn_at: Instant::now() + std::time::Duration::from_secs(10),
            forget_at: Some(Instant::now()),
            verdicts,
            snapshots: Snapshots::new(snapshot),
            used: 0,
            bell,
            files,
            next_look: Instant::now(),
            files_at: Instant::now(),
            verdicts_in,
            runtime: runtime.to_owned(),
            former: Vec::new(),
            missing: 0,
            said_not_moved: false,
            epoch: own_epoch,
        };
        let jumped = publisher.begin(before.epoch, before.revision)?;
        if jumped {
            // Revisions are whole from a snapshot on, and some are missing now.
            publisher.snapshot_now();
        }
        publisher.roster.discover();
        publisher.roster.wake();
        Ok(publisher)
    }

    /// Begins with the state that was loaded. True if its revision had to be raised: after the store was lost, or put
    /// back from a copy, no worker may take a new revision for one that it has.
    fn begin(&mut self, epoch: u64, journal: u64) -> Result<bool, ControlError> {
        let parts = self.parts.clone();
        let mut state = parts.state();
        let other = epoch != parts.store().epoch() && journal > 0;
        let jumps = journal > state.revision() || other && journal == state.revision();
        if jumps {
            log::warning!(
                "the journal was at revision {journal}, the store at {}: going on from there",
                state.revision()
            );
            state.set_revision(journal + 1);
        }
        for frame in state.base() {
            if let Ok(op) = serde_json::from_slice(&frame) {
                self.health.tell(&op);
            }
        }
        self.rotate(&state)?;
        Ok(jumps)
    }

    /// Begins a new generation of the journal.
    pub(super) fn rotate(&mut self, state: &State) -> Result<(), weir_bus::JournalError> {
        // Who rotates may hold the store.
        let (epoch, revision, digest) = (self.epoch, state.revision(), state.digest());
        self.writer.begin(epoch, revision, digest, state.base())?;
        self.former.retain_mut(|former| former.begin(epoch, revision, digest, state.base()).is_ok());
        let known = self.known.frames(state);
        let frames: Vec<Frame<'_>> = known.iter().map(|frame| Frame::Runtime(frame)).collect();
        self.append_to_all(&frames)?;
        self.used = 0;
        self.parts.metrics.journal_rotations.add(1);
        self.parts.metrics.revision.set(state.revision());
        Ok(())
    }

    /// The regions of the workers.
    pub fn regions(&self) -> crate::workers::Regions {
        self.roster.regions()
    }
}
