//! `weir check` of files for `weir apply`: everything that `apply` to an empty gateway would refuse. Files are taken as
//! the whole configuration; `weir apply --dry-run` checks them together with what a gateway has already.

use std::collections::{BTreeMap, HashSet};
use std::process::ExitCode;

use serde_json::{Value, json};
use weir_control::findings::{self, Finding};
use weir_policy::{Fault, PolicyError, Snapshot};
use weir_resource::{ResourceKind, State};

use super::lint::Findings;
use super::{bad, good_value, named, refused};
use crate::Failure;
use crate::arguments::Check;
use crate::command::gateway_files::{self, TextFile, compile, placed};
use crate::style::{Stream, Style};
use crate::table::counted;

pub(super) fn run(check: &Check, files: &[TextFile]) -> Result<ExitCode, Failure> {
    let name = named(&check.files);
    match gateway_files::parse(files).and_then(|state| Ok((whole(&state)?, state))) {
        Ok((snapshot, state)) => Ok(good(check, &name, &state, &snapshot)),
        Err(errors) if check.json => {
            println!("{}", bad(&errors));
            Ok(ExitCode::FAILURE)
        }
        Err(errors) => Err(refused(&errors.into(), name)),
    }
}

/// The policies of documents that are right together.
fn whole(state: &State) -> Result<Snapshot, Vec<PolicyError>> {
    let mut errors = gateway_files::faults(state);
    let compiled = compile(state, true);
    let found = match &compiled {
        Ok(snapshot) if errors.is_empty() => uncompiled_sets(state, snapshot),
        Ok(_) => Vec::new(),
        Err(found) => found.clone(),
    };
    // That something is not there is found by both.
    let place = |error: &PolicyError| (error.file.clone(), error.line, error.column);
    let known: HashSet<(String, u32, u32)> = errors.iter().map(place).collect();
    errors.extend(found.into_iter().filter(|error| !known.contains(&place(error))));
    compiled.ok().filter(|_| errors.is_empty()).ok_or(errors)
}

/// Sets of policies that do not compile together, where they are named.
fn uncompiled_sets(state: &State, snapshot: &Snapshot) -> Vec<PolicyError> {
    let mut known = HashSet::new();
    let mut errors = Vec::new();
    for ((kind, id), document) in state.documents() {
        let names: Vec<&str> =
            document["policies"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if let (true, Err(error)) = (known.insert(names.clone()), snapshot.plan(&names)) {
            let fault = Fault { pointer: "/policies".to_owned(), message: error.to_string(), ..Fault::default() };
            errors.extend(state.error(*kind, id, &fault));
        }
    }
    errors
}

/// What is odd about the resources, at its place in the file.
fn found(state: &State) -> Vec<PolicyError> {
    let (gathered, deltas) =
        weir_control::state::State::of_part(&gateway_files::edits(state), &gateway_files::CertificateFiles::default());
    let found = findings::of(&gathered, &deltas, findings::Bounds::FILE).into_iter();
    found.filter_map(|Finding { key, fault }| state.error(key.kind, &key.id, &fault)).collect()
}

fn good(check: &Check, name: &str, state: &State, snapshot: &Snapshot) -> ExitCode {
    let mut counts: BTreeMap<ResourceKind, u64> = BTreeMap::new();
    state.documents().keys().for_each(|(kind, _)| *counts.entry(*kind).or_default() += 1);
    let texts = gateway_files::rule_set_texts(state);
    let findings = if check.lint { Findings::of_policy(snapshot, &texts) } else { Findings::default() };
    let compiled = snapshot.warnings().iter().map(|warning| placed(state, warning));
    let warnings: Vec<PolicyError> = state.warnings().iter().cloned().chain(compiled).chain(found(state)).collect();
    if check.json {
        let counts = counts.iter().map(|(kind, count)| (kind.plural().to_owned(), json!(count)));
        let mut value = good_value(check, snapshot, &warnings, &findings);
        value["resources"] = Value::Object(counts.collect());
        println!("{value}");
    } else {
        let style = Style::of(Stream::Err);
        warnings.iter().for_each(|warning| eprintln!("{} {warning}", style.yellow("warning:")));
        findings.print();
        let parts: Vec<String> = counts.iter().map(|(kind, count)| counted(*count, kind.singular())).collect();
        println!("{name}: good: {}", parts.join(", "));
    }
    findings.exit_code(check.strict)
}
