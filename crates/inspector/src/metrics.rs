//! Metrics as plain atomics.
//!
//! The labels are the names of the configuration, so the number of series is bounded before the first question: tenants
//! that the configuration does not name share one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use weir_inspect::Advice;

/// Upper ends of the buckets of times, in µs: from a counter in memory to the longest that gateways wait.
pub(crate) const BOUNDS_US: [u64; 12] =
    [50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000];

/// Words of the label `advice`, by [`place_of`].
pub(crate) const ADVICES: [&str; 4] = ["pass", "refuse", "detect", "unable"];

/// Number of a tenant: those that are named, then all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tenant(u16);

impl Tenant {
    /// Tenants that the configuration does not name, and questions without one.
    pub const OTHER: Self = Self(u16::MAX);
}

/// Everything that is counted.
#[derive(Default)]
pub(crate) struct Metrics {
    /// Open connections.
    pub connections: AtomicU64,
    /// Connections beyond the bound.
    pub refused: AtomicU64,
    /// Connections whose hello had no valid token.
    pub unauthenticated: AtomicU64,
    /// Connections that were closed because of what came over them.
    pub malformed: AtomicU64,
    /// Connections that were closed because answers were not read.
    pub slow: AtomicU64,
    /// Questions that were read.
    pub questions: AtomicU64,
    /// Questions that are being answered.
    pub queue: AtomicU64,
    /// Questions for detectors that there are not.
    pub unknown: AtomicU64,
    /// Policies that were loaded again.
    pub reloads: AtomicU64,
    /// Policies that could not be.
    pub failed_reloads: AtomicU64,
    pub detectors: Vec<DetectorMetrics>,
    pub tenants: Vec<String>,
}

#[derive(Default)]
pub(crate) struct DetectorMetrics {
    pub name: String,
    /// By tenant, the others last, and advice.
    pub answers: Vec<[AtomicU64; ADVICES.len()]>,
    pub buckets: [AtomicU64; BOUNDS_US.len() + 1],
    pub sum_us: AtomicU64,
}

impl Metrics {
    /// All zero, for detectors and tenants in the order of their names.
    pub fn new(detectors: Vec<String>, tenants: Vec<String>) -> Self {
        let of = |name| DetectorMetrics {
            name,
            answers: (0..=tenants.len()).map(|_| Default::default()).collect(),
            ..DetectorMetrics::default()
        };
        Self { detectors: detectors.into_iter().map(of).collect(), tenants, ..Self::default() }
    }

    /// The number of a tenant.
    pub fn tenant(&self, name: &str) -> Tenant {
        let found = self.tenants.binary_search_by(|known| known.as_str().cmp(name));
        found.map_or(Tenant::OTHER, |place| Tenant(place as u16))
    }

    /// Counts an answer.
    pub fn answered(&self, detector: usize, tenant: Tenant, advice: Advice, took: Duration) {
        let of = &self.detectors[detector];
        let tenant = usize::from(tenant.0).min(self.tenants.len());
        of.answers[tenant][place_of(advice)].fetch_add(1, Ordering::Relaxed);
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS_US.iter().position(|bound| us <= *bound).unwrap_or(BOUNDS_US.len());
        of.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        of.sum_us.fetch_add(us, Ordering::Relaxed);
    }
}

const fn place_of(advice: Advice) -> usize {
    match advice {
        Advice::Pass => 0,
        Advice::Refuse => 1,
        Advice::Detect => 2,
        Advice::Unable => 3,
    }
}
