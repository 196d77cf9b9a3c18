//! How evaluation is metered, without knowing where the counters live.

use crate::RuleIndex;

/// Receives what each rule and lane cost. Calls and hits are exact; times are taken in sampled
/// transactions only, because a clock read costs as much as a small rule.
pub trait Meter {
    /// Whether times are taken in this transaction.
    fn sampled(&self) -> bool;
    /// The clock, in ticks; asked only if [`Self::sampled`].
    fn now(&self) -> u64;
    /// One exact evaluation of `rule`, which took `ticks` (0 if not sampled).
    fn rule(&mut self, rule: RuleIndex, hit: bool, ticks: u64);
    /// One transformation and filter pass of the plan's lane number `lane`.
    fn lane(&mut self, lane: u32, ticks: u64);
}

/// Meters nothing.
pub struct NoMeter;

impl Meter for NoMeter {
    fn sampled(&self) -> bool {
        false
    }
    fn now(&self) -> u64 {
        0
    }
    fn rule(&mut self, _: RuleIndex, _: bool, _: u64) {}
    fn lane(&mut self, _: u32, _: u64) {}
}
