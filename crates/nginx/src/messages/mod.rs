//! Messages to clients: a worker's subscribers in nginx's event loop.
//!
//! What is published, by whichever process, wakes the worker through its bell; the hub ([`weir_messages::hub`]) says who
//! gets what, and [`connection`] writes it. A subscriber's request stays open: nothing of nginx's phases runs again.

mod connection;
mod content;
mod counters;
mod delivery;
mod plugin;
mod publish;
mod request;
mod rights;
mod state;
mod websocket;

use std::path::Path;
use std::sync::Arc;

use nginx_sys::ngx_cycle_t;
use weir_bus::streams::Streams;
use weir_gateway::Gateway;
use weir_messages::history::Bounds;
use weir_messages::hub::{Hub, TopicSet};

use self::delivery::{delivered, flush, rung, ticked};
use self::state::{STATE, deliver_soon, event, with_hub};
use crate::live::bell;
use crate::{ffi, note, worker};

pub use content::serve;

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

/// Takes over the sets of topics that are served from now on.
pub fn configure(gateway: &Gateway) {
    let sets: Vec<TopicSet> = gateway
        .all_topics()
        .map(|topics| TopicSet {
            id: topics.id.clone(),
            filters: topics.filters.clone(),
            history: Bounds { count: topics.history.count, age_ms: topics.history.age_ms },
            max_message: topics.max_message as usize,
            presence: topics.presence,
        })
        .collect();
    let left_out = with_hub(|hub| {
        hub.send_back(|one| gateway.route_entry(&one.route.0).is_none_or(|route| route.digest() != one.route.1));
        hub.configure(&sets, ffi::now_ms())
    })
    .unwrap_or_default();
    for id in left_out {
        // SAFETY: a cycle has a log.
        note!(unsafe { (*worker::cycle()).log }, Error, "weir: no memory is left for the topics {id}");
    }
    deliver_soon();
}

/// Once a second: frees the places of processes that are dead, so that what they owned is free, and writes what was counted.
pub fn beat() {
    let counts = with_hub(|hub| {
        hub.follower().streams().reap();
        hub.bury();
        hub.counts().map(|(id, counts)| (id.to_owned(), counts)).collect()
    });
    flush();
    counts.into_iter().for_each(counters::write);
}
