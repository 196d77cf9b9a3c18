//! Inspectors: questions of requests to remote detectors, in nginx's own event loop.
//!
//! A request that waits is one that waits for its body: its phases are run again when the answers are there. No thread is
//! on its path. Questions of one round of the event loop to one endpoint leave in one write.

mod asked;
mod counters;
mod desk;
mod link;
mod resolve;
mod service;
mod socket;
mod tls;

use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::Arc;

use nginx_sys::{
    ngx_add_timer, ngx_del_timer, ngx_event_t, ngx_http_core_run_phases, ngx_http_request_t,
    ngx_http_run_posted_requests, ngx_msec_t, ngx_post_event, ngx_posted_events,
};
use weir_inspect::{Failure, Inspector};

use self::asked::Asked;
use self::desk::{Answered, Desk, Done, Waiting};
use crate::transaction::{self, Body, Inspection};
use crate::{body, fault, meter, worker};

/// How often a question is asked again whose connection broke.
const MAX_TRIES: u8 = 1;

/// What a request has to do.
pub enum Next {
    /// Go on.
    GoOn,
    /// Wait until the phases are run again.
    Wait,
}

/// Progress of a request's questions.
#[derive(Default)]
pub struct Questions {
    /// Those that wait for an answer.
    ids: Vec<u32>,
    /// Whether the request waits, too.
    is_waiting: bool,
}

impl Questions {
    /// Whether the request waits for an answer.
    pub fn are_waited_for(&self) -> bool {
        self.is_waiting
    }
}

struct Shared(RefCell<Option<Desk>>);

// SAFETY: as for worker::Worker: one thread per process ever touches it.
unsafe impl Sync for Shared {}

/// Not a thread-local: when a worker exits, that would be dropped after nginx has freed what its sockets are registered in.
static DESK: Shared = Shared(RefCell::new(None));

thread_local! {
    static EVENTS: Cell<Events> = const { Cell::new(Events { timer: ptr::null_mut(), flush: ptr::null_mut() }) };
}

/// Events of nginx that live as long as the worker.
#[derive(Clone, Copy)]
struct Events {
    timer: *mut ngx_event_t,
    flush: *mut ngx_event_t,
}

fn with_desk<T>(work: impl FnOnce(&mut Desk) -> T) -> T {
    work(DESK.0.borrow_mut().get_or_insert_with(|| Desk::new((on_read, on_write))))
}

/// By nginx's clock for timers, which nobody sets.
fn now_ms() -> u64 {
    // SAFETY: nginx updates it once per round of the event loop; workers are single-threaded.
    unsafe { nginx_sys::ngx_current_msec as u64 }
}

/// Makes inspectors known before they are asked: their names are resolved.
pub fn prepare<'i>(inspectors: impl IntoIterator<Item = &'i Arc<Inspector>>) {
    for inspector in inspectors {
        with_desk(|desk| desk.service(inspector));
    }
}

/// Sends the questions that rules want asked.
///
/// # Safety
/// `r` is a live main request, `inspection` its inspection.
pub unsafe fn ask(r: *mut ngx_http_request_t, inspection: &mut Inspection) -> Next {
    let begun = worker::ticks();
    let is_due = inspection.outcome.inspections.are_due();
    if is_due && matches!(inspection.body, Body::Unread | Body::Passing | Body::Reading | Body::Awaited) {
        // SAFETY: a live request.
        inspection.outcome.body_bytes = unsafe { body::announced(r) };
    }
    while let Some((number, one)) = inspection.outcome.inspections.next_due() {
        let inspector = Arc::clone(&one.inspector);
        let key = one.key.clone();
        if inspector.skips(inspection.transaction.head.path) || !is_sampled(&inspector) {
            inspection.outcome.inspections.passed_over(number);
            continue;
        }
        let now = now_ms();
        let service = with_desk(|desk| desk.service(&inspector));
        let known = with_desk(|desk| {
            let service = desk.of(service)?;
            if let Some(answer) = service.memory.find(&key, now) {
                service.counters.remembered();
                return Some(Ok(answer));
            }
            (!service.breaker.allows(&inspector.breaker, now)).then_some(Err(Failure::Open))
        });
        if let Some(known) = known {
            if let Err(failure) = &known {
                with_desk(|desk| desk.book(service, &Err(*failure), None, now));
            }
            inspection.outcome.inspections.answered(number, known);
            continue;
        }
        let deadline_ms = now + u64::from(inspector.deadline_ms);
        let began = worker::ticks();
        let asked = Asked { request: r, number, service, except: None, tries: 0, deadline_ms, began, key, now_ms: now };
        if let Err(failure) = send(inspection, &inspector, asked) {
            with_desk(|desk| desk.book(service, &Err(failure), None, now));
            inspection.outcome.inspections.answered(number, Err(failure));
        }
    }
    if is_due {
        meter::book(meter::ModulePart::Inspectors, inspection.timing, begun, true);
    }
    inspection.questions.is_waiting = inspection.outcome.inspections.hold();
    if inspection.questions.is_waiting { Next::Wait } else { Next::GoOn }
}

fn is_sampled(inspector: &Inspector) -> bool {
    inspector.sample >= 10_000 || worker::random()[0] % 10_000 < u64::from(inspector.sample)
}

/// Sends a question.
fn send(inspection: &mut Inspection, inspector: &Inspector, asked: Asked) -> Result<(), Failure> {
    let name = |rule| inspection.rule(rule).map_or_else(String::new, |rule| format!("{}/{}", rule.policy, rule.id));
    let question = inspection.outcome.question(inspector, &inspection.transaction, inspection.request_id(), name);
    let write =
        |buffer: &mut Vec<u8>, id: u32, authority: &str| asked::write(buffer, id, authority, inspector, &question);
    let id = with_desk(|desk| desk.send(asked, write))?;
    inspection.questions.ids.push(id);
    arm();
    // SAFETY: the events are leaked; workers are single-threaded.
    unsafe { ngx_post_event(events().flush, &raw mut ngx_posted_events) };
    Ok(())
}

/// A request that ends does not wait any more.
pub fn forget(questions: &Questions) {
    if !questions.ids.is_empty() {
        with_desk(|desk| desk.forget(&questions.ids));
    }
}

fn events() -> Events {
    let known = EVENTS.get();
    if !known.timer.is_null() {
        return known;
    }
    let make = |handler: unsafe extern "C" fn(*mut ngx_event_t)| {
        // SAFETY: ngx_event_t is plain data, and nginx's own begin as zeros; the event is leaked.
        unsafe {
            let event: *mut ngx_event_t = Box::leak(Box::new(std::mem::zeroed()));
            (*event).handler = Some(handler);
            // With `error_log ... debug`, nginx reads what it takes for a connection's number behind this pointer.
            (*event).data = event.cast();
            (*event).log = (*worker::cycle()).log;
            event
        }
    };
    let made = Events { timer: make(on_deadline), flush: make(on_flush) };
    EVENTS.set(made);
    made
}

/// Sets the timer for the question whose time is over first. It is not cancelable: a worker that shuts down waits for it.
fn arm() {
    let timer = events().timer;
    let next = with_desk(Desk::next_deadline);
    // SAFETY: the event is leaked; workers are single-threaded.
    unsafe {
        let Some(at) = next else {
            if (*timer).timer_set() != 0 {
                ngx_del_timer(timer);
            }
            return;
        };
        // It may be set for an earlier question that has been answered meanwhile: then it is set anew when it is due.
        if (*timer).timer_set() == 0 || (*timer).timer.key as u64 > at {
            if (*timer).timer_set() != 0 {
                ngx_del_timer(timer);
            }
            ngx_add_timer(timer, at.saturating_sub(now_ms()) as ngx_msec_t);
        }
    }
}

unsafe extern "C" fn on_read(event: *mut ngx_event_t) {
    // SAFETY: nginx calls it for a socket.
    let key = unsafe { socket::key(event) };
    fault::contain("an inspector's answer", || finish(with_desk(|desk| desk.readable(key))));
}

unsafe extern "C" fn on_write(event: *mut ngx_event_t) {
    // SAFETY: nginx calls it for a socket.
    let key = unsafe { socket::key(event) };
    fault::contain("a question to an inspector", || finish(with_desk(|desk| desk.writable(key))));
}

unsafe extern "C" fn on_flush(_: *mut ngx_event_t) {
    fault::contain("questions to inspectors", || finish(with_desk(Desk::flush)));
}

unsafe extern "C" fn on_deadline(_: *mut ngx_event_t) {
    fault::contain("deadlines of inspectors", || {
        finish(with_desk(|desk| desk.expired(now_ms())));
        with_desk(Desk::tidy);
        arm();
    });
}

/// Gives requests their answers. Nothing is borrowed while one goes on; questions of requests that end meanwhile are
/// forgotten, and not found any more.
fn finish(done: Done) {
    for (id, result) in done {
        let now = now_ms();
        let Some(waiting) = with_desk(|desk| desk.take(id, &result, now)) else { continue };
        // SAFETY: questions of requests that end are forgotten, so it is live.
        unsafe { deliver(id, waiting, result, now) };
    }
    let is_over = with_desk(|desk| desk.next_deadline().is_none());
    if is_over {
        arm(); // a worker that shuts down need not wait for it
    }
}

unsafe fn deliver(id: u32, waiting: Waiting, result: Answered, now: u64) {
    let (r, number, service) = (waiting.asked.request, waiting.asked.number, waiting.asked.service);
    // SAFETY: a live request; references to its inspection end before its phases are run.
    unsafe {
        let Some(inspection) = transaction::find(r) else { return };
        (*inspection).questions.ids.retain(|known| *known != id);
        if result == Err(Failure::Unreachable) && again(&mut *inspection, &waiting, now) {
            return;
        }
        let took = worker::ns(worker::ticks().saturating_sub(waiting.asked.began));
        with_desk(|desk| {
            desk.book(service, &result, Some(took), now);
            if let (Ok(answer), Some(service)) = (&result, desk.of(service)) {
                service.memory.put(&waiting.asked.key, now + service.inspector.remember_ms, answer);
            }
        });
        let can_go_on = (*inspection).outcome.inspections.answered(number, result);
        if !(*inspection).questions.is_waiting {
            // It was not waited for: what it says is logged.
            let _ = (*inspection).outcome.apply_answers();
        } else if can_go_on {
            (*inspection).questions.is_waiting = false;
            let connection = (*r).connection;
            ngx_http_core_run_phases(r);
            ngx_http_run_posted_requests(connection);
        }
    }
}

/// Asks once more, elsewhere if possible: a connection that breaks says nothing of the request.
fn again(inspection: &mut Inspection, waiting: &Waiting, now_ms: u64) -> bool {
    let Waiting { asked, endpoint, .. } = waiting;
    if asked.tries >= MAX_TRIES || asked.deadline_ms <= now_ms {
        return false;
    }
    let inspector = with_desk(|desk| desk.of(asked.service).map(|service| Arc::clone(&service.inspector)));
    let Some(inspector) = inspector else { return false };
    let asked = Asked { except: Some(*endpoint), tries: asked.tries + 1, now_ms, ..asked.clone() };
    send(inspection, &inspector, asked).is_ok()
}
