//! `weir tune` with a real nginx: a false positive is blocked, its exclusion is added to the policy,
//! nginx is reloaded, and the request passes. Similar requests elsewhere are still blocked.

use std::process::Command;

use crate::replay::{POLICY, entries, has_crs, output};
use crate::running::{Running, wait_for};

fn status(port: u16, target: &str) -> String {
    let url = format!("http://127.0.0.1:{port}{target}");
    let arguments = ["-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", "Host: shop.example.com", &url];
    let output = Command::new("curl").args(arguments).output().expect("curl is installed");
    String::from_utf8(output.stdout).expect("is text")
}

#[test]
fn a_named_false_positive_passes_after_a_reload_and_nothing_else_does() {
    if !has_crs() {
        return;
    }
    let dir = tempfile::tempdir().expect("temp dir");
    let at = |name: &str| dir.path().join(name).to_str().expect("is text").to_owned();
    std::fs::write(at("policy.yaml"), POLICY).expect("writes");
    let up = Running::start(&["--policy", &at("policy.yaml"), "--workers", "1"]);
    let attack = "1%27+or+1%3d1--+";
    let (named, elsewhere) = (format!("/search?q={attack}"), format!("/other?q={attack}"));
    assert_eq!(status(up.port, &named), "403");
    let log = up.dir().join("attack.log");
    let logged = entries(&log, 1);
    let id = logged[0]["request_id"].as_str().expect("an id");
    let log = log.to_str().expect("is text");
    let proposed = output(&["tune", log, "--false-positive", id, "--apply", &at("policy.yaml")]);
    assert!(
        proposed.contains("{rule: 942100, target: 'ARGS:q', when: 'http.request.uri.path eq \"/search\"'}"),
        "{proposed}"
    );
    let policy = std::fs::read_to_string(at("policy.yaml")).expect("reads");
    assert!(policy.contains("paranoia: 2 # the shop is strict\n"), "{policy}");
    // SAFETY: sends a signal to the nginx that this test has started.
    assert_eq!(unsafe { libc::kill(i32::try_from(up.nginx()[0]).expect("is a pid"), libc::SIGHUP) }, 0);
    wait_for("the exclusion holds", || status(up.port, &named) == "200");
    assert_eq!(status(up.port, &elsewhere), "403");
    assert_eq!(status(up.port, &format!("/search?z={attack}")), "403");
}
