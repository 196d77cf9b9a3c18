//! The queue of changes, and their answers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};
use weir_resource::Fault;

use super::in_flight::{Flight, InFlight, Taken};
use super::kept::Read;
use super::verification::Verified;
use crate::auth::{Role, Scope};
use crate::state::{Edit, Key, Refusal};
use crate::store::ChangeKey;
use crate::workers::WorkerId;

/// The operation of a change.
#[derive(Clone, Debug)]
pub enum Operation {
    /// These changes, all or none.
    Edits(Vec<Edit>),
    /// A return to the state of a revision.
    Rollback(u64),
    /// Exactly these documents, those of a backup.
    Restore(Arc<BTreeMap<Key, Box<str>>>),
}

impl Operation {
    /// The role that it needs: the highest of its parts.
    #[must_use]
    pub fn role(&self) -> Role {
        match self {
            Self::Edits(edits) => {
                edits.iter().map(|edit| Role::for_kind(edit.target.kind())).max().unwrap_or(Role::Edit)
            }
            Self::Rollback(_) | Self::Restore(_) => Role::Admin,
        }
    }
}

/// When a change is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    /// When it is stored and published.
    Accepted,
    /// When every worker has applied it.
    #[default]
    Workers,
}

/// A requested change.
#[derive(Debug)]
pub struct Submission {
    /// The operation.
    pub operation: Operation,
    /// The client.
    pub actor: Arc<str>,
    /// The message for the list of revisions.
    pub message: Option<String>,
    /// When to answer.
    pub wait: Wait,
    /// How long to wait for workers.
    pub timeout: Duration,
    /// Whether to check the change without applying it.
    pub dry_run: bool,
    /// Resources whose files are captured anew, beside those that the change writes.
    pub refresh: Refresh,
    /// The change is made only if this is the newest revision.
    pub expect: Option<u64>,
    /// The idempotency key.
    pub key: Option<ChangeKey>,
    /// The limits of the client.
    pub scope: Option<Arc<Scope>>,
}

impl Submission {
    /// A change that control makes by itself: it changes no document, only what is captured of files.
    pub(crate) fn by_control(message: &str, refresh: Refresh) -> Self {
        Self {
            operation: Operation::Edits(Vec::new()),
            actor: "weir".into(),
            message: Some(message.to_owned()),
            wait: Wait::Accepted,
            timeout: Duration::ZERO,
            dry_run: false,
            refresh,
            expect: None,
            key: None,
            scope: None,
        }
    }
}

/// Resources whose files are captured anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Refresh {
    /// Only those that the change writes.
    #[default]
    Written,
    /// Also these.
    Named(Vec<Key>),
    /// All.
    All,
}

/// The progress of a worker with a change.
#[derive(Clone, Debug)]
pub struct WorkerResult {
    /// The worker.
    pub id: WorkerId,
    /// The process id.
    pub pid: u32,
    /// Time from publication to acknowledgement in microseconds; `None` without acknowledgement.
    pub us: Option<u64>,
}

/// The answer to a change.
#[derive(Debug)]
pub enum Answer {
    /// The change was made, or would be.
    Done {
        /// The newest revision that it depends on.
        revision: u64,
        /// Paths of changed resources; empty if nothing changed.
        changed: Vec<String>,
        /// The resource that it created, if any.
        created: Option<Key>,
        /// The progress of each worker.
        workers: Vec<WorkerResult>,
        /// Whether a worker has not acknowledged it.
        pending: bool,
        /// What is odd about it, and refuses nothing.
        warnings: Vec<Fault>,
        /// Whether an earlier request with the same idempotency key made it.
        replayed: bool,
    },
    /// The change was refused.
    Refused(Refusal),
    /// The limits of the client do not allow it.
    Forbidden(String),
    /// The newest revision is another one than the client expects.
    Moved {
        /// The expected revision.
        expected: u64,
        /// The newest revision.
        newest: u64,
    },
    /// The idempotency key stands for another request, which made this revision if it is known.
    KeyReused(Option<u64>),
    /// A request with the same idempotency key is being processed.
    InProgress,
    /// A worker refused the change, and it was undone.
    Undone {
        /// The refused revision.
        revision: u64,
        /// The revision that undid it.
        undone_by: u64,
        /// The worker that refused it, and its reason.
        reasons: Vec<(WorkerId, String)>,
        /// Whether a worker has not acknowledged the undo.
        pending: bool,
        /// Whether an earlier request with the same idempotency key made it.
        replayed: bool,
    },
    /// The revision to roll back to does not exist or is no longer kept.
    NoRevision {
        /// The requested revision.
        revision: u64,
        /// The oldest possible revision.
        oldest: u64,
        /// The newest revision.
        newest: u64,
    },
    /// The disk is full.
    Full(String),
    /// The change could not be stored or published.
    Failed(String),
    /// Too many changes are waiting.
    Busy,
}

/// A submission in the queue.
#[derive(Debug)]
pub struct Submitted {
    pub(super) submission: Submission,
    pub(super) answer: oneshot::Sender<Answer>,
    pub(super) since: Instant,
    /// What the sandbox has compiled of it.
    pub(super) verified: Option<Verified>,
    /// Files of certificates that were read for it.
    pub(super) read: Read,
    /// What is odd about it.
    pub(super) warnings: Vec<Fault>,
    /// What it changes in files, in words.
    pub(super) files: Vec<String>,
    /// Whether it is control's own, made when it starts.
    first: bool,
    /// Its idempotency key, until it is stored.
    pub(super) flight: Option<Flight>,
    _place: QueueSlot,
}

impl Submitted {
    /// Whether it is the one that control makes when it starts: everything is compiled, what is not captured is, and
    /// control learns which documents depend on which files.
    pub(super) fn is_first(&self) -> bool {
        self.first && self.verified.is_none()
    }

    /// Control's own first change.
    pub(super) fn first() -> Self {
        let submission = Submission::by_control("captures the files that are named", Refresh::Written);
        let place = QueueSlot(Arc::new(AtomicUsize::new(1)));
        let (answer, since) = (oneshot::channel().0, Instant::now());
        Self {
            submission,
            answer,
            since,
            verified: None,
            read: Read::default(),
            warnings: Vec::new(),
            files: Vec::new(),
            first: true,
            flight: None,
            _place: place,
        }
    }
}

/// The sender of changes.
#[derive(Clone, Debug)]
pub struct Queue {
    sender: mpsc::UnboundedSender<Submitted>,
    waiting: Arc<AtomicUsize>,
    in_flight: InFlight,
    limit: usize,
}

/// One of the slots of waiting changes, released when dropped.
#[derive(Debug)]
struct QueueSlot(Arc<AtomicUsize>);

impl Drop for QueueSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Queue {
    /// A queue for at most `limit` unanswered changes.
    #[must_use]
    pub fn new(limit: usize) -> (Self, mpsc::UnboundedReceiver<Submitted>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self { sender, waiting: Arc::default(), in_flight: InFlight::default(), limit }, receiver)
    }

    /// Submits a change and waits for its answer.
    pub async fn submit(&self, submission: Submission) -> Answer {
        let place = QueueSlot(self.waiting.clone());
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= self.limit {
            return Answer::Busy;
        }
        let key = submission.key.as_ref().filter(|_| !submission.dry_run);
        let flight = match key.map(|key| self.in_flight.begin(key)).transpose() {
            Ok(flight) => flight,
            Err(Taken::BySame) => return Answer::InProgress,
            Err(Taken::ByOther) => return Answer::KeyReused(None),
        };
        let (answer, answered) = oneshot::channel();
        let submitted = Submitted {
            submission,
            answer,
            since: Instant::now(),
            verified: None,
            read: Read::default(),
            warnings: Vec::new(),
            files: Vec::new(),
            first: false,
            flight,
            _place: place,
        };
        if self.sender.send(submitted).is_err() {
            return Answer::Failed("control is stopping".to_owned());
        }
        answered.await.unwrap_or_else(|_| Answer::Failed("control is stopping".to_owned()))
    }
}
