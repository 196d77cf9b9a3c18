//! What the inspection of one request may cost.
//!
//! Time is no measure: a busy machine would refuse what an idle one passes. Each step that the request's sender can make
//! dear is charged before it is taken, in units of about a nanosecond, by what it takes at worst. What does not fit in is
//! not done, which is an anomaly of the request ([`crate::Anomalies::TOO_EXPENSIVE`]).

use std::cell::Cell;

/// Units for a request without a body.
const HEAD_UNITS: u64 = 4_000_000;
/// Units for each byte of a body.
const UNITS_PER_BYTE: u64 = 200;

/// Units that only rules on what has been found may take, such as those that sum up scores and answer.
const RESERVED: u64 = 2_000_000;

/// More than anything takes, with room for what is added to it.
const UNBOUNDED: u64 = u64::MAX / 4;

/// The work that is left for a request, all rules and values together.
#[derive(Debug)]
pub struct Work {
    /// All of it, but for what is reserved.
    allowed: Cell<u64>,
    left: Cell<u64>,
    /// Held back for later.
    held: Cell<u64>,
    reserved: Cell<u64>,
    is_refused: Cell<bool>,
}

impl Default for Work {
    fn default() -> Self {
        Self::of(HEAD_UNITS)
    }
}

impl Work {
    fn of(units: u64) -> Self {
        Self {
            allowed: Cell::new(units),
            left: Cell::new(units),
            held: Cell::new(0),
            reserved: Cell::new(RESERVED),
            is_refused: Cell::new(false),
        }
    }

    /// Units that a request with so many bytes of body may take, for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn of_body(bytes: usize) -> u64 {
        HEAD_UNITS + bytes as u64 * UNITS_PER_BYTE
    }

    /// No bound, for what is computed when rules are loaded.
    #[must_use]
    pub fn unbounded() -> Self {
        Self::of(UNBOUNDED)
    }

    /// Takes the bound off, for tests.
    #[doc(hidden)]
    pub fn unbind(&self) {
        self.allow(UNBOUNDED);
    }

    /// Adds the units of so many bytes of a body.
    pub(crate) fn extend(&self, bytes: usize) {
        self.allow(bytes as u64 * UNITS_PER_BYTE);
    }

    fn allow(&self, units: u64) {
        self.allowed.set(self.allowed.get() + units);
        self.left.set(self.left.get() + units);
    }

    /// Keeps a part of what is left from the filter, for the rules that it opens: what it has found is not lost because
    /// it went on to something dear.
    pub fn hold(&self) {
        let held = self.left.get() / 4;
        self.left.set(self.left.get() - held);
        self.held.set(held);
    }

    /// Gives back what was held.
    pub fn release(&self) {
        self.left.set(self.left.get() + self.held.take());
    }

    /// Runs a test of what has been found, by the filter or by earlier rules, which may also take what is reserved for
    /// that.
    pub fn reserved<R>(&self, test: impl FnOnce() -> R) -> R {
        let reserved = self.reserved.take();
        self.left.set(self.left.get() + reserved);
        let result = test();
        let left = self.left.get();
        self.reserved.set(left.min(reserved));
        self.left.set(left - left.min(reserved));
        result
    }

    /// Charges so many units; `false` if they are not left, and then nothing is charged: what costs less may still be
    /// done.
    #[inline]
    pub fn charge(&self, units: u64) -> bool {
        match self.left.get().checked_sub(units) {
            Some(left) => {
                self.left.set(left);
                true
            }
            None => {
                self.is_refused.set(true);
                false
            }
        }
    }

    /// As [`Self::charge`], for what is done without need: only while more than half of all work is left, and its lack is
    /// not told.
    #[inline]
    #[must_use]
    pub fn spare(&self, units: u64) -> bool {
        let left = self.left.get().saturating_sub(units);
        let has_plenty = left > self.allowed.get() / 2;
        if has_plenty {
            self.left.set(left);
        }
        has_plenty
    }

    /// Units spent so far.
    #[must_use]
    pub fn spent(&self) -> u64 {
        self.allowed.get() + RESERVED - self.left.get() - self.held.get() - self.reserved.get()
    }

    /// Whether a charge has been refused since the last call.
    #[inline]
    #[must_use]
    pub fn take_refusal(&self) -> bool {
        self.is_refused.replace(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_work_is_never_spared() {
        let work = Work::default();
        assert!(work.spare(HEAD_UNITS / 2 - 1) && !work.spare(1) && !work.take_refusal());
        assert!(work.charge(HEAD_UNITS / 2), "the other half is left");
    }

    #[test]
    fn what_does_not_fit_in_is_not_charged_and_told_once() {
        let work = Work::default();
        assert!(work.charge(HEAD_UNITS - 10) && !work.charge(11));
        assert!(work.take_refusal() && !work.take_refusal());
        assert!(work.charge(10) && work.spent() == HEAD_UNITS);
        work.extend(2);
        assert!(work.charge(2 * UNITS_PER_BYTE) && !work.charge(1));
        assert!(work.reserved(|| work.charge(RESERVED)) && !work.charge(1));
        work.extend(4);
        work.hold();
        assert!(work.charge(3 * UNITS_PER_BYTE) && !work.charge(1));
        work.release();
        assert!(work.charge(UNITS_PER_BYTE));
        work.unbind();
        assert!(work.charge(u64::from(u32::MAX)));
    }
}
