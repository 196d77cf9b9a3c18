//! How long a change holds the event loop.
//!
//! Measured in CPU time once it is long enough to matter: what the kernel gave to other processes in
//! between is not the change's doing, and on a busy machine it is most of what a clock shows.

use crate::worker;

/// Below this the clock is right: reading the CPU time costs a system call.
const SHORT_NS: u64 = 100_000;

/// A stretch of work.
pub struct Held {
    begun: u64,
    cpu_ns: u64,
}

impl Held {
    /// It begins.
    pub fn begin() -> Self {
        Self { cpu_ns: cpu_ns(), begun: worker::ticks() }
    }

    /// How long it has taken so far, in nanoseconds.
    pub fn ns(&self) -> u64 {
        let wall = worker::ns(worker::ticks().saturating_sub(self.begun));
        if wall < SHORT_NS { wall } else { cpu_ns().saturating_sub(self.cpu_ns).min(wall) }
    }
}

/// CPU time of this thread.
fn cpu_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid timespec for the call to fill in.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
