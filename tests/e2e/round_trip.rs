//! What `weir get` prints, `weir apply` takes: nothing changes, and after other changes it is as it was.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use weir_tests::{Api, Control};

use crate::gateway_tls::certificate;

fn weir(runtime: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(weir_tests::gateway::weir());
    command.arg("--runtime").arg(runtime).args(arguments).output().expect("the command is built")
}

/// The output of a command that succeeds.
fn said(runtime: &Path, arguments: &[&str]) -> String {
    let output = weir(runtime, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn state(api: &Api) -> (Value, Value) {
    (api.get("state").expect(200).body, api.get("files").expect(200).body)
}

fn newest(api: &Api) -> u64 {
    api.get("workers").expect(200).body["revision"].as_u64().expect("a number")
}

#[test]
fn what_get_prints_is_applied_without_a_change_and_brings_everything_back() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    let (run, all) = (at("run"), at("all.yaml"));
    let control = Control::start(&at("state"), &run);
    let api = &control.api;
    let (inline, other) =
        (certificate(directory.path(), "a", &["a.test"]), certificate(directory.path(), "c", &["c.test"]));
    let _ = certificate(directory.path(), "b", &["b.test"]);
    std::fs::create_dir(at("in")).expect("ours");
    std::fs::write(at("in/words.txt"), "evil\n").expect("ours");
    std::fs::write(at("in/rules.conf"), "SecRule ARGS \"@contains x\" \"id:1,phase:1,deny\"\n").expect("ours");
    let rules = "SecRule ARGS \"@rx ^\\d+: 'y' # no\\s\" \\\n  \"id:2,phase:1,\\\n  pass,nolog\"\n";
    let documents = [
        ("settings", json!({"client_address": {"trusted": ["10.0.0.0/8"]}, "policies": ["waf"]})),
        ("lists/words", json!({"kind": "strings", "file": at("in/words.txt"), "refresh": "manual"})),
        (
            "lists/odd",
            json!({"strings": ["1.2", "yes", "null", "~", "2026-01-01", "a: b", "# c", " d ", "ä\u{1F600}", "'\""]}),
        ),
        ("lists/net", json!({"addresses": ["10.0.0.0/8", "::1"]})),
        ("rule_sets/own", json!({"rules": rules})),
        ("rule_sets/files", json!({"files": [at("in/rules.conf")]})),
        (
            "policies/waf",
            json!({"rules": [
                {"id": "word", "when": "http.request.uri.args[\"q\"][0] in $words", "action": "block"},
                {"id": "set", "when": "true", "score": 5, "actions": [{"rule_set": {"set": "own"}}, {"tag": "1.2"}]},
            ]}),
        ),
        ("certificates/a", json!({"certificate": inline.0, "key": inline.1})),
        (
            "certificates/b",
            json!({"certificate": {"file": at("b.crt")}, "key": {"file": at("b.key")}, "refresh": "12h"}),
        ),
        (
            "upstreams/app",
            json!({"balance": "least_connections", "members": {
            "short": "127.0.0.1:8080", "long": {"address": "127.0.0.1:8081", "weight": 3, "backup": true}, "10": "127.0.0.1:80"}}),
        ),
        ("upstreams/empty", json!({})),
        ("topics/orders", json!({"topics": ["orders/#", "stock/+", "#"], "history": 100})),
        ("sites/a", json!({"hosts": ["a.test"], "tls": {"certificate": "a", "min_version": "1.3"}})),
        ("sites/b", json!({"hosts": ["b.test", "*.b.test"], "tls": {"certificate": "b"}, "policies": []})),
        (
            "routes/a",
            json!({"site": "a", "path": {"regex": "^/api/v\\d+\\x20"}, "to": "app", "timeouts": {"read": "250ms"}}),
        ),
        (
            "routes/b",
            json!({"site": "b", "split": [{"upstream": "app", "weight": 95}, {"upstream": "empty", "weight": 5}],
            "mirror": {"upstream": "app", "percent": 12.5}}),
        ),
        (
            "routes/live",
            json!({"site": "b", "path": "/live", "messages": {"topics": "orders", "origins": ["*"], "ping": "5s"}}),
        ),
    ];
    let _ = api.put_all(&documents).expect(200);
    let (before, revision) = (state(api), newest(api));
    let printed = said(&run, &["get"]);
    assert!(!printed.contains("PRIVATE KEY") && printed.contains("sha256"), "{printed}");
    std::fs::write(&all, &printed).expect("ours");
    let file = all.to_str().expect("UTF-8");
    let unchanged = |arguments: &[&str]| {
        let text = said(&run, arguments);
        assert!(
            text.ends_with("nothing to change\n"),
            "{text}{:#}",
            api.get(&format!("revisions/{}/diff", newest(api))).body
        );
        assert_eq!((state(api), newest(api)), (before.clone(), revision), "{arguments:?}");
    };
    unchanged(&["apply", file]);
    unchanged(&["apply", "--prune", file]);
    std::fs::write(at("all.json"), said(&run, &["get", "--json"])).expect("ours");
    unchanged(&["apply", "--prune", at("all.json").to_str().expect("UTF-8")]);

    let change = |method: &str, path: &str, body: Value| json!({"method": method, "path": path, "body": body});
    let changes = json!({"changes": [
        change("DELETE", "/routes/a", Value::Null), change("DELETE", "/sites/a", Value::Null),
        change("DELETE", "/certificates/a", Value::Null),
        change("PUT", "/certificates/b", json!({"certificate": other.0, "key": other.1})),
        change("PUT", "/certificates/extra", json!({"certificate": other.0, "key": other.1})),
        change("PUT", "/upstreams/app", json!({"members": {"new": "127.0.0.1:1"}})),
        change("PUT", "/settings", json!({})),
        change("DELETE", "/lists/net", Value::Null),
        change("PATCH", "/policies/waf", json!({"mode": "detect"})),
    ]});
    let _ = api.post("transactions", &changes).expect(200);
    said(&run, &["apply", "--dry-run", "--prune", file]);
    said(&run, &["apply", file]);
    assert_eq!(state(api).0["certificates"]["extra"]["certificate"], other.0, "only `--prune` deletes");
    said(&run, &["apply", "--prune", file]);
    assert_eq!(state(api), before);

    // Another machine has no such key, and says so before anything changes.
    let (elsewhere, other_run) = (at("elsewhere"), at("other-run"));
    let second = Control::start(&elsewhere, &other_run);
    let output = weir(&other_run, &["apply", file]);
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && complaint.contains("all.yaml:16:15: the gateway does not have"), "{complaint}");
    assert!(complaint.contains("weir backup"), "{complaint}");
    assert_eq!(newest(&second.api), 0);
}
