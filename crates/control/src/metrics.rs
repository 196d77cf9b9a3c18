//! Metrics of control as plain atomics, and their text for Prometheus.
//!
//! A registry of metrics by name was the alternative: it costs a map and a lock where something is counted, and any
//! caller can add a series. Here every series is a field, so the set of them is bounded by this file; only upstreams
//! add labels, and at most [`MAX_UPSTREAMS`] of them.

mod histogram;
mod text;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

pub use histogram::Histogram;
pub use text::{CONTENT_TYPE, ScrapedState, WorkerState};

/// Upstreams with a series of their own; the rest are summed up as `upstream="*"`.
pub const MAX_UPSTREAMS: usize = 1_000;

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Adds to the value.
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// The current value.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A number that goes up and down.
#[derive(Debug, Default)]
pub struct Gauge(AtomicU64);

impl Gauge {
    /// Sets the value.
    pub fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// Adds to the value.
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// Subtracts from the value; never below 0.
    pub fn sub(&self, less: u64) {
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |value| Some(value.saturating_sub(less)));
    }

    /// The current value.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The outcome of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every worker that was waited for has it.
    Applied,
    /// Stored and published; some worker had not answered in time.
    Pending,
    /// Not valid (422), malformed (400), too large (413).
    Invalid,
    /// `If-Match` did not hold (412), or what was named is not there (404, 409).
    Conflict,
    /// A worker refused it, and it was undone everywhere (409).
    RolledBack,
    /// Too many changes were waiting (429).
    Busy,
    /// It could not be stored or published (500, 507).
    Failed,
    /// A dry run, good or bad.
    DryRun,
}

impl Outcome {
    /// All outcomes.
    pub const ALL: [Self; 8] = [
        Self::Applied,
        Self::Pending,
        Self::Invalid,
        Self::Conflict,
        Self::RolledBack,
        Self::Busy,
        Self::Failed,
        Self::DryRun,
    ];

    /// The value of the label `result`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Pending => "pending",
            Self::Invalid => "invalid",
            Self::Conflict => "conflict",
            Self::RolledBack => "rolled_back",
            Self::Busy => "busy",
            Self::Failed => "failed",
            Self::DryRun => "dry_run",
        }
    }
}

/// The number of members of an upstream in each health state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HealthCounts {
    /// Healthy by active checks.
    pub healthy: u64,
    /// Unhealthy by active checks.
    pub unhealthy: u64,
    /// Not checked, or not for long enough.
    pub unknown: u64,
}

/// All metrics of control.
#[derive(Debug, Default)]
pub struct Metrics {
    /// The revision that was published last.
    pub revision: Gauge,
    /// Bytes of the journal that are in use.
    pub journal_bytes: Gauge,
    /// New generations of the journal.
    pub journal_rotations: Count,
    /// Clients that watch `/api/v1/watch`.
    pub watchers: Gauge,
    /// Connections to the API.
    pub connections: Gauge,
    /// Connections that were refused because there were too many.
    pub connections_refused: Count,
    /// Requests without a good token.
    pub unauthenticated: Count,
    /// Requests whose role was not enough.
    pub forbidden: Count,
    /// Jobs of the sandbox.
    pub sandbox_jobs: Count,
    /// Sandbox processes that were killed or died.
    pub sandbox_kills: Count,
    /// How long jobs of the sandbox took, waiting excluded.
    pub sandbox_seconds: Histogram,
    /// Names that could not be resolved.
    pub dns_failures: Count,
    /// Names that were resolved.
    pub dns_lookups: Count,
    /// Health checks that were made.
    pub health_checks: Count,
    /// Changes of members between healthy and unhealthy.
    pub health_transitions: Count,
    /// How long flushing the store to disk took.
    pub store_flush_seconds: Histogram,
    /// How long changes took, from the request read to the answer.
    pub change_seconds: Histogram,
    changes: [Count; Outcome::ALL.len()],
    health: Mutex<BTreeMap<String, HealthCounts>>,
}

impl Metrics {
    /// All values are zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a change that was answered.
    pub fn change(&self, outcome: Outcome, took: Duration) {
        self.changes[outcome as usize].add(1);
        self.change_seconds.record(took);
    }

    /// The number of changes with this outcome.
    #[must_use]
    pub fn changes(&self, outcome: Outcome) -> u64 {
        self.changes[outcome as usize].get()
    }

    /// Counts a flush of the store.
    pub fn flush(&self, took: Duration) {
        self.store_flush_seconds.record(took);
    }

    /// Moves one member of an upstream from one state to another; `None` is "not there".
    pub fn health(&self, upstream: &str, from: Option<Health>, to: Option<Health>) {
        let mut all = self.health.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.contains_key(upstream) {
            all.insert(upstream.to_owned(), HealthCounts::default());
        }
        let counts = all.get_mut(upstream).expect("it was just put there");
        if let Some(from) = from {
            let cell = counts.cell(from);
            *cell = cell.saturating_sub(1);
        }
        if let Some(to) = to {
            *counts.cell(to) += 1;
        }
        if *counts == HealthCounts::default() {
            all.remove(upstream);
        }
    }

    /// Members by health, for each upstream that has members.
    #[must_use]
    pub fn health_counts(&self) -> BTreeMap<String, HealthCounts> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The health of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// Healthy by active checks.
    Healthy,
    /// Unhealthy by active checks.
    Unhealthy,
    /// Not checked, or not for long enough.
    Unknown,
}

impl HealthCounts {
    fn cell(&mut self, health: Health) -> &mut u64 {
        match health {
            Health::Healthy => &mut self.healthy,
            Health::Unhealthy => &mut self.unhealthy,
            Health::Unknown => &mut self.unknown,
        }
    }
}

#[cfg(test)]
mod tests;
