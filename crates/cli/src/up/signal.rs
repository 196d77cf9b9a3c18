//! Ctrl-C, SIGTERM and a closed terminal end `weir up` in order.

use std::sync::atomic::{AtomicBool, Ordering};

static RECEIVED: AtomicBool = AtomicBool::new(false);

extern "C" fn note(_signal: libc::c_int) {
    RECEIVED.store(true, Ordering::Relaxed);
}

/// From now on these signals are noted instead of ending the process.
pub(super) fn watch() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let handler = note as extern "C" fn(libc::c_int);
        // SAFETY: the handler only stores to an atomic, which is async-signal-safe.
        unsafe { libc::signal(signal, handler as libc::sighandler_t) };
    }
    // The reader of our output may go first (`weir up | head`); nginx goes on, and is stopped in order.
    // SAFETY: ignoring a signal runs no code.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
}

/// Whether one has come.
pub(super) fn received() -> bool {
    RECEIVED.load(Ordering::Relaxed)
}
