//! The workers that have to acknowledge: those of every live nginx cycle in the runtime directory.
//!
//! A worker publishes its progress in its slot and rings control's bell; control never polls. Messages are taken only after
//! the slots were read, so that a refusal that came before an acknowledgement is seen before it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weir_bus::{Address, Endpoint, Region, Ringer, Slot, State, Topic, journal_format, ringers_without_region};
use weir_ledger::Follower;

use crate::log;
use weir_policy::counted;

/// Most regions that are followed; older ones have no workers that still serve.
const MAX_REGIONS: usize = 64;

/// The regions that control takes part in, shared with readers of their slots; what workers have left out; and workers
/// that control does not share a region with.
#[derive(Clone, Default)]
pub struct Regions(Arc<Mutex<Vec<Arc<Region>>>>, Arc<Mutex<HashMap<WorkerId, LeftOut>>>, Arc<Mutex<Vec<Follower>>>);

/// What a worker has left out: its process, and a line for each resource.
#[derive(Clone, Debug, Default)]
struct LeftOut {
    pid: u32,
    lines: String,
    /// When the log was last told of this worker.
    said: Option<Instant>,
}

impl std::fmt::Debug for Regions {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_list().entries(self.all().iter().map(|region| region.generation())).finish()
    }
}

impl Regions {
    /// All regions, the oldest first.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Region>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Workers that acknowledge in the control file, as of the last look.
    fn followers(&self) -> Vec<Follower> {
        self.2.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What a worker has left out, a line for each resource.
    #[must_use]
    pub fn left_out(&self, id: WorkerId, pid: u32) -> String {
        let all = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&id).filter(|left_out| left_out.pid == pid).map(|left_out| left_out.lines.clone()).unwrap_or_default()
    }

    /// Notes what a worker has left out. True if that is news for the log, which gets a line a second of a worker.
    fn set_left_out(&self, id: WorkerId, pid: u32, lines: String) -> bool {
        let mut all = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.entry(id).or_default();
        let is_news = (known.pid != pid && !lines.is_empty()) || known.lines != lines;
        let is_said = is_news && known.said.is_none_or(|said| said.elapsed() >= Duration::from_secs(1));
        let said = if is_said { Some(Instant::now()) } else { known.said };
        *known = LeftOut { pid, lines, said };
        is_said
    }

    /// Every worker as the API shows it, with how many revisions it is behind.
    #[must_use]
    pub fn report(&self, revision: u64, digest: u64) -> Vec<Value> {
        let mut report = Vec::new();
        for region in self.all() {
            for (number, slot) in slots(&region).filter(|(_, slot)| slot.state() != State::Free) {
                let (applied, sum) = slot.acknowledged();
                let mut row = json!({
                    "generation": region.generation(), "worker": number, "pid": slot.pid(),
                    "state": state_name(slot.state()), "incarnation": slot.incarnation(),
                    "started_ms": slot.started_ms(), "applied": applied, "digest": format!("{sum:016x}"),
                    "behind": revision.saturating_sub(applied), "held_us": slot.held_ns() / 1_000,
                });
                if slot.refused() > 0 {
                    row["refused"] = slot.refused().into();
                }
                if slot.journal_format() != journal_format() {
                    row["journal_format"] = slot.journal_format().into();
                }
                let id = WorkerId { generation: region.generation(), worker: number };
                let left_out = self.left_out(id, slot.pid());
                if !left_out.is_empty() {
                    row["left_out"] = left_out.lines().collect();
                }
                if applied == revision {
                    row["agrees"] = (sum == digest).into();
                }
                report.push(row);
            }
        }
        for Follower { slot, pid, revision: applied, digest: sum } in self.followers() {
            let mut row = json!({
                "generation": 0, "worker": slot, "pid": pid, "state": "running", "bus": false, "applied": applied,
                "digest": format!("{sum:016x}"), "behind": revision.saturating_sub(applied), "held_us": 0,
            });
            if applied == revision {
                row["agrees"] = (sum == digest).into();
            }
            report.push(row);
        }
        report
    }
}

/// The name of a state in the API.
#[must_use]
pub fn state_name(state: State) -> &'static str {
    match state {
        State::Free => "free",
        State::Running => "running",
        State::Draining => "draining",
        State::Gone => "gone",
    }
}

/// The workers' slots of a region, by number.
pub fn slots(region: &Region) -> impl Iterator<Item = (usize, &Slot)> {
    (0..region.workers()).map(|number| (number, region.slot(number)))
}

/// Identifies a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkerId {
    /// The nginx cycle.
    pub generation: u64,
    /// The number of the worker within the cycle.
    pub worker: usize,
}

/// A live worker as of the last look.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    /// The worker.
    pub id: WorkerId,
    /// The process id.
    pub pid: u32,
    /// The revision that it serves.
    pub applied: u64,
}

/// A revision that a worker refused.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The worker.
    pub id: WorkerId,
    /// The revision.
    pub revision: u64,
    /// The reason.
    pub reason: String,
}

/// Control's side of all regions.
pub struct Roster {
    runtime: PathBuf,
    attached: Vec<Attached>,
    regions: Regions,
    /// The bells of workers that control does not share a region with.
    ringers: Vec<Ringer>,
    ledger: Option<weir_ledger::Control>,
}

/// Control's side of one region.
struct Attached {
    region: Arc<Region>,
    endpoint: Endpoint,
    /// Whether the log has been told of workers that read another format of the journal.
    said_other_format: bool,
    /// Whether it is in a runtime directory that was replaced since.
    is_former: bool,
}

impl std::fmt::Debug for Roster {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Roster").field("regions", &self.regions).finish_non_exhaustive()
    }
}

impl Roster {
    /// An empty roster of a runtime directory; [`Roster::discover`] finds the regions.
    #[must_use]
    pub fn new(runtime: &Path) -> Self {
        Self {
            runtime: runtime.to_path_buf(),
            attached: Vec::new(),
            regions: Regions::default(),
            ringers: Vec::new(),
            ledger: None,
        }
    }

    /// The regions, shared.
    #[must_use]
    pub fn regions(&self) -> Regions {
        self.regions.clone()
    }

    /// Joins new regions and leaves those whose last process is dead.
    pub fn discover(&mut self) {
        if let Err(error) = Region::remove_dead(&self.runtime) {
            log::warning!("cannot remove dead regions in {}: {error}", self.runtime.display());
        }
        let mut there = match Region::list(&self.runtime) {
            Ok(there) => there,
            Err(error) => return log::warning!("cannot list regions in {}: {error}", self.runtime.display()),
        };
        there.drain(..there.len().saturating_sub(MAX_REGIONS));
        self.ringers = ringers_without_region(&self.runtime).unwrap_or_default();
        let before = self.attached.len();
        self.attached.retain(|one| one.is_former || there.contains(&one.region.generation()));
        let mut changed = self.attached.len() != before;
        for generation in there {
            if self.attached.iter().any(|one| !one.is_former && one.region.generation() == generation) {
                continue;
            }
            match attach(&self.runtime, generation) {
                Ok(attached) => {
                    log::info!("nginx cycle {generation} with {}", counted(attached.region.workers(), "worker"));
                    self.attached.push(attached);
                    changed = true;
                }
                Err(error) => log::warning!("cannot take part in region {generation}: {error}"),
            }
        }
        if changed {
            self.share();
        }
    }

    fn share(&self) {
        let all = self.attached.iter().map(|one| one.region.clone()).collect();
        *self.regions.0.lock().unwrap_or_else(PoisonError::into_inner) = all;
    }

    /// The runtime directory was replaced: what there was is followed until its workers have ended.
    pub fn move_in(&mut self) {
        self.attached.iter_mut().for_each(|one| one.is_former = true);
        self.ledger = None;
    }

    /// Whether a worker follows a journal of an earlier directory. Leaves regions that have none.
    pub fn has_former(&mut self) -> bool {
        let before = self.attached.len();
        self.attached.retain(|one| !one.is_former || one.region.slots().any(Slot::lives));
        if self.attached.len() != before {
            self.share();
        }
        self.attached.iter().any(|one| one.is_former)
    }

    /// Leaves all regions, to join them anew: memory of one has been lost.
    pub fn leave_all(&mut self) {
        self.attached.clear();
        self.ledger = None;
        self.share();
    }

    /// Finds workers that acknowledge in the control file.
    pub fn find_followers(&mut self) {
        if self.ledger.is_none() {
            self.ledger = weir_ledger::Control::open(&self.runtime).ok();
        }
        let found = self.ledger.iter().flat_map(weir_ledger::Control::followers).collect();
        *self.regions.2.lock().unwrap_or_else(PoisonError::into_inner) = found;
    }

    /// Wakes every worker.
    pub fn wake(&self) {
        for one in &self.attached {
            one.endpoint.wake_workers();
        }
        self.ringers.iter().for_each(Ringer::ring);
    }

    /// Notes which workers are dead.
    pub fn reap(&self) {
        for one in &self.attached {
            one.region.reap();
        }
    }

    /// Every worker that has to acknowledge, and what was refused since the last look. The revision that a
    /// worker has applied is read before its messages, see the top of this file. Workers that cannot read this control's journal have
    /// nothing to acknowledge: they serve what they have until nginx is upgraded.
    pub fn look(&mut self, standing: &mut Vec<Standing>, refused: &mut Vec<Refused>) {
        standing.clear();
        if !self.ringers.is_empty() {
            self.find_followers();
        }
        standing.extend(self.regions.followers().iter().map(|follower| {
            let id = WorkerId { generation: 0, worker: follower.slot };
            Standing { id, pid: follower.pid, applied: follower.revision }
        }));
        let regions = &self.regions;
        for Attached { region, endpoint, said_other_format, .. } in &mut self.attached {
            let generation = region.generation();
            for (worker, slot) in slots(region) {
                if !matches!(slot.state(), State::Running | State::Draining) {
                    continue;
                }
                let (reads, writes) = (slot.journal_format(), journal_format());
                if reads == writes {
                    let id = WorkerId { generation, worker };
                    standing.push(Standing { id, pid: slot.pid(), applied: slot.applied() });
                } else if !std::mem::replace(said_other_format, true) {
                    log::warning!(
                        "workers of nginx cycle {generation} read format {reads} of the journal, not {writes}: they keep \
                         serving what they have, and get no changes until nginx and control are of the same version"
                    );
                }
            }
            endpoint.receive(&mut |message| {
                let Address::Worker(worker) = message.from else { return };
                let id = WorkerId { generation, worker: worker.into() };
                match message.topic {
                    Topic::REFUSED => {
                        let Some((revision, reason)) = message.payload.split_first_chunk::<8>() else { return };
                        let reason = String::from_utf8_lossy(reason).into_owned();
                        refused.push(Refused { id, revision: u64::from_le_bytes(*revision), reason });
                    }
                    Topic::LEFT_OUT => {
                        let lines = String::from_utf8_lossy(message.payload).into_owned();
                        let pid = slots(region).nth(id.worker).map_or(0, |(_, slot)| slot.pid());
                        if regions.set_left_out(id, pid, lines.clone()) {
                            match lines.as_str() {
                                "" => log::info!("worker {worker} (process {pid}) leaves nothing out any more"),
                                lines => log::failure!(
                                    "worker {worker} (process {pid}) leaves out what it cannot build: {}",
                                    lines.replace('\n', "; ")
                                ),
                            }
                        }
                    }
                    _ => {}
                }
            });
        }
    }
}

fn attach(runtime: &Path, generation: u64) -> Result<Attached, weir_bus::BusError> {
    let region = Arc::new(Region::open(runtime, generation)?);
    let endpoint = region.attach(Address::Control)?;
    Ok(Attached { region, endpoint, said_other_format: false, is_former: false })
}
