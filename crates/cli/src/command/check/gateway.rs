//! `weir check` of files for `weir apply`: what they say, whether their policies compile, and whether their documents fit
//! together. What they refer to may also be in the gateway; `weir apply --dry-run` checks that.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};
use weir_policy::document::{parse, value};
use weir_policy::source::Source;
use weir_policy::{PolicyError, Snapshot, Trial};
use weir_resource::{ResourceKind, State};

use crate::arguments::Check;
use crate::style::{Stream, Style};
use crate::table::counted;
use crate::{Failure, body, state_files};

/// Whether a file is one for a gateway, by its keys; a directory is one of them.
pub(super) fn is_one(path: &Path) -> bool {
    if path.is_dir() {
        return true;
    }
    let Ok(text) = body::file(path) else { return false };
    let document = match parse(&Source::new(path.display().to_string(), &text)) {
        Ok(root) => value(&root),
        Err(_) => return false,
    };
    // Policy files may have lists and rule sets, too, and always have policies as a list.
    let in_policy_files = [ResourceKind::Lists, ResourceKind::RuleSets, ResourceKind::Policies];
    let mut of_a_gateway = ResourceKind::written().filter(|kind| !in_policy_files.contains(kind));
    let has = |kind: ResourceKind| document.get(kind.plural()).is_some();
    of_a_gateway.any(has)
        || document["policies"].is_object()
        || (!has(ResourceKind::Policies) && has(ResourceKind::RuleSets))
}

pub(super) fn run(check: &Check, paths: &[&PathBuf]) -> Result<ExitCode, Failure> {
    let paths: Vec<PathBuf> = paths.iter().map(|path| (*path).clone()).collect();
    let name = match paths.as_slice() {
        [path] => path.display().to_string(),
        paths => format!("{} files", paths.len()),
    };
    let errors = match state_files::read(&paths)? {
        Err(errors) => errors,
        Ok(state) => {
            let (mut errors, compiled) = compile(&state);
            errors.extend(state.clashes());
            if errors.is_empty() {
                let warnings = [state.warnings(), &compiled, &state.foreign_references()].concat();
                return Ok(good(check, &name, &state, &warnings));
            }
            errors
        }
    };
    if check.json {
        println!("{}", json!({ "ok": false, "errors": errors.iter().map(super::one).collect::<Vec<_>>() }));
        return Ok(ExitCode::FAILURE);
    }
    errors.iter().for_each(|error| eprintln!("{error}"));
    Err(Failure::new(format!("{name}: {}", counted(errors.len() as u64, "error"))))
}

/// What is wrong with the policies, or else what is odd about them, at its place in the files.
fn compile(state: &State) -> (Vec<PolicyError>, Vec<PolicyError>) {
    let place = |error: &PolicyError| {
        let placed = error.in_document().and_then(|(kind, id, fault)| state.error(kind, id, &fault));
        placed.unwrap_or_else(|| error.clone())
    };
    // Names of files are absolute in the documents.
    let built =
        Snapshot::build(&state.compiled(), &weir_policy::files::Disk, Path::new(""), Trial::Each(&mut HashSet::new()));
    match built {
        Ok(snapshot) => (Vec::new(), snapshot.warnings().iter().map(place).collect()),
        Err(errors) => (errors.errors().iter().map(place).collect(), Vec::new()),
    }
}

fn good(check: &Check, name: &str, state: &State, warnings: &[PolicyError]) -> ExitCode {
    let mut counts: BTreeMap<ResourceKind, u64> = BTreeMap::new();
    state.documents().keys().for_each(|(kind, _)| *counts.entry(*kind).or_default() += 1);
    if check.json {
        let counts: serde_json::Map<String, Value> =
            counts.iter().map(|(kind, count)| (kind.plural().to_owned(), json!(count))).collect();
        let warnings: Vec<Value> = warnings.iter().map(super::one).collect();
        println!("{}", json!({ "ok": true, "resources": counts, "errors": [], "warnings": warnings }));
    } else {
        let style = Style::of(Stream::Err);
        warnings.iter().for_each(|warning| eprintln!("{} {warning}", style.yellow("warning:")));
        let parts: Vec<String> = counts.iter().map(|(kind, count)| counted(*count, kind.singular())).collect();
        println!("{name}: good: {}", parts.join(", "));
    }
    ExitCode::SUCCESS
}
