//! A counter with one writer and any number of readers in other processes.

use std::sync::atomic::{AtomicU64, Ordering};

/// A 64-bit counter in shared memory; only its owner changes it.
///
/// Adding is a load and a store, not a locked `fetch_add`: with one writer no count is lost,
/// and it takes 1 ns instead of 5.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds `n`; only for the counter's single writer. Wraps around like any counter.
    #[inline]
    pub fn add(&self, n: u64) {
        self.set(self.get().wrapping_add(n));
    }

    /// Replaces the value; only for the counter's single writer.
    #[inline]
    pub fn set(&self, n: u64) {
        self.0.store(n, Ordering::Relaxed);
    }

    /// The current value.
    #[inline]
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
