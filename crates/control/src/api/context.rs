//! What handlers of requests work with.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::FromRef;
use tokio::sync::watch;

use crate::publish::Queue;
use crate::shared::Shared;
use crate::workers::Regions;

/// All of it. Handlers that need no more take [`Shared`].
pub(crate) struct Context {
    pub shared: Shared,
    /// Where changes go.
    pub queue: Queue,
    pub regions: Regions,
    /// The runtime directory.
    pub runtime: PathBuf,
    /// What was done about a corrupt store.
    pub recovered: Option<String>,
    pub started: Instant,
    pub stop: watch::Receiver<bool>,
}

impl FromRef<Arc<Context>> for Shared {
    fn from_ref(context: &Arc<Context>) -> Self {
        context.shared.clone()
    }
}
