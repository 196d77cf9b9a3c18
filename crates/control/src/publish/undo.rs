//! Undoing a revision that a worker refused, everywhere, by its inverse.

use super::commit::{AppliedChange, rollback, row};
use super::publisher::{Publisher, Undone};
use super::repeated;
use crate::log;
use crate::objects::Objects;
use crate::shared::now_ms;
use crate::state::{Action, Applied, Edit, State, Target};
use crate::store::{Revision, Store, StoreError};
use crate::workers::Refused;

/// How many refused revisions are remembered, so that a second refusal does not undo a revision again.
const REMEMBERED: usize = 64;
/// How long a revision can be undone because a worker refuses it, in ms: what a request may wait at most.
const FRESH_MS: u64 = 60_000;

impl Publisher {
    /// Undoes a revision once. Changes that wait for it then wait for the undo.
    pub(super) fn refused(&mut self, refused: &Refused) {
        let known = self.undone.iter().find(|undone| undone.revision == refused.revision).copied();
        let worker = refused.id.worker;
        let undone = match known {
            Some(undone) => Some(undone),
            None if !self.is_fresh(refused.revision) => {
                // The moment of the change is over, and whoever made it was told that it is in force.
                let (revision, reason) = (refused.revision, &refused.reason);
                log::failure!("worker {worker} cannot apply revision {revision} and stays on an earlier one: {reason}");
                None
            }
            None => {
                log::failure!("worker {worker} refuses revision {}: {}", refused.revision, refused.reason);
                if self.undone.iter().any(|undone| undone.undone_by == refused.revision) {
                    // Undoing that as well would go on for ever. The next generation of the journal is whole again.
                    return log::failure!("which undid another one; worker {worker} is left behind");
                }
                self.undo(refused)
            }
        };
        if let Some(undone) = undone {
            self.waiting.undone(refused.revision, undone.undone_by, refused.id, &refused.reason);
        }
    }

    /// Whether a revision was made so recently that a refusal is about it.
    fn is_fresh(&self, revision: u64) -> bool {
        let stored = self.parts.store().revision(revision).ok().flatten();
        stored.is_some_and(|stored| now_ms().saturating_sub(stored.time_ms) < FRESH_MS)
    }

    fn undo(&mut self, refused: &Refused) -> Option<Undone> {
        let parts = self.parts.clone();
        let (mut state, mut store) = (parts.state(), parts.store());
        let applied = match inverse(&mut state, &store, &parts.objects, refused.revision) {
            Ok(applied) => applied,
            Err(why) => {
                log::failure!("revision {} cannot be undone: {why}", refused.revision);
                return None;
            }
        };
        let message = format!("undoes revision {}: worker {}: {}", refused.revision, refused.id.worker, refused.reason);
        let undone = Undone { revision: refused.revision, undone_by: state.revision() };
        let reasons = repeated::reasons(refused.id, &refused.reason);
        if applied.deltas.is_empty() {
            if let Err(error) = store.note_undone(undone.revision, undone.undone_by, &reasons) {
                log::failure!("that revision {} was undone is not noted with its key: {error}", undone.revision);
            }
        } else {
            let row = row(&state, now_ms(), &"weir".into(), Some(message), &applied);
            let stored = (store.begin())
                .and_then(|()| store.add(&row))
                .and_then(|()| store.retire(row.revision, &applied))
                .and_then(|()| store.note_undone(undone.revision, undone.undone_by, &reasons));
            if let Err(error) = stored {
                log::failure!("revision {} cannot be undone: {error}", refused.revision);
                store.abort();
                state.undo(applied);
                return None;
            }
            self.store_and_publish(&mut state, &mut store, vec![AppliedChange { submitted: None, applied, row }]);
            if state.revision() != undone.undone_by {
                return None;
            }
        }
        if self.undone.len() == REMEMBERED {
            self.undone.pop_front();
        }
        self.undone.push_back(undone);
        Some(undone)
    }
}

/// Inverts a revision, except for what later revisions have changed. If they depend on it, they are undone too.
fn inverse(state: &mut State, store: &Store, objects: &Objects, revision: u64) -> Result<Applied, String> {
    let text = |error: StoreError| error.to_string();
    let stored = store.revision(revision).map_err(text)?.ok_or("it is not kept")?;
    let edits = flipped(state, &stored).map_err(text)?;
    let next = state.revision() + 1;
    if let Ok(applied) = state.apply_with(next, &edits, objects) {
        return Ok(applied);
    }
    let edits = rollback(state, store, revision.saturating_sub(1)).map_err(|_| "what was before is not kept")?;
    state.apply_with(next, &edits, objects).map_err(|refusal| format!("{refusal:?}"))
}

fn flipped(state: &State, stored: &Revision) -> Result<Vec<Edit>, StoreError> {
    let mut edits = Vec::new();
    for change in stored.parsed()? {
        let key = change.key();
        let now = state.get(key.kind, &key.id).map(|held| &*held.document.text);
        if now == change.new.map(|new| new.get()) {
            let old = change.old.map(|old| old.get().into());
            edits.push(Edit::new(Target::Resource(key, Vec::new()), Action::Restore(old)));
        }
    }
    Ok(edits)
}
