//! HTTP/1.0, HTTP/1.1 with its corner cases, HTTP/2 and TLS are evaluated and forwarded alike.

use serde_json::json;
use weir_tests::client::curl;
use weir_tests::fnv::fnv;
use weir_tests::origin::Echo;
use weir_tests::tls::Certificate;
use weir_tests::{Nginx, Request, Setup, port};

use crate::LOOKS_EVERYWHERE;

#[test]
fn expect_100_continue_is_answered_when_the_body_is_wanted() {
    let nginx = Setup::policy(LOOKS_EVERYWHERE).proxy(Echo::start()).start();
    for (body, status) in [("harmless", 200), ("an attack-body", 403)] {
        let mut connection = nginx.connect();
        let request = Request::post("/", "text/plain", body).header("Expect", "100-continue");
        connection.send(&request.head());
        assert_eq!(connection.receive().status, 100);
        connection.send(body.as_bytes());
        assert_eq!(connection.receive().status, status);
    }
    let mut connection = nginx.connect();
    connection.send(&Request::post("/attack-path", "text/plain", "x").header("Expect", "100-continue").head());
    assert_eq!(connection.receive().status, 403, "a blocked header asks for no body");
}

#[test]
fn pipelined_requests_are_evaluated_one_by_one() {
    let nginx = Setup::policy(LOOKS_EVERYWHERE).proxy(Echo::start()).start();
    let requests = [
        (Request::get("/1"), 200),
        (Request::post("/2", "text/plain", "attack-body"), 403),
        (Request::post("/3", "text/plain", "fine").chunked(), 200),
        (Request::get("/attack-path"), 403),
        (Request::post("/attack-path", "text/plain", "x".repeat(3000)), 403),
        (Request::get("/6"), 200),
    ];
    let mut connection = nginx.connect();
    let wire: Vec<u8> = requests.iter().flat_map(|(request, _)| request.wire()).collect();
    connection.send(&wire);
    let statuses: Vec<u16> = requests.iter().map(|_| connection.receive().status).collect();
    assert_eq!(statuses, requests.map(|(_, status)| status));
    let lines = nginx.accesses(6);
    let numbers: Vec<_> = lines.iter().map(|line| line["connection_requests"].clone()).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6].map(|number| json!(number)));
}

#[test]
fn http_1_0_with_and_without_host_is_evaluated() {
    let nginx = Setup::policy(LOOKS_EVERYWHERE).proxy(Echo::start()).start();
    for (wire, status) in [
        ("GET / HTTP/1.0\r\n\r\n", 200),
        ("GET /attack-path HTTP/1.0\r\n\r\n", 403),
        ("POST / HTTP/1.0\r\nHost: a\r\nContent-Length: 11\r\n\r\nattack-body", 403),
        ("POST / HTTP/1.0\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", 200),
    ] {
        let mut connection = nginx.connect();
        connection.send(wire.as_bytes());
        assert_eq!(connection.receive().status, status, "{wire}");
    }
    let lines = nginx.accesses(4);
    assert!(lines.iter().all(|line| line["protocol"] == "HTTP/1.0"), "{lines:#?}");
}

/// An nginx with a TLS server that also speaks HTTP/2, and its port.
fn tls(policy: &str) -> (Nginx, u16) {
    let setup = Setup::policy(policy);
    let certificate = Certificate::create(setup.prefix());
    let port = port::free();
    let server = format!(
        "server {{ listen 127.0.0.1:{port} ssl http2; ssl_protocols TLSv1.2 TLSv1.3;\n{}location / {{ proxy_pass http://{}; }} }}",
        certificate.directives(),
        Echo::start()
    );
    (setup.http(&server).workers(1).start(), port)
}

#[test]
fn http_2_requests_are_evaluated_with_headers_and_bodies() {
    let (nginx, port) = tls(LOOKS_EVERYWHERE);
    let large = nginx.path("large");
    std::fs::write(&large, "y".repeat(300_000)).unwrap();
    let large_at = format!("@{}", large.display());
    let url = |path: &str| format!("https://localhost:{port}{path}");
    for (arguments, path, status) in [
        (vec![], "/", 200),
        (vec![], "/attack-path", 403),
        (vec!["-A", "attack-agent"], "/", 403),
        (vec!["-b", "a=attack-cookie"], "/", 403),
        (vec!["-H", "X-Probe: attack-header"], "/", 403),
        (vec!["-d", "a=attack-form"], "/", 403),
        (vec!["-d", "a=b"], "/", 200),
        (vec!["--data-binary", &large_at], "/", 200),
        (vec!["-X", "POST"], "/", 200),
    ] {
        let url = url(path);
        let response = curl(&[&["--http2", &url], arguments.as_slice()].concat());
        assert_eq!(response.status, status, "{arguments:?} {path}");
        if large_at == *arguments.last().unwrap_or(&"") {
            assert_eq!(response.json()["body_fnv"], fnv(&[b'y'; 300_000]));
        }
    }
    let lines = nginx.accesses(9);
    assert!(lines.iter().all(|line| line["protocol"] == "HTTP/2.0"), "{lines:#?}");
    assert!(lines.iter().all(|line| line["host"] == "localhost"), "{lines:#?}");
}

#[test]
fn http_2_cookies_sent_in_pieces_are_one_header() {
    let (nginx, port) = tls(LOOKS_EVERYWHERE);
    let response =
        curl(&["--http2", &format!("https://localhost:{port}/"), "-H", "Cookie: a=1", "-H", "Cookie: b=attack-cookie"]);
    assert_eq!(response.status, 403);
    assert_eq!(nginx.attacks(1)[0]["rule_ids"], json!(["cookie"]));
}

#[test]
fn rules_and_logs_see_tls_properties() {
    let text = r#"
policies:
  - id: p
    rules:
      - {id: facts, when: 'ssl and tls.version eq "TLSv1.3" and tls.server_name eq "weir.test" and len(tls.cipher) gt 5', action: {set_header: {on: response, name: X-Tls, value: tls.cipher}}}
      - {id: old, when: 'tls.version eq "TLSv1.2"', action: block}
"#;
    let (nginx, port) = tls(text);
    let resolve = format!("weir.test:{port}:127.0.0.1");
    let url = format!("https://weir.test:{port}/");
    let response = curl(&["--http1.1", "--resolve", &resolve, &url]);
    let cipher = response.header("x-tls").expect("the rule has matched").to_owned();
    assert_eq!(curl(&["--tls-max", "1.2", "--resolve", &resolve, &url]).status, 403);
    assert_eq!(nginx.get("/missing").status, 404, "without TLS");
    let lines = nginx.accesses(3);
    let first = &lines[0];
    assert_eq!((&first["tls_version"], &first["tls_cipher"]), (&json!("TLSv1.3"), &json!(cipher)));
    assert_eq!((&first["sni"], &first["scheme"]), (&json!("weir.test"), &json!("https")));
    assert_eq!((&lines[2]["tls_version"], &lines[2]["scheme"]), (&json!(""), &json!("http")));
}

#[test]
fn http_2_uploads_without_a_length_are_read_and_limited() {
    let (nginx, port) = tls(&format!(
        "{LOOKS_EVERYWHERE}      - {{id: cut, when: 'http.request.body.truncated', action: {{block: 413}}}}\n"
    ));
    let upload = |bytes: &[u8]| {
        std::fs::write(nginx.path("upload"), bytes).unwrap();
        let (from, url) = (nginx.path("upload").display().to_string(), format!("https://localhost:{port}/"));
        curl(&["--http2", "-T", &from, "-H", "Transfer-Encoding: chunked", &url])
    };
    let body = vec![b'z'; 600_000];
    let passed = upload(&body);
    assert_eq!((passed.status, &passed.json()["body_fnv"]), (200, &json!(fnv(&body))));
    assert_eq!(upload(&[&body[..], b"attack-body"].concat()).status, 403);
    assert_eq!(upload(&[&body[..], &body, b"attack-body"].concat()).status, 413);
}

#[test]
fn header_changes_and_replaced_responses_over_http_2() {
    let text = r#"
policies:
  - id: p
    rules:
      - {id: mark, when: 'true', actions: [{set_header: {on: request, name: X-Mark, value: http.request.version}}, {set_header: {on: response, name: X-Mark, value: http.request.version}}, {remove_header: {on: response, name: X-Origin}}]}
      - {id: leak, when: 'any(http.response.headers["x-leak"][*] contains "secret")', action: {block: {status: 502, body: hidden}}}
"#;
    let (nginx, port) = tls(text);
    let url = |path: &str| format!("https://localhost:{port}{path}");
    let response = curl(&["--http2", &url("/")]);
    assert_eq!((response.header("x-mark"), response.header("x-origin")), (Some("HTTP/2.0"), None));
    assert_eq!(response.received("x-mark").as_deref(), Some("HTTP/2.0"));
    // Two requests on one connection: the second is not affected by the result of the first.
    let both = curl(&["--http2", &url("/header/X-Leak/secret"), &url("/after")]);
    assert_eq!((both.status, both.json()["target"].as_str()), (200, Some("/after")));
    let leak = curl(&["--http2", &url("/header/X-Leak/secret")]);
    assert_eq!((leak.status, leak.text().as_str()), (502, "hidden"));
    assert!(nginx.crashes().is_empty());
}
