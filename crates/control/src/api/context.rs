//! The state of request handlers.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::FromRef;
use tokio::sync::watch;

use crate::bans::Bans;
use crate::probes::Probes;
use crate::publish::Queue;
use crate::shared::Shared;
use crate::workers::Regions;

/// The full state. Handlers that need less take [`Shared`].
pub(crate) struct Context {
    pub shared: Shared,
    /// Queue of the publisher.
    pub queue: Queue,
    pub regions: Regions,
    pub bans: Bans,
    pub probes: Probes,
    /// The runtime directory.
    pub runtime: PathBuf,
    /// The state directory.
    pub state_dir: PathBuf,
    /// How a corrupt store was recovered, if it was.
    pub recovered: Option<String>,
    pub started: Instant,
    pub stop: watch::Receiver<bool>,
}

impl FromRef<Arc<Context>> for Shared {
    fn from_ref(context: &Arc<Context>) -> Self {
        context.shared.clone()
    }
}
