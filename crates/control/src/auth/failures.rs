//! How often an address fails to show who it is, so that a flood of bad tokens fills neither log nor audit.
//!
//! A table of fixed size without a lock: addresses that share a cell share its limit, which a good token never meets.

use std::hash::{BuildHasher as _, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};

/// Failures of an address within a window that are answered as such; further ones get 429.
pub(super) const MAX_FAILURES: u64 = 30;

/// The window in seconds.
pub(super) const WINDOW_S: u64 = 10;

const CELLS: usize = 1024;

/// Failures by address. A cell has the number of its window in the upper half and the count in the lower.
pub(super) struct Failures {
    cells: Box<[AtomicU64]>,
    hasher: RandomState,
}

impl Failures {
    pub fn new() -> Self {
        Self { cells: (0..CELLS).map(|_| AtomicU64::new(0)).collect(), hasher: RandomState::new() }
    }

    /// Counts a failure at a time in seconds; `false` if there were too many.
    pub fn count(&self, address: IpAddr, now_s: u64) -> bool {
        let window = (now_s / WINDOW_S) & 0xFFFF_FFFF;
        let index = self.hasher.hash_one(address) as usize % CELLS;
        let next = |cell: u64| {
            let count = if cell >> 32 == window { cell & 0xFFFF_FFFF } else { 0 };
            Some(window << 32 | (count + 1).min(MAX_FAILURES + 1))
        };
        let before = self.cells[index].fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        let before = before.expect("there always is a next value");
        before >> 32 != window || before & 0xFFFF_FFFF < MAX_FAILURES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_limited_per_address_and_window() {
        let failures = Failures::new();
        let address = IpAddr::from([192, 0, 2, 1]);
        for _ in 0..MAX_FAILURES {
            assert!(failures.count(address, 100));
        }
        assert!(!failures.count(address, 100 + WINDOW_S - 1));
        assert!(failures.count(address, 100 + WINDOW_S));
    }
}
