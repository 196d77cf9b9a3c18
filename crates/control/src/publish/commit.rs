//! A group of changes: checked, stored, published.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use weir_bus::Frame;
use weir_gateway::op::Op;
use weir_resource::{Fault, ResourceKind};

use super::kept::Kept;
use super::publisher::Publisher;
use super::queue::{Answer, Operation, Refresh, Submitted};
use super::verification::{Compiled, Fresh};
use super::waiting::Outcome;
use super::{certificates, files, scoped};
use crate::findings::{self, Finding};
use crate::log;
use crate::shared::now_ms;
use crate::state::{Action, Applied, Edit, Key, Refusal, State, Target};
use crate::store::{Revision, Store, StoreError};
use weir_policy::counted;

/// A change that is applied in memory.
pub(super) struct AppliedChange {
    pub submitted: Option<Submitted>,
    pub applied: Applied,
    pub row: Arc<Revision>,
}

impl Publisher {
    /// Applies changes one by one, and stores and publishes all of them at once.
    pub(super) fn commit(&mut self, group: impl Iterator<Item = Submitted>) {
        let parts = self.parts.clone();
        let (mut state, mut store) = (parts.state(), parts.store());
        let mut made = Vec::new();
        let time_ms = now_ms();
        let mut begun = Ok(());
        for submitted in group {
            let Some((submitted, applied)) = self.make(&mut state, &mut store, submitted) else { continue };
            let submission = &submitted.submission;
            let message = message(submission.message.clone(), &submitted.files);
            let row = row(&state, time_ms, &submission.actor, message, &applied);
            if made.is_empty() {
                begun = store.begin();
            }
            if begun.is_ok() {
                begun = store.add(&row).and_then(|()| store.retire(row.revision, &applied));
            }
            if let (Ok(()), Some(key)) = (&begun, &submission.key) {
                begun = store.remember(key, row.revision, true, time_ms);
            }
            made.push(AppliedChange { submitted: Some(submitted), applied, row });
        }
        if made.is_empty() {
            return;
        }
        match begun {
            Ok(()) => self.store_and_publish(&mut state, &mut store, made),
            Err(error) => fail(&mut state, &mut store, made, &error),
        }
    }

    /// Applies one change in memory; `None` if it has been answered or is on its way to the sandbox.
    fn make(&mut self, state: &mut State, store: &mut Store, submitted: Submitted) -> Option<(Submitted, Applied)> {
        let submitted = self.repeat(store, submitted)?;
        if let Err(answer) =
            expected(state, &submitted).and_then(|()| scoped::check_targets(state, &submitted.submission))
        {
            let _ = submitted.answer.send(answer);
            return None;
        }
        let restored;
        let edits = match &submitted.submission.operation {
            Operation::Edits(edits) => edits,
            Operation::Rollback(revision) => match rollback(state, store, *revision) {
                Ok(edits) => {
                    restored = edits;
                    &restored
                }
                Err(answer) => {
                    let _ = submitted.answer.send(answer);
                    return None;
                }
            },
            Operation::Restore(documents) => {
                restored = restoring(state, documents);
                &restored
            }
        };
        let lost = files::forgotten(&self.parts.objects, edits);
        if !lost.is_empty() {
            let _ = submitted.answer.send(Answer::Refused(Refusal::Invalid(lost)));
            return None;
        }
        let verified = submitted.verified.as_ref().filter(|verified| verified.is_current(state));
        let of_files = verified.map_or_else(Vec::new, |verified| files::edits(state, verified));
        let again = certificates::again(state, &submitted.submission);
        let kept = Kept { objects: &self.parts.objects, store, read: &submitted.read };
        let edits_of_all = edits.iter().chain(&again).chain(&of_files);
        let applied = match state.apply_with(state.revision() + 1, edits_of_all, &kept) {
            Ok(applied) => applied,
            Err(Refusal::Unread(files)) => {
                self.read_files(submitted, files);
                return None;
            }
            Err(refusal) => {
                let _ = submitted.answer.send(Answer::Refused(refusal));
                return None;
            }
        };
        if let Some(scope) = submitted.submission.scope.as_deref() {
            let known = self.parts.uses();
            let uses = verified.and_then(|verified| verified.uses.as_ref()).or(known.as_deref());
            if let Err(answer) = scoped::check_deltas(scope, state, &applied, uses) {
                state.undo(applied);
                let _ = submitted.answer.send(answer);
                return None;
            }
        }
        if !verified.is_some_and(|verified| verified.covers(state, &applied)) {
            let compiled = Compiled::of(&applied, Self::fresh(&submitted, edits, &applied), submitted.is_first());
            if !compiled.is_empty(self.parts.uses().as_deref()) {
                state.undo(applied);
                self.enqueue_heavy(state, submitted, compiled);
                return None;
            }
        }
        let mut submitted = submitted;
        let verified = submitted.verified.as_mut();
        let (uses, warnings, files) = verified.map_or_else(Default::default, |verified| {
            (verified.uses.take(), std::mem::take(&mut verified.warnings), std::mem::take(&mut verified.changed))
        });
        if submitted.submission.dry_run {
            let warnings = warnings.into_iter().chain(findings(state, &applied)).collect();
            let outcome = Outcome { warnings, ..outcome(&submitted, &applied) };
            state.undo(applied);
            let _ = submitted.answer.send(outcome.answer(state.revision(), Vec::new(), false));
            return None;
        }
        let has_certificates = applied.deltas.iter().any(|delta| delta.key.kind == ResourceKind::Certificates);
        if uses.is_some() || has_certificates {
            self.forget_at.get_or_insert_with(|| Instant::now() + files::FORGET_AFTER);
        }
        if let Some(uses) = uses {
            *self.parts.uses.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(uses));
        }
        submitted.warnings = warnings;
        submitted.files = files;
        if applied.deltas.is_empty() {
            let remembered = submitted.submission.key.as_ref().map_or(Ok(()), |key| {
                self.parts.flusher.dirty();
                store.remember(key, state.revision(), false, now_ms())
            });
            if let Err(error) = remembered {
                let _ = submitted.answer.send(failed(&error));
                return None;
            }
            let outcome = Outcome { warnings: std::mem::take(&mut submitted.warnings), ..Outcome::default() };
            self.waiting.add(submitted, state.revision(), outcome, Instant::now());
            self.look_soon();
            return None;
        }
        Some((submitted, applied))
    }

    /// Resources whose files a change captures anew: those that it writes or names. A rollback brings back what was
    /// captured then.
    fn fresh(submitted: &Submitted, edits: &[Edit], applied: &Applied) -> Fresh {
        let named = match &submitted.submission.refresh {
            Refresh::All => return Fresh::All,
            Refresh::Named(keys) => keys.as_slice(),
            Refresh::Written => &[],
        };
        let written = edits.iter().filter_map(|edit| match (&edit.target, &edit.action) {
            (Target::Resource(key, _), Action::Put(_) | Action::Patch(_)) => Some(key),
            _ => None,
        });
        let gone = |key: &&Key| applied.deltas.iter().any(|delta| delta.key == **key && delta.new.is_none());
        Fresh::These(written.chain(named).filter(|key| !gone(key)).cloned().collect())
    }

    /// Stores and publishes what was applied in memory, or undoes it.
    pub(super) fn store_and_publish(&mut self, state: &mut State, store: &mut Store, made: Vec<AppliedChange>) {
        if let Err(error) = store.commit() {
            return fail(state, store, made, &error);
        }
        let first = made.first().map_or(0, |made| made.row.revision);
        if let Err(error) = self.append(state, &made) {
            if let Err(error) = store.take_back(first) {
                log::failure!("cannot take back revision {first}, which could not be published: {error}");
            }
            let error = StoreError::Io { what: "publish in", path: "the journal".into(), source: error };
            return fail(state, store, made, &error);
        }
        self.roster.wake();
        self.parts.flusher.dirty();
        let published = Instant::now();
        for AppliedChange { submitted, applied, row } in made {
            self.follow(&applied);
            if self.parts.events.receiver_count() > 0 {
                let _ = self.parts.events.send(row.clone());
            }
            if let Some(mut submitted) = submitted {
                let mut warnings = std::mem::take(&mut submitted.warnings);
                warnings.extend(findings(state, &applied));
                let outcome = Outcome { warnings, ..outcome(&submitted, &applied) };
                self.waiting.add(submitted, row.revision, outcome, published);
            }
        }
        self.parts.metrics.revision.set(state.revision());
        self.parts.metrics.journal_bytes.set(self.used);
        self.snapshots.changed();
        self.look_soon();
    }

    /// Appends to the journal as one piece; begins a new generation if this one is full.
    fn append(&mut self, state: &State, made: &[AppliedChange]) -> std::io::Result<()> {
        let refused = |error: weir_bus::JournalError| std::io::Error::other(error.to_string());
        if self.writer.needs_rotation() {
            // The state has it all.
            return self.rotate(state).map_err(refused);
        }
        let owned: Vec<(Vec<Vec<u8>>, &Revision)> =
            made.iter().map(|made| (made.applied.frames(), &*made.row)).collect();
        let mut frames = Vec::with_capacity(owned.len() * 2);
        for (ops, row) in &owned {
            frames.extend(ops.iter().map(|op| Frame::Op(op)));
            frames.push(Frame::Commit { revision: row.revision, time_ms: row.time_ms });
            self.used += ops.iter().map(|op| op.len() as u64 + 16).sum::<u64>() + 32;
        }
        self.append_to_all(&frames).map_err(refused)
    }

    /// Passes the changes to the health checker.
    fn follow(&mut self, applied: &Applied) {
        for delta in &applied.deltas {
            let frame = delta.new.as_ref().and_then(|held| held.document.frame.as_deref());
            match (delta.key.kind, frame) {
                (ResourceKind::Upstreams | ResourceKind::Members, Some(frame)) => {
                    if delta.old.is_none() {
                        self.known.forget(&delta.key.id);
                    }
                    if let Ok(op) = serde_json::from_slice::<Op>(frame) {
                        self.health.tell(&op);
                    }
                }
                (kind @ (ResourceKind::Upstreams | ResourceKind::Members), None) => {
                    self.known.forget(&delta.key.id);
                    self.health.tell(&Op::Delete { kind, id: delta.key.id.to_string() });
                }
                _ => {}
            }
        }
    }
}

/// The message of a revision, with what it changes in files.
fn message(message: Option<String>, files: &[String]) -> Option<String> {
    /// Files that are named; of more, their number.
    const NAMED: usize = 5;
    let mut parts: Vec<String> = message.into_iter().chain(files.iter().take(NAMED).cloned()).collect();
    if files.len() > NAMED {
        parts.push(format!("and {}", counted(files.len() - NAMED, "more file")));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The row of a revision.
pub(super) fn row(
    state: &State,
    time_ms: u64,
    actor: &Arc<str>,
    message: Option<String>,
    applied: &Applied,
) -> Arc<Revision> {
    let changes = Revision::changes_of(applied);
    Arc::new(Revision { revision: state.revision(), time_ms, actor: actor.clone(), message, changes })
}

/// The edits that restore the state of a revision.
pub(super) fn rollback(state: &State, store: &Store, revision: u64) -> Result<Vec<Edit>, Answer> {
    let head = state.revision();
    let failed = |error: StoreError| Answer::Failed(error.to_string());
    if revision > head {
        let oldest = store.oldest().map_err(failed)?.unwrap_or(head);
        return Err(Answer::NoRevision { revision, oldest, newest: head });
    }
    match store.inverse(revision, head).map_err(failed)? {
        Some(inverse) => {
            let edit = |(key, text)| Edit::new(Target::Resource(key, Vec::new()), Action::Restore(text));
            Ok(inverse.into_iter().map(edit).collect())
        }
        None => {
            let oldest = store.oldest().map_err(failed)?.unwrap_or(head).saturating_sub(1);
            Err(Answer::NoRevision { revision, oldest, newest: head })
        }
    }
}

/// The edits that give a state these documents and no others.
fn restoring(state: &State, documents: &BTreeMap<Key, Box<str>>) -> Vec<Edit> {
    let edit = |key: &Key, text| Edit::new(Target::Resource(key.clone(), Vec::new()), Action::Restore(text));
    let gone =
        ResourceKind::ALL.into_iter().flat_map(|kind| state.iter(kind, None).map(move |(id, _)| Key::new(kind, id)));
    let gone = gone.filter(|key| !documents.contains_key(key));
    let gone: Vec<Edit> = gone.map(|key| edit(&key, None)).collect();
    gone.into_iter().chain(documents.iter().map(|(key, text)| edit(key, Some(text.clone())))).collect()
}

fn outcome(submitted: &Submitted, applied: &Applied) -> Outcome {
    let changed = applied.deltas.iter().map(|delta| delta.key.to_string()).collect();
    let all = applied.deltas.iter().map(|delta| (delta.key.clone(), delta.old.is_none()));
    Outcome { changed, created: created(&submitted.submission.operation, all), ..Outcome::default() }
}

/// The resource that an operation has created, of those that it has changed, each with whether it is new.
pub(super) fn created(operation: &Operation, mut changed: impl Iterator<Item = (Key, bool)>) -> Option<Key> {
    let Operation::Edits(edits) = operation else { return None };
    let [edit] = edits.as_slice() else { return None };
    let (key, is_new) = changed.find(|(key, _)| match &edit.target {
        Target::Resource(wanted, steps) => steps.is_empty() && key == wanted,
        Target::Collection(kind, _) => key.kind == *kind,
    })?;
    is_new.then_some(key)
}

/// Whether the newest revision is the one that the client expects.
fn expected(state: &State, submitted: &Submitted) -> Result<(), Answer> {
    let newest = state.revision();
    match submitted.submission.expect.filter(|expected| *expected != newest) {
        Some(expected) => Err(Answer::Moved { expected, newest }),
        None => Ok(()),
    }
}

/// The answer to a change that could not be stored.
fn failed(error: &StoreError) -> Answer {
    let text = error.to_string();
    if error.is_full() { Answer::Full(text) } else { Answer::Failed(text) }
}

/// What is odd about what a change has touched. Workers apply it meanwhile.
fn findings(state: &State, applied: &Applied) -> impl Iterator<Item = Fault> {
    let found = findings::of(state, &applied.deltas, findings::Bounds::CHANGE).into_iter();
    found.map(|Finding { key, fault }| Fault { pointer: format!("{key}{}", fault.pointer), ..fault })
}

/// Undoes what was applied in memory, the last first, and answers with the error.
fn fail(state: &mut State, store: &mut Store, made: Vec<AppliedChange>, error: &StoreError) {
    store.abort();
    log::failure!("undid {}: {error}", counted(made.len(), "change"));
    for made in made.into_iter().rev() {
        state.undo(made.applied);
        if let Some(submitted) = made.submitted {
            let _ = submitted.answer.send(failed(error));
        }
    }
}
