//! A lock word in shared memory that survives its owner: it holds a process id, and a process that waits
//! looks from time to time whether that process is still there.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A hold lasts some hundred nanoseconds; a process that is alive but off the CPU gets this long.
const PATIENCE: Duration = Duration::from_millis(500);
/// Spins between two looks at whether the holder is alive.
const SPINS: u32 = 256;

/// This process's id, if it has said that it goes on as itself: asking the kernel for it is a system call.
static PROCESS: AtomicU64 = AtomicU64::new(0);

/// Keeps this process's id. Call it in a process that does not fork.
pub fn keep_process_id() {
    PROCESS.store(u64::from(std::process::id()), Ordering::Relaxed);
}

fn process_id() -> u64 {
    match PROCESS.load(Ordering::Relaxed) {
        0 => u64::from(std::process::id()),
        kept => kept,
    }
}

/// A lock that is held: the word holds the process id of the holder, or 0 if the lock is free. Let go on
/// drop.
pub struct Hold<'m> {
    lock: &'m AtomicU64,
    /// Whether it was taken over from a process that ended without releasing it: what it guards may be half-written.
    pub taken_over: bool,
}

impl<'m> Hold<'m> {
    /// Waits for the lock.
    #[must_use]
    pub fn on(lock: &'m AtomicU64) -> Self {
        let me = process_id();
        let mut waiting_since = None;
        let mut spins = 0u32;
        loop {
            match lock.compare_exchange_weak(0, me, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Self { lock, taken_over: false },
                Err(holder) => {
                    std::hint::spin_loop();
                    spins += 1;
                    if spins.is_multiple_of(SPINS) {
                        std::thread::yield_now();
                        let since = *waiting_since.get_or_insert_with(Instant::now);
                        let dead = holder != 0 && holder != me && !process_exists(holder);
                        let lost = dead || since.elapsed() > PATIENCE;
                        if lost && lock.compare_exchange(holder, me, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                            return Self { lock, taken_over: true };
                        }
                    }
                }
            }
        }
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        self.lock.store(0, Ordering::Release);
    }
}

fn process_exists(pid: u64) -> bool {
    std::path::Path::new("/proc").join(pid.to_string()).exists()
}
