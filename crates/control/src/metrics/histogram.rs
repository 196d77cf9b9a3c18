//! Times in buckets, as Prometheus wants them.

use std::time::Duration;

use super::Count;

/// Upper ends of the buckets in µs: from a change in memory (50 µs) to the longest job of the sandbox (20 s).
pub const BOUNDS_US: [u64; 14] =
    [50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 5_000_000, 20_000_000];

/// A histogram of times.
#[derive(Debug, Default)]
pub struct Histogram {
    buckets: [Count; BOUNDS_US.len() + 1],
    sum_ns: Count,
}

impl Histogram {
    /// Counts one.
    pub fn record(&self, took: Duration) {
        let us = took.as_micros();
        let bucket = BOUNDS_US.iter().position(|&bound| us <= u128::from(bound)).unwrap_or(BOUNDS_US.len());
        self.buckets[bucket].add(1);
        self.sum_ns.add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    /// How many were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(Count::get).sum()
    }

    /// Their sum in seconds.
    #[must_use]
    pub fn sum_seconds(&self) -> f64 {
        Duration::from_nanos(self.sum_ns.get()).as_secs_f64()
    }

    /// `(upper end in seconds, how many were at most that)`, the last without an end.
    pub(super) fn cumulative(&self) -> impl Iterator<Item = (Option<f64>, u64)> {
        let ends = BOUNDS_US.iter().map(|&us| Some(Duration::from_micros(us).as_secs_f64())).chain([None]);
        ends.zip(&self.buckets).scan(0, |sum, (end, bucket)| {
            *sum += bucket.get();
            Some((end, *sum))
        })
    }
}
