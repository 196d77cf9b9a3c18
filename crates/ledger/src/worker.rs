//! One worker's own counters in the control file.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use crate::process::{lives, now_ms, pid_of};
use crate::{Clock, Counter};

/// The most workers at a time: more than twice the cores of any machine, because after a reload the old
/// workers finish while the new ones serve.
pub const MAX_WORKERS: usize = 256;

/// Counters of requests by outcome. Their order and meaning are those of the writer; readers have to
/// use the same.
pub const OUTCOMES: usize = 8;

/// The most bytes of a revision that are kept.
const REVISION_BYTES: usize = 32;

/// A worker's counters since its start. Only the worker that claimed them writes.
///
/// Cache lines of its own, so that no two workers ever write to the same one (processors
/// fetch lines in pairs, hence 128).
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub struct WorkerSlot {
    pub(crate) owner: AtomicU64,
    /// Start of the worker, milliseconds since 1970.
    pub started_ms: Counter,
    /// The last heartbeat, milliseconds since 1970.
    pub heartbeat_ms: Counter,
    /// Client requests seen by Weir.
    pub requests: Counter,
    /// Requests by outcome, in the writer's order.
    pub outcomes: [Counter; OUTCOMES],
    /// Clock ticks spent in Weir, scaled up from the sampled requests.
    pub weir_ticks: Counter,
    /// The same time in nanoseconds.
    pub weir_ns: Counter,
    /// Lines written to attack logs.
    pub attack_lines: Counter,
    /// Lines written to access logs.
    pub access_lines: Counter,
    /// Log lines that could not be written.
    pub dropped_lines: Counter,
    /// Panics caught at nginx's boundary.
    pub faults: Counter,
    /// Resident memory in bytes, as of the last heartbeat.
    pub rss_bytes: Counter,
    /// Odd while the revision is being written.
    revision_sequence: AtomicU64,
    revision: [AtomicU64; REVISION_BYTES / 8],
    /// One more than the revision of the gateway that a worker without a slot in the bus serves; 0 for all others.
    followed: AtomicU64,
    followed_digest: AtomicU64,
}

impl WorkerSlot {
    /// The worker's process, or 0 if the slot was never claimed.
    #[must_use]
    pub fn pid(&self) -> u32 {
        pid_of(self.owner.load(Ordering::Relaxed))
    }

    /// Records a heartbeat: the time and, from `/proc`, the worker's memory.
    pub fn beat(&self) {
        self.heartbeat_ms.set(now_ms());
        self.rss_bytes.set(resident_bytes().unwrap_or(0));
    }

    /// Records the revision that the worker serves, cut after 32 bytes.
    pub fn set_revision(&self, revision: &str) {
        let mut bytes = [0; REVISION_BYTES];
        let length =
            (0..=revision.len().min(REVISION_BYTES)).rev().find(|&end| revision.is_char_boundary(end)).unwrap_or(0);
        bytes[..length].copy_from_slice(&revision.as_bytes()[..length]);
        let sequence = self.revision_sequence.load(Ordering::Relaxed);
        self.revision_sequence.store(sequence.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        for (word, eight) in self.revision.iter().zip(bytes.chunks_exact(8)) {
            word.store(u64::from_ne_bytes(eight.try_into().expect("8 bytes")), Ordering::Relaxed);
        }
        self.revision_sequence.store(sequence.wrapping_add(2), Ordering::Release);
    }

    /// Acknowledges a revision of the gateway here, for a worker whose slot in the bus control cannot see.
    pub fn set_followed(&self, revision: u64, digest: u64) {
        self.followed_digest.store(digest, Ordering::Relaxed);
        self.followed.store(revision.saturating_add(1), Ordering::Release);
    }

    pub(crate) fn followed(&self) -> Option<(u64, u64)> {
        let revision = self.followed.load(Ordering::Acquire).checked_sub(1)?;
        Some((revision, self.followed_digest.load(Ordering::Relaxed)))
    }

    /// The revision that the worker serves. Empty if its writer died in the middle.
    #[must_use]
    pub fn revision(&self) -> String {
        /// A writer needs some 20 ns; one that is still writing after so many tries is dead.
        const TRIES: usize = 1000;
        for _ in 0..TRIES {
            let before = self.revision_sequence.load(Ordering::Acquire);
            let bytes: Vec<u8> =
                self.revision.iter().flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes()).collect();
            fence(Ordering::Acquire);
            if before.is_multiple_of(2) && self.revision_sequence.load(Ordering::Relaxed) == before {
                let length = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
                return String::from_utf8_lossy(&bytes[..length]).into_owned();
            }
            std::hint::spin_loop();
        }
        String::new()
    }

    /// Resets everything for a new owner.
    pub(crate) fn reset(&self) {
        for counter in self.counters() {
            counter.set(0);
        }
        // A predecessor that was killed while writing has left an odd number.
        self.revision_sequence.store(0, Ordering::Relaxed);
        self.followed.store(0, Ordering::Relaxed);
        self.set_revision("");
        let now = now_ms();
        self.started_ms.set(now);
        self.heartbeat_ms.set(now);
    }

    fn counters(&self) -> impl Iterator<Item = &Counter> {
        [
            &self.started_ms,
            &self.heartbeat_ms,
            &self.requests,
            &self.weir_ticks,
            &self.weir_ns,
            &self.attack_lines,
            &self.access_lines,
            &self.dropped_lines,
            &self.faults,
            &self.rss_bytes,
        ]
        .into_iter()
        .chain(&self.outcomes)
    }

    pub(crate) fn report(&self) -> WorkerReport {
        let owner = self.owner.load(Ordering::Acquire);
        WorkerReport {
            pid: pid_of(owner),
            alive: lives(owner),
            started_ms: self.started_ms.get(),
            heartbeat_ms: self.heartbeat_ms.get(),
            requests: self.requests.get(),
            outcomes: std::array::from_fn(|outcome| self.outcomes[outcome].get()),
            weir_ns: self.weir_ns.get(),
            attack_lines: self.attack_lines.get(),
            access_lines: self.access_lines.get(),
            dropped_lines: self.dropped_lines.get(),
            faults: self.faults.get(),
            rss_bytes: self.rss_bytes.get(),
            revision: self.revision(),
        }
    }

    /// Books time spent in Weir, in ticks and nanoseconds.
    #[inline]
    pub fn add_weir_time(&self, clock: &Clock, ticks: u64) {
        self.weir_ticks.add(ticks);
        self.weir_ns.add(clock.ns(ticks));
    }
}

fn resident_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    // SAFETY: sysconf reads a constant of the system.
    Some(pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(1) as u64)
}

/// A worker's counters as a reader sees them.
#[derive(Clone, Debug, serde::Serialize)]
pub struct WorkerReport {
    /// The pid of its process.
    pub pid: u32,
    /// Whether that process is running. The counters of a dead worker stay until the slot is reused.
    pub alive: bool,
    /// Its start, milliseconds since 1970.
    pub started_ms: u64,
    /// Its last heartbeat, milliseconds since 1970.
    pub heartbeat_ms: u64,
    /// Client requests seen by Weir.
    pub requests: u64,
    /// Requests by outcome, in the writer's order.
    #[serde(skip)]
    pub outcomes: [u64; OUTCOMES],
    /// Nanoseconds spent in Weir.
    pub weir_ns: u64,
    /// Lines written to attack logs.
    pub attack_lines: u64,
    /// Lines written to access logs.
    pub access_lines: u64,
    /// Log lines that could not be written.
    pub dropped_lines: u64,
    /// Panics caught at nginx's boundary.
    pub faults: u64,
    /// Resident memory in bytes, as of the last heartbeat.
    pub rss_bytes: u64,
    /// The revision that it serves.
    pub revision: String,
}
