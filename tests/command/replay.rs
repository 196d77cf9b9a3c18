//! `weir replay` agrees with nginx: the same requests, sent and replayed, fire the same rules.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use serde_json::Value;

use crate::running::{Running, command, wait_for};

/// A policy that runs CRS.
pub const POLICY: &str = "\
policies:
  - id: shop
    rules:
      - id: shop-crs
        when: 'true'
        action:
          crs:
            paranoia: 2 # the shop is strict
";

/// Waits for this many entries of an attack log and returns them.
pub fn entries(log: &Path, count: usize) -> Vec<Value> {
    let read = || std::fs::read_to_string(log).unwrap_or_default();
    wait_for("the attack log is written", || read().lines().count() >= count);
    read().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Output of a command that has to succeed.
pub fn output(arguments: &[&str]) -> String {
    let output = command(arguments).output().expect("runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("is text")
}

/// A request with its length, if it has a body.
fn request(line: &str, fields: &str, body: &str) -> String {
    let length = if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
    let usual = "Host: shop.example.com\r\nUser-Agent: test\r\nAccept: */*\r\nConnection: close\r\n";
    format!("{line} HTTP/1.1\r\n{usual}{fields}{length}\r\n{body}")
}

#[test]
fn replayed_requests_fire_the_rules_that_nginx_logged() {
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    let json = "Content-Type: application/json\r\n";
    let requests = [
        request("GET /search?q=1%27+or+1%3d1--+&page=2", "", ""),
        request("GET /a/../b//c?file=../../etc/passwd", "", ""),
        request("POST /post?id=7", form, "comment=%3Cscript%3Ealert(1)%3C/script%3E"),
        request("POST /api", json, "{\"a\": [{\"note\": \"1' union select a from b\"}]}"),
        request("GET /x.bak", "Cookie: basket=1%27+or+1%3d1--+\r\nReferer: http://x/;wget\r\n", ""),
        request("PUT /odd", "Content-Type: text/odd\r\n", "x"),
    ];
    let dir = tempfile::tempdir().expect("temp dir");
    let at = |name: &str| dir.path().join(name).to_str().expect("is text").to_owned();
    std::fs::write(at("policy.yaml"), POLICY).expect("writes");
    std::fs::write(at("requests"), requests.join("\r\n")).expect("writes");
    let up = Running::start(&["--dir", &at("run"), "--policy", &at("policy.yaml"), "--workers", "1"]);
    for request in &requests {
        let mut stream = TcpStream::connect(("127.0.0.1", up.port)).expect("connects");
        stream.write_all(request.as_bytes()).expect("sends");
        stream.read_to_end(&mut Vec::new()).expect("is answered");
    }
    let logged = entries(&dir.path().join("run/attack.log"), requests.len());
    let replayed = output(&["replay", &at("requests"), "--policy", &at("policy.yaml"), "--json", "--repeat", "1"]);
    let replayed: Vec<Value> = replayed.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((logged.len(), replayed.len()), (requests.len(), requests.len()));
    for (logged, replayed) in logged.iter().zip(&replayed) {
        let found = replayed["findings"].as_array().expect("a list").iter();
        let rules: Vec<&Value> = found.map(|finding| &finding["rule"]).collect();
        assert_eq!(logged["rule_ids"].as_array().expect("a list").iter().collect::<Vec<_>>(), rules, "{replayed}");
        for (ours, theirs) in [("score", "score"), ("verdict", "action"), ("status", "status"), ("target", "uri")] {
            assert_eq!(replayed[ours], logged[theirs], "{replayed}");
        }
    }
    // The log itself is replayed, too, as far as it contains the requests.
    let again = output(&["replay", &at("run/attack.log"), "--policy", &at("policy.yaml"), "--repeat", "1"]);
    assert!(again.contains("the log has no body") && again.contains("942100"), "{again}");
}
