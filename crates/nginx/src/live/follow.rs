//! Follows the journal: frame by frame, in order, in slices short enough that no request waits for
//! them. What takes longer is done by the builder, and the frames behind it wait.

use std::path::PathBuf;
use std::rc::Rc;

use nginx_sys::ngx_log_t;
use weir_bus::{Read, Reader};
use weir_gateway::op::Op;
use weir_gateway::{Gateway, Patterns};
use weir_ledger::Ledger;

use super::builder::{Builder, Done, Job, Wanted};
use super::draft::{Applied, Draft, Unbuilt, Verdict};
use super::{Live, current, endpoint, swap};
use crate::configuration::Main;
use crate::{fault, note, worker};

/// How long a slice may hold the event loop, in nanoseconds; one operation more may begin just before.
const SLICE_NS: u64 = 300_000;

/// A frame longer than this many bytes is parsed by the builder: parsing takes about a microsecond
/// per kilobyte.
const LARGE_FRAME: usize = 64 << 10;

/// A buffer larger than this is given back after the frame that needed it.
const MAX_BUFFER: usize = 1 << 20;

/// What the next frame waits for.
enum Waiting {
    /// The operation in a large frame.
    Parsed,
    /// An expression that an operation needs; then the operation is applied again.
    Pattern(Vec<u8>),
    /// Policies made from this text; then the revision ends.
    Policies(Rc<str>, u64),
}

/// How a step went.
enum Step {
    /// There may be more.
    More,
    /// Everything is read.
    Idle,
    /// The builder is at work.
    Waiting,
}

/// One worker's way through the journal.
pub struct Follower {
    reader: Reader,
    buffer: Vec<u8>,
    main: &'static Main,
    draft: Draft,
    patterns: Patterns,
    builder: Builder,
    waiting: Option<Waiting>,
    /// Of the base that the state came from, once there is one.
    epoch: Option<u64>,
    /// Revision and digest that are served but not acknowledged yet.
    unsaid: Option<(u64, u64)>,
    /// Revision that is refused, and why, unless a later one that is there already has undone it.
    refused: Option<(u64, String)>,
    at_once: bool,
    /// Whether the journal could not be read, which is said once.
    unreadable: bool,
}

impl Follower {
    /// Begins at the journal's beginning, with nothing.
    pub fn new(reader: Reader, main: &'static Main) -> Self {
        Self {
            reader,
            buffer: Vec::new(),
            main,
            draft: Draft::empty(),
            patterns: Patterns::new(),
            builder: Builder::new(endpoint().map(|endpoint| endpoint.ringer())),
            waiting: None,
            epoch: None,
            unsaid: None,
            refused: None,
            at_once: false,
            unreadable: false,
        }
    }

    /// Applies all there is, however long it takes: a worker that starts has no requests yet.
    pub fn catch_up(&mut self, log: *mut ngx_log_t) {
        let begun = worker::ticks();
        self.at_once = true;
        while !matches!(self.step(), Step::Idle) {}
        self.at_once = false;
        self.acknowledge();
        let gateway = &self.draft.gateway;
        note!(
            log,
            Notice,
            "weir: the gateway is at revision {} after {} us",
            gateway.revision(),
            worker::ns(worker::ticks().saturating_sub(begun)) / 1000
        );
    }

    /// Applies what has come, for as long as a slice may last, and rings again if there is more. Says
    /// whether there was anything to do.
    pub fn slice(&mut self) -> bool {
        let begun = worker::ticks();
        let mut worked = false;
        while let Step::More = self.step() {
            worked = true;
            if worker::ns(worker::ticks().saturating_sub(begun)) > SLICE_NS {
                endpoint().inspect(|endpoint| endpoint.ring_self());
                break;
            }
        }
        self.acknowledge();
        worked
    }

    /// Changes what is served and what will be, without a revision.
    pub fn each(&mut self, change: &mut dyn FnMut(&mut Gateway)) {
        change(&mut self.draft.gateway);
        if self.draft.is_served() {
            swap(Live::new(self.draft.gateway.clone(), self.draft.policies.clone()));
        } else if let Some(live) = current() {
            let mut gateway = live.gateway.clone();
            change(&mut gateway);
            swap(Live::new(gateway, live.policies.clone()));
        }
    }

    fn step(&mut self) -> Step {
        if let Some(waiting) = self.waiting.take() {
            let Some(done) = self.builder.take() else {
                self.waiting = Some(waiting);
                return Step::Waiting;
            };
            self.resume(waiting, done);
            return Step::More;
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        let step = match self.reader.next(&mut buffer) {
            Ok(Some(read)) => {
                self.frame(read);
                Step::More
            }
            Ok(None) => Step::Idle,
            Err(error) => {
                self.cannot_read(&error.to_string());
                Step::Idle
            }
        };
        if buffer.capacity() <= MAX_BUFFER {
            self.buffer = buffer;
        }
        step
    }

    fn frame(&mut self, read: Read<'_>) {
        match read {
            Read::Base { epoch, revision, digest } => self.base(epoch, revision, digest),
            Read::Op(frame) if frame.len() > LARGE_FRAME => self.wait(Waiting::Parsed, Job::Parse(frame.to_vec())),
            Read::Op(frame) => match serde_json::from_slice(frame) {
                Ok(op) => self.apply(frame, op),
                Err(error) => self.draft.refuse_frame(frame, unreadable(&error.to_string())),
            },
            Read::Commit { revision, .. } => self.commit(revision),
            Read::Runtime(frame) => self.runtime(frame),
        }
    }

    /// A whole state: skipped if it is ours.
    fn base(&mut self, epoch: u64, revision: u64, digest: u64) {
        self.unreadable = false;
        let gateway = &self.draft.gateway;
        let ours = (self.epoch, gateway.revision(), gateway.digest());
        if self.draft.is_served() && ours == (Some(epoch), revision, digest) {
            self.reader.skip_base();
        } else {
            self.draft.restart();
        }
        self.epoch = Some(epoch);
    }

    fn apply(&mut self, frame: &[u8], op: Op) {
        let (draft, patterns) = (&mut self.draft, &mut self.patterns);
        match fault::contain("a change", || draft.apply(frame, op, patterns)) {
            Some(Applied::Done) => {}
            Some(Applied::NeedsPattern(pattern)) => {
                self.wait(Waiting::Pattern(frame.to_vec()), Job::Pattern(pattern));
            }
            None => self.draft.refuse_frame(frame, "a fault of Weir while it was applied".into()),
        }
    }

    /// What the health checker or the resolver found out: at once, without a revision. What it is
    /// about may be gone by now.
    fn runtime(&mut self, frame: &[u8]) {
        let Ok(op) = serde_json::from_slice::<Op>(frame) else { return };
        let mut patterns = Patterns::new(); // it names no expression
        self.each(&mut |gateway| {
            let _ = gateway.apply(frame, op.clone(), &mut patterns);
        });
    }

    fn commit(&mut self, revision: u64) {
        match self.draft.unbuilt() {
            Some(unbuilt) => {
                let text = Rc::clone(&unbuilt.text);
                let job = Job::Policies(Box::new(self.wanted(unbuilt)));
                self.wait(Waiting::Policies(text, revision), job);
            }
            None => self.finish(revision),
        }
    }

    fn wanted(&self, unbuilt: Unbuilt) -> Wanted {
        let ledger = worker::ledger();
        Wanted {
            text: unbuilt.text.as_ref().to_owned(),
            loaded: unbuilt.loaded.map(|policies| policies.snapshot().clone()),
            sets: unbuilt.sets,
            path: self.path(),
            // SAFETY: set by nginx before init_process; 0 without a master.
            ledger: ledger.map(|ledger: &'static Ledger| (ledger, unsafe { nginx_sys::ngx_worker })),
            sample_every: self.main.sample_every(),
            before: self.draft.policies.clone(),
        }
    }

    /// What messages call the policies. Files that they name begin at the runtime directory, where
    /// there are none: control sends the contents, or whole paths.
    fn path(&self) -> PathBuf {
        self.main.runtime_dir().join("policies.json")
    }

    fn wait(&mut self, waiting: Waiting, job: Job) {
        self.builder.submit(job, self.at_once);
        self.waiting = Some(waiting);
    }

    fn resume(&mut self, waiting: Waiting, done: Done) {
        match (waiting, done) {
            (Waiting::Parsed, Done::Parsed(frame, Ok(op))) => self.apply(&frame, *op),
            (Waiting::Parsed, Done::Parsed(frame, Err(error))) => self.draft.refuse_frame(&frame, unreadable(&error)),
            (Waiting::Pattern(frame), Done::Pattern(text, Ok(regex))) => {
                self.patterns.insert(&text, regex);
                match serde_json::from_slice(&frame) {
                    Ok(op) => self.apply(&frame, op),
                    Err(error) => self.draft.refuse_frame(&frame, unreadable(&error.to_string())),
                }
            }
            (Waiting::Pattern(frame), Done::Pattern(text, Err(error))) => {
                self.draft.refuse_frame(&frame, format!("the expression `{text}` cannot be used: {error}"));
            }
            (Waiting::Policies(text, revision), Done::Policies(result)) => {
                if let Some((bank, row)) = result.as_ref().ok().and_then(|built| built.row) {
                    worker::set_bank(bank, row);
                }
                self.draft.built(text, result);
                self.finish(revision);
            }
            _ => unreachable!("the builder has one job at a time, and its result is of the job's kind"),
        }
    }

    /// The end of a revision: it is served, or refused.
    fn finish(&mut self, revision: u64) {
        match self.draft.commit(revision) {
            Verdict::Whole => {
                let gateway = self.draft.gateway.clone();
                self.unsaid = Some((revision, gateway.digest()));
                self.refused = None;
                swap(Live::new(gateway, self.draft.policies.clone()));
            }
            Verdict::Waiting => {}
            Verdict::Refused(reason) => self.refused = Some((revision, reason)),
        }
    }

    /// Tells control how far we are: once for all that a slice has applied or refused.
    fn acknowledge(&mut self) {
        if let Some((revision, reason)) = self.refused.take() {
            let line = reason.replace('\n', " ");
            note!(log(), Error, "weir: revision {revision} is refused, the one before stays: {line}");
            // The slot says so even if the message finds no room.
            let _ = endpoint().map(|endpoint| endpoint.refuse(revision, &reason));
        }
        let Some((revision, digest)) = self.unsaid.take() else { return };
        endpoint().inspect(|endpoint| endpoint.acknowledge(revision, digest));
        if let (Some(slot), Some(live)) = (worker::slot(), current()) {
            slot.set_revision(live.revision());
        }
    }

    /// The journal is damaged; control begins a new generation when it starts.
    fn cannot_read(&mut self, error: &str) {
        if !std::mem::replace(&mut self.unreadable, true) {
            note!(log(), Error, "weir: the journal cannot be read, what is served stays as it is: {error}");
        }
    }
}

fn unreadable(error: &str) -> String {
    format!("an operation cannot be read ({error}); nginx and control must be of the same version of Weir")
}

fn log() -> *mut ngx_log_t {
    // SAFETY: a cycle has a log.
    unsafe { (*worker::cycle()).log }
}
