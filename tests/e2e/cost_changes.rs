//! Counts of rules that a change leaves alone go on; those of changed rules begin at zero.

use serde_json::{Value, json};
use weir_ledger::{EntryKind, Report};
use weir_tests::{Gateway, Setup};

const WORKERS: u8 = 2;
const REQUESTS: u64 = 40;

fn policy(path: &str) -> Value {
    json!({"rules": [
        {"id": "changed", "when": format!("http.request.uri.path eq \"{path}\""), "action": "log"},
        {"id": "kept", "when": "http.request.uri.path contains \"found\"", "action": "log"},
    ]})
}

fn other(id: &str) -> Value {
    json!({"rules": [{"id": id, "when": "http.request.uri.path contains \"found\"", "action": "log"}]})
}

/// Hits of each rule, and its time.
fn counted(gateway: &Gateway, rule: &str) -> (u64, f64) {
    let report = Report::read(&gateway.nginx.prefix().join("run")).expect("the ledger is readable");
    let mut rules = report.entries.iter().filter(|entry| entry.entry.kind == EntryKind::Rule);
    let found = rules.find(|entry| entry.entry.id == rule).expect("the rule is in the ledger");
    (found.hits, found.own_ns)
}

fn request(gateway: &Gateway) {
    for _ in 0..REQUESTS {
        assert_eq!(gateway.nginx.get("/found").status, 200);
    }
}

#[test]
fn counts_of_unchanged_rules_go_on_when_others_change() {
    let setup = Setup::gateway().workers(WORKERS).http("weir_sample 1;");
    let gateway = Gateway::start_with(
        setup,
        &[
            ("sites/all", json!({"hosts": ["*"]})),
            ("routes/all", json!({"site": "all", "path": "/", "respond": {"status": 200, "body": "ok"}})),
            ("policies/first", policy("/found")),
            ("policies/other", other("elsewhere")),
            ("settings", json!({"policies": ["first", "other"]})),
        ],
    );
    request(&gateway);
    let [kept, changed, elsewhere] = ["kept", "changed", "elsewhere"].map(|rule| counted(&gateway, rule));
    assert_eq!((kept.0, changed.0, elsewhere.0), (REQUESTS, REQUESTS, REQUESTS));

    // Another rule of the same policy.
    let _ = gateway.api().put("policies/first", &policy("/other")).expect(200);
    assert_eq!([counted(&gateway, "kept"), counted(&gateway, "elsewhere")], [kept, elsewhere]);
    assert_eq!(counted(&gateway, "changed"), (0, 0.0));
    request(&gateway);
    assert_eq!(counted(&gateway, "kept").0, 2 * REQUESTS);

    // Another policy, and a list that no rule reads.
    let _ = gateway.api().put("policies/other", &other("new")).expect(200);
    let _ = gateway.api().put("lists/unread", &json!({"strings": ["a"]})).expect(201);
    request(&gateway);
    assert_eq!((counted(&gateway, "kept").0, counted(&gateway, "new").0), (3 * REQUESTS, REQUESTS));
    assert!(counted(&gateway, "kept").1 > kept.1);
}
