//! The errors that a parser of a body found.

use crate::{Anomalies, BodyError};

/// The anomalies of a body, and its first error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// All anomalies.
    pub anomalies: Anomalies,
    /// The first error.
    pub error: Option<BodyError>,
}

impl Faults {
    /// Adds an error at an offset in the body.
    pub(crate) fn add(&mut self, anomalies: Anomalies, at: usize, reason: &'static str) {
        self.anomalies |= anomalies;
        self.error = self.error.or(Some(BodyError { reason, at }));
    }

    /// Adds the errors that another parser found.
    pub(crate) fn merge(&mut self, other: Self) {
        self.anomalies |= other.anomalies;
        self.error = self.error.or(other.error);
    }
}
