//! `weir check` of a file for `weir apply`: what it says, whether its policies compile, and what is odd about it. What it
//! refers to may be in other files or in the gateway already; `weir apply --dry-run` checks that.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};
use weir_control::findings::{self, Finding};
use weir_control::state::{Action, Edit, Key, Target};
use weir_policy::{PolicyError, Snapshot, Trial};
use weir_resource::{ResourceKind, State, parse_state};

use crate::arguments::Check;
use crate::table::counted;
use crate::{Failure, body};

/// Whether a file is one for a gateway, by its keys.
pub(super) fn is_one(path: &Path) -> bool {
    let Ok(text) = std::fs::read_to_string(path) else { return false };
    let document = weir_policy::parse_document(&text, path).unwrap_or_default();
    // Policy files may have rule sets, too, and then always policies as a list.
    let in_policy_files = [ResourceKind::Lists, ResourceKind::Policies];
    let mut of_a_gateway = ResourceKind::written().filter(|kind| !in_policy_files.contains(kind));
    !document["policies"].is_array() && of_a_gateway.any(|kind| document.get(kind.plural()).is_some())
}

pub(super) fn run(check: &Check, path: &Path) -> Result<ExitCode, Failure> {
    let text = body::file(path)?;
    let faults = match parse_state(&text, path) {
        Err(errors) => errors.errors().to_vec(),
        Ok(state) => match compile(&state, path) {
            faults if faults.is_empty() => return Ok(good(check, path, &state)),
            faults => faults,
        },
    };
    if check.json {
        println!("{}", json!({ "ok": false, "errors": faults.iter().map(super::one).collect::<Vec<_>>() }));
        return Ok(ExitCode::FAILURE);
    }
    faults.iter().for_each(|fault| eprintln!("{fault}"));
    Err(Failure::new(format!("{}: {}", path.display(), counted(faults.len() as u64, "error"))))
}

/// What is wrong with the policies, at its place in the file.
fn compile(state: &State, path: &Path) -> Vec<weir_policy::PolicyError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let Err(errors) =
        Snapshot::build(&state.compiled(), &weir_policy::files::Disk, folder, Trial::Each(&mut HashSet::new()))
    else {
        return Vec::new();
    };
    let place = |error: &PolicyError| error.in_document().and_then(|(kind, id, fault)| state.error(kind, id, &fault));
    errors.errors().iter().map(|error| place(error).unwrap_or_else(|| error.clone())).collect()
}

/// What is odd about the resources, at its place in the file.
fn warnings(state: &State) -> Vec<PolicyError> {
    let edit = |((kind, id), document): (&(ResourceKind, String), &Value)| {
        Edit::new(Target::Resource(Key::new(*kind, id), Vec::new()), Action::Put(document.clone()))
    };
    let edits: Vec<Edit> = state.documents().iter().map(edit).collect();
    let (gathered, deltas) = weir_control::state::State::of_part(&edits);
    let found = findings::of(&gathered, &deltas, findings::Bounds::FILE).into_iter();
    found.filter_map(|Finding { key, fault }| state.error(key.kind, &key.id, &fault)).collect()
}

fn good(check: &Check, path: &Path, state: &State) -> ExitCode {
    let warnings = warnings(state);
    let mut counts: BTreeMap<ResourceKind, u64> = BTreeMap::new();
    state.documents().keys().for_each(|(kind, _)| *counts.entry(*kind).or_default() += 1);
    if check.json {
        let counts: serde_json::Map<String, Value> =
            counts.iter().map(|(kind, count)| (kind.plural().to_owned(), json!(count))).collect();
        println!(
            "{}",
            json!({ "ok": true, "resources": counts, "errors": [], "warnings": warnings.iter().map(super::one).collect::<Vec<_>>() })
        );
    } else {
        warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
        let parts: Vec<String> = counts.iter().map(|(kind, count)| counted(*count, kind.singular())).collect();
        println!("{}: good: {}", path.display(), parts.join(", "));
    }
    ExitCode::SUCCESS
}
