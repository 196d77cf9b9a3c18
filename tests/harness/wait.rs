//! Waiting for the effects of other processes.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// The time that anything may take on a busy machine before a test gives up.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Polls `ready` until it returns a value; panics with `what` on timeout.
pub fn until<T>(what: &str, mut ready: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = ready() {
            return value;
        }
        assert!(start.elapsed() < PATIENCE, "waited {PATIENCE:?} in vain for {what}");
        sleep(Duration::from_millis(5));
    }
}
