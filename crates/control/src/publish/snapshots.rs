//! When snapshots are made, and when the WAL is written back.

use super::publisher::Publisher;
use crate::log;
use crate::shared::now_ms;
use crate::store::Snapshot;

impl Publisher {
    /// Does one small step of what is due.
    pub(super) fn snapshot_tick(&mut self) {
        if let Some(mut snapshot) = self.snapshots.under_way.take() {
            let stepped = self.parts.store().snapshot_step(&mut snapshot);
            match stepped {
                Ok(false) => self.snapshots.under_way = Some(snapshot),
                Ok(true) => {
                    self.snapshots.done = snapshot.revision();
                    self.snapshots.prune = true;
                }
                Err(error) => log::failure!("no snapshot of revision {}: {error}", snapshot.revision()),
            }
            return;
        }
        if self.snapshots.prune {
            let head = self.parts.state().revision();
            self.snapshots.prune = self.parts.store().prune(head, self.snapshots.done).unwrap_or_else(|error| {
                log::failure!("cannot delete old revisions: {error}");
                false
            });
            return;
        }
        let Some(changed) = self.snapshots.changed else { return };
        let limits = &self.parts.limits;
        let revisions = self.parts.state().revision().saturating_sub(self.snapshots.done);
        if changed.elapsed() >= limits.snapshot_after || revisions >= limits.snapshot_revisions {
            self.snapshots.under_way = self.begin_snapshot();
        }
    }

    fn begin_snapshot(&mut self) -> Option<Snapshot> {
        self.snapshots.changed = None;
        let (revision, everything) = {
            let state = self.parts.state();
            (state.revision(), state.everything())
        };
        let mut store = self.parts.store();
        match store.snapshot(revision, now_ms(), everything) {
            Ok(snapshot) => {
                self.parts.flusher.follow(&store);
                Some(snapshot)
            }
            Err(error) => {
                log::failure!("no snapshot of revision {revision}: {error}");
                None
            }
        }
    }

    /// Completes a snapshot at once, of a state that the store does not have yet.
    pub(crate) fn snapshot_now(&mut self) {
        self.snapshots.changed();
        self.last_snapshot();
    }

    /// Completes a last snapshot when control ends.
    pub(super) fn last_snapshot(&mut self) {
        if let Some(snapshot) = self.snapshots.under_way.take()
            && self.parts.store().snapshot_finish(snapshot).is_ok()
            && self.snapshots.changed.is_none()
        {
            return;
        }
        if self.snapshots.changed.is_some()
            && let Some(snapshot) = self.begin_snapshot()
            && let Err(error) = self.parts.store().snapshot_finish(snapshot)
        {
            log::failure!("no snapshot at the end: {error}");
        }
    }

    /// Writes a long WAL back before the next group. Syncing is the flusher's, on both sides of it: see
    /// [`crate::store`].
    pub(super) async fn make_room(&mut self) {
        if !self.parts.store().wants_checkpoint() {
            return;
        }
        let before = self.parts.flusher.now().await;
        if !matches!(before, Ok(Ok(()))) {
            return;
        }
        if let Err(error) = self.parts.store().checkpoint() {
            return log::failure!("cannot write the WAL back: {error}");
        }
        if let Ok(Err(error)) = self.parts.flusher.now().await {
            log::failure!("cannot sync the store: {error}");
        }
    }
}
