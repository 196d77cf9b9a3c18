//! What every row of the table, and every floor, can do.

use std::time::Duration;

use crate::events::seats::Seats;
use crate::events::timings::{Figures, Timings};
use weir_measure::error::MeasureError;
use weir_measure::interrupt::check_interrupted;

/// Exchanges before the first one counts: the processes have slept through the others' turns.
const WARM_UP: u32 = 200;
/// Exchanges that there may be in a second, for the memory that is set aside.
const MOST_PER_SECOND: f64 = 500_000.0;

/// A subject of measurement, which is started once and sleeps between turns.
pub trait Contender {
    /// Works for about `length`. A message that does not arrive is an error. `None` if there is nothing but memory to be
    /// measured.
    fn turn(&mut self, length: Duration) -> Result<Option<Turn>, MeasureError>;

    /// The same without what is measured, where that is the floor.
    fn quiet(&mut self, _length: Duration) -> Result<Option<Turn>, MeasureError> {
        Ok(None)
    }

    /// Bytes of memory that the server has taken for each subscriber that was connected and got nothing.
    fn idle_bytes(&self) -> Option<f64> {
        None
    }

    /// Subscribers that each message goes to.
    fn subscribers(&self) -> usize {
        1
    }
}

/// The result of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Turn {
    /// Times from the publisher's write to a subscriber's read, and deliveries.
    pub figures: Figures,
    /// CPU time of the server for each delivery, microseconds.
    pub cpu_us: Option<f64>,
}

/// Has one message exchanged after the other for `length`, on the client's core. `exchange` says how long one took.
pub fn one_at_a_time(
    seats: Seats,
    length: Duration,
    mut exchange: impl FnMut() -> Result<Duration, MeasureError>,
) -> Result<Option<Turn>, MeasureError> {
    seats.as_client(|| {
        for _ in 0..WARM_UP {
            exchange()?;
        }
        let mut timings = Timings::begin((length.as_secs_f64() * MOST_PER_SECOND) as usize);
        while timings.elapsed() < length {
            check_interrupted()?;
            timings.push(exchange()?);
        }
        Ok(timings.end().map(|figures| Turn { figures, cpu_us: None }))
    })
}
