//! The results of a broadcast for each receiver: the sender learns of every message that was dropped.

use crate::address::Address;
use crate::error::SendError;
use crate::limits::WORKERS_MAX;

/// The results of a broadcast to all workers that took part at the time.
#[derive(Clone, Copy, Debug)]
pub struct Broadcast {
    results: [Option<Result<(), SendError>>; WORKERS_MAX],
}

impl Default for Broadcast {
    fn default() -> Self {
        Self { results: [None; WORKERS_MAX] }
    }
}

impl Broadcast {
    pub(crate) fn record(&mut self, worker: usize, result: Result<(), SendError>) {
        self.results[worker] = Some(result);
    }

    /// Each receiver, and whether the message is in its ring.
    pub fn results(&self) -> impl Iterator<Item = (Address, Result<(), SendError>)> {
        (0..).zip(self.results).filter_map(|(n, result)| Some((Address::Worker(n), result?)))
    }

    /// Whether all receivers will get it. Also true if there was none.
    pub fn complete(&self) -> bool {
        self.results().all(|(_, result)| result.is_ok())
    }

    /// Number of receivers that will get the message.
    pub fn sent(&self) -> usize {
        self.results().filter(|(_, result)| result.is_ok()).count()
    }
}
