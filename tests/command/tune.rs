//! `weir tune` with a real nginx: a false positive is blocked, its exclusion is added to the policy,
//! nginx is reloaded, and the request passes. Similar requests elsewhere are still blocked. The same with the files of a
//! gateway, which are applied.

use std::process::Command;

use weir_tests::{Gateway, Setup};

use crate::replay::{POLICY, entries, output};
use crate::running::{Running, command, wait_for};

fn status(port: u16, target: &str) -> String {
    let url = format!("http://127.0.0.1:{port}{target}");
    let arguments = ["-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", "Host: shop.example.com", &url];
    let output = Command::new("curl").args(arguments).output().expect("curl is installed");
    String::from_utf8(output.stdout).expect("is text")
}

#[test]
fn a_named_false_positive_passes_after_a_reload_and_nothing_else_does() {
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

const GATEWAY: [(&str, &str); 2] = [
    (
        "site.yaml",
        "sites: {shop: {hosts: [shop.example.com], policies: [base, shop]}}\nroutes:\n  all: {site: shop, path: /, \
         respond: {status: 200, body: fine}}\n",
    ),
    (
        "policies.yaml",
        "policies:\n  base: {rules: [{id: git, when: 'http.request.uri.path contains \"/.git\"', action: block}]}\n  \
         shop: # ours\n    rules:\n      - {id: own, when: 'true', action: {rule_set: {set: own}}} # all\nrule_sets:\n  \
         own: {rules: 'SecRule ARGS \"@contains evil\" \"id:100,phase:2,deny\"'}\n",
    ),
];

#[test]
fn a_false_positive_of_a_gateway_passes_once_its_files_are_applied() {
    let dir = tempfile::tempdir().expect("temp dir");
    for (name, text) in GATEWAY {
        std::fs::write(dir.path().join(name), text).expect("writes");
    }
    let files = dir.path().to_str().expect("is text");
    let gateway = Gateway::start_with(Setup::gateway().workers(1), &[]);
    let run = gateway.nginx.path("run");
    let apply = || {
        let applied = command(&["apply", files, "--runtime"]).arg(&run).output().expect("runs");
        assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    };
    apply();
    let port = gateway.nginx.port;
    assert_eq!((status(port, "/a?q=evil"), status(port, "/b?q=evil")), ("403".to_owned(), "403".to_owned()));
    let logged = gateway.nginx.attacks(2);
    let id = logged[0]["request_id"].as_str().expect("an id");
    let log = gateway.nginx.path("attack.log");
    let log = log.to_str().expect("is text");
    let replayed = output(&["replay", log, "--repeat", "1", "--top", "0", "--policy", files]);
    assert!(
        replayed.contains("block by 100") && replayed.contains("route all of site shop: policies base, shop"),
        "{replayed}"
    );
    let _ = output(&["tune", log, "--false-positive", id, "--apply", files]);
    assert_eq!(status(port, "/a?q=evil"), "403", "files alone change nothing");
    apply();
    assert_eq!((status(port, "/a?q=evil"), status(port, "/b?q=evil")), ("200".to_owned(), "403".to_owned()));
    let text = std::fs::read_to_string(dir.path().join("policies.yaml")).expect("reads");
    assert!(
        text.contains("shop: # ours\n") && text.ends_with(GATEWAY[1].1.split_once("} # all").expect("there").1),
        "{text}"
    );
}
