//! The documents of a gateway: compiled together, each from its own source, with errors that lead to it.

#![allow(clippy::unwrap_used)]

use std::collections::HashSet;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use weir_gateway::Documents;
use weir_gateway::resource::{Document, Resource, ResourceKind, Settings};
use weir_policy::{MAX_PLAN_POLICIES, MAX_POLICIES, PolicyErrors, Snapshot, Trial};

fn document(id: &str, json: &Value) -> Document {
    Document::new(id, json.to_string())
}

fn settings(json: &Value) -> Resource {
    Resource::Settings(Settings { compiled: Some(document("", json)), ..Settings::default() })
}

fn rule(id: &str, when: &str, action: Value) -> Value {
    json!({ "rules": [{ "id": id, "when": when, "action": action }] })
}

fn build(resources: impl IntoIterator<Item = Resource>) -> Result<Snapshot, PolicyErrors> {
    let documents: Documents = resources.into_iter().collect();
    Snapshot::build(&documents, &weir_policy::files::Disk, Path::new("/nowhere"), Trial::Each(&mut HashSet::new()))
}

fn policy(id: &str, when: &str, action: Value) -> Resource {
    Resource::Policy(document(id, &rule(&format!("{id}-rule"), when, action)))
}

#[test]
fn there_may_be_no_policies() {
    assert_eq!(build([]).unwrap().policy_names().count(), 0);
    let trusted = json!({ "client_address": { "trusted": ["10.0.0.0/8"] } });
    assert_eq!(build([settings(&trusted)]).unwrap().client_address().trusted.len(), 1);
    assert!(build([Resource::List(document("l", &json!({ "strings": ["a"] })))]).is_ok());
}

#[test]
fn policies_are_sorted_and_use_lists_and_rule_sets() {
    let own = json!({ "rules": "SecRule ARGS \"@rx evil\" \"id:1,phase:2,deny\"" });
    let snapshot = build([
        policy("b", "http.host in $l", json!("block")),
        policy("a", "true", json!({ "rule_set": { "set": "own" } })),
        Resource::List(document("l", &json!({ "strings": ["x"] }))),
        Resource::RuleSet(document("own", &own)),
    ])
    .unwrap();
    assert_eq!(snapshot.policy_names().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(snapshot.rules().last().unwrap().file.as_deref(), Some("rule_sets/own"));
    snapshot.plan(&["a", "b"]).unwrap();
}

#[test]
fn errors_lead_to_their_documents() {
    let set = json!({ "rules": "SecRule ARGS \"@rx x\" \"id:1,phase:2,deny\"\n\nSecRul x" });
    let own = || Resource::RuleSet(document("own", &set));
    let list = |json: Value| Resource::List(document("l", &json));
    let good = || policy("a", "ssl", json!("log"));
    let files = json!({ "rule_set": { "files": ["/nowhere/x.conf"] } });
    let two = json!({ "rules": [
        { "id": "one", "when": "ssl", "action": "log" },
        { "id": "a-rule", "when": "ssl", "action": "log" },
    ] });
    let large = format!("http.host matches \"{}\"", "(a{1000}){1000}");
    type Expected = (ResourceKind, &'static str, &'static str, &'static str);
    let cases: Vec<(Vec<Resource>, Expected)> = vec![
        (
            vec![policy("b", "http.host in $ofice", json!("log")), good()],
            (ResourceKind::Policies, "b", "/rules/0/when", "unknown list"),
        ),
        (
            vec![policy("a", "http.hots eq \"a\"", json!("log"))],
            (ResourceKind::Policies, "a", "/rules/0/when", "unknown field"),
        ),
        (
            vec![policy("b", &large, json!("log")), good()],
            (ResourceKind::Policies, "b", "/rules/0/when", "the pattern needs an automaton"),
        ),
        (
            vec![good(), Resource::Policy(document("b", &two))],
            (ResourceKind::Policies, "b", "/rules/1/id", "the rule id \"a-rule\" is already taken"),
        ),
        (
            vec![good(), list(json!({ "addresses": ["10.0.0.0/8", "y"] }))],
            (ResourceKind::Lists, "l", "/addresses/1", "expected "),
        ),
        (
            vec![good(), list(json!({ "kind": "strings", "file": "no.txt" }))],
            (ResourceKind::Lists, "l", "/file", "cannot read"),
        ),
        (
            vec![good(), settings(&json!({ "client_address": { "trusted": ["x"] } }))],
            (ResourceKind::Settings, "", "/client_address/trusted/0", "expected "),
        ),
        (
            vec![policy("a", "true", json!({ "rule_set": { "set": "own" } })), own()],
            (ResourceKind::RuleSets, "own", "/rules", "line 3: "),
        ),
        (vec![good(), own()], (ResourceKind::RuleSets, "own", "/rules", "line 3: ")),
        (vec![policy("a", "true", files)], (ResourceKind::Policies, "a", "/rules/0/action", "/nowhere/x.conf")),
        (
            vec![policy("a", "true", json!({ "rule_set": { "set": "owm" } })), own()],
            (ResourceKind::Policies, "a", "/rules/0/action/rule_set/set", "there is no rule set"),
        ),
    ];
    for (resources, (kind, id, pointer, message)) in cases {
        let errors = build(resources).unwrap_err();
        let (found, of, fault) = errors.errors()[0].in_document().unwrap();
        assert_eq!((found, of, fault.pointer.as_str()), (kind, id, pointer), "{errors}");
        assert!(fault.message.starts_with(message), "{}", fault.message);
    }
}

fn many(count: usize) -> Vec<Resource> {
    let one = |n: usize| policy(&format!("p{n}"), &format!("http.request.uri.path eq \"/{n}\""), json!("block"));
    (0..count).map(one).collect()
}

#[test]
fn a_set_has_at_most_64_policies_and_a_gateway_thousands() {
    let snapshot = build(many(MAX_PLAN_POLICIES + 1)).unwrap();
    let names: Vec<String> = snapshot.policy_names().map(str::to_owned).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    snapshot.plan(&names[1..]).unwrap();
    let error = snapshot.plan(&names).unwrap_err().to_string();
    assert_eq!(error, "there are 65 policies; at most 64 are possible");
    let errors = build(many(MAX_POLICIES + 1)).unwrap_err();
    assert!(errors.to_string().contains("10001 policies; at most 10000 are possible in the gateway"), "{errors}");
}

/// Figures for docs/policy.md: `cargo test --release -p weir-policy --test documents cost -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn cost_of_many_policies() {
    let resident = || -> usize {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    for count in [1, 64, 1_000, 4_000, 10_000] {
        let documents: Documents = many(count).into_iter().collect();
        let before = resident();
        let begun = Instant::now();
        let worker = Snapshot::build(&documents, &weir_policy::files::Disk, Path::new(""), Trial::Passed).unwrap();
        let built = begun.elapsed();
        let begun = Instant::now();
        (0..count).for_each(|n| drop(worker.plan(&[&format!("p{n}")]).unwrap()));
        let plans = begun.elapsed();
        let memory = resident() - before;
        let begun = Instant::now();
        let mut tried = HashSet::new();
        Snapshot::build(&documents, &weir_policy::files::Disk, Path::new(""), Trial::Each(&mut tried)).unwrap();
        let first = begun.elapsed();
        let begun = Instant::now();
        Snapshot::build(&documents, &weir_policy::files::Disk, Path::new(""), Trial::Each(&mut tried)).unwrap();
        println!(
            "{count} policies: worker {built:.1?} and {plans:.1?} for a plan of each, {memory} KiB; sandbox {first:.1?}, again {:.1?}",
            begun.elapsed()
        );
    }
}
