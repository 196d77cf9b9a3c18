//! The access, attack and heartbeat logs are complete and valid JSON for any input, and never delay requests.

use serde_json::json;
use weir_tests::origin::Echo;
use weir_tests::{Request, Setup, wait};

use crate::LOOKS_EVERYWHERE;

#[test]
fn an_access_line_has_at_least_33_fields_with_the_right_values() {
    let origin = Echo::start();
    let nginx = Setup::policy(LOOKS_EVERYWHERE).proxy(&origin).start();
    let request = Request::post("/shop/item?id=7&x=%20", "application/json", r#"{"a": 1}"#)
        .host("Shop.Example:8080")
        .header("User-Agent", "agent/1")
        .header("Referer", "http://from/")
        .header("Cookie", "a=b")
        .header("X-Forwarded-For", "192.0.2.9");
    let response = nginx.send(&request);
    assert_eq!(response.status, 200);
    let line = &nginx.accesses(1)[0];
    assert!(line.as_object().unwrap().len() >= 33, "{} fields in {line:#}", line.as_object().unwrap().len());
    for (field, expected) in [
        ("client", json!("127.0.0.1")),
        ("peer", json!("127.0.0.1")),
        ("server_addr", json!("127.0.0.1")),
        ("server_port", json!(nginx.port)),
        ("host", json!("shop.example")),
        ("method", json!("POST")),
        ("uri", json!("/shop/item?id=7&x=%20")),
        ("path", json!("/shop/item")),
        ("args", json!("id=7&x=%20")),
        ("protocol", json!("HTTP/1.1")),
        ("scheme", json!("http")),
        ("status", json!(200)),
        ("body_bytes_sent", json!(response.body.len())),
        ("request_length", json!(request.wire().len())),
        ("upstream_addr", json!(origin.to_string())),
        ("upstream_status", json!(200)),
        ("user_agent", json!("agent/1")),
        ("referer", json!("http://from/")),
        ("cookie", json!("a=b")),
        ("x_forwarded_for", json!("192.0.2.9")),
        ("content_type", json!("application/json")),
        ("content_length", json!(8)),
        ("response_content_type", json!("application/json")),
        ("tls_version", json!("")),
        ("connection_requests", json!(1)),
        ("country", json!("")),
        ("verdict", json!("pass")),
        ("rule", json!("")),
        ("score", json!(0)),
        ("tags", json!([])),
    ] {
        assert_eq!(line[field], expected, "{field} in {line:#}");
    }
    for field in ["request_time_us", "weir_ns", "upstream_bytes", "bytes_sent", "client_port", "connection", "pid"] {
        assert!(line[field].as_u64().is_some_and(|number| number > 0), "{field} in {line:#}");
    }
    for field in ["upstream_connect_ms", "upstream_header_ms", "upstream_response_ms"] {
        assert!(line[field].is_u64(), "{field} in {line:#}");
    }
    let time = line["time"].as_str().unwrap();
    assert!(time.len() == 24 && time.ends_with('Z') && time.contains('T'), "{time}");
}

#[test]
fn without_an_upstream_its_fields_are_null() {
    let nginx = Setup::policy(LOOKS_EVERYWHERE)
        .server("location / { return 204; }\nlocation /f { try_files /a =404; }")
        .start();
    assert_eq!(nginx.get("/f").status, 404);
    let line = &nginx.accesses(1)[0];
    for field in
        ["upstream_status", "upstream_connect_ms", "upstream_header_ms", "upstream_response_ms", "content_length"]
    {
        assert!(line[field].is_null(), "{field} in {line:#}");
    }
}

#[test]
fn a_line_with_a_verdict_names_rule_policy_score_and_tags() {
    let text = r#"
policies:
  - id: shop
    rules:
      - {id: odd, when: 'http.request.uri.query contains "x"', score: 3, actions: [{tag: odd}, {tag: "b-2"}]}
      - {id: stop, when: 'http.request.uri.query contains "x"', score: 4, action: {block: 451}}
"#;
    let nginx = Setup::policy(text).proxy(Echo::start()).start();
    assert_eq!(nginx.get("/?x").status, 451);
    let line = &nginx.accesses(1)[0];
    for (field, expected) in [
        ("verdict", json!("block")),
        ("rule", json!("stop")),
        ("policy", json!("shop")),
        ("score", json!(7)),
        ("tags", json!(["odd", "b-2"])),
        ("status", json!(451)),
    ] {
        assert_eq!(line[field], expected, "{field} in {line:#}");
    }
    assert_eq!(line["revision"].as_str().unwrap().len(), 12);
}

#[test]
fn every_line_is_valid_json_for_any_input() {
    let nginx = Setup::policy(LOOKS_EVERYWHERE).proxy(Echo::start()).start();
    let all: Vec<u8> = (1..=255u8).filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    let nasty: [&[u8]; 6] =
        [&all, b"\"\\\"", b"\xff\xfe\xfd", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80 \xc3", b"\x1b[31m\x7f\x08"];
    let mut count = 0;
    for bytes in nasty {
        for name in ["User-Agent", "Referer", "Cookie", "X-Forwarded-For", "Content-Type", "X-Probe"] {
            let value = [bytes, if name == "User-Agent" { b"attack-agent".as_slice() } else { b"" }].concat();
            let mut connection = nginx.connect();
            connection.send(&Request::get("/").header(name, value).wire());
            if connection.try_receive(false).is_ok() {
                count += 1;
            }
        }
        let target: String = bytes.iter().map(|byte| format!("%{byte:02x}")).collect();
        for target in
            [format!("/{target}"), format!("/?{target}={target}"), format!("/?union%20select{target}=union%20select")]
        {
            assert!(nginx.get(&target).status < 500);
            count += 1;
        }
        let mut raw = b"GET /?raw=".to_vec();
        raw.extend(bytes.iter().filter(|byte| **byte > b' ' && **byte != 0x7f));
        raw.extend(b" HTTP/1.1\r\nHost: a\r\n\r\n");
        let mut connection = nginx.connect();
        connection.send(&raw);
        if connection.try_receive(false).is_ok() {
            count += 1;
        }
    }
    let lines = nginx.accesses(count);
    assert!(lines.len() > 50);
    // The reader checks each line of the attack log too.
    assert!(!weir_tests::log::lines(&nginx.path("attack.log")).is_empty());
    assert!(nginx.crashes().is_empty());
}

#[test]
fn fields_are_selected_and_ordered() {
    let setup = Setup::weir();
    let prefix = setup.prefix().display().to_string();
    let server = format!(
        "weir_access_log {prefix}/few.log fields=status,uri,request_id flush=50ms;\nlocation / {{ return 204; }}\nlocation /quiet {{ weir_access_log off; return 204; }}"
    );
    let mut nginx = setup
        .file("policy.yaml", LOOKS_EVERYWHERE)
        .http(&format!("weir on; weir_policy {prefix}/policy.yaml;"))
        .server(&server)
        .start();
    assert_eq!(nginx.get("/x").status, 204);
    assert_eq!(nginx.get("/quiet").status, 204);
    nginx.stop();
    let text = std::fs::read_to_string(nginx.path("few.log")).unwrap();
    assert!(text.starts_with("{\"status\":204,\"uri\":\"/x\",\"request_id\":\""), "{text}");
    assert_eq!(text.lines().count(), 1);
    assert!(weir_tests::log::lines(&nginx.path("access.log")).is_empty());
}

#[test]
fn an_unknown_field_fails_the_check_with_a_suggestion() {
    let setup = Setup::weir();
    let prefix = setup.prefix().display().to_string();
    let check = setup.server(&format!("weir_access_log {prefix}/x.log fields=status,user_agnet;")).check();
    assert!(!check.status.success());
    let said = String::from_utf8_lossy(&check.stderr).into_owned();
    assert!(said.contains("user_agnet") && said.contains("user_agent"), "{said}");
}

#[test]
fn access_lines_are_written_where_no_policy_applies() {
    let nginx = Setup::policy(LOOKS_EVERYWHERE).server("weir_apply none;\nlocation / { return 204; }").start();
    assert_eq!(nginx.get("/attack-path").status, 204);
    assert_eq!(nginx.accesses(1)[0]["uri"], "/attack-path");
}

#[test]
fn heartbeats_report_every_worker() {
    let setup = Setup::policy(LOOKS_EVERYWHERE);
    let path = setup.prefix().join("beat.log");
    let nginx =
        setup.http(&format!("weir_heartbeat_log {} interval=200ms;", path.display())).proxy(Echo::start()).start();
    for _ in 0..5 {
        assert_eq!(nginx.get("/").status, 200);
        assert_eq!(nginx.get("/attack-path").status, 403);
    }
    let workers = nginx.workers();
    let sum = |field: &str| {
        wait::until("heartbeats that tell of all requests", || {
            let lines = weir_tests::log::lines(&path);
            let last = |pid: &i32| lines.iter().rev().find(|line| line["pid"] == json!(pid)).cloned();
            let last: Option<Vec<_>> = workers.iter().map(last).collect();
            last.filter(|last| last.iter().map(|line| line[field].as_u64().unwrap_or(0)).sum::<u64>() >= 10)
        })
    };
    let last = sum("requests");
    let blocked: u64 = last.iter().map(|line| line["verdicts"]["block"].as_u64().unwrap()).sum();
    assert_eq!(blocked, 5, "{last:#?}");
    for line in &last {
        assert_eq!(line["revision"].as_str().unwrap().len(), 12);
        assert!(line["rss_bytes"].as_u64().unwrap() > 1_000_000, "{line:#}");
        assert_eq!(line["dropped_lines"], json!(0));
    }
}

#[test]
fn a_full_disk_drops_and_counts_lines_and_never_stops_traffic() {
    let setup = Setup::policy(LOOKS_EVERYWHERE);
    let beat = setup.prefix().join("beat.log");
    let http = format!("weir_heartbeat_log {} interval=200ms;", beat.display());
    // Two names for the device, because one file cannot be both logs.
    let other = setup.prefix().join("full");
    std::os::unix::fs::symlink("/dev/full", &other).unwrap();
    let server = format!(
        "weir_access_log /dev/full buffer=4k flush=50ms;\nweir_attack_log {} buffer=4k flush=50ms;\n\
         location / {{ return 204; }}\nlocation /f {{ try_files /a.txt =404; }}",
        other.display()
    );
    let nginx = setup.http(&http).server(&server).file("html/a.txt", "a").start();
    let mut connection = nginx.connect();
    for at in 0..400 {
        let target = if at % 10 == 0 { "/f?q=union%20select" } else { "/f" };
        let status = Request::get(target).send_on(&mut connection).status;
        assert_eq!(status, if at % 10 == 0 { 403 } else { 200 });
    }
    // Lines that do not fit into the buffers are dropped: every line is in one of the counts.
    wait::until("the dropped lines in the heartbeats", || {
        let lines = weir_tests::log::lines(&beat);
        let last = |pid: &i32| lines.iter().rev().find(|line| line["pid"] == json!(pid)).cloned();
        let last: Vec<_> = nginx.workers().iter().filter_map(last).collect();
        let sum = |field: &str| last.iter().map(|line| line[field].as_u64().unwrap()).sum::<u64>();
        let (kept, dropped) = (sum("access_lines") + sum("attack_lines"), sum("dropped_lines"));
        (kept + dropped == 440 && dropped > 350).then_some(())
    });
    assert_eq!(nginx.get("/f").status, 200);
}

#[test]
fn a_log_that_cannot_be_opened_fails_the_check() {
    let check = Setup::weir().server("weir_access_log /nonexistent/dir/x.log;").check();
    assert!(!check.status.success());
    assert!(
        String::from_utf8_lossy(&check.stderr).contains("/nonexistent/dir/x.log"),
        "{}",
        String::from_utf8_lossy(&check.stderr)
    );
}
