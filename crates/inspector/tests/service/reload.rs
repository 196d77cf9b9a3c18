//! Policies that change while the service runs.

use std::time::{Duration, Instant};

use weir_inspect::Advice;

use crate::client::{Client, PATIENCE, get, start};

fn policy(path: &str) -> String {
    format!("policies: [{{id: p, rules: [{{id: r, when: 'http.request.uri.path eq \"{path}\"', action: block}}]}}]\n")
}

fn wait_for(client: &mut Client, path: &str) {
    let begun = Instant::now();
    while client.ask(&get("own", path)).advice != Advice::Refuse {
        assert!(begun.elapsed() < PATIENCE, "{path} was never refused");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_changed_policy_is_taken_over_and_a_bad_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("policy.yaml");
    std::fs::write(&file, policy("/a")).unwrap();
    let service = start("detectors: {own: {kind: rules, policy: policy.yaml}}\n", folder.path());
    let mut client = service.client();
    wait_for(&mut client, "/a");
    std::fs::write(&file, policy("/other")).unwrap();
    wait_for(&mut client, "/other");
    assert_eq!(client.ask(&get("own", "/a")).advice, Advice::Pass);
    std::fs::write(&file, "policies: [{id: p, rules: [{id: r, when: 'htp.host eq \"\"', action: block}]}]\n").unwrap();
    let begun = Instant::now();
    while !service.metrics().contains("weir_inspector_failed_reloads_total 1") {
        assert!(begun.elapsed() < PATIENCE, "{}", service.metrics());
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(client.ask(&get("own", "/other")).advice, Advice::Refuse, "the earlier policy");
    std::fs::write(&file, policy("/third")).unwrap();
    wait_for(&mut client, "/third");
}
