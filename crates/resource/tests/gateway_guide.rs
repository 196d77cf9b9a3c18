//! What the guide to the gateway and the examples show is right, whole.

#![allow(clippy::unwrap_used)]

use std::collections::HashSet;
use std::path::Path;

use weir_policy::{Snapshot, Trial};
use weir_resource::{ResourceKind, State, check, parse_state};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Checks each document alone, and compiles what is compiled.
fn is_right(text: &str) -> State {
    let state = parse_state(text, Path::new("guide.yaml")).unwrap_or_else(|errors| panic!("{text}\n{errors}"));
    for ((kind, id), body) in state.documents() {
        let checked = check(*kind, id, body.to_string().as_bytes());
        assert!(checked.is_ok(), "{kind} {id}: {checked:?}");
    }
    let snapshot = Snapshot::build(
        &state.compiled(),
        &weir_policy::files::Disk,
        Path::new("/nowhere"),
        Trial::Each(&mut HashSet::new()),
    );
    assert!(snapshot.is_ok(), "{}", snapshot.unwrap_err());
    state
}

#[test]
fn the_guide_is_right() {
    let guide = std::fs::read_to_string(root().join("docs/gateway.md")).unwrap();
    let blocks: Vec<&str> = guide.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() > 6);
    blocks.into_iter().for_each(|block| drop(is_right(block)));
}

#[test]
fn policy_files_are_state_files() {
    is_right(&std::fs::read_to_string(root().join("examples/gateway.yaml")).unwrap());
    for name in ["minimal.yaml", "demo.yaml"] {
        let path = root().join("examples").join(name);
        let text = std::fs::read_to_string(&path).unwrap();
        // Names of files are relative to where the policy is, which is not what is tested here.
        let state = parse_state(&text, &path).unwrap_or_else(|errors| panic!("{errors}"));
        assert!(state.documents().keys().any(|(kind, _)| *kind == ResourceKind::Policies), "{name}");
    }
}

#[test]
fn policy_files_refuse_what_only_a_gateway_has() {
    let errors = Snapshot::parse("sites: {a: {hosts: [a]}}\npolicies: []\n", Path::new("p.yaml")).unwrap_err();
    let hint = errors.errors()[0].hint.as_deref().unwrap();
    assert!(hint.contains("weir apply"), "{hint}");
}
