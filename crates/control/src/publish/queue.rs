//! Changes that wait for their turn, and what is answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};

use super::verification::Verified;
use crate::state::{Edit, Key, Refusal};
use crate::workers::WorkerId;

/// What is to be done.
#[derive(Clone, Debug)]
pub enum What {
    /// These changes, all or none.
    Edits(Vec<Edit>),
    /// Everything as it was after a revision.
    Rollback(u64),
}

/// What the answer waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    /// That it is stored and published.
    Accepted,
    /// That every worker has it.
    #[default]
    Workers,
}

/// A change that somebody wants.
#[derive(Debug)]
pub struct Submission {
    /// What.
    pub what: What,
    /// Who.
    pub actor: Arc<str>,
    /// Why.
    pub message: Option<String>,
    /// What the answer waits for.
    pub wait: Wait,
    /// For how long.
    pub timeout: Duration,
    /// Only to see what would happen.
    pub dry_run: bool,
}

/// A worker and a revision.
#[derive(Clone, Debug)]
pub struct WorkerResult {
    /// Which.
    pub id: WorkerId,
    /// Its process.
    pub pid: u32,
    /// How long after the change was published control knew that it has it; `None` if it has not said so.
    pub us: Option<u64>,
}

/// What became of a change.
#[derive(Debug)]
pub enum Answer {
    /// It was made, or would be.
    Done {
        /// The newest revision that it needs.
        revision: u64,
        /// Paths; empty if everything was so already.
        changed: Vec<String>,
        /// The resource that it made, if it was to make one.
        created: Option<Key>,
        /// Who has it, and who has not.
        workers: Vec<WorkerResult>,
        /// Whether somebody has not.
        pending: bool,
    },
    /// It may not be made.
    Refused(Refusal),
    /// A worker refused it; it has been undone.
    Undone {
        /// What was refused.
        revision: u64,
        /// The revision that undid it.
        undone_by: u64,
        /// Who refused it, and why.
        reasons: Vec<(WorkerId, String)>,
        /// Whether somebody does not have the undoing yet.
        pending: bool,
    },
    /// The revision to roll back to is not kept, or not yet there.
    NoRevision {
        /// The one that was asked for.
        revision: u64,
        /// The oldest to which one can go back.
        oldest: u64,
        /// The newest.
        newest: u64,
    },
    /// It could not be stored or published for lack of space.
    Full(String),
    /// It could not be stored or published.
    Failed(String),
    /// Too many are waiting.
    Busy,
}

/// A submission on its way.
#[derive(Debug)]
pub struct Submitted {
    pub(super) submission: Submission,
    pub(super) answer: oneshot::Sender<Answer>,
    pub(super) since: Instant,
    /// What the sandbox has seen of it.
    pub(super) verified: Option<Verified>,
    _place: QueueSlot,
}

/// Where changes come in.
#[derive(Clone, Debug)]
pub struct Queue {
    sender: mpsc::UnboundedSender<Submitted>,
    waiting: Arc<AtomicUsize>,
    limit: usize,
}

/// A place among those that wait, given back when dropped.
#[derive(Debug)]
struct QueueSlot(Arc<AtomicUsize>);

impl Drop for QueueSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Queue {
    /// A queue for so many changes that are not answered yet.
    #[must_use]
    pub fn new(limit: usize) -> (Self, mpsc::UnboundedReceiver<Submitted>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self { sender, waiting: Arc::default(), limit }, receiver)
    }

    /// Submits a change and waits for what becomes of it.
    pub async fn submit(&self, submission: Submission) -> Answer {
        let place = QueueSlot(self.waiting.clone());
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= self.limit {
            return Answer::Busy;
        }
        let (answer, answered) = oneshot::channel();
        let submitted = Submitted { submission, answer, since: Instant::now(), verified: None, _place: place };
        if self.sender.send(submitted).is_err() {
            return Answer::Failed("control is stopping".to_owned());
        }
        answered.await.unwrap_or_else(|_| Answer::Failed("control is stopping".to_owned()))
    }
}
