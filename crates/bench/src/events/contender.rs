//! What every row of the table can do: take a turn.

use std::time::Duration;

use super::timings::Figures;
use weir_measure::error::MeasureError;

/// A subject of measurement, which is started once and sleeps between turns.
pub trait Contender {
    /// Works for about `length` and says what that gave. An answer that is not what the row
    /// promises is an error.
    fn turn(&mut self, length: Duration) -> Result<Turn, MeasureError>;
}

/// The result of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Turn {
    /// Times and rate.
    pub figures: Figures,
    /// Longest time since its start that a worker's event loop was held by a change, microseconds.
    pub held_us: Option<f64>,
    /// Mean of the slowest worker's own time of a change, as the answer says, microseconds.
    pub worker_us: Option<f64>,
    /// Mean time to the first answer of the new configuration, microseconds.
    pub first_new_us: Option<f64>,
    /// Messages that did not arrive.
    pub lost: Option<u64>,
    /// Data requests that failed.
    pub failed: Option<u64>,
    /// Changes per second that were answered beside the data traffic.
    pub changes_per_second: Option<f64>,
    /// Answered changes that were looked for in every worker, and were there.
    pub checked: Option<u64>,
}

impl From<Figures> for Turn {
    fn from(figures: Figures) -> Self {
        Self { figures, ..Self::default() }
    }
}
