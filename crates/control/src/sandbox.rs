//! Compiles configuration in a process that may hang, exhaust memory or crash without affecting control.
//!
//! ```text
//! check(job) ─ one at a time ─▶ child (`weir sandbox`, kept warm) ─ compiles ─▶ report or faults
//!                 └ watches its CPU time and the clock, and kills it
//! ```
//! A thread with a deadline was the alternative: a thread cannot be killed, and memory is the process's. A process for
//! each job costs 160 ms with the Core Rule Set, a warm one 1.5 ms, because the rules that it has read stay parsed.
//! What the child found is only a verdict: workers compile again themselves, from the same text.

mod child;
mod confine;
mod death;
mod fault_injection;
mod faults;
mod filter;
mod process;
mod wire;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Mutex;
use weir_gateway::Documents;
use weir_gateway::resource::{CapturedFile, Document, ResourceKind};
use weir_resource::Fault;

pub use child::child_main;
use death::Death;
use process::Process;
use wire::Task;

use crate::metrics::Metrics;
use crate::objects::Objects;
use crate::state::Key;

/// Most waiting jobs; further ones are refused at once.
pub const MAX_WAITING: usize = 64;

/// Jobs after which a child is replaced, so that what leaks or fragments has an end.
const MAX_JOBS_OF_A_CHILD: u32 = 10_000;

/// Limits of a job.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Address space of the child in bytes.
    pub memory_bytes: u64,
    /// CPU time of one job.
    pub cpu: Duration,
    /// Time of one job by the clock.
    pub wall: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory_bytes: 1 << 30, cpu: Duration::from_secs(10), wall: Duration::from_secs(20) }
    }
}

/// The input of a job.
#[derive(Clone, Debug, Default)]
pub struct Job {
    /// All policies, lists and rule sets, and what settings add to them, if any of it is touched.
    pub documents: Option<Documents>,
    /// Regular expressions of routes, each with the JSON pointer that its fault gets.
    pub patterns: Vec<(String, String)>,
}

/// The reason why a job failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// The queue is full ([`MAX_WAITING`]).
    Busy,
    /// There is no space for a file that it names.
    Full(String),
    /// All faults.
    Faults(Vec<Fault>),
}

/// Files that were captured for a job.
#[derive(Debug, Default)]
struct Wished {
    files: Vec<CapturedFile>,
    /// Why one could not be stored, if that is for lack of space.
    full: Option<String>,
}

/// Paths that each document depends on.
pub type Uses = HashMap<Key, Vec<Arc<[PathBuf]>>>;

/// The outcome of a successful job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Time by the clock, waiting excluded.
    pub wall: Duration,
    /// Files that were captured for it.
    pub captured: Vec<CapturedFile>,
    /// Files that the documents depend on.
    pub uses: Uses,
    /// What is odd about the policies and refuses nothing.
    pub warnings: Vec<Fault>,
}

/// The sandbox: at most one child, at most one job at a time.
#[derive(Debug)]
pub struct Sandbox {
    limits: Limits,
    exe: PathBuf,
    folder: PathBuf,
    objects: Arc<Objects>,
    metrics: Arc<Metrics>,
    child: Mutex<Option<Process>>,
    waiting: AtomicUsize,
}

impl Sandbox {
    /// A sandbox whose children are `exe sandbox`, which must run [`child_main`]. Starts none yet.
    #[must_use]
    pub fn new(limits: Limits, exe: PathBuf, objects: Arc<Objects>, metrics: Arc<Metrics>) -> Self {
        Self {
            limits,
            exe,
            folder: PathBuf::from("/"),
            objects,
            metrics,
            child: Mutex::new(None),
            waiting: AtomicUsize::new(0),
        }
    }

    /// The same, where relative names of files begin at this folder: that of workers, which compile the same text.
    #[must_use]
    pub fn with_folder(self, folder: PathBuf) -> Self {
        Self { folder, ..self }
    }

    /// The process that waits for the next job, for tests that kill it.
    pub async fn child(&self) -> Option<u32> {
        self.child.lock().await.as_ref().and_then(Process::pid)
    }

    /// Compiles a job.
    ///
    /// # Errors
    /// All that is wrong with it, with pointers that begin with the kind and the id of the document
    /// (`/policies/demo/rules/0/when`). A job that takes too much, or kills the child, is one fault with an empty
    /// pointer. [`Rejected::Busy`] if too many wait.
    pub async fn check(&self, job: &Job) -> Result<Report, Rejected> {
        let _place = self.place().ok_or(Rejected::Busy)?;
        let task = Task {
            documents: job.documents.as_ref().filter(|documents| !documents.is_empty()).map(all_of),
            patterns: job.patterns.iter().map(|(pattern, _)| pattern.clone()).collect(),
        };
        if task.documents.is_none() && task.patterns.is_empty() {
            return Ok(Report::default());
        }
        let mut slot = self.child.lock().await;
        self.metrics.sandbox_jobs.add(1);
        let start = std::time::Instant::now();
        let mut wished = Wished::default();
        let answer = self.perform(&mut slot, &task, &mut wished).await;
        let wall = start.elapsed();
        self.metrics.sandbox_seconds.record(wall);
        if let Some(reason) = wished.full {
            return Err(Rejected::Full(reason));
        }
        match answer {
            Ok(mut answer) => {
                let uses = uses(std::mem::take(&mut answer.groups), std::mem::take(&mut answer.uses));
                let warnings = faults::verdict(job, answer).map_err(Rejected::Faults)?;
                Ok(Report { wall, captured: wished.files, uses, warnings })
            }
            Err(death) => Err(Rejected::Faults(vec![death.fault(&self.limits)])),
        }
    }

    /// A place in the queue, given back when dropped.
    fn place(&self) -> Option<QueueSlot<'_>> {
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let place = QueueSlot(&self.waiting);
        (before <= MAX_WAITING).then_some(place)
    }

    /// Runs a task in the child of the slot, or in a new one. A child that served before and now ran out of memory,
    /// or died while it waited, is no fault of the task: it gets one more try, in a fresh child.
    async fn perform(
        &self,
        slot: &mut Option<Process>,
        task: &Task,
        wished: &mut Wished,
    ) -> Result<wire::Answer, Death> {
        if let Some(mut used) = slot.take().filter(|child| child.jobs() < MAX_JOBS_OF_A_CHILD) {
            match used.perform(task, &self.objects, wished, &self.limits).await {
                Ok(answer) => {
                    *slot = Some(used);
                    return Ok(answer);
                }
                Err(death) => {
                    self.metrics.sandbox_kills.add(1);
                    if !death.may_be_of_old_age() {
                        return Err(death);
                    }
                }
            }
        }
        let mut fresh = Process::start(&self.exe, &self.folder, &self.objects, &self.limits).await?;
        let answer = fresh.perform(task, &self.objects, wished, &self.limits).await;
        let answer = answer.inspect_err(|_| self.metrics.sandbox_kills.add(1))?;
        *slot = Some(fresh);
        Ok(answer)
    }
}

fn uses(groups: Vec<Vec<PathBuf>>, uses: Vec<wire::Uses>) -> Uses {
    let groups: Vec<Arc<[PathBuf]>> = groups.into_iter().map(Into::into).collect();
    let paths = |places: Vec<usize>| places.iter().filter_map(|place| groups.get(*place).cloned()).collect();
    uses.into_iter().map(|(kind, id, places)| (Key::new(kind, &id), paths(places))).collect()
}

fn all_of(documents: &Documents) -> Vec<(ResourceKind, Document)> {
    documents.iter().map(|(kind, document)| (kind, document.clone())).collect()
}

struct QueueSlot<'q>(&'q AtomicUsize);

impl Drop for QueueSlot<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
