//! The cost of each revision, and the change that made a rule slower.

use std::process::Command;

use serde_json::{Value, json};
use weir_tests::gateway::{Control, weir};
use weir_tests::load::{Life, during};
use weir_tests::wait::until;
use weir_tests::{Request, Setup};

/// The number of requests that `weir cost --since` needs before it compares.
const ENOUGH: u64 = 1_000;

fn policy(pattern: &str) -> Value {
    let look = |field: &str| json!({"id": "look", "when": format!("{field} matches r\"{pattern}\""), "action": "log"});
    json!({"rules": [look("http.request.uri.path"), {"id": "cheap", "when": "http.request.method eq \"PURGE\"", "action": "block"}]})
}

#[test]
fn the_change_that_made_a_rule_slower_is_named() {
    let setup = Setup::gateway().workers(1);
    let (state, runtime) = (setup.prefix().join("state"), setup.prefix().join("run"));
    let control = Control::start_with(&state, &runtime, &[("WEIR_COST_INTERVAL", "1")]);
    let made = control
        .api
        .put_all(&[
            ("sites/all", json!({"hosts": ["*"]})),
            ("routes/all", json!({"site": "all", "path": "/", "respond": {"status": 200, "body": "ok"}})),
            ("policies/shop", policy("^/never$")),
            ("settings", json!({"policies": ["shop"]})),
        ])
        .expect(200);
    let nginx = setup.start();
    // A path on which the second pattern has to try every starting position.
    let request = Request::get(&format!("/{}", "ab".repeat(300)));
    let history = |revision: u64| -> Value {
        let output = Command::new(weir())
            .arg("--runtime")
            .arg(&runtime)
            .arg("--control")
            .arg(control.api.socket())
            .args(["cost", "--json", "--since", &revision.to_string()])
            .output()
            .unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or(Value::Null)
    };
    let seen = |revision: u64| {
        until("enough requests of a revision", || {
            let all = history(1);
            let row = all["revisions"].as_array()?.iter().find(|row| row["revision"] == revision)?;
            (row["requests"].as_u64()? >= ENOUGH).then(|| row.clone())
        })
    };
    let under_load = |revision: u64| {
        let mut row = Value::Null;
        let _ = during(nginx.port, 4, Life::KeepAlive, &request, |_| row = seen(revision));
        row
    };
    let _ = under_load(made.revision());
    let answer = control.api.put("policies/shop", &policy("(?:a+b?)+(?:ba|ab){20,200}x$")).expect(200);
    let slow = answer.revision();
    let row = under_load(slow);
    assert_eq!(row["movers"][0]["name"], "rule shop/look", "{row:#}");
    let look = &row["movers"][0];
    assert!(look["ns_per_request"].as_f64() > look["ns_per_request_before"].as_f64(), "{row:#}");
    let page = |query: &str| control.api.get(&format!("cost/history?{query}")).expect(200).body;
    let (all, first) = (page(""), page("limit=1"));
    assert!(all["records"].as_array().is_some_and(|records| records.len() >= 2), "{all:#}");
    let second = page(&format!("limit=1&after_ms={}", first["next_ms"]));
    assert_eq!((&first["records"][0], &second["records"][0]), (&all["records"][0], &all["records"][1]));
    let _ = control.api.get("cost/history?limit=0").expect(400);
}
