//! Follows the journal: frame by frame, in order, in slices short enough that no request waits for
//! them. What takes longer is done by the builder, and the frames behind it wait.

use nginx_sys::ngx_log_t;
use weir_bus::{JournalError, Read, Reader};
use weir_gateway::draft::{Applied, Draft, Uncompiled, Verdict};
use weir_gateway::op::Op;
use weir_gateway::{Gateway, Patterns, frame_digest, teardown};
use weir_ledger::Ledger;

use super::builder::{Builder, Built, Done, Found, Job, Parsed, Wanted};
use super::{Link, Live, acknowledge, current, endpoint, swap};
use crate::configuration::Main;
use crate::policy::Policies;
use crate::{fault, note, worker};

/// How long a slice may hold the event loop, in nanoseconds; one operation more may begin just before.
const SLICE_NS: u64 = 300_000;

/// A frame longer than this many bytes is parsed by the builder: parsing takes about a microsecond
/// per kilobyte.
const LARGE_FRAME: usize = 64 << 10;

/// Pieces of old states that are taken down between two looks at the clock.
const PIECES: usize = 8;

/// Of operations outside of revisions, which are in no digest.
const NO_DIGEST: u64 = 0;

/// A buffer larger than this is given back after the frame that needed it.
const MAX_BUFFER: usize = 1 << 20;

/// What the next frame waits for.
enum Waiting {
    /// The reader, which reads a long frame.
    Read,
    /// The operation in a large frame.
    Parsed,
    /// An expression that an operation needs; then the operation is applied again.
    Pattern(Vec<u8>),
    /// Policies made from the text of this digest; then the revision ends.
    Policies(u64, u64),
    /// The same once more, because something was left out; outside of revisions.
    Again(u64),
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
    /// The builder has it while it reads a long frame.
    reader: Option<Box<Reader>>,
    buffer: Vec<u8>,
    main: &'static Main,
    draft: Draft<Policies>,
    patterns: Patterns,
    builder: Builder,
    waiting: Option<Waiting>,
    /// Of the base that the state came from, once there is one.
    epoch: Option<u64>,
    /// Revision and digest that are served but not acknowledged yet.
    unsaid: Option<(u64, u64)>,
    /// Revision that is refused, and why, unless a later one that is there already has undone it.
    refused: Option<(u64, String)>,
    /// What is left out, as it was reported.
    left_out: String,
    /// When that is tried again, in ticks.
    again_at: u64,
    /// The last revision of those that a starting worker has read.
    uncommitted: Option<u64>,
    at_once: bool,
    /// Whether the journal could not be read, which is said once.
    unreadable: bool,
}

impl Follower {
    /// Begins at the journal's beginning, with nothing.
    pub fn new(reader: Reader, main: &'static Main) -> Self {
        Self {
            reader: Some(Box::new(reader)),
            buffer: Vec::new(),
            main,
            draft: Draft::empty(),
            patterns: Patterns::new(),
            builder: Builder::new(endpoint().map(|endpoint| endpoint.ringer())),
            waiting: None,
            epoch: None,
            unsaid: None,
            refused: None,
            left_out: String::new(),
            again_at: 0,
            uncommitted: None,
            at_once: false,
            unreadable: false,
        }
    }

    /// Applies all there is, however long it takes: a worker that starts has no requests yet.
    pub fn catch_up(&mut self, log: *mut ngx_log_t) {
        let begun = worker::ticks();
        self.at_once = true;
        while !matches!(self.step(), Step::Idle) {}
        while teardown::take_down(PIECES) {}
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
            if is_over(begun) {
                endpoint().inspect(|endpoint| endpoint.ring_self());
                break;
            }
        }
        self.acknowledge();
        take_down() || worked
    }

    /// Changes what is served and what will be, without a revision.
    pub fn each(&mut self, change: &mut dyn FnMut(&mut Gateway)) {
        change(&mut self.draft.gateway);
        if self.draft.is_served() {
            swap(Live::new(self.draft.gateway.clone(), self.draft.policies().cloned()));
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
        if self.draft.gateway.settle() {
            return Step::More;
        }
        let Some(mut reader) = self.reader.take() else { return Step::Idle };
        if reader.is_long() {
            self.wait(Waiting::Read, Job::Read(reader));
            return Step::More;
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        let read = reader.next(&mut buffer);
        self.reader = Some(reader);
        let step = match read {
            Ok(Some(read)) => {
                self.frame(read);
                Step::More
            }
            Ok(None) => self.end(),
            Err(error) => {
                self.cannot_read(&error);
                self.end()
            }
        };
        if buffer.capacity() <= MAX_BUFFER {
            self.buffer = buffer;
        }
        step
    }

    /// The end of what can be read: a worker that starts commits the last revision.
    fn end(&mut self) -> Step {
        let Some(revision) = self.uncommitted.take() else { return Step::Idle };
        self.commit(revision);
        Step::More
    }

    fn frame(&mut self, read: Read<'_>) {
        match read {
            Read::Base { epoch, revision, digest } => self.base(epoch, revision, digest),
            Read::Op(frame) if frame.len() > LARGE_FRAME => self.wait(Waiting::Parsed, Job::Parse(frame.to_vec())),
            Read::Op(frame) => match serde_json::from_slice(frame) {
                Ok(op) => self.apply(frame, frame_digest(frame), op),
                Err(error) => self.draft.refuse_frame(frame, unreadable(&error.to_string())),
            },
            // A worker that starts compiles the last revision only.
            Read::Commit { revision, .. } if self.at_once => self.uncommitted = Some(revision),
            Read::Commit { revision, .. } => self.commit(revision),
            // What cannot be read is of another version, and not ours to refuse: it is no revision.
            Read::Runtime(frame) => _ = serde_json::from_slice(frame).map(|op| self.runtime(&op)),
        }
    }

    /// A whole state: skipped if it is ours.
    fn base(&mut self, epoch: u64, revision: u64, digest: u64) {
        self.unreadable = false;
        let gateway = &self.draft.gateway;
        let ours = (self.epoch, gateway.revision(), gateway.digest());
        if self.draft.is_served() && ours == (Some(epoch), revision, digest) {
            let _ = self.reader.as_mut().map(|reader| reader.skip_base());
        } else {
            self.draft.restart();
        }
        self.epoch = Some(epoch);
    }

    fn apply(&mut self, frame: &[u8], digest: u64, op: Op) {
        match fault::contain("a change", || self.draft.apply(digest, op, &mut self.patterns)) {
            Some(Applied::Done) => {}
            Some(Applied::NeedsPattern(pattern)) => {
                self.wait(Waiting::Pattern(frame.to_vec()), Job::Pattern(pattern));
            }
            None => self.draft.refuse_frame(frame, "a fault of Weir while it was applied".into()),
        }
    }

    fn parsed(&mut self, parsed: Parsed) {
        match parsed.op {
            Ok(op) => self.apply(&parsed.frame, parsed.digest, op),
            Err(error) => self.draft.refuse_frame(&parsed.frame, unreadable(&error)),
        }
    }

    /// What the health checker or the resolver found out: at once, without a revision. What it is
    /// about may be gone by now.
    fn runtime(&mut self, op: &Op) {
        let mut patterns = Patterns::new(); // it names no expression
        self.each(&mut |gateway| {
            let _ = gateway.begin(NO_DIGEST, op.clone(), &mut patterns);
        });
    }

    fn commit(&mut self, revision: u64) {
        match self.draft.uncompiled() {
            Some(uncompiled) => {
                let digest = uncompiled.documents.digest();
                let job = Job::Policies(Box::new(self.wanted(uncompiled)));
                self.wait(Waiting::Policies(digest, revision), job);
            }
            None => self.finish(revision),
        }
    }

    fn wanted(&self, uncompiled: Uncompiled<Policies>) -> Wanted {
        let ledger = worker::ledger();
        Wanted {
            uncompiled,
            objects: self.main.link.as_ref().and_then(Link::objects),
            // SAFETY: set by nginx before init_process; 0 without a master.
            ledger: ledger.map(|ledger: &'static Ledger| (ledger, unsafe { nginx_sys::ngx_worker })),
            sample_every: self.main.sample_every(),
            before: self.draft.policies().cloned(),
        }
    }

    fn wait(&mut self, waiting: Waiting, job: Job) {
        self.builder.submit(job, self.at_once);
        self.waiting = Some(waiting);
    }

    fn resume(&mut self, waiting: Waiting, done: Done) {
        match (waiting, done) {
            (Waiting::Read, Done::Read(reader, found)) => {
                self.reader = Some(reader);
                match found {
                    Ok(Found::Nothing) => {}
                    Ok(Found::Op(parsed)) => self.parsed(*parsed),
                    Ok(Found::Runtime(parsed)) => _ = parsed.op.map(|op| self.runtime(&op)),
                    Ok(Found::Other(read)) => self.frame(read),
                    Err(error) => self.cannot_read(&error),
                }
            }
            (Waiting::Parsed, Done::Parsed(parsed)) => self.parsed(*parsed),
            (Waiting::Pattern(frame), Done::Pattern(text, Ok(regex))) => {
                self.patterns.insert(&text, regex);
                self.frame(Read::Op(&frame));
            }
            (Waiting::Pattern(frame), Done::Pattern(text, Err(error))) => {
                self.draft.refuse_frame(&frame, format!("the expression `{text}` cannot be used: {error}"));
            }
            (Waiting::Again(digest), Done::Policies(result)) => {
                if result.is_ok() && self.draft.gateway.documents().digest() == digest && self.draft.is_served() {
                    self.built(digest, result);
                    swap(Live::new(self.draft.gateway.clone(), self.draft.policies().cloned()));
                    self.report_left_out();
                }
            }
            (Waiting::Policies(digest, revision), Done::Policies(result)) => {
                self.built(digest, result);
                self.finish(revision);
            }
            _ => unreachable!("the builder has one job at a time, and its result is of the job's kind"),
        }
    }

    /// Takes over policies that were built.
    fn built(&mut self, digest: u64, result: Result<Built, String>) {
        if let Ok(Built { row: Some((bank, row)), continued, .. }) = &result {
            // At the swap and by the loop, so that each counter has one writer. What requests that began
            // before it count from now on is not seen any more.
            let earlier = self.draft.policies().and_then(|policies| policies.bank());
            if let Some(earlier) = earlier.filter(|earlier| earlier != bank).and_then(worker::bank) {
                row.continue_from(&earlier, continued);
            }
            worker::set_bank(*bank, *row);
        }
        self.draft.compiled(digest, result.map(|built| built.outcome));
    }

    /// Tries to compile what was left out, from time to time. True if the builder is at work.
    pub fn try_again(&mut self) -> bool {
        /// The time between two attempts.
        const EVERY_NS: u64 = 5_000_000_000;
        let now = worker::ticks();
        if self.waiting.is_some()
            || self.left_out.is_empty()
            || worker::ns(now.saturating_sub(self.again_at)) < EVERY_NS
        {
            return false;
        }
        self.again_at = now;
        // Control may have started since.
        let _ = endpoint().map(|endpoint| endpoint.left_out(&self.left_out));
        let Some(uncompiled) = self.draft.retry() else { return false };
        let digest = uncompiled.documents.digest();
        let job = Job::Policies(Box::new(self.wanted(uncompiled)));
        self.wait(Waiting::Again(digest), job);
        true
    }

    /// Tells the log and control what is left out, if that has changed.
    fn report_left_out(&mut self) {
        let lines: Vec<String> = self.draft.left_out().map(|(what, reason)| format!("{what}: {reason}")).collect();
        let now = lines.join("\n");
        if now == self.left_out {
            return;
        }
        for line in lines.iter().filter(|line| !self.left_out.contains(line.as_str())) {
            let line = line.replace('\n', " ");
            note!(log(), Error, "weir: left out, routes that need it follow weir_fail: {line}");
        }
        if now.is_empty() {
            note!(log(), Notice, "weir: nothing is left out any more");
        }
        let _ = endpoint().map(|endpoint| endpoint.left_out(&now));
        self.left_out = now;
        self.again_at = worker::ticks();
    }

    /// The end of a revision: it is served, or refused.
    fn finish(&mut self, revision: u64) {
        match self.draft.commit(revision) {
            Verdict::Whole => {
                let gateway = self.draft.gateway.clone();
                self.unsaid = Some((revision, gateway.digest()));
                self.refused = None;
                swap(Live::new(gateway, self.draft.policies().cloned()));
                self.report_left_out();
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
        acknowledge(revision, digest);
        if let (Some(slot), Some(live)) = (worker::slot(), current()) {
            slot.set_revision(live.revision());
        }
    }

    /// The journal is damaged; control begins a new generation when it starts.
    fn cannot_read(&mut self, error: &JournalError) {
        if !std::mem::replace(&mut self.unreadable, true) {
            note!(log(), Error, "weir: the journal cannot be read, what is served stays as it is: {error}");
        }
    }
}

/// Takes down what nobody holds any more, for as long as a slice may last, and rings again if there is more. Says
/// whether there was anything.
fn take_down() -> bool {
    if teardown::is_done() {
        return false;
    }
    let begun = worker::ticks();
    while teardown::take_down(PIECES) {
        if is_over(begun) {
            endpoint().inspect(|endpoint| endpoint.ring_self());
            return true;
        }
    }
    // What hung on it (idle connections, parsed certificates) is known to be of no use only now.
    crate::gateway::sweep_soon();
    true
}

/// Whether a slice that began then has lasted long enough.
fn is_over(begun: u64) -> bool {
    worker::ns(worker::ticks().saturating_sub(begun)) > SLICE_NS
}

fn unreadable(error: &str) -> String {
    format!("an operation cannot be read ({error}); nginx and control must be of the same version of Weir")
}

fn log() -> *mut ngx_log_t {
    // SAFETY: a cycle has a log.
    unsafe { (*worker::cycle()).log }
}
