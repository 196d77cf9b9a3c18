//! Waiting for what other processes do in their own time.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long anything may take on a busy machine before a test calls it lost.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Polls `ready` until it gives something; panics with `what` when patience ends.
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
