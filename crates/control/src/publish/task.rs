//! The publisher: the one task that changes anything.

use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use weir_bus::{ControlBell, Frame, Writer};
use weir_gateway::op::Op;

use super::bell::{Bell, NewFiles};
use super::heavy::{Compiled, Verdict};
use super::queue::Submitted;
use super::runtime::Known;
use super::snapshots::Snapshots;
use super::undo::Undone;
use super::waiting::Waiting;
use crate::error::ControlError;
use crate::health::Supervisor;
use crate::log;
use crate::shared::Shared;
use crate::state::State;
use crate::workers::{Refused, Roster, Standing};

/// Changes that are taken at a time.
const GROUP: usize = 1_024;
/// Findings of the health checker that are taken at a time.
const FINDINGS: usize = 1_024;
/// How often the dead are looked for while somebody waits.
const LOOK: Duration = Duration::from_millis(50);
/// And while nobody does.
const IDLE: Duration = Duration::from_secs(1);

/// The task's own.
pub(crate) struct Publisher {
    pub(super) parts: Shared,
    pub(super) writer: Writer,
    pub(super) roster: Roster,
    pub(super) health: Supervisor,
    pub(super) known: Known,
    pub(super) waiting: Waiting,
    pub(super) standing: Vec<Standing>,
    pub(super) last: Vec<Standing>,
    pub(super) refused: Vec<Refused>,
    pub(super) undone: VecDeque<Undone>,
    pub(super) heavy: VecDeque<(Submitted, Compiled)>,
    pub(super) heavy_runs: bool,
    pub(super) verdicts: mpsc::UnboundedSender<Verdict>,
    pub(super) snapshots: Snapshots,
    pub(super) used: u64,
    bell: Bell,
    files: NewFiles,
    next_look: Instant,
    verdicts_in: mpsc::UnboundedReceiver<Verdict>,
    /// The store's, which never changes while it is open.
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
            verdicts,
            snapshots: Snapshots::new(snapshot),
            used: 0,
            bell,
            files,
            next_look: Instant::now(),
            verdicts_in,
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

    /// A new generation of the journal.
    pub(super) fn rotate(&mut self, state: &State) -> Result<(), weir_bus::JournalError> {
        // Who rotates may hold the store.
        self.writer.begin(self.epoch, state.revision(), state.digest(), state.base())?;
        let known = self.known.frames(state);
        let frames: Vec<Frame<'_>> = known.iter().map(|frame| Frame::Runtime(frame)).collect();
        self.writer.append(&frames)?;
        self.used = 0;
        self.parts.metrics.journal_rotations.add(1);
        self.parts.metrics.revision.set(state.revision());
        Ok(())
    }

    /// The workers, for others to look at.
    pub fn regions(&self) -> crate::workers::Regions {
        self.roster.regions()
    }

    /// Runs until `stop` is true, then finishes what is under way.
    pub async fn run(
        mut self,
        mut queue: mpsc::UnboundedReceiver<Submitted>,
        mut findings: mpsc::Receiver<Op>,
        mut stop: watch::Receiver<bool>,
    ) {
        let mut group = Vec::with_capacity(GROUP);
        let mut found = Vec::with_capacity(FINDINGS);
        loop {
            let look = tokio::time::Instant::from_std(self.wake_at());
            tokio::select! {
                biased;
                // First, so that no change is answered without the workers of a cycle that began before it came.
                () = self.files.changed() => {
                    self.roster.discover();
                    self.roster.wake();
                    self.look();
                }
                taken = queue.recv_many(&mut group, GROUP) => {
                    if taken == 0 { break }
                    self.make_room().await;
                    self.commit(group.drain(..));
                }
                () = self.bell.rung() => self.look(),
                Some(verdict) = self.verdicts_in.recv() => self.verdict(verdict),
                _ = findings.recv_many(&mut found, FINDINGS), if !findings.is_closed() => self.publish_found(found.drain(..)),
                () = tokio::time::sleep_until(look) => self.tick(),
                () = crate::shared::ended(&mut stop) => break,
            }
        }
        self.finish(queue).await;
    }

    async fn finish(&mut self, mut queue: mpsc::UnboundedReceiver<Submitted>) {
        queue.close();
        let mut group = Vec::new();
        while let Ok(submitted) = queue.try_recv() {
            group.push(submitted);
        }
        self.commit(group.drain(..));
        let end = Instant::now() + IDLE;
        while !self.waiting.is_empty() && Instant::now() < end {
            let _ = tokio::time::timeout(LOOK, self.bell.rung()).await;
            self.tick();
        }
        self.waiting.expire(&self.standing, Instant::now() + Duration::from_secs(3_600));
        self.last_snapshot();
        if let Ok(Err(error)) = self.parts.flusher.now().await {
            log::failure!("cannot flush the store: {error}");
        }
    }

    fn wake_at(&self) -> Instant {
        let busy = !self.waiting.is_empty() || self.snapshots.is_busy();
        let look = if busy { self.next_look.min(Instant::now() + LOOK) } else { self.next_look };
        self.waiting.deadline().map_or(look, |deadline| deadline.min(look))
    }

    fn tick(&mut self) {
        if !self.waiting.is_empty() {
            self.roster.reap();
        }
        self.look();
        self.waiting.expire(&self.standing, Instant::now());
        self.snapshot_tick();
        let busy = !self.waiting.is_empty() || self.snapshots.is_busy();
        self.next_look = Instant::now() + if busy { LOOK } else { IDLE };
    }

    fn publish_found(&mut self, found: impl Iterator<Item = Op>) {
        let frames: Vec<Vec<u8>> = found.filter_map(|op| self.known.note(&op)).collect();
        if frames.is_empty() {
            return;
        }
        let runtime: Vec<Frame<'_>> = frames.iter().map(|frame| Frame::Runtime(frame)).collect();
        if let Err(error) = self.writer.append(&runtime) {
            // It is known and comes with the next generation.
            return log::failure!("cannot publish what the health checks found: {error}");
        }
        self.roster.wake();
    }
}
