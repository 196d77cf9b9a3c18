//! The floor of one-way messages: a bare ring in shared memory, written by one process and
//! read by another that spins. No bus can move messages of 64 bytes quicker than this.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::bell::Bell;
use super::forked::Forked;
use super::seats::Seats;
use super::timings::Figures;
use weir_measure::error::MeasureError;

/// Messages that the ring holds; a power of two. 256 KiB: no more than a second-level cache.
const SLOTS: usize = 4096;
/// Words of a message: 64 bytes.
const WORDS: usize = 8;
/// Messages written between two looks at the clock.
const BATCH: u64 = 10_000;
/// How long the reader may take to the end of what was written.
const PATIENCE: Duration = Duration::from_secs(5);
/// Empty looks after which the reader goes to sleep until it is rung.
const SPINS: u32 = 1_000_000;

/// What both processes see. The indices lie on cache lines of their own.
#[repr(C, align(64))]
struct Shared {
    written: Line,
    read: Line,
    /// Messages that the reader saw out of order.
    lost: Line,
    slots: [[AtomicU64; WORDS]; SLOTS],
}

#[repr(C, align(64))]
struct Line(AtomicU64);

/// The ring and its reader.
#[derive(Debug)]
pub struct Ring {
    seats: Seats,
    shared: &'static Shared,
    bell: Bell,
    _reader: Forked,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl Ring {
    /// Makes the ring and starts its reader. To be called while we have only one thread.
    pub fn start(seats: Seats) -> Result<Self, MeasureError> {
        // SAFETY: a new anonymous mapping of the size of `Shared`; checked below.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size_of::<Shared>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(MeasureError::program("mmap", std::io::Error::last_os_error().to_string()));
        }
        // SAFETY: pages are aligned and zeroed, zero is a valid value of every field, all fields are
        // atomics, and the mapping stays until the process ends.
        let shared: &'static Shared = unsafe { &*memory.cast::<Shared>() };
        let bell = Bell::new()?;
        let reader = Forked::start(seats.hub, || read(shared, &bell))?;
        Ok(Self { seats, shared, bell, _reader: reader })
    }

    /// Writes for `length`, waits until all is read, and says how many messages a second that was.
    pub fn measure(&self, length: Duration) -> Result<Figures, MeasureError> {
        self.seats.as_client(|| self.fill(length))
    }

    fn fill(&self, length: Duration) -> Result<Figures, MeasureError> {
        let shared = self.shared;
        let first = shared.written.0.load(Ordering::Relaxed);
        self.bell.ring();
        let began = Instant::now();
        let mut next = first;
        while began.elapsed() < length {
            for _ in 0..BATCH {
                self.write(next, began)?;
                next += 1;
            }
        }
        self.wait_for(next, began + length + PATIENCE)?;
        let elapsed = began.elapsed();
        match shared.lost.0.load(Ordering::Relaxed) {
            0 => {}
            lost => return Err(MeasureError::wrong("ring", format!("{lost} messages came out of order"))),
        }
        let each_ns = elapsed.as_nanos() as f64 / (next - first) as f64;
        let (mean_us, per_second) = (each_ns / 1e3, 1e9 / each_ns);
        Ok(Figures { mean_us, p50_us: mean_us, p99_us: mean_us, per_second, samples: next - first })
    }

    fn write(&self, number: u64, began: Instant) -> Result<(), MeasureError> {
        let shared = self.shared;
        if number - shared.read.0.load(Ordering::Acquire) >= SLOTS as u64 {
            self.wait_for(number - SLOTS as u64 / 2, began + Duration::from_secs(600))?;
        }
        for word in &shared.slots[number as usize % SLOTS] {
            word.store(number, Ordering::Relaxed);
        }
        shared.written.0.store(number + 1, Ordering::Release);
        Ok(())
    }

    /// Spins until the reader has read so many.
    fn wait_for(&self, number: u64, deadline: Instant) -> Result<(), MeasureError> {
        while self.shared.read.0.load(Ordering::Acquire) < number {
            std::hint::spin_loop();
            if Instant::now() > deadline {
                return Err(MeasureError::program("ring", "its reader has stopped"));
            }
        }
        Ok(())
    }
}

/// The reader: spins while there is something now and then, sleeps otherwise.
fn read(shared: &Shared, bell: &Bell) {
    let (mut next, mut idle) = (0u64, SPINS);
    loop {
        let written = shared.written.0.load(Ordering::Acquire);
        if written == next {
            idle += 1;
            std::hint::spin_loop();
            if idle > SPINS {
                idle = 0;
                if bell.wait() == 0 {
                    return;
                }
            }
            continue;
        }
        idle = 0;
        while next < written {
            let whole = shared.slots[next as usize % SLOTS].iter().all(|word| word.load(Ordering::Relaxed) == next);
            if !whole {
                shared.lost.0.fetch_add(1, Ordering::Relaxed);
            }
            next += 1;
        }
        shared.read.0.store(next, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_go_through_in_order_and_the_reader_sleeps_in_between() {
        let ring = Ring::start(Seats::default()).unwrap();
        for _ in 0..2 {
            let figures = ring.measure(Duration::from_millis(50)).unwrap();
            assert!(figures.per_second > 100_000.0, "{figures:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
