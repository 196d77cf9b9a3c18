//! What is counted of an inspector, for `weir status` and the metrics.

use weir_inspect::{Advice, Failure};
use weir_ledger::InspectorSlot;

use super::desk::Answered;
use crate::worker;

/// The counters of one inspector in this worker; none if the control file has no slot left.
pub struct Counters(Option<&'static InspectorSlot>);

impl Counters {
    /// Those of an inspector.
    pub fn of(id: &str) -> Self {
        Self(worker::control().and_then(|control| control.claim_inspector(std::process::id(), id)))
    }

    /// An answer was remembered.
    pub fn remembered(&self) {
        if let Some(slot) = self.0 {
            slot.remembered.add(1);
        }
    }

    /// A question is over, after so many nanoseconds if it was sent.
    pub fn book(&self, result: &Answered, took: Option<u64>) {
        let Some(slot) = self.0 else { return };
        slot.asked.add(1);
        let counter = match result {
            Ok(answer) => {
                took.into_iter().for_each(|ns| slot.took(ns));
                match answer.advice {
                    Advice::Pass => &slot.passed,
                    Advice::Refuse => &slot.refused,
                    Advice::Detect => &slot.detected,
                    Advice::Unable => &slot.failures[Failure::Unable as usize],
                }
            }
            Err(failure) => &slot.failures[*failure as usize],
        };
        counter.add(1);
    }

    /// The breaker is open, or not.
    pub fn set_open(&self, is_open: bool) {
        let Some(slot) = self.0 else { return };
        if is_open && slot.is_open.get() == 0 {
            slot.opened.add(1);
        }
        slot.is_open.set(u64::from(is_open));
    }

    /// There was no room for questions lately, or there is again.
    pub fn set_busy(&self, is_busy: bool) {
        if let Some(slot) = self.0 {
            slot.is_busy.set(u64::from(is_busy));
        }
    }

    /// How many endpoints are left out.
    pub fn set_out(&self, count: usize) {
        if let Some(slot) = self.0 {
            slot.endpoints_out.set(count as u64);
        }
    }
}

const _: () = assert!(Failure::ALL.len() == weir_ledger::FAILURES);
