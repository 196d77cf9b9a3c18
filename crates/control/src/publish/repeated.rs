//! Changes whose idempotency key is known: answered with what the first request did.

use std::time::Instant;

use super::commit::created;
use super::publisher::Publisher;
use super::queue::{Answer, Submitted};
use super::waiting::Outcome;
use crate::shared::now_ms;
use crate::store::{KnownKey, Store, StoreError};
use crate::workers::WorkerId;

/// The reasons of an undone change, as they are stored: generation, worker, text.
type Reasons = Vec<(u64, usize, String)>;

/// The reasons as they are stored.
pub(super) fn reasons(id: WorkerId, reason: &str) -> String {
    serde_json::to_string(&[(id.generation, id.worker, reason)]).unwrap_or_default()
}

impl Publisher {
    /// Answers a change whose key is known; otherwise gives it back.
    pub(super) fn repeat(&mut self, store: &Store, submitted: Submitted) -> Option<Submitted> {
        let Some(key) = submitted.submission.key.as_ref().filter(|_| !submitted.submission.dry_run) else {
            return Some(submitted);
        };
        let answer = match store.known(key, now_ms()) {
            Ok(None) => return Some(submitted),
            Ok(Some(known)) if known.fingerprint != key.fingerprint => Answer::KeyReused(Some(known.revision)),
            Ok(Some(KnownKey { revision, undone: Some((undone_by, reasons)), .. })) => {
                let reasons: Reasons = serde_json::from_str(&reasons).unwrap_or_default();
                let reason = |(generation, worker, text)| (WorkerId { generation, worker }, text);
                let reasons = reasons.into_iter().map(reason).collect();
                Answer::Undone { revision, undone_by, reasons, pending: false, replayed: true }
            }
            Ok(Some(known)) => match outcome(store, &submitted, &known) {
                Ok(outcome) => {
                    self.waiting.add(submitted, known.revision, outcome, Instant::now());
                    self.look_soon();
                    return None;
                }
                Err(error) => Answer::Failed(error.to_string()),
            },
            Err(error) => Answer::Failed(error.to_string()),
        };
        let _ = submitted.answer.send(answer);
        None
    }
}

/// What the first request did, from its revision.
fn outcome(store: &Store, submitted: &Submitted, known: &KnownKey) -> Result<Outcome, StoreError> {
    let mut outcome = Outcome { replayed: true, ..Outcome::default() };
    if let Some(row) = store.revision(known.revision)?.filter(|_| known.is_made) {
        let changes = row.parsed()?;
        outcome.changed = changes.iter().map(|change| change.key().to_string()).collect();
        let all = changes.iter().map(|change| (change.key(), change.old.is_none() && change.new.is_some()));
        outcome.created = created(&submitted.submission.operation, all);
    }
    Ok(outcome)
}
