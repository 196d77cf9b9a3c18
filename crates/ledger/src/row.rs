//! One worker's cells of the ledger.
//!
//! A cell is one cache line: counting an evaluation touches one line and no other worker's.

use crate::bank::BANKS;
use crate::process::{identity, own_cpu_ns};
use crate::{Clock, Counter};

/// Counters of one entry in one worker.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Cell {
    pub calls: Counter,
    pub hits: Counter,
    /// Booked samples, and their ticks.
    pub samples: Counter,
    pub ticks: Counter,
    /// Samples that were not booked because the kernel had interrupted the worker.
    pub preempted: Counter,
}

impl Cell {
    fn counters(&self) -> [&Counter; 5] {
        [&self.calls, &self.hits, &self.samples, &self.ticks, &self.preempted]
    }
}

/// The worker of a row.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub(crate) struct RowHead {
    /// `process::identity` of the worker.
    pub owner: Counter,
    pub requests: Counter,
    /// CPU time of the worker when it took the row.
    pub cpu_start_ns: Counter,
    /// CPU time of the worker since then, as of its last beat.
    pub cpu_ns: Counter,
    /// CPU time of earlier workers on this row.
    pub cpu_before_ns: Counter,
    /// The tag of the policies whose counts the cells of each bank hold.
    pub tags: [Counter; BANKS],
}

/// A sample of more than this many times the mean was interrupted ...
const OUTLIER: u128 = 64;
/// ... if it also took longer than this: after a cache miss, short work is often slow once.
const OUTLIER_FLOOR_NS: u64 = 20_000;
/// The limit until there is a mean to compare with.
const FIRST_SAMPLES: u64 = 16;
const FIRST_LIMIT_NS: u64 = 200_000;
/// If more than one sample in this many is an outlier, the work itself is uneven.
const OUTLIERS_OF: u64 = 16;

/// One worker's cells. It may be copied freely, but only within that worker.
#[derive(Clone, Copy)]
pub struct Row<'l> {
    pub(crate) head: &'l RowHead,
    pub(crate) cells: &'l [Cell],
    /// Limits for outliers, in the writers' ticks.
    pub(crate) floor_ticks: u64,
    pub(crate) first_ticks: u64,
}

impl<'l> Row<'l> {
    pub(crate) fn new(head: &'l RowHead, cells: &'l [Cell], clock: Clock) -> Self {
        let [floor_ticks, first_ticks] = [OUTLIER_FLOOR_NS, FIRST_LIMIT_NS].map(|ns| clock.ticks_of(ns));
        Self { head, cells, floor_ticks, first_ticks }
    }

    /// Takes the row for the calling process; to be called once when a worker starts. The counts of an
    /// earlier worker stay.
    pub fn attach(&self) {
        self.head.cpu_before_ns.add(self.head.cpu_ns.get());
        self.head.cpu_ns.set(0);
        self.head.cpu_start_ns.set(own_cpu_ns());
        self.head.owner.set(identity(std::process::id()));
    }

    /// Records the worker's CPU time, so that it outlives the worker; for the heartbeat.
    pub fn beat(&self) {
        self.head.cpu_ns.set(own_cpu_ns().saturating_sub(self.head.cpu_start_ns.get()));
    }

    /// Sets all cells to zero.
    pub(crate) fn clear(&self) {
        self.cells.iter().flat_map(Cell::counters).for_each(|counter| counter.set(0));
    }

    /// Goes on with what `from` has counted: each pair is an entry of `from` and the entry here that
    /// counts the same. For the worker of both rows, when it begins to count here. A count that is
    /// already larger stays: policies that were refused have counted less than those that they follow.
    pub fn continue_from(&self, from: &Row<'_>, pairs: &[(u32, u32)]) {
        for (before, now) in pairs {
            let cells = from.cells.get(*before as usize).zip(self.cells.get(*now as usize));
            for (before, now) in
                cells.into_iter().flat_map(|(before, now)| before.counters().into_iter().zip(now.counters()))
            {
                now.set(now.get().max(before.get()));
            }
        }
    }

    /// Counts a client request.
    #[inline]
    pub fn request(&self) {
        self.head.requests.add(1);
    }

    /// Counts one call of an entry, and whether it had an effect (a rule: whether it matched).
    /// Numbers without an entry are ignored.
    #[inline]
    pub fn add(&self, entry: u32, hit: bool) {
        if let Some(cell) = self.cells.get(entry as usize) {
            cell.calls.add(1);
            if hit {
                cell.hits.add(1);
            }
        }
    }

    /// Calls and hits of the first `entries` entries together, for the heartbeat.
    #[must_use]
    pub fn totals(&self, entries: usize) -> (u64, u64) {
        self.cells
            .iter()
            .take(entries)
            .fold((0, 0), |(calls, hits), cell| (calls + cell.calls.get(), hits + cell.hits.get()))
    }

    /// Books one sampled time of an entry, in ticks and including the clock's own overhead.
    ///
    /// A sample far above the entry's mean is counted as `preempted` and not booked: one
    /// time slice of 4 ms, scaled up by the sampling, would outweigh a million evaluations. Work
    /// that is uneven by nature is recognised by the frequency of such samples.
    #[inline]
    pub fn time(&self, entry: u32, ticks: u64) {
        if let Some(cell) = self.cells.get(entry as usize) {
            let samples = cell.samples.get();
            if self.is_outlier(cell, samples, ticks) {
                cell.preempted.add(1);
            } else {
                cell.samples.set(samples.wrapping_add(1));
                cell.ticks.add(ticks);
            }
        }
    }

    #[inline]
    fn is_outlier(&self, cell: &Cell, samples: u64, ticks: u64) -> bool {
        if ticks <= self.floor_ticks {
            return false;
        }
        let far = if samples < FIRST_SAMPLES {
            ticks > self.first_ticks
        } else {
            u128::from(ticks) * u128::from(samples) > OUTLIER * u128::from(cell.ticks.get())
        };
        far && cell.preempted.get().saturating_mul(OUTLIERS_OF) <= samples
    }
}
