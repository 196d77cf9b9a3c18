//! What a gateway serves, while it changes.
//!
//! Control writes what it wants to a journal; each worker reads it through a descriptor that the
//! master opened before it forked, so a worker that starts, or starts again, needs nobody. A change is
//! applied to a draft ([`weir_gateway::draft`]); at the end of a revision the draft is swapped in as a new [`Live`], which
//! requests hold on to from their beginning to their end.
//!
//! ```text
//! link      what the master opens          follow    frames of the journal, in slices
//! bell      what wakes the event loop      message   what others say on the bus
//! builder   a thread for what takes long   measure   how fast messages are, for the bench
//! ejected   members that are out
//! ```

pub mod bell;
pub mod builder;
mod ejected;
mod follow;
mod held;
mod link;
mod measure;
mod message;

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use nginx_sys::ngx_cycle_t;
use weir_bus::{Endpoint, State};
use weir_gateway::Gateway;

use crate::configuration::Main;
use crate::policy::{self, Policies};
use crate::{inspect, messages, note};

use follow::Follower;
pub use link::{Link, other_format};

/// What a gateway serves at one moment. Immutable: a change makes a new one.
pub struct Live {
    /// Sites, routes, upstreams.
    pub gateway: Gateway,
    /// The policies, if there are any.
    pub policies: Option<Arc<Policies>>,
    revision: OnceCell<Box<str>>,
}

impl Live {
    fn new(gateway: Gateway, policies: Option<Arc<Policies>>) -> Self {
        Self { gateway, policies, revision: OnceCell::new() }
    }

    /// Its revision in decimal digits, for logs; put together when first asked for.
    pub fn revision(&self) -> &str {
        self.revision.get_or_init(|| self.gateway.revision().to_string().into())
    }
}

/// This worker's part of it all.
struct Worker {
    live: RefCell<Option<Rc<Live>>>,
    follower: RefCell<Option<Follower>>,
    endpoint: Cell<Option<&'static Endpoint>>,
    said_draining: Cell<bool>,
    testing: Cell<bool>,
    /// Whether control sees acknowledgements in the control file only.
    in_slot: Cell<bool>,
}

// SAFETY: as for worker::Worker: one thread per process ever touches it.
unsafe impl Sync for Worker {}

static WORKER: Worker = Worker {
    live: RefCell::new(None),
    follower: RefCell::new(None),
    endpoint: Cell::new(None),
    said_draining: Cell::new(false),
    testing: Cell::new(false),
    in_slot: Cell::new(false),
};

/// What is served now; `None` if no server is a gateway, or if its journal cannot be read.
#[inline]
pub fn current() -> Option<Rc<Live>> {
    WORKER.live.borrow().clone()
}

/// Serves `live` from now on.
fn swap(live: Live) {
    messages::configure(&live.gateway);
    inspect::prepare(live.policies.iter().flat_map(|policies| policy::inspectors(policies)));
    // What goes is dropped after the borrow: requests may hold on to it.
    let before = WORKER.live.borrow_mut().replace(Rc::new(live));
    drop(before);
    crate::gateway::sweep_soon();
}

/// Whether nginx was started for tests.
fn is_testing() -> bool {
    WORKER.testing.get()
}

/// This worker's end of the bus.
fn endpoint() -> Option<&'static Endpoint> {
    WORKER.endpoint.get()
}

/// Tells control that this worker serves the revision.
fn acknowledge(revision: u64, digest: u64) {
    endpoint().inspect(|endpoint| endpoint.acknowledge(revision, digest));
    if WORKER.in_slot.get()
        && let Some(slot) = crate::worker::slot()
    {
        slot.set_followed(revision, digest);
        // The bell of a region that control does not see rings only once by itself.
        endpoint().inspect(|endpoint| endpoint.ring_control());
    }
}

/// Begins to follow, in a worker that starts: returns when all that is in the journal is applied,
/// policies too, so that the first request finds the gateway as it should be.
///
/// # Safety
/// `cycle` is complete and this process will serve it.
pub unsafe fn start(cycle: *mut ngx_cycle_t, main: &'static Main) {
    let Some(link) = &main.link else { return };
    WORKER.testing.set(main.testing);
    // SAFETY: as the caller promises.
    let log = unsafe { (*cycle).log };
    // SAFETY: set by nginx before init_process; 0 without a master.
    let number = unsafe { nginx_sys::ngx_worker };
    match link.attach(number) {
        Ok(endpoint) => {
            let endpoint: &'static Endpoint = Box::leak(Box::new(endpoint));
            WORKER.endpoint.set(Some(endpoint));
            // SAFETY: as the caller promises; the endpoint lives until the worker's end.
            if unsafe { bell::install(cycle, endpoint.bell(), bell::rung) }.is_none() {
                note!(log, Error, "weir: no connection is left for the bell; raise worker_connections");
            }
        }
        Err(error) => note!(log, Error, "weir: this worker looks for changes once a second: {error}"),
    }
    WORKER.in_slot.set(link.fault().is_some());
    match link.reader() {
        Ok(reader) => {
            free_evenly();
            weir_gateway::teardown::postpone();
            let mut follower = Follower::new(reader, main);
            follower.catch_up(log);
            WORKER.follower.replace(Some(follower));
        }
        Err(error) => note!(log, Error, "weir: the gateway serves nothing: {error}"),
    }
}

/// Keeps the cost of freeing where it arises. By default glibc puts small pieces aside and merges all of them at some
/// later large allocation: after a policy of 10,000 routes went, 50 ms in which the worker answers nobody. And it
/// gives the end of the heap back to the system as soon as it is free: another 10 ms. The next policy needs it anyway.
fn free_evenly() {
    #[cfg(target_env = "gnu")]
    // SAFETY: sets parameters of malloc; the process has one thread yet.
    unsafe {
        libc::mallopt(libc::M_MXFAST, 0);
        libc::mallopt(libc::M_TRIM_THRESHOLD, libc::c_int::MAX);
    }
}

/// The bell rang: messages, then the journal.
fn rung() {
    say_draining();
    if let Some(endpoint) = endpoint() {
        message::receive(endpoint);
    }
    follow();
    measure::go_on();
}

/// Reads on in the journal.
fn follow() {
    if let Some(follower) = WORKER.follower.borrow_mut().as_mut() {
        let held = held::Held::begin();
        if follower.slice() {
            endpoint().inspect(|endpoint| endpoint.held(held.ns()));
        }
    }
}

/// A sign of life: whether the worker is finishing cannot be learned otherwise. Looks at the journal as well: a worker
/// without a bell, or one whose bell another process has silenced, is a second behind, not for ever.
pub fn beat() {
    say_draining();
    follow();
    if let Some(follower) = WORKER.follower.borrow_mut().as_mut() {
        follower.try_again();
    }
}

fn say_draining() {
    // SAFETY: nginx's own flag, set in its only thread.
    let exiting = unsafe { nginx_sys::ngx_exiting } != 0;
    if exiting && !WORKER.said_draining.replace(true) {
        let _ = endpoint().map(|endpoint| endpoint.set_state(State::Draining));
    }
}

/// The worker ends.
pub fn end() {
    let _ = endpoint().map(|endpoint| endpoint.set_state(State::Gone));
}

/// Takes a member out until `until_ms` (milliseconds since 1970), here and in all other workers.
pub fn eject(upstream: &str, member: &str, until_ms: u64) {
    ejected::add(upstream, member, until_ms);
    if let Some(endpoint) = endpoint() {
        message::tell_ejected(endpoint, upstream, member, until_ms);
    }
}
