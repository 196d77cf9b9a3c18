//! The thread that makes commits durable: it syncs the files within [`EVERY`] of a commit, for all commits since at once.

use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::{Store, StoreError, StoreFiles};
use crate::metrics::Metrics;

/// The longest that a commit waits for the disk.
pub const EVERY: Duration = Duration::from_millis(50);

/// The result of a sync; the text is the reason of a failure.
pub type Flushed = Result<(), String>;

/// The flusher thread.
#[derive(Debug)]
pub struct Flusher {
    orders: Sender<Order>,
    /// Whether the thread knows of commits that it has not begun to sync. Waking it for each commit would cost one of
    /// two cores a switch for each change.
    told: Arc<AtomicBool>,
    log: Arc<Mutex<Option<File>>>,
}

#[derive(Debug)]
enum Order {
    /// Something was committed.
    Dirty,
    /// Sync now and say so.
    Now(oneshot::Sender<Flushed>),
}

impl Flusher {
    /// Starts the thread.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start(store: &Store, metrics: Arc<Metrics>) -> Result<Self, StoreError> {
        let (orders, received) = channel();
        let log = Arc::new(Mutex::new(None));
        let files = Files { store: store.files.clone(), log: log.clone() };
        let told = Arc::new(AtomicBool::new(false));
        let begun = told.clone();
        let work = move || {
            let mut waiting: Vec<oneshot::Sender<Flushed>> = Vec::new();
            let mut since: Option<Instant> = None;
            loop {
                let left = since.map_or(Duration::from_secs(3600), |since| EVERY.saturating_sub(since.elapsed()));
                match received.recv_timeout(left) {
                    Ok(Order::Dirty) => {
                        since.get_or_insert_with(Instant::now);
                        continue;
                    }
                    Ok(Order::Now(reply)) => waiting.push(reply),
                    Err(RecvTimeoutError::Timeout) if since.is_none() => continue,
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => {
                        let _ = files.sync();
                        return;
                    }
                }
                since = None;
                // Before the sync: whoever commits from here on wakes us again.
                begun.store(false, Ordering::SeqCst);
                let start = Instant::now();
                let result = files.sync();
                metrics.flush(start.elapsed());
                for reply in waiting.drain(..) {
                    let _ = reply.send(result.clone());
                }
            }
        };
        let spawned = std::thread::Builder::new().name("flush".to_owned()).spawn(work);
        spawned.map_err(StoreError::io("start a thread for", store.path()))?;
        let flusher = Self { orders, told, log };
        flusher.follow(store);
        Ok(flusher)
    }

    /// Goes on with the store's present log.
    pub fn follow(&self, store: &Store) {
        *self.log.lock().unwrap_or_else(PoisonError::into_inner) = store.log.handle().ok();
    }

    /// Something was committed.
    pub fn dirty(&self) {
        if !self.told.swap(true, Ordering::SeqCst) {
            let _ = self.orders.send(Order::Dirty);
        }
    }

    /// Syncs at once and reports the result.
    #[must_use]
    pub fn now(&self) -> oneshot::Receiver<Flushed> {
        let (reply, done) = oneshot::channel();
        let _ = self.orders.send(Order::Now(reply));
        done
    }
}

/// The descriptors are kept until the process ends: closing one releases SQLite's lock of the file.
struct Files {
    store: Arc<StoreFiles>,
    log: Arc<Mutex<Option<File>>>,
}

impl Files {
    fn sync(&self) -> Flushed {
        let one = |file: std::io::Result<&File>| match file.and_then(File::sync_data) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.to_string()),
            _ => Ok(()),
        };
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(File::try_clone);
        log.map_or(Ok(()), |log| one(log.as_ref().map_err(|error| error.kind().into())))?;
        one(self.store.wal())?;
        one(Ok(&self.store.main))
    }
}
