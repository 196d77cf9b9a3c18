//! Messages to clients: a worker's subscribers in nginx's event loop.
//!
//! What is published, by whichever process, wakes the worker through its bell; the hub ([`weir_messages::hub`]) says who
//! gets what, and [`connection`] writes it. A subscriber's request stays open: nothing of nginx's phases runs again.

mod connection;
mod plugin;
mod publish;
mod request;
mod websocket;

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::ptr;
use std::sync::Arc;

use nginx_sys::{
    ngx_add_timer, ngx_cycle_t, ngx_event_t, ngx_http_request_t, ngx_msec_t, ngx_post_event, ngx_posted_events,
};
use weir_bus::streams::Streams;
use weir_gateway::Gateway;
use weir_messages::history::Bounds;
use weir_messages::hub::{Hub, Key, Rest, TopicSet, chunked};
use weir_messages::sse::KEEP_ALIVE;
use weir_messages::subscriber::Form;
use weir_messages::websocket::{Opcode, encode};

use self::connection::{Connection, Ending, Written};
use crate::live::bell;
use crate::{fault, ffi, note, worker};

pub use request::serve;

/// How often silent connections are looked for.
const TICK_MS: ngx_msec_t = 1000;

/// Connections that a worker which ends closes at a time, so that its other requests get their turn.
const CLOSED_AT_ONCE: usize = 256;

/// The time until it closes more of them.
const CLOSING_MS: ngx_msec_t = 10;

/// Clients of a worker that ends come back within so many milliseconds, each at a time of its own.
const RECONNECT_MS: u64 = 5000;

/// How long a connection may not take anything: as long as nginx's `send_timeout` by default.
const BLOCKED_MS: u64 = 60_000;

struct State {
    hub: RefCell<Option<Hub<Connection>>>,
    /// Delivers what this worker has published itself.
    deliver: Cell<*mut ngx_event_t>,
    tick: Cell<*mut ngx_event_t>,
    later: Cell<*mut ngx_event_t>,
}

// SAFETY: as for worker::Worker: one thread per process ever touches it.
unsafe impl Sync for State {}

static STATE: State = State {
    hub: RefCell::new(None),
    deliver: Cell::new(ptr::null_mut()),
    tick: Cell::new(ptr::null_mut()),
    later: Cell::new(ptr::null_mut()),
};

/// Works with the hub; `None` if this worker has none. Nothing of nginx's that could end a request may be called meanwhile.
fn with_hub<T>(work: impl FnOnce(&mut Hub<Connection>) -> T) -> Option<T> {
    STATE.hub.borrow_mut().as_mut().map(work)
}

/// Opens the memory of messages, in the master.
///
/// # Errors
/// The reason why there are no messages.
pub fn open(dir: &Path, bytes: usize, workers: usize) -> Result<Arc<Streams>, String> {
    Streams::open_or_create(dir, bytes, workers).map(Arc::new).map_err(|error| error.to_string())
}

/// Begins to follow messages, in a worker that starts.
///
/// # Safety
/// `cycle` is complete and this process will serve it.
pub unsafe fn start(cycle: *mut ngx_cycle_t, streams: &Arc<Streams>) {
    // SAFETY: as the caller promises; a worker that ends does so before the hub's bell is closed.
    unsafe {
        let log = (*cycle).log;
        // Set by nginx before init_process; 0 without a master.
        let number = u16::try_from(nginx_sys::ngx_worker).ok();
        let hub = match Hub::new(streams, number) {
            Ok(hub) => hub,
            Err(error) => return note!(log, Error, "weir: this worker has no messages for clients: {error}"),
        };
        if bell::install(cycle, hub.follower().bell(), rung).is_none() {
            return note!(log, Error, "weir: no connection is left for messages; raise worker_connections");
        }
        STATE.deliver.set(event(delivered));
        STATE.tick.set(event(ticked));
        STATE.later.set(event(delivered));
        STATE.hub.replace(Some(hub));
    }
}

/// An event of nginx that lives as long as the worker.
fn event(handler: unsafe extern "C" fn(*mut ngx_event_t)) -> *mut ngx_event_t {
    // SAFETY: ngx_event_t is plain data, and nginx's own begin as zeros; the event is leaked.
    unsafe {
        let event: *mut ngx_event_t = Box::leak(Box::new(std::mem::zeroed()));
        (*event).handler = Some(handler);
        // With `error_log ... debug`, nginx reads what it takes for a connection's number behind this pointer.
        (*event).data = event.cast();
        (*event).log = (*worker::cycle()).log;
        event
    }
}

/// Takes over the sets of topics that are served from now on.
pub fn configure(gateway: &Gateway) {
    let sets: Vec<TopicSet> = gateway
        .all_topics()
        .map(|topics| TopicSet {
            id: topics.id.clone(),
            filters: topics.filters.clone(),
            history: Bounds { count: topics.history.count, age_ms: topics.history.age_ms },
            max_message: topics.max_message as usize,
        })
        .collect();
    let left_out = with_hub(|hub| hub.configure(&sets, ffi::now_ms())).unwrap_or_default();
    for id in left_out {
        // SAFETY: a cycle has a log.
        note!(unsafe { (*worker::cycle()).log }, Error, "weir: no memory is left for the topics {id}");
    }
    deliver_soon();
}

/// Once a second: frees the places of processes that are dead, so that what they owned is free.
pub fn beat() {
    with_hub(|hub| hub.follower().streams().reap());
}

/// Has this worker look at once for what it has published.
fn deliver_soon() {
    let event = STATE.deliver.get();
    if !event.is_null() {
        // SAFETY: the event is leaked; workers are single-threaded.
        unsafe { ngx_post_event(event, &raw mut ngx_posted_events) };
    }
}

unsafe extern "C" fn rung(_: *mut ngx_event_t) {
    fault::contain("messages", deliver);
}

unsafe extern "C" fn delivered(_: *mut ngx_event_t) {
    fault::contain("messages", deliver);
}

/// Reads what was published and writes it to subscribers.
fn deliver() {
    let rest = with_hub(|hub| hub.receive(ffi::now_ms()));
    let wakes = with_hub(weir_messages::hub::Hub::take_wakes).unwrap_or_default();
    wakes.iter().for_each(|wake| wake());
    flush();
    match rest {
        Some(Rest::More) => _ = with_hub(|hub| hub.follower().wake_self()),
        Some(Rest::Later(ms)) => {
            // SAFETY: the event is leaked.
            unsafe {
                if (*STATE.later.get()).timer_set() == 0 {
                    ngx_add_timer(STATE.later.get(), ms as ngx_msec_t);
                }
            }
        }
        Some(Rest::Nothing) | None => {}
    }
}

/// Writes to all subscribers that have something to be written.
fn flush() {
    let now_ms = ffi::now_ms();
    // One that is behind is due again and again, as long as it takes what it is given.
    let mut most = with_hub(|hub| hub.len()).unwrap_or(0) + CLOSED_AT_ONCE;
    while let Some(key) = with_hub(|hub| hub.next_due(now_ms)).flatten() {
        flush_one(key, now_ms);
        most -= 1;
        if most == 0 {
            with_hub(|hub| hub.follower().wake_self());
            break;
        }
    }
}

/// Writes to one subscriber.
fn flush_one(key: Key, now_ms: u64) {
    let ending = with_hub(|hub| {
        let one = hub.subscriber(key)?;
        if let Some(leaving) = one.leaving() {
            return Some(Ending::from(leaving));
        }
        if one.form() == Form::Poll {
            return (one.waiting() > 0).then_some(Ending::Said(0, ""));
        }
        let before = one.waiting();
        // SAFETY: a request whose subscriber is there is live.
        let written = unsafe { connection::write(one) };
        if one.waiting() < before {
            one.owner.written_ms = now_ms;
            one.owner.blocked_ms = None;
        }
        match written {
            Written::Broken => return Some(Ending::Broken),
            Written::Blocked => _ = one.owner.blocked_ms.get_or_insert(now_ms),
            Written::All if one.is_behind() => hub.has_room(key),
            Written::All => one.owner.blocked_ms = None,
        }
        None
    });
    if let Some(ending) = ending.flatten() {
        // SAFETY: nothing is borrowed.
        unsafe { connection::close(key, ending) };
    }
}

/// Starts the timer, which keeps a worker that is to end until its subscribers are gone.
fn arm(after_ms: ngx_msec_t) {
    let tick = STATE.tick.get();
    // SAFETY: the event is leaked.
    unsafe {
        if !tick.is_null() && (*tick).timer_set() == 0 {
            ngx_add_timer(tick, after_ms);
        }
    }
}

unsafe extern "C" fn ticked(_: *mut ngx_event_t) {
    fault::contain("messages", || {
        // SAFETY: nginx's own flag, set in its only thread.
        let is_ending = unsafe { nginx_sys::ngx_exiting } != 0;
        let now_ms = ffi::now_ms();
        let keys: Vec<Key> = with_hub(|hub| hub.keys().collect()).unwrap_or_default();
        if is_ending {
            for key in keys.into_iter().take(CLOSED_AT_ONCE) {
                let wait_ms = RECONNECT_MS / 10 + worker::random()[0] % RECONNECT_MS;
                // SAFETY: nothing is borrowed.
                unsafe { connection::close(key, Ending::Reconnect(wait_ms)) };
            }
        } else {
            keys.into_iter().for_each(|key| look_after(key, now_ms));
            deliver();
        }
        if with_hub(|hub| !hub.is_empty()).unwrap_or(false) {
            arm(if is_ending { CLOSING_MS } else { TICK_MS });
        }
    });
}

/// Keeps a silent connection alive, and ends a dead one.
fn look_after(key: Key, now_ms: u64) {
    let ending = with_hub(|hub| {
        let one = hub.subscriber(key)?;
        let (form, owner) = (one.form(), &one.owner);
        if owner.blocked_ms.is_some_and(|since| now_ms.saturating_sub(since) > BLOCKED_MS) {
            return Some(Ending::Broken);
        }
        let is_silent = now_ms.saturating_sub(owner.written_ms) >= owner.ping_ms;
        match form {
            Form::WebSocket if now_ms.saturating_sub(owner.heard_ms) > 3 * owner.ping_ms => {
                return Some(Ending::Said(1001, "nothing was heard of the client"));
            }
            Form::Poll if is_silent => return Some(Ending::Said(0, "")),
            Form::WebSocket if is_silent => hub.say(key, encode(Opcode::Ping, 0).to_vec()),
            Form::Events { is_chunked, .. } if is_silent => {
                hub.say(key, chunked(is_chunked, KEEP_ALIVE.to_vec()));
            }
            _ => {}
        }
        None
    });
    if let Some(ending) = ending.flatten() {
        // SAFETY: nothing is borrowed.
        unsafe { connection::close(key, ending) };
    }
}

/// The subscriber of a request.
///
/// # Safety
/// `r` is a live request.
unsafe fn key_of(r: *mut ngx_http_request_t) -> Option<Key> {
    // SAFETY: as the caller promises.
    unsafe { crate::transaction::find(r).and_then(|inspection| (*inspection).subscriber) }
}
