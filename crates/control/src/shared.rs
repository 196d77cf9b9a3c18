//! What the parts of the daemon share: the state, its store, and what watches over both.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::sync::{broadcast, watch};

use crate::log;
use crate::metrics::Metrics;
use crate::objects::Objects;
use crate::options::Limits;
use crate::sandbox::{Sandbox, Uses};
use crate::state::State;
use crate::store::{Flusher, Revision, Store};

/// What the publisher, the API and the history of costs work with.
#[derive(Debug, Clone)]
pub(crate) struct Shared {
    pub state: Arc<Mutex<State>>,
    pub store: Arc<Mutex<Store>>,
    pub flusher: Arc<Flusher>,
    pub sandbox: Arc<Sandbox>,
    pub objects: Arc<Objects>,
    /// Files that documents depend on, once they were compiled for the first time.
    pub uses: Arc<Mutex<Option<Arc<Uses>>>>,
    /// Files, and resources, that cannot be refreshed, and why.
    pub stale: Arc<Mutex<BTreeMap<String, String>>>,
    pub metrics: Arc<Metrics>,
    pub events: broadcast::Sender<Arc<Revision>>,
    pub limits: Limits,
}

impl Shared {
    /// The state. Nobody waits while holding it.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Files that documents depend on, if that is known.
    pub fn uses(&self) -> Option<Arc<Uses>> {
        self.uses.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Files that cannot be refreshed.
    pub fn stale(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.stale.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The store. Nobody waits while holding it.
    pub fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a change that was refused, or a request that was not let in.
    pub fn audit(&self, actor: &str, request: &str, status: u16, detail: &str) {
        // Clients that are told to come back would fill it with nothing.
        if status == 429 {
            return;
        }
        if let Err(error) = self.store().audit(now_ms(), actor, request, status, detail) {
            log::warning!("{actor}: {request}: {status}: {detail} (not in the audit: {error})");
        }
    }
}

/// Returns when `stop` becomes true, or its sender is gone.
pub(crate) async fn ended(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
