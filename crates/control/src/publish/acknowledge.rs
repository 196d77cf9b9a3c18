//! Reading the workers' progress.

use std::time::Instant;

use super::publisher::Publisher;

impl Publisher {
    /// Reads all slots and messages, and answers the changes that waited for them.
    pub(super) fn look(&mut self) {
        std::mem::swap(&mut self.standing, &mut self.last);
        let mut refused = std::mem::take(&mut self.refused);
        self.roster.look(&mut self.standing, &mut refused);
        for refused in refused.drain(..) {
            self.refused(&refused);
        }
        self.refused = refused;
        if self.waiting.is_empty() {
            return;
        }
        let now = Instant::now();
        for (place, worker) in self.standing.iter().enumerate() {
            // The roster hardly ever changes between two looks.
            let before = self.last.get(place).filter(|last| last.id == worker.id && last.pid == worker.pid);
            let from = before.map_or(0, |before| before.applied);
            if worker.applied > from {
                self.waiting.advance(worker, from, now);
            }
        }
        self.waiting.answer(&self.standing);
    }

    /// Answers changes at once that need not wait: there are no workers, or all have applied them. Whoever calls this may
    /// hold the state and the store, which undoing a refused revision needs, so a look waits for the next turn.
    pub(super) fn look_soon(&mut self) {
        if self.standing.is_empty() {
            self.next_look = Instant::now();
        } else {
            self.waiting.answer(&self.standing);
        }
    }
}
