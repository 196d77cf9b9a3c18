//! Hostile input causes bounded work and a flag or a block, and the workers survive.

use weir_tests::origin::Echo;
use weir_tests::{Nginx, Request, Setup};

/// Rules that make every parser run, and act on malformed input.
const PARSES_ALL: &str = r#"
policies:
  - id: p
    rules:
      - {id: many, when: 'any(http.request.anomalies[*] eq "too_many_items")', action: {block: 431}}
      - {id: deep, when: 'any(http.request.anomalies[*] eq "too_deep")', action: {block: 400}}
      - {id: nul, when: 'any(http.request.anomalies[*] eq "nul_byte")', action: {block: 400}}
      - {id: args, when: 'any(http.request.uri.args.values[*] matches "(?i)(union|select).*from.*where")', action: block}
      - {id: cookies, when: 'any(http.request.cookies.values[*] matches "(a|aa)+$")', action: log}
      - {id: headers, when: 'any(http.request.headers.values[*] contains "attack")', action: block}
      - {id: form, when: 'any(http.request.body.form.values[*] matches "(x+x+)+y")', action: block}
      - {id: multipart, when: 'any(http.request.body.multipart.values[*] contains "attack")', action: block}
      - {id: json, when: 'any(http.request.body.json.values[*] contains "attack")', action: block}
      - {id: xml, when: 'any(http.request.body.xml[*] contains "attack")', action: block}
      - {id: body-many, when: 'http.request.body.size gt 0 and any(http.request.anomalies[*] in {"too_many_items" "too_deep" "invalid_multipart" "invalid_json"})', action: {block: 400}}
"#;

fn start() -> Nginx {
    Setup::policy(PARSES_ALL)
        .http("weir_body_limit 4m;\nlarge_client_header_buffers 8 1m;\nclient_header_buffer_size 16k;\nclient_body_buffer_size 4m;")
        .proxy(Echo::start())
        .start()
}

/// Sends a request and expects an answer before the client's patience ends, with one of `statuses`, from the same workers.
fn survives(nginx: &Nginx, workers: &[i32], what: &str, request: &Request, statuses: &[u16]) {
    let response = nginx.send(request);
    assert!(statuses.contains(&response.status), "{what}: {}", response.status);
    assert_eq!(nginx.workers(), workers, "{what} took a worker down");
}

#[test]
fn absurd_requests_take_bounded_work() {
    let nginx = start();
    let workers = nginx.workers();
    let check = |what, request: Request, statuses: &[u16]| survives(&nginx, &workers, what, &request, statuses);
    let arguments: String = (0..100_000).map(|at| format!("a{at}=1&")).collect();
    check("100,000 arguments", Request::get(&format!("/?{arguments}")), &[431]);
    check("100,000 ampersands", Request::get(&format!("/?{}", "&".repeat(100_000))), &[200, 431]);
    check("one argument of 900 KB", Request::get(&format!("/?a={}", "x".repeat(900_000))), &[200]);
    check("900 KB of union", Request::get(&format!("/?a={}", "union%20from%20".repeat(60_000))), &[200]);
    check("percent signs", Request::get(&format!("/?a={}", "%".repeat(500_000))), &[200]);
    check("a long path", Request::get(&format!("/{}", "a/../".repeat(100_000))), &[200, 400]);
    check("a NUL byte", Request::get("/?a=b%00c"), &[400]);
    check("invalid UTF-8", Request::get("/%ff%fe?%c3%28=%a0%a1").header("Cookie", b"a=\xff\xfe; \x80=\x81"), &[200]);
    check("a long header", Request::get("/").header("X-Long", "y".repeat(900_000)), &[200]);
    check("a long cookie", Request::get("/").header("Cookie", "a=aaaa; ".repeat(100_000)), &[200, 431]);
    check(
        "catastrophic for back-trackers",
        Request::get("/").header("Cookie", format!("a={}!", "a".repeat(100_000))),
        &[200],
    );
    let many = (0..2000).fold(Request::get("/"), |request, at| request.header(&format!("X-{at}"), "1"));
    check("2,000 headers", many, &[200, 400]);
    let same = (0..2000).fold(Request::get("/"), |request, _| request.header("X-Same", "1"));
    check("2,000 headers of one name", same, &[200, 400]);
    check("nonsense in forwarding headers", Request::get("/").header("X-Forwarded-For", ",".repeat(100_000)), &[200]);
    assert!(nginx.crashes().is_empty());
}

#[test]
fn absurd_bodies_take_bounded_work() {
    let nginx = start();
    let workers = nginx.workers();
    let post = |what, content_type: &str, body: String, statuses: &[u16]| {
        survives(&nginx, &workers, what, &Request::post("/", content_type, body.clone()), statuses);
        survives(&nginx, &workers, what, &Request::post("/", content_type, body).chunked(), statuses);
    };
    let (json, xml, form) = ("application/json", "text/xml", "application/x-www-form-urlencoded");
    let multipart = "multipart/form-data; boundary=B";
    post("JSON 10,000 deep", json, "[".repeat(10_000) + &"]".repeat(10_000), &[400]);
    post("JSON 10,000 objects deep", json, "{\"a\":".repeat(10_000) + "1" + &"}".repeat(10_000), &[400]);
    post("JSON that never ends", json, "[1,".repeat(300_000), &[400]);
    post("JSON with 200,000 members", json, format!("[{}1]", "1,".repeat(200_000)), &[400]);
    post("a megabyte of digits", json, "1".repeat(1_000_000), &[200, 400]);
    post("XML 10,000 deep", xml, "<a>".repeat(10_000) + &"</a>".repeat(10_000), &[200, 400]);
    post(
        "an XML bomb",
        xml,
        "<!DOCTYPE a [<!ENTITY b \"attackattack\"><!ENTITY c \"&b;&b;&b;&b;\">]><a>&c;&c;&c;</a>".into(),
        &[200, 400, 403],
    );
    post("XML attributes", xml, format!("<a {}/>", "b='c' ".repeat(100_000)), &[200, 400]);
    post("a form of 200,000 fields", form, "a=b&".repeat(200_000), &[400]);
    post("a form for back-trackers", form, format!("a={}", "x".repeat(200_000)), &[200]);
    post(
        "multipart without end",
        multipart,
        "--B\r\nContent-Disposition: form-data; name=a\r\n\r\n".to_owned() + &"z".repeat(2_000_000),
        &[400],
    );
    post(
        "100,000 parts",
        multipart,
        "--B\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n".repeat(40_000) + "--B--\r\n",
        &[400],
    );
    post("endless part headers", multipart, format!("--B\r\n{}", "X-A: b\r\n".repeat(200_000)), &[400]);
    post("boundaries only", multipart, "--B\r\n".repeat(200_000), &[400]);
    post("a long boundary", &format!("multipart/form-data; boundary={}", "b".repeat(3000)), "--".into(), &[200, 400]);
    post("no boundary", "multipart/form-data", "--B\r\n".into(), &[200, 400]);
    assert!(nginx.crashes().is_empty());
}

#[test]
fn malformed_requests_are_answered_or_closed_and_logged_as_valid_json() {
    let mut nginx = start();
    let workers = nginx.workers();
    let cases: [&[u8]; 16] = [
        b"\r\n\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: a\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: \xff\xfe\r\n\r\n",
        b"GET http://other/abs?x=1 HTTP/1.1\r\nHost: a\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{\"cut",
        b"GET /%zz%4 HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /\x01\x02 HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX\0Y: 1\r\n\r\n",
        b"G\xffT / HTTP/1.1\r\nHost: a\r\n\r\n",
    ];
    for case in cases {
        let mut connection = nginx.connect();
        connection.send(case);
        connection.finish();
        let _ = connection.to_end();
        assert_eq!(nginx.get("/").status, 200, "after {:?}", String::from_utf8_lossy(case));
    }
    assert_eq!(nginx.workers(), workers);
    assert!(nginx.crashes().is_empty());
    nginx.stop();
    assert!(weir_tests::log::lines(&nginx.path("access.log")).len() >= cases.len() / 2);
}

#[test]
fn vanished_clients_leave_nothing_behind() {
    let nginx = start();
    let workers = nginx.workers();
    for cut in [10, 60, 120, 140] {
        let wire = Request::post("/slow/", "application/json", "x".repeat(100)).wire();
        for _ in 0..20 {
            let mut connection = nginx.connect();
            connection.send(&wire[..cut.min(wire.len())]);
        }
    }
    for _ in 0..20 {
        let mut connection = nginx.connect();
        connection.send(&Request::get("/slow/").wire());
    }
    assert_eq!(nginx.get("/").status, 200);
    assert_eq!(nginx.workers(), workers);
    assert!(nginx.crashes().is_empty());
}

#[test]
fn an_http_09_request_survives_the_header_fields_that_rules_add() {
    // nginx creates no list of header fields for such a request; adding to it once crashed the worker.
    let policy = "policies: [{id: p, rules: [{id: r, when: 'http.request.uri.path eq \"/\"', \
                  action: {set_header: {name: X-Seen, value: '\"yes\"'}}}]}]";
    let nginx = Setup::policy(policy).proxy(Echo::start()).start();
    let workers = nginx.workers();
    for _ in 0..4 {
        let mut connection = nginx.connect();
        connection.send(b"GET /\r\n");
        connection.finish();
        let _ = connection.to_end();
    }
    let received = nginx.get("/").received("X-Seen");
    assert_eq!(received.as_deref(), Some("yes"));
    assert_eq!(nginx.workers(), workers);
    assert!(nginx.crashes().is_empty());
}
