//! What takes too long for an event loop: building policies, compiling expressions, reading and
//! parsing what is large. A thread beside the loop does it, one job at a time, and rings the worker's own bell when it
//! is done; frames of the journal behind it wait, because they are in order.
//!
//! The thread starts when it is first needed, after the worker was forked. It is nice, so that on a
//! busy machine requests go first, and it takes no signals, which nginx wants in its own thread. It
//! also keeps what it has read and built until nobody uses it any more: taking a policy down takes as long as a
//! dozen requests.

use std::os::fd::BorrowedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use weir_bus::{JournalError, Read, Reader, Ringer};
use weir_gateway::draft::{LeftOut, Outcome, PolicySet, Tolerated, Uncompiled};
use weir_gateway::op::Op;
use weir_gateway::{Documents, Patterns, Regex, frame_digest};
use weir_ledger::{Ledger, Row};
use weir_policy::files::Captured;
use weir_policy::{PolicyError, Snapshot, Trial};

use crate::policy::Policies;

/// How nice the thread is: as much as can be.
const NICE: libc::c_int = 19;

/// How often the thread looks whether old policies are still in use, while there are any.
const SWEEP: Duration = Duration::from_secs(1);

/// Something to do.
pub enum Job {
    /// Read a long frame.
    Read(Box<Reader>),
    /// Parse an operation.
    Parse(Vec<u8>),
    /// Compile an expression.
    Pattern(String),
    /// Build policies.
    Policies(Box<Wanted>),
}

/// What came of it.
pub enum Done {
    /// The reader, and what it has read.
    Read(Box<Reader>, Result<Found, JournalError>),
    /// An operation.
    Parsed(Box<Parsed>),
    /// The expression, compiled.
    Pattern(String, Result<Arc<Regex>, String>),
    /// Policies; an error says what is wrong with them.
    Policies(Result<Built, String>),
}

/// What a long frame was.
pub enum Found {
    /// None: the writer has begun anew.
    Nothing,
    /// An operation.
    Op(Box<Parsed>),
    /// An operation outside of revisions.
    Runtime(Box<Parsed>),
    /// What is never long.
    Other(Read<'static>),
}

/// An operation that was parsed.
pub struct Parsed {
    /// What it was read from.
    pub frame: Vec<u8>,
    /// Its digest.
    pub digest: u64,
    /// The operation; an error says what is wrong with it.
    pub op: Result<Op, String>,
}

/// Policies that are wanted.
pub struct Wanted {
    /// The documents, and the sets of policies.
    pub uncompiled: Uncompiled<Policies>,
    /// The contents of files.
    pub objects: Option<BorrowedFd<'static>>,
    /// Where to count, and this worker's number in it.
    pub ledger: Option<(&'static Ledger, usize)>,
    /// Every how many requests one is timed.
    pub sample_every: u32,
    /// What is in use now, to be taken down by the thread one day.
    pub before: Option<Arc<Policies>>,
}

/// Policies that were built.
pub struct Built {
    /// The policies, and sets that cannot be had.
    pub outcome: Outcome<Policies>,
    /// Their cells in the ledger.
    pub row: Option<(u8, Row<'static>)>,
    /// The entries that go on with the counts of the policies in use, see [`Policies::continued`].
    pub continued: Vec<(u32, u32)>,
}

/// The loop's side of it.
pub struct Builder {
    ringer: Option<Ringer>,
    jobs: Option<SyncSender<Job>>,
    done: Arc<Mutex<Option<Done>>>,
}

impl Builder {
    /// One that rings `ringer` when a job is done.
    pub fn new(ringer: Option<Ringer>) -> Self {
        Self { ringer, jobs: None, done: Arc::default() }
    }

    /// Does a job; call it only when the result of the last one has been taken. Without a thread, or
    /// `at_once`, it is done when this returns.
    pub fn submit(&mut self, job: Job, at_once: bool) {
        let job = if at_once { Some(job) } else { self.hand_over(job) };
        if let Some(job) = job {
            self.done.lock().unwrap_or_else(PoisonError::into_inner).replace(run(job));
        }
    }

    /// The result, once it is there.
    pub fn take(&self) -> Option<Done> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Gives a job to the thread; returns it if there can be none.
    fn hand_over(&mut self, job: Job) -> Option<Job> {
        let ringer = self.ringer.clone()?;
        if self.jobs.is_none() {
            // One job is under way at a time, so it never waits for room.
            let (sender, receiver) = sync_channel(1);
            let done = Arc::clone(&self.done);
            without_signals(|| {
                let thread = std::thread::Builder::new().name("weir-builder".into());
                thread.spawn(move || work(&receiver, &done, &ringer)).is_ok().then(|| self.jobs = Some(sender))
            });
        }
        let Some(jobs) = &self.jobs else { return Some(job) };
        jobs.send(job).err().map(|error| error.0)
    }
}

/// Runs `spawn` with all signals blocked, which the thread that it starts inherits.
pub fn without_signals<T>(spawn: impl FnOnce() -> T) -> T {
    // SAFETY: both sets are plain data; the mask of this thread is put back.
    unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let result = spawn();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        result
    }
}

/// The thread.
fn work(jobs: &Receiver<Job>, done: &Mutex<Option<Done>>, ringer: &Ringer) {
    // SAFETY: of this thread alone, which Linux knows by its own number.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, libc::gettid() as libc::id_t, NICE) };
    let (mut kept, mut documents): (Vec<Arc<Policies>>, Option<Documents>) = (Vec::new(), None);
    loop {
        let some = kept.len() > 1;
        let job = if some { jobs.recv_timeout(SWEEP) } else { jobs.recv().map_err(Into::into) };
        kept.retain(|policies| Arc::strong_count(policies) > 1);
        match job {
            Ok(job) => {
                if let Job::Policies(wanted) = &job {
                    keep(&mut kept, wanted.before.as_ref());
                    // The last hold on what a change has replaced is this one: megabytes are not freed in the loop.
                    drop(documents.replace(wanted.uncompiled.documents.clone()));
                }
                let result = run(job);
                if let Done::Policies(Ok(built)) = &result {
                    keep(&mut kept, Some(&built.outcome.policies));
                }
                done.lock().unwrap_or_else(PoisonError::into_inner).replace(result);
                ringer.ring();
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn keep(kept: &mut Vec<Arc<Policies>>, policies: Option<&Arc<Policies>>) {
    let new = policies.filter(|policies| !kept.iter().any(|known| Arc::ptr_eq(known, policies)));
    kept.extend(new.cloned());
}

/// Does a job. A panic is an error of what was to be built.
fn run(job: Job) -> Done {
    fn contained<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err("a fault of Weir while it was built".into()))
    }
    let parse = |frame: Vec<u8>| {
        let op = contained(|| serde_json::from_slice(&frame).map_err(|error| error.to_string()));
        let digest = frame_digest(&frame);
        Box::new(Parsed { frame, digest, op })
    };
    match job {
        Job::Read(mut reader) => {
            let mut buffer = Vec::new();
            let kind: fn(Box<Parsed>) -> Found = match reader.next(&mut buffer) {
                Ok(Some(Read::Op(_))) => Found::Op,
                Ok(Some(Read::Runtime(_))) => Found::Runtime,
                Ok(Some(Read::Base { epoch, revision, digest })) => {
                    return Done::Read(reader, Ok(Found::Other(Read::Base { epoch, revision, digest })));
                }
                Ok(Some(Read::Commit { revision, time_ms })) => {
                    return Done::Read(reader, Ok(Found::Other(Read::Commit { revision, time_ms })));
                }
                Ok(None) => return Done::Read(reader, Ok(Found::Nothing)),
                Err(error) => return Done::Read(reader, Err(error)),
            };
            Done::Read(reader, Ok(kind(parse(buffer))))
        }
        Job::Parse(frame) => Done::Parsed(parse(frame)),
        Job::Pattern(text) => {
            let compiled = contained(|| Patterns::compile(&text));
            Done::Pattern(text, compiled)
        }
        Job::Policies(wanted) => Done::Policies(contained(|| build(*wanted))),
    }
}

fn build(wanted: Wanted) -> Result<Built, String> {
    let Uncompiled { tolerated, documents, sets, loaded } = wanted.uncompiled;
    let tag = tag(documents.digest(), &sets);
    let (snapshot, left_out) = match loaded {
        Some(loaded) => (loaded.snapshot().clone(), loaded.left_out().to_vec()),
        None => compile(documents, wanted.objects, &tolerated)?,
    };
    let mut policies = Policies::new(snapshot, None, 0);
    policies.set_left_out(left_out.clone());
    let mut missing = Vec::new();
    for set in sets {
        if let Err(error) = policies.place(&set) {
            missing.push((set, error.to_string()));
        }
    }
    let mut row = None;
    if let Some((ledger, worker)) = wanted.ledger {
        let revision = policies.snapshot().revision().to_owned();
        if let Some(bank) = ledger.claim_bank(tag, &revision, wanted.sample_every, policies.entries()) {
            policies.set_bank(bank);
            row = Some((bank, ledger.bank_row(worker, bank)));
        }
    }
    let continued = wanted.before.map_or_else(Vec::new, |before| policies.continued(&before));
    Ok(Built { outcome: Outcome { policies: Arc::new(policies), missing, left_out }, row, continued })
}

/// Compiles documents, without those that have errors and may be left out; what names them is then left out as well.
fn compile(
    mut documents: Documents,
    objects: Option<BorrowedFd<'_>>,
    tolerated: &Tolerated,
) -> Result<(Snapshot, Vec<LeftOut>), String> {
    let mut left_out: Vec<LeftOut> = Vec::new();
    loop {
        let files = Captured::new(&documents, objects, None);
        // The sandbox has tried them all.
        let errors = match Snapshot::build(&documents, &files, Path::new("/"), Trial::Passed) {
            Ok(snapshot) => return Ok((snapshot, left_out)),
            Err(errors) => errors,
        };
        let before = left_out.len();
        for (kind, id, fault) in errors.errors().iter().filter_map(PolicyError::in_document) {
            if documents.get(kind, id).is_some() && (tolerated.has(kind, id) || !left_out.is_empty()) {
                documents.set(kind, id, None);
                left_out.push((kind, id.to_owned(), fault.message));
            }
        }
        if left_out.len() == before {
            return Err(errors.to_string());
        }
    }
}

/// What the ledger knows these policies by. All workers come to the same.
fn tag(documents: u64, sets: &[PolicySet]) -> u64 {
    let names = sets.iter().flat_map(|set| set.iter().flat_map(|name| name.bytes().chain([0])).chain([1]));
    frame_digest(&documents.to_le_bytes().into_iter().chain(names).collect::<Vec<u8>>()).max(1)
}
