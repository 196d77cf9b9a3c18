//! Passwords are verified beside the event loop: by design that takes a tenth of a second of CPU time.
//!
//! Two threads per worker take attempts from a bounded queue; the request waits, as for its body, and goes on when an
//! eventfd in the event loop says that its attempt is decided. What was verified is remembered for a while by a keyed
//! hash, so that a client that sends its password with every request waits once. nginx's own thread pools are not used:
//! they exist only where nginx was built and configured with them.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::os::fd::RawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use nginx_sys::{NGX_HTTP_SERVICE_UNAVAILABLE, ngx_http_run_posted_requests};
use nginx_sys::{ngx_add_timer, ngx_del_timer, ngx_event_t, ngx_http_core_run_phases, ngx_http_request_t};
use weir_auth::password::Attempt;
use weir_auth::remembered::Remembered;
use weir_auth::{Candidate, Consumer, CredentialKind, Failure, Identity, Keys, Reason};

use crate::live::{bell, builder};
use crate::transaction::{self, Inspection};
use crate::{fault, ffi, worker};

/// Attempts that are verified at once, in each worker. An argon2id hash may take 128 MiB.
const THREADS: usize = 2;
/// Attempts that wait; past it the answer is 503: a queue of 64 bcrypt hashes is three seconds long.
const WAITING: usize = 64;
/// Passwords that are remembered.
const REMEMBERED: usize = 10_000;
/// How long, in milliseconds.
const REMEMBERED_MS: u64 = 300_000;
/// How nice the threads are: requests that need no password go first.
const NICE: libc::c_int = 10;
/// Keeps a worker that is shutting down alive while a request waits.
const TIMER_MS: usize = 60_000;

type Decided = Result<Identity, Failure>;

/// Progress of a request's password.
#[derive(Default)]
pub enum Password {
    /// No rule has needed it.
    #[default]
    Unasked,
    /// It is being verified, under this number.
    Awaited(u64),
    /// It has been verified.
    Decided(Decided),
}

/// The credentials as one request may use them: with the outcome for its password.
pub struct RequestKeys<'k> {
    /// All credentials.
    pub keys: &'k dyn Keys,
    /// The outcome for the request's password.
    pub password: &'k Password,
}

impl Keys for RequestKeys<'_> {
    fn find(&self, kind: CredentialKind, id: &[u8]) -> Option<Candidate> {
        self.keys.find(kind, id)
    }

    fn of_consumer(&self, kind: CredentialKind, consumer: &str) -> Vec<Candidate> {
        self.keys.of_consumer(kind, consumer)
    }

    fn consumer(&self, id: &str) -> Option<Arc<Consumer>> {
        self.keys.consumer(id)
    }

    fn password(&self, _: &Attempt) -> Option<Decided> {
        match self.password {
            Password::Unasked | Password::Awaited(_) => None,
            Password::Decided(decided) => Some(decided.clone()),
        }
    }
}

/// What a request has to do about its password.
pub enum Next {
    /// Nothing.
    GoOn,
    /// Wait until the phases are run again.
    Wait,
    /// Be answered with this status.
    Answer(u32),
}

/// The worker's side.
struct Desk {
    remembered: Remembered,
    jobs: SyncSender<(u64, Attempt)>,
    done: Arc<Mutex<Vec<(u64, Attempt, Decided)>>>,
    waiting: HashMap<u64, *mut ngx_http_request_t>,
    next: u64,
}

thread_local! {
    static DESK: RefCell<Option<Desk>> = const { RefCell::new(None) };
    static BELL: Cell<RawFd> = const { Cell::new(-1) };
}

/// Has the password verified for which the evaluation of a request stopped.
///
/// # Safety
/// `r` is a live main request in a phase handler, `inspection` its inspection.
pub unsafe fn ask(r: *mut ngx_http_request_t, inspection: &mut Inspection) -> Next {
    if let Password::Awaited(_) = inspection.password {
        return Next::Wait;
    }
    let Some(attempt) = inspection.outcome.attempt.take() else { return Next::GoOn };
    start();
    DESK.with_borrow_mut(|desk| {
        let desk = desk.as_mut()?;
        if let Some(identity) = desk.remembered.find(&attempt, ffi::now_ms()) {
            inspection.password = Password::Decided(Ok(identity));
            return Some(Next::GoOn);
        }
        desk.next += 1;
        match desk.jobs.try_send((desk.next, attempt.clone())) {
            Ok(()) => {
                desk.waiting.insert(desk.next, r);
                inspection.password = Password::Awaited(desk.next);
                // SAFETY: a live request with its connection; the event only runs the phases again.
                unsafe { ngx_add_timer((*(*r).connection).write, TIMER_MS) };
                Some(Next::Wait)
            }
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                Some(Next::Answer(NGX_HTTP_SERVICE_UNAVAILABLE))
            }
        }
    })
    // Without threads it is verified here.
    .unwrap_or_else(|| {
        inspection.password = Password::Decided(attempt.finish());
        Next::GoOn
    })
}

/// A request that ends does not wait any more.
pub fn forget(password: &Password) {
    if let Password::Awaited(number) = password {
        DESK.with_borrow_mut(|desk| desk.as_mut().and_then(|desk| desk.waiting.remove(number)));
    }
}

/// Starts the threads, if there are none yet.
fn start() {
    if BELL.get() >= 0 {
        return;
    }
    // SAFETY: a new descriptor; the cycle is the one that this worker serves.
    let bell = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
    // SAFETY: as above. The descriptor stays open until the process ends.
    let is_heard = bell >= 0 && unsafe { bell::install(worker::cycle(), bell, rung) }.is_some();
    let Some(remembered) = Remembered::new(REMEMBERED, REMEMBERED_MS).ok().filter(|_| is_heard) else { return };
    let (jobs, receiver) = sync_channel(WAITING);
    let (receiver, done) = (Arc::new(Mutex::new(receiver)), Arc::default());
    for _ in 0..THREADS {
        let (receiver, done) = (Arc::clone(&receiver), Arc::clone(&done));
        builder::without_signals(|| {
            let thread = std::thread::Builder::new().name("weir-password".into());
            let _ = thread.spawn(move || work(&receiver, &done, bell));
        });
    }
    BELL.set(bell);
    DESK.replace(Some(Desk { remembered, jobs, done, waiting: HashMap::new(), next: 0 }));
}

/// A thread.
fn work(jobs: &Mutex<Receiver<(u64, Attempt)>>, done: &Mutex<Vec<(u64, Attempt, Decided)>>, bell: RawFd) {
    // SAFETY: of this thread alone, which Linux knows by its own number.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, libc::gettid() as libc::id_t, NICE) };
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((number, attempt)) = job else { return };
        let verified = catch_unwind(AssertUnwindSafe(|| attempt.finish()));
        let fault = || Err(Failure::new(Reason::Unavailable, "a fault of Weir while the password was verified"));
        let decided = verified.unwrap_or_else(|_| fault());
        done.lock().unwrap_or_else(PoisonError::into_inner).push((number, attempt, decided));
        // SAFETY: eight bytes are read from a constant; a full counter wakes the loop as well.
        unsafe { libc::write(bell, (&raw const ONE).cast(), size_of::<u64>()) };
    }
}

static ONE: u64 = 1;

unsafe extern "C" fn rung(_: *mut ngx_event_t) {
    fault::contain("passwords", || {
        let mut count = 0u64;
        // SAFETY: eight bytes are written to a local; the descriptor does not block.
        unsafe { libc::read(BELL.get(), (&raw mut count).cast(), size_of::<u64>()) };
        let decided = DESK.with_borrow_mut(|desk| {
            let desk = desk.as_mut()?;
            let done = std::mem::take(&mut *desk.done.lock().unwrap_or_else(PoisonError::into_inner));
            let mut decided = Vec::with_capacity(done.len());
            for (number, attempt, outcome) in done {
                if outcome.is_ok() {
                    desk.remembered.put(&attempt, ffi::now_ms());
                }
                decided.extend(desk.waiting.remove(&number).map(|r| (r, outcome)));
            }
            Some(decided)
        });
        for (r, outcome) in decided.into_iter().flatten() {
            // SAFETY: requests that end are forgotten, so it is live; its connection outlives the call of the phases.
            unsafe { go_on(r, outcome) };
        }
    });
}

/// Runs the phases of a request whose password is decided.
unsafe fn go_on(r: *mut ngx_http_request_t, outcome: Decided) {
    // SAFETY: as the caller promises. No reference to the inspection spans a call.
    unsafe {
        let Some(inspection) = transaction::find(r) else { return };
        (*inspection).password = Password::Decided(outcome);
        let connection = (*r).connection;
        if (*(*connection).write).timer_set() != 0 {
            ngx_del_timer((*connection).write);
        }
        (*(*connection).write).set_timedout(0);
        ngx_http_core_run_phases(r);
        ngx_http_run_posted_requests(connection);
    }
}
