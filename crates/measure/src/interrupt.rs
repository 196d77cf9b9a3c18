//! The one flag that Ctrl-C, SIGTERM and a closed terminal set instead of ending the process, so
//! that what was started is stopped in order and what was measured is written.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_default};

use crate::error::MeasureError;

static REQUESTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// From now on SIGINT, SIGTERM and SIGHUP set the flag, however often they come.
pub fn catch() {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        register(signal, Arc::clone(&REQUESTED)).expect("these signals can be caught");
    }
}

/// From now on the first SIGINT or SIGTERM sets the flag, which is returned; a second one ends the process.
pub fn catch_once() -> &'static AtomicBool {
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first signal finds the flag still unset.
        register_conditional_default(signal, Arc::clone(&REQUESTED)).expect("these signals can be caught");
        register(signal, Arc::clone(&REQUESTED)).expect("these signals can be caught");
    }
    &REQUESTED
}

/// Whether the user wants us to stop.
#[must_use]
pub fn is_requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// An error if the user wants us to stop.
pub fn check_interrupted() -> Result<(), MeasureError> {
    if is_requested() { Err(MeasureError::Interrupted) } else { Ok(()) }
}
