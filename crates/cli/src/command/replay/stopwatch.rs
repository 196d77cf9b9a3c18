//! A meter that times every lane and rule of every evaluation, and the median over repetitions.
//!
//! The median, because a laptop's clock speed and an interrupt make the mean and the best say
//! something else than what a request costs.

use std::collections::BTreeMap;

use weir_engine::{Meter, RuleIndex};
use weir_ledger::Clock;

/// A part of the evaluation that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timed {
    /// A lane of the plan.
    Lane(u32),
    /// A rule.
    Rule(u32),
}

/// Times one evaluation.
pub(super) struct Stopwatch {
    clock: Clock,
    is_running: bool,
    costs: BTreeMap<Timed, Cost>,
}

/// What one lane or rule has cost in one evaluation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cost {
    /// How often it was entered.
    pub calls: u32,
    /// How often it matched.
    pub hits: u32,
    /// Nanoseconds, those of the clock taken off.
    pub ns: u64,
}

impl Stopwatch {
    /// One that times, or one that only counts, for the whole's time without the clock's.
    pub fn new(clock: Clock, is_running: bool) -> Self {
        Self { clock, is_running, costs: BTreeMap::new() }
    }

    /// The costs of all parts.
    pub fn costs(self) -> BTreeMap<Timed, Cost> {
        self.costs
    }

    fn book(&mut self, what: Timed, hit: bool, ticks: u64) {
        if !self.is_running {
            return;
        }
        let ns = self.clock.ns(ticks.saturating_sub(self.clock.overhead_ticks()));
        let cost = self.costs.entry(what).or_default();
        *cost = Cost { calls: cost.calls + 1, hits: cost.hits + u32::from(hit), ns: cost.ns + ns };
    }
}

impl Meter for Stopwatch {
    fn sampled(&self) -> bool {
        self.is_running
    }

    fn now(&self) -> u64 {
        self.clock.ticks()
    }

    fn rule(&mut self, rule: RuleIndex, hit: bool, ticks: u64) {
        self.book(Timed::Rule(rule.0), hit, ticks);
    }

    fn lane(&mut self, lane: u32, ticks: u64) {
        self.book(Timed::Lane(lane), false, ticks);
    }
}

/// The middle of some times; of an even number the lower one.
pub(super) fn median(mut times: Vec<u64>) -> u64 {
    times.sort_unstable();
    times.get(times.len().saturating_sub(1) / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        for (times, want) in [(vec![], 0), (vec![7], 7), (vec![9, 1, 5], 5), (vec![4, 3, 2, 1], 2)] {
            assert_eq!(median(times), want);
        }
    }

    #[test]
    fn one_that_stands_still_books_nothing() {
        let mut watch = Stopwatch::new(Clock::calibrate(), false);
        watch.rule(RuleIndex(1), true, 10);
        assert!(watch.costs().is_empty());
    }
}
