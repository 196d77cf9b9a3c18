//! A limit on hanging, for work that may grow with its input but not with the square of it. Nothing counts the steps of a
//! parser, so its input is so large that a linear one ends within seconds, and a quadratic one would take many times
//! [`PATIENCE`]. Tests of several crates include this file by its path.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// After this time work counts as hung.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Does the work on a thread of its own, and panics if it hangs.
#[track_caller]
pub fn ends<T: Send + 'static>(what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, result) = channel();
    let worker = std::thread::spawn(move || done.send(work()));
    match result.recv_timeout(PATIENCE) {
        Ok(result) => result,
        Err(RecvTimeoutError::Timeout) => panic!("{what}: no end after {PATIENCE:?}"),
        Err(RecvTimeoutError::Disconnected) => match worker.join() {
            Ok(_) => unreachable!("a result was sent"),
            Err(panic) => std::panic::resume_unwind(panic),
        },
    }
}
