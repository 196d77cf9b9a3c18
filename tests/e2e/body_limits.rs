//! Bodies of every size, however they are sent, reach rules and origin, or `weir_bounds` decides.

use serde_json::json;
use weir_tests::fnv::fnv;
use weir_tests::origin::Echo;
use weir_tests::{Request, Setup};

use crate::READS_BODIES;

/// The body limit: small, so that bodies of about this size are quick to send.
const LIMIT: usize = 4096;
const LARGE: usize = 10 << 20;

fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 31 + at / 251) as u8).collect()
}

fn post(body: Vec<u8>, chunked: bool) -> Request {
    let request = Request::post("/", "application/octet-stream", body);
    if chunked { request.chunked() } else { request }
}

fn sizes() -> impl Iterator<Item = (usize, bool)> {
    [0, 1, LIMIT - 1, LIMIT, LIMIT + 1, LARGE].into_iter().flat_map(|size| [(size, false), (size, true)])
}

#[test]
fn in_open_mode_every_body_reaches_the_origin_byte_for_byte() {
    let setup = Setup::policy(READS_BODIES).http(&format!("weir_body_limit {LIMIT};\nweir_bounds open;"));
    let nginx = setup.proxy(Echo::start()).start();
    for (size, chunked) in sizes() {
        let body = bytes(size);
        let json = nginx.send(&post(body.clone(), chunked)).json();
        assert_eq!(
            (&json["body_length"], &json["body_fnv"]),
            (&json!(size), &json!(fnv(&body))),
            "{size} chunked {chunked}"
        );
    }
    assert!(nginx.error_log().contains("weir"), "a body over the limit is told in the error log");
}

#[test]
fn failing_closed_bodies_over_the_limit_are_413_and_all_others_pass() {
    let origin = Echo::start();
    let setup = Setup::policy(READS_BODIES).http(&format!("weir_body_limit {LIMIT};\nweir_bounds closed;"));
    let mut nginx = setup.proxy(&origin).start();
    for (size, chunked) in sizes() {
        let response = nginx.send(&post(bytes(size), chunked));
        let expected = if size > LIMIT { 413 } else { 200 };
        assert_eq!(response.status, expected, "{size} chunked {chunked}: {response:?}");
    }
    assert_eq!(origin.seen().len(), 8);
    nginx.stop();
    let failed = nginx.accesses(12).iter().filter(|line| line["verdict"] == "fail").count();
    assert_eq!(failed, 4);
}

#[test]
fn an_attack_within_the_limit_is_found_wherever_it_stands() {
    let origin = Echo::start();
    let setup = Setup::policy(READS_BODIES).http(&format!("weir_body_limit {LIMIT};\nweir_bounds open;"));
    let nginx = setup.proxy(&origin).start();
    let attack = b"attack-body";
    for (length, at, status) in [
        (attack.len(), 0, 403),
        (LIMIT, 0, 403),
        (LIMIT, LIMIT - attack.len(), 403),
        (LIMIT * 3, 10, 403),
        (LIMIT * 3, LIMIT - attack.len(), 403),
        (LIMIT * 3, LIMIT - 3, 200),
        (LIMIT * 3, LIMIT * 2, 200),
    ] {
        let mut body = vec![b'.'; length];
        body[at..at + attack.len()].copy_from_slice(attack);
        for chunked in [false, true] {
            assert_eq!(nginx.send(&post(body.clone(), chunked)).status, status, "{length} at {at} chunked {chunked}");
        }
    }
}

#[test]
fn rules_can_tell_that_a_body_was_cut() {
    let text = r#"
policies:
  - id: p
    rules:
      - {id: cut, when: 'http.request.body.truncated', action: {block: 413}}
      - {id: size, when: 'http.request.body.size in {7 9}', action: block}
"#;
    let nginx = Setup::policy(text).http(&format!("weir_body_limit {LIMIT};")).proxy(Echo::start()).start();
    for (size, status) in [(0, 200), (7, 403), (8, 200), (LIMIT, 200), (LIMIT + 1, 413)] {
        assert_eq!(nginx.send(&post(bytes(size), false)).status, status, "{size}");
    }
}

#[test]
fn a_body_spilled_to_a_file_is_inspected_and_passed_on() {
    for directive in ["client_body_buffer_size 1k;", "client_body_in_file_only on;", "client_body_in_single_buffer on;"]
    {
        let nginx = Setup::policy(READS_BODIES).http(directive).proxy(Echo::start()).start();
        for chunked in [false, true] {
            let mut body = bytes(100_000);
            let passed = nginx.send(&post(body.clone(), chunked));
            assert_eq!(passed.json()["body_fnv"], fnv(&body), "{directive} chunked {chunked}");
            body.extend(b"attack-body");
            assert_eq!(nginx.send(&post(body, chunked)).status, 403, "{directive} chunked {chunked}");
        }
    }
}

#[test]
fn slow_bodies_are_awaited() {
    let nginx = Setup::policy(READS_BODIES).proxy(Echo::start()).start();
    for (end, status) in [("attack-body", 403), ("harmless...", 200)] {
        let mut connection = nginx.connect();
        let body = format!("{}{end}", "x".repeat(30));
        let request = Request::post("/", "text/plain", body.clone());
        connection.send(&request.head());
        for byte in body.as_bytes() {
            connection.send(&[*byte]);
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        assert_eq!(connection.receive().status, status);
    }
}

#[test]
fn a_body_is_read_only_if_a_rule_needs_it() {
    // The request is blocked or answered by its head alone, while its body never arrives.
    let text = r#"
policies:
  - id: p
    rules:
      - {id: header, when: 'http.request.uri.path eq "/stop"', action: block}
      - {id: form, when: 'any(http.request.body.form.values[*] contains "attack")', action: block}
"#;
    let nginx =
        Setup::policy(text).server("location / { return 204; }\nlocation /file { try_files /a.txt =404; }").start();
    std::fs::write(nginx.path("html/a.txt"), "static").unwrap();
    for (target, content_type, status) in
        [("/stop", "application/x-www-form-urlencoded", 403), ("/file", "application/json", 405)]
    {
        let mut connection = nginx.connect();
        connection.send(
            format!(
                "POST {target} HTTP/1.1\r\nHost: a\r\nContent-Type: {content_type}\r\nContent-Length: 1000000\r\n\r\n"
            )
            .as_bytes(),
        );
        assert_eq!(connection.receive().status, status, "{target}");
    }
}
