//! The machine's own floor: the wake-ups of an exchange and nothing else.
//!
//! Who answers a client after two workers have acknowledged needs the scheduler to wake control,
//! both workers, control and the client. On a machine where waking the other core takes 16 µs
//! no software is quicker than that, and no figure means anything without it. So the same
//! processes are made here, each asleep in `read` on its eventfd, and pass the wake-up on.

use std::time::{Duration, Instant};

use super::bell::Bell;
use super::forked::Forked;
use super::seats::Seats;
use super::timings::{Figures, Timings};
use weir_measure::error::MeasureError;
use weir_measure::interrupt::check_interrupted;

/// How long a wake-up may take before the floor counts as broken.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many exchanges there may be in a second, for the memory that is set aside.
const MOST_PER_SECOND: f64 = 500_000.0;
/// Exchanges before the first one counts: the processes have slept through the others' turns.
const WARM_UP: u32 = 200;

/// The chain of wake-ups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hops {
    /// Client and server: two wake-ups.
    Pair,
    /// Client, broker, the other client, broker, client: four.
    Relay,
    /// Client, control, both workers at once, control, client: what a change needs.
    Change,
    /// None: messages that a spinning receiver takes from shared memory.
    Ring,
}

impl Hops {
    /// Processes that the hub wakes before it answers.
    fn leaves(self) -> usize {
        match self {
            Self::Pair | Self::Ring => 0,
            Self::Relay => 1,
            Self::Change => 2,
        }
    }
}

/// The processes of one pattern, asleep between measurements.
#[derive(Debug)]
pub struct Floor {
    seats: Seats,
    hub: Bell,
    client: Bell,
    _processes: Vec<Forked>,
}

impl Floor {
    /// Starts them. To be called while we have only one thread.
    pub fn start(hops: Hops, seats: Seats) -> Result<Self, MeasureError> {
        let (hub, client) = (Bell::new()?, Bell::new()?);
        let leaves = (0..hops.leaves()).map(|_| Bell::new()).collect::<Result<Vec<_>, _>>()?;
        let mut processes = Vec::with_capacity(leaves.len() + 1);
        // The last leaf is the one that is not on the hub's core.
        for (leaf, &core) in leaves.iter().zip(&seats.workers[seats.workers.len() - leaves.len()..]) {
            processes.push(Forked::start(core, || while leaf.wait() > 0 && hub.ring() {})?);
        }
        processes.push(Forked::start(seats.hub, || while pass_on(&hub, &leaves) && client.ring() {})?);
        Ok(Self { seats, hub, client, _processes: processes })
    }

    /// Exchanges for `length`, one at a time.
    pub fn measure(&self, length: Duration) -> Result<Figures, MeasureError> {
        self.seats.as_client(|| self.exchanges(length))
    }

    fn exchanges(&self, length: Duration) -> Result<Figures, MeasureError> {
        for _ in 0..WARM_UP {
            self.exchange()?;
        }
        let mut timings = Timings::begin((length.as_secs_f64() * MOST_PER_SECOND) as usize);
        while timings.elapsed() < length {
            let before = Instant::now();
            self.exchange()?;
            timings.push(before.elapsed());
        }
        timings.end().ok_or_else(|| MeasureError::Usage("a floor needs some time".into()))
    }

    fn exchange(&self) -> Result<(), MeasureError> {
        self.hub.ring();
        if self.client.wait_at_most(PATIENCE).is_some() {
            return Ok(());
        }
        check_interrupted()?;
        Err(MeasureError::program("floor", format!("a process did not pass its wake-up on within {PATIENCE:?}")))
    }
}

/// The hub's part of an exchange: waits for the client, wakes all leaves, waits for all of them.
fn pass_on(hub: &Bell, leaves: &[Bell]) -> bool {
    if hub.wait() == 0 || !leaves.iter().all(Bell::ring) {
        return false;
    }
    let mut waiting = leaves.len() as u64;
    while waiting > 0 {
        match hub.wait() {
            0 => return false,
            rings => waiting = waiting.saturating_sub(rings),
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_comes_round() {
        for hops in [Hops::Pair, Hops::Relay, Hops::Change] {
            let floor = Floor::start(hops, Seats::default()).unwrap();
            assert!(floor.measure(Duration::from_millis(100)).unwrap().mean_us > 0.0);
        }
    }
}
