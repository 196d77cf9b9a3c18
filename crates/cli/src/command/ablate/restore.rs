//! Putting policies back as they were, if they are still as the run has left them.
//!
//! Whose a document is its revision says: every change of a run carries the session in its message,
//! so what somebody else has changed since is recognised even if the run was killed between a change
//! and any note of it. Such a document is left alone and named.

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::journal::{self, Journal, StateLock};
use crate::Failure;
use crate::api::Api;

/// Attempts to restore while other clients change the same policies.
const ATTEMPTS: u32 = 3;

/// What became of the policies of a journal.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Restored {
    /// Put back.
    pub restored: Vec<String>,
    /// As they were already.
    pub unchanged: Vec<String>,
    /// Changed or deleted by somebody else, and left alone.
    pub foreign: Vec<String>,
}

/// What is to be done with one policy.
#[derive(Debug, PartialEq)]
enum Todo {
    Nothing,
    /// Put it back, if it is still of this revision.
    PutBack(String),
    LeaveAlone,
}

/// Carries a journal out. It may be carried out twice.
pub(super) fn restore(journal: &Journal) -> Result<Restored, Failure> {
    let api = Api::named(journal.control.as_deref(), &journal.runtime)?;
    let mut left = ATTEMPTS;
    loop {
        left -= 1;
        let (restored, changes) = examine(&api, journal)?;
        if changes.is_empty() {
            return Ok(restored);
        }
        let body = json!({"changes": changes, "message": format!("{}: restored", journal.session)});
        match api.post("/api/v1/transactions", &body) {
            Ok(_) => return Ok(restored),
            Err(failure) if left == 0 => return Err(failure),
            // Somebody has changed one of them just now: it is his then.
            Err(_) => {}
        }
    }
}

fn examine(api: &Api, journal: &Journal) -> Result<(Restored, Vec<Value>), Failure> {
    let (mut restored, mut changes) = (Restored::default(), Vec::new());
    for (id, original) in &journal.policies {
        let path = format!("/policies/{id}");
        let found = api.fetch(&format!("/api/v1{path}"))?;
        let ours = |etag: &str| is_ours(api, etag, &journal.session);
        match todo(original, found, ours)? {
            Todo::Nothing => restored.unchanged.push(id.clone()),
            Todo::LeaveAlone => restored.foreign.push(id.clone()),
            Todo::PutBack(etag) => {
                restored.restored.push(id.clone());
                changes.push(json!({"method": "PUT", "path": path, "body": original, "if_match": etag}));
            }
        }
    }
    Ok((restored, changes))
}

fn todo(
    original: &Value,
    found: Option<(Value, String)>,
    ours: impl FnOnce(&str) -> Result<bool, Failure>,
) -> Result<Todo, Failure> {
    Ok(match found {
        Some((body, _)) if body == *original => Todo::Nothing,
        Some((_, etag)) if ours(&etag)? => Todo::PutBack(etag),
        _ => Todo::LeaveAlone,
    })
}

/// Whether the revision in an entity tag was made by the session.
fn is_ours(api: &Api, etag: &str, session: &str) -> Result<bool, Failure> {
    let revision = etag.trim_matches('"');
    let Some((revision, _)) = api.fetch(&format!("/api/v1/revisions/{revision}"))? else { return Ok(false) };
    Ok(revision["message"].as_str().is_some_and(|message| message.starts_with(&format!("{session}:"))))
}

impl Restored {
    /// In words.
    pub fn say(&self) -> String {
        let list = |ids: &[String]| ids.join(", ");
        let mut text = match (self.restored.is_empty(), self.unchanged.is_empty()) {
            (false, _) => format!("restored: {}", list(&self.restored)),
            (true, false) => format!("as before: {}", list(&self.unchanged)),
            (true, true) => "nothing to restore".to_owned(),
        };
        if !self.foreign.is_empty() {
            text += &format!("; changed by another client meanwhile and left unchanged: {}", list(&self.foreign));
        }
        text
    }
}

/// `weir ablate --restore`
pub(super) fn command(state: &Path) -> Result<ExitCode, Failure> {
    let held = lock(state)?;
    match left_over(&held)? {
        Some(restored) => println!("{}", restored.say()),
        None => println!("nothing to restore"),
    }
    Ok(ExitCode::SUCCESS)
}

/// The lock, or who has it.
pub(super) fn lock(state: &Path) -> Result<StateLock, Failure> {
    StateLock::take(state)?.ok_or_else(|| {
        let who =
            journal::read(state).ok().flatten().map_or_else(String::new, |journal| format!(" (pid {})", journal.pid));
        Failure::new(format!("another weir ablate{who} is running or restoring policies"))
            .hint("wait until it ends; it restores the policies")
    })
}

/// Carries out what an earlier run has left.
pub(super) fn left_over(held: &StateLock) -> Result<Option<Restored>, Failure> {
    let Some(journal) = held.read()? else { return Ok(None) };
    let restored = restore(&journal)?;
    held.clear()?;
    Ok(Some(restored))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_ours_is_put_back() {
        let (original, other) = (json!({"rules": [1]}), json!({"rules": [2]}));
        let found = |body: &Value| Some((body.clone(), "\"7\"".to_owned()));
        for (found, ours, want) in [
            (found(&original), false, Todo::Nothing),
            (found(&other), true, Todo::PutBack("\"7\"".into())),
            (found(&other), false, Todo::LeaveAlone),
            (None, true, Todo::LeaveAlone),
        ] {
            assert_eq!(todo(&original, found, |_| Ok(ours)).unwrap(), want);
        }
    }

    #[test]
    fn what_became_of_them_is_said_in_a_sentence() {
        let ids = |ids: &[&str]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
        for (restored, unchanged, foreign, want) in [
            (&["a", "b"][..], &["c"][..], &[][..], "restored: a, b"),
            (&[], &["c"], &[], "as before: c"),
            (&[], &[], &["d"], "nothing to restore; changed by another client meanwhile and left unchanged: d"),
        ] {
            let restored = Restored { restored: ids(restored), unchanged: ids(unchanged), foreign: ids(foreign) };
            assert_eq!(restored.say(), want);
        }
    }
}
