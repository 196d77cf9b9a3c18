//! A Unix socket whose file was deleted, with the runtime directory for instance, is made again: otherwise the daemon
//! runs, and nobody reaches it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::{Bind, bind, serve};
use crate::auth::Access;
use crate::log;
use crate::shared::ended;

/// How often the file is looked at.
const INTERVAL: Duration = Duration::from_secs(1);

/// Serves a router on a socket at this path whenever there is none, until `stop`. Listeners whose file is gone finish the
/// connections that they have.
pub async fn keep(path: PathBuf, router: Router, access: Arc<Access>, mut stop: watch::Receiver<bool>) {
    let mut listeners = JoinSet::new();
    let mut ticks = tokio::time::interval(INTERVAL);
    let shutdown = stop.clone();
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = ended(&mut stop) => break,
        }
        let gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        if !std::fs::symlink_metadata(&path).is_err_and(|error| gone(&error)) {
            continue;
        }
        // Its directory may not be there yet; then the next look finds it.
        if let Ok(listener) = bind(&Bind::Unix(path.clone())).await {
            log::warning!("{} was gone: listening on it again", path.display());
            listeners.spawn(serve(listener, router.clone(), access.clone(), shutdown.clone()));
        }
    }
    while listeners.join_next().await.is_some() {}
}
