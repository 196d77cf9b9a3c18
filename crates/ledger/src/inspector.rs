//! What a worker counts of one inspector, in the control file: whoever looks on sees its health and latency.
//!
//! Not in the ledger's rows: those have CPU times of this machine, and an inspector's time passes elsewhere.

use std::collections::BTreeMap;

use crate::Counter;
use crate::slot::{Owner, Slot};

/// Slots of all workers together: a hundred inspectors in ten workers.
pub const MAX_INSPECTOR_SLOTS: usize = 1024;
/// Kinds of failures; their order is the writer's.
pub const FAILURES: usize = 7;
/// Buckets of latencies: the n-th has those of at most 2^n µs, the last one all others.
const BUCKETS: usize = 24;

/// One inspector in one worker. Only the worker that claimed it writes.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub struct InspectorSlot {
    owner: Owner,
    /// Questions that were sent, or should have been.
    pub asked: Counter,
    /// Answers that let the request pass.
    pub passed: Counter,
    /// Answers that refused it.
    pub refused: Counter,
    /// Answers that wanted it logged.
    pub detected: Counter,
    /// Answers that were remembered.
    pub remembered: Counter,
    /// Failures by kind.
    pub failures: [Counter; FAILURES],
    /// Whether the breaker is open: 0 or 1.
    pub is_open: Counter,
    /// How often it has opened.
    pub opened: Counter,
    /// Endpoints that are left out.
    pub endpoints_out: Counter,
    /// Whether there was no room for questions lately: 0 or 1.
    pub is_busy: Counter,
    latencies: [Counter; BUCKETS],
}

impl InspectorSlot {
    /// Books how long an answer took.
    pub fn took(&self, ns: u64) {
        let bucket = (ns / 1000).checked_ilog2().map_or(0, |log| log as usize + 1);
        self.latencies[bucket.min(BUCKETS - 1)].add(1);
    }
}

impl Slot for InspectorSlot {
    fn owner(&self) -> &Owner {
        &self.owner
    }

    fn reset(&self) {
        let all = [&self.asked, &self.passed, &self.refused, &self.detected, &self.remembered];
        let state = [&self.is_open, &self.opened, &self.endpoints_out, &self.is_busy];
        all.into_iter().chain(state).chain(&self.failures).chain(&self.latencies).for_each(|counter| counter.set(0));
    }
}

/// An inspector in all living workers.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct InspectorReport {
    /// Its name.
    pub name: String,
    /// Workers that know it.
    pub workers: u64,
    /// As in [`InspectorSlot`].
    pub asked: u64,
    /// As in [`InspectorSlot`].
    pub passed: u64,
    /// As in [`InspectorSlot`].
    pub refused: u64,
    /// As in [`InspectorSlot`].
    pub detected: u64,
    /// As in [`InspectorSlot`].
    pub remembered: u64,
    /// As in [`InspectorSlot`].
    pub failures: [u64; FAILURES],
    /// Workers whose breaker is open.
    pub open: u64,
    /// How often breakers have opened.
    pub opened: u64,
    /// Endpoints that are left out, summed over workers.
    pub endpoints_out: u64,
    /// Workers that had no room for questions lately.
    pub busy: u64,
    /// The median of the latencies, in µs, to the next power of two; none without an answer.
    pub p50_us: Option<u64>,
    /// The 99th percentile, likewise.
    pub p99_us: Option<u64>,
}

/// Adds up the slots of living workers, by name.
pub(crate) fn report(slots: &[InspectorSlot]) -> Vec<InspectorReport> {
    let mut all: BTreeMap<String, (InspectorReport, [u64; BUCKETS])> = BTreeMap::new();
    for (slot, name) in slots.iter().filter_map(|slot| Some((slot, slot.owner.living()?))) {
        let (report, latencies) = all.entry(name).or_default();
        report.workers += 1;
        for (sum, counter) in [
            (&mut report.asked, &slot.asked),
            (&mut report.passed, &slot.passed),
            (&mut report.refused, &slot.refused),
            (&mut report.detected, &slot.detected),
            (&mut report.remembered, &slot.remembered),
            (&mut report.open, &slot.is_open),
            (&mut report.opened, &slot.opened),
            (&mut report.endpoints_out, &slot.endpoints_out),
            (&mut report.busy, &slot.is_busy),
        ] {
            *sum += counter.get();
        }
        report.failures.iter_mut().zip(&slot.failures).for_each(|(sum, counter)| *sum += counter.get());
        latencies.iter_mut().zip(&slot.latencies).for_each(|(sum, counter)| *sum += counter.get());
    }
    let finish = |(name, (report, latencies)): (String, (InspectorReport, [u64; BUCKETS]))| {
        let at = |share| percentile(&latencies, share);
        InspectorReport { name, p50_us: at(0.5), p99_us: at(0.99), ..report }
    };
    all.into_iter().map(finish).collect()
}

/// The upper end of the bucket below which that share of the answers is.
fn percentile(latencies: &[u64; BUCKETS], share: f64) -> Option<u64> {
    let total: u64 = latencies.iter().sum();
    let wanted = (total as f64 * share).ceil() as u64;
    let mut seen = 0;
    let bucket = latencies.iter().position(|count| {
        seen += count;
        seen >= wanted.max(1)
    })?;
    Some(1 << bucket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slot::claim;

    #[test]
    fn slots_are_added_up_by_name() {
        let slots: Vec<InspectorSlot> = (0..4).map(|_| InspectorSlot::default()).collect();
        let me = std::process::id();
        for (pid, name) in [(me, "bots"), (1, "bots"), (me, "risk")] {
            let slot = claim(&slots, pid, name).unwrap();
            slot.asked.add(2);
            slot.took(700);
            slot.took(3_000_000);
        }
        slots[1].is_open.set(1);
        slots[1].failures[0].add(5);
        let all = report(&slots);
        assert_eq!(
            all.iter().map(|one| (one.name.as_str(), one.workers, one.asked)).collect::<Vec<_>>(),
            [("bots", 2, 4), ("risk", 1, 2)]
        );
        assert_eq!((all[0].open, all[0].failures[0], all[1].open), (1, 5, 0));
        assert_eq!((all[0].p50_us, all[0].p99_us), (Some(1), Some(4096)), "3,000 µs is at most 4,096");
        slots[0].reset();
        assert_eq!(slots[0].asked.get(), 0);
        assert!(report(&[InspectorSlot::default()]).is_empty());
    }
}
