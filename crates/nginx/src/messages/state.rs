//! What a worker has for messages: its hub, and the events of nginx that drive it.

use std::cell::{Cell, RefCell};
use std::ptr;

use nginx_sys::{ngx_chain_t, ngx_event_t, ngx_http_request_t, ngx_post_event, ngx_posted_events};
use weir_messages::hub::{Hub, Key};
use weir_messages::websocket::Decoder;

use super::rights::Rights;
use crate::worker;

/// What is kept about a subscriber here.
pub struct Connection {
    pub request: *mut ngx_http_request_t,
    /// nginx's buffers, where the bytes go through its filters: HTTP/2 and HTTP/3, whose frames refer to them until they
    /// are sent.
    pub filtered: Option<Filtered>,
    /// Of a WebSocket; taken out while it is fed.
    pub decoder: Option<Box<Decoder>>,
    /// How long the connection may be silent.
    pub ping_ms: u64,
    /// When something was last written, or heard of it.
    pub written_ms: u64,
    pub heard_ms: u64,
    /// Since when nothing can be written.
    pub blocked_ms: Option<u64>,
    /// What the subscriber may do, and how many topics it may have.
    pub rights: Rights,
    pub max_topics: usize,
    /// The set of topics.
    pub topics: Box<str>,
    /// The route's id, and its digest when the client was checked.
    pub route: (Box<str>, u64),
}

/// Buffers that go through nginx's filters.
#[derive(Clone, Copy)]
pub struct Filtered {
    pub free: *mut ngx_chain_t,
    pub busy: *mut ngx_chain_t,
}

impl Default for Filtered {
    fn default() -> Self {
        Self { free: ptr::null_mut(), busy: ptr::null_mut() }
    }
}

/// This worker's part of messages.
pub struct State {
    pub hub: RefCell<Option<Hub<Connection>>>,
    /// Delivers what this worker has published itself.
    pub deliver: Cell<*mut ngx_event_t>,
    pub tick: Cell<*mut ngx_event_t>,
    pub later: Cell<*mut ngx_event_t>,
}

// SAFETY: as for worker::Worker: one thread per process ever touches it.
unsafe impl Sync for State {}

pub static STATE: State = State {
    hub: RefCell::new(None),
    deliver: Cell::new(ptr::null_mut()),
    tick: Cell::new(ptr::null_mut()),
    later: Cell::new(ptr::null_mut()),
};

/// Works with the hub; `None` if this worker has none. Nothing of nginx's that could end a request may be called meanwhile.
pub fn with_hub<T>(work: impl FnOnce(&mut Hub<Connection>) -> T) -> Option<T> {
    STATE.hub.borrow_mut().as_mut().map(work)
}

/// An event of nginx that lives as long as the worker.
pub fn event(handler: unsafe extern "C" fn(*mut ngx_event_t)) -> *mut ngx_event_t {
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

/// Has this worker look at once for what it has published.
pub fn deliver_soon() {
    let event = STATE.deliver.get();
    if !event.is_null() {
        // SAFETY: the event is leaked; workers are single-threaded.
        unsafe { ngx_post_event(event, &raw mut ngx_posted_events) };
    }
}

/// The subscriber of a request.
///
/// # Safety
/// `r` is a live request.
pub unsafe fn key_of(r: *mut ngx_http_request_t) -> Option<Key> {
    // SAFETY: as the caller promises.
    unsafe { crate::transaction::find(r).and_then(|inspection| (*inspection).subscriber) }
}
