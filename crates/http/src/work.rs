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

/// The work that is left for a request, all rules and values together.
#[derive(Debug)]
pub struct Work {
    left: Cell<u64>,
    spent: Cell<u64>,
    is_refused: Cell<bool>,
}

impl Default for Work {
    fn default() -> Self {
        Self { left: Cell::new(HEAD_UNITS), spent: Cell::new(0), is_refused: Cell::new(false) }
    }
}

impl Work {
    /// Units that a request with so many bytes of body may take.
    #[must_use]
    pub fn of_body(bytes: usize) -> u64 {
        HEAD_UNITS + bytes as u64 * UNITS_PER_BYTE
    }

    /// No bound, for what is computed when rules are loaded.
    #[must_use]
    pub fn unbounded() -> Self {
        Self { left: Cell::new(u64::MAX), ..Self::default() }
    }

    /// Takes the bound off.
    pub fn unbind(&self) {
        self.left.set(u64::MAX);
    }

    /// Adds the units of so many bytes of a body.
    pub(crate) fn extend(&self, bytes: usize) {
        self.left.set(self.left.get().saturating_add(bytes as u64 * UNITS_PER_BYTE));
    }

    /// Charges so many units; `false` if they are not left, and then nothing is charged: what costs less may still be
    /// done.
    #[inline]
    pub fn charge(&self, units: u64) -> bool {
        match self.left.get().checked_sub(units) {
            Some(left) => {
                self.left.set(left);
                self.spent.set(self.spent.get() + units);
                true
            }
            None => {
                self.is_refused.set(true);
                false
            }
        }
    }

    /// Units spent so far.
    #[must_use]
    pub fn spent(&self) -> u64 {
        self.spent.get()
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
    fn what_does_not_fit_in_is_not_charged_and_told_once() {
        let work = Work::default();
        assert!(work.charge(HEAD_UNITS - 10) && !work.charge(11));
        assert!(work.take_refusal() && !work.take_refusal());
        assert!(work.charge(10) && work.spent() == HEAD_UNITS);
        work.extend(2);
        assert!(work.charge(2 * UNITS_PER_BYTE) && !work.charge(1));
        work.unbind();
        assert!(work.charge(u64::from(u32::MAX)));
    }
}
