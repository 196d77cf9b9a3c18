//! What is counted of an inspector, for `weir status` and the metrics.

use weir_inspect::Failure;

use super::desk::Result1;

/// The counters of one inspector in this worker.
pub struct Counters;

impl Counters {
    /// Those of an inspector.
    pub fn of(_id: &str) -> Self {
        Self
    }

    /// An answer was remembered.
    pub fn remembered(&self) {}

    /// A question is over, after so many nanoseconds if it was sent.
    pub fn book(&self, result: &Result1, took: Option<u64>) {
        let _ = (result.as_ref().err().map(|failure: &Failure| failure.as_str()), took);
    }

    /// The breaker is open, or not.
    pub fn set_open(&self, _is_open: bool) {}
}
