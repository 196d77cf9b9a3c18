//! Custom SecLang rule sets: all phases, answers, collections, held responses, errors.

use std::time::Duration;

use serde_json::{Value, json};
use weir_tests::load::{Life, during};
use weir_tests::origin::Echo;
use weir_tests::{Request, Setup, wait};

/// A policy that runs `rules.conf` beside it.
const POLICY: &str = r#"
policies:
  - id: site
    rules:
      - {id: own-rules, when: 'true', action: {rule_set: {files: ["rules.conf"]}}}
"#;

/// A configuration with these rules, serving static files.
fn setup(rules: &str) -> Setup {
    Setup::policy(POLICY).file("rules.conf", rules)
}

/// The findings of all lines of the attack log, by rule.
fn finding<'v>(line: &'v Value, rule: &str) -> &'v Value {
    let found = line["findings"].as_array().unwrap().iter().find(|finding| finding["rule"] == rule);
    found.unwrap_or_else(|| panic!("no finding of {rule} in {line:#}"))
}

#[test]
fn every_phase_runs_and_is_explained() {
    let rules = r#"
SecAction "id:1,phase:1,nolog,pass,setvar:tx.seen=one"
SecRule REQUEST_HEADERS:X-Probe "@contains evil" "id:2,phase:1,deny,status:418,msg:'Header %{MATCHED_VAR_NAME}',logdata:'%{MATCHED_VAR}',severity:CRITICAL,tag:'probe',tag:'headers'"
SecRule ARGS:a "@rx ^bad" "id:3,phase:2,deny,msg:'Argument, seen %{tx.seen}',severity:WARNING"
SecRule REQUEST_BODY "@contains body-evil" "id:4,phase:2,deny,status:409,msg:'Body'"
SecRule REQUEST_URI "@contains /logged" "id:5,phase:5,pass,log,msg:'Late'"
"#;
    let nginx = setup(rules).proxy(Echo::start()).start();
    for (request, status) in [
        (Request::get("/"), 200),
        (Request::get("/").header("X-Probe", "an evil one"), 418),
        (Request::get("/?a=badly"), 403),
        (Request::get("/?a=notbad"), 200),
        (Request::post("/", "text/plain", "some body-evil here"), 409),
        (Request::post("/", "text/plain", "some body-evil here").chunked(), 409),
        (Request::post("/", "application/x-www-form-urlencoded", "b=c&a=bad"), 403),
        (Request::post("/", "application/json", r#"{"x": 1}"#), 200),
        (Request::get("/logged"), 200),
    ] {
        assert_eq!(nginx.send(&request).status, status, "{}", String::from_utf8_lossy(&request.wire()));
    }
    let lines = nginx.attacks(6);
    let of = |rule: &str| lines.iter().find(|line| line["rule_ids"] == json!([rule])).unwrap();
    let header = finding(of("2"), "2");
    assert_eq!(header["message"], "Header REQUEST_HEADERS:X-Probe");
    assert_eq!((&header["log_data"], &header["severity"]), (&json!("an evil one"), &json!("CRITICAL")));
    assert_eq!((&header["tags"], &header["via"]), (&json!(["probe", "headers"]), &json!("own-rules")));
    assert_eq!((&of("2")["policy"], &of("2")["action"]), (&json!("site"), &json!("block")));
    assert_eq!(finding(of("3"), "3")["message"], "Argument, seen one");
    assert_eq!(finding(of("5"), "5")["message"], "Late");
}

#[test]
fn rules_close_connections_and_redirect() {
    let rules = r#"
SecRule ARGS:drop "@streq 1" "id:1,phase:1,drop,msg:'gone'"
SecRule ARGS:go "@rx ^([a-z]+)$" "id:2,phase:1,capture,redirect:'https://example.org/%{TX.1}',status:301"
"#;
    let nginx = setup(rules).proxy(Echo::start()).start();
    assert!(Request::get("/?drop=1").try_send_on(&mut nginx.connect()).is_err(), "no answer at all");
    let response = nginx.get("/?go=home");
    assert_eq!((response.status, response.header("location")), (301, Some("https://example.org/home")));
    assert_eq!(nginx.get("/?drop=2").status, 200);
}

#[test]
fn collections_are_shared_by_workers_and_survive_a_killed_one() {
    let rules = r#"
SecAction "id:1,phase:1,nolog,pass,initcol:ip=%{REMOTE_ADDR}"
SecRule IP:COUNT "@ge 6" "id:2,phase:1,deny,status:429,msg:'Too many from %{REMOTE_ADDR}'"
SecAction "id:3,phase:5,nolog,pass,setvar:ip.count=+1,expirevar:ip.count=60"
"#;
    let nginx = setup(rules).http("weir_collections_zone 256k;").proxy(Echo::start()).start();
    let statuses: Vec<u16> = (0..4).map(|_| nginx.get("/").status).collect();
    assert_eq!(statuses, [200; 4]);
    // Requests are counted in the log phase, after their answers.
    std::thread::sleep(std::time::Duration::from_millis(100));
    nginx.kill_worker();
    let statuses: Vec<u16> = (0..6).map(|_| nginx.get("/").status).collect();
    assert_eq!(statuses[..2], [200; 2]);
    assert_eq!(statuses[3..], [429; 3]);
    nginx.reload();
    assert_eq!(nginx.get("/").status, 429, "kept over a reload");
}

#[test]
fn responses_are_stopped_by_their_header_and_by_their_body() {
    let rules = r#"
SecResponseBodyAccess On
SecResponseBodyMimeType text/html text/plain
SecResponseBodyLimit 65536
SecRule RESPONSE_HEADERS:X-Leak "@streq yes" "id:1,phase:3,deny,status:502,msg:'Leaking header'"
SecRule RESPONSE_BODY "@contains secret-token" "id:2,phase:4,deny,status:500,msg:'Leaking body'"
"#;
    let page = |text: &str| format!("<html>{}{text}</html>", "x".repeat(20_000));
    let long = format!("{}secret-token", "y".repeat(100_000));
    let nginx = setup(rules)
        .file("html/good.html", page("fine"))
        .file("html/bad.html", page("the secret-token"))
        .file("html/bad.bin", page("the secret-token"))
        .file("html/empty.html", "")
        .file("html/long.html", &long)
        .http("types { text/html html; application/octet-stream bin; }\ngzip on;\ngzip_min_length 1;")
        .server("location /leak { add_header X-Leak yes always; return 200 fine; }")
        .start();
    let good = nginx.get("/good.html");
    assert_eq!((good.status, good.text()), (200, page("fine")));
    assert_eq!(good.header("content-length"), Some(page("fine").len().to_string().as_str()));
    for (target, status) in
        [("/bad.html", 500), ("/bad.bin", 200), ("/empty.html", 200), ("/leak", 502), ("/none", 404)]
    {
        assert_eq!(nginx.get(target).status, status, "{target}");
    }
    let past_the_limit = nginx.get("/long.html");
    assert_eq!((past_the_limit.status, past_the_limit.text()), (200, long), "rules see the beginning, the client all");
    assert_eq!(nginx.send(&Request::new("HEAD", "/bad.html")).status, 200, "no body, nothing to see");
    let ranged = nginx.send(&Request::get("/good.html").header("Range", "bytes=0-9"));
    assert_eq!((ranged.status, ranged.text().len()), (206, 10));
    assert!(nginx.crashes().is_empty(), "{:?}", nginx.crashes());
}

#[test]
fn a_response_over_its_limit_is_flagged_and_one_of_that_size_is_not() {
    let rules = "SecResponseBodyAccess On\nSecResponseBodyMimeType application/json application/octet-stream\n\
                 SecResponseBodyLimit 65536\n\
                 SecRule OUTBOUND_DATA_ERROR \"@eq 1\" \"id:1,phase:4,deny,status:502,msg:'Too long'\"\n";
    let lengths = [(65_535, 200), (65_536, 200), (65_537, 502), (300_000, 502)];
    let origin = Echo::start();
    let setup = setup(rules)
        .http("default_type application/octet-stream;")
        .server(&format!("location /big/ {{ proxy_pass http://{origin}; proxy_http_version 1.1; }}"))
        .server(&format!("location /raw/ {{ proxy_pass http://{origin}/; proxy_buffering off; }}"));
    let files =
        lengths.iter().fold(setup, |setup, (length, _)| setup.file(&format!("html/{length}"), "x".repeat(*length)));
    let nginx = files.start();
    for place in ["/", "/big/", "/raw/big/"] {
        for (length, status) in lengths {
            assert_eq!(nginx.get(&format!("{place}{length}")).status, status, "{place}{length}");
        }
    }
    assert!(nginx.crashes().is_empty(), "{:?}", nginx.crashes());
}

#[test]
fn held_responses_arrive_complete_whether_buffered_or_not() {
    let rules = "SecResponseBodyAccess On\nSecResponseBodyMimeType application/json application/octet-stream\n\
                 SecResponseBodyLimit 65536\n\
                 SecRule RESPONSE_BODY \"@contains never-there\" \"id:1,phase:4,deny\"\n";
    let origin = Echo::start();
    let nginx = setup(rules)
        .server(&format!("location / {{ proxy_pass http://{origin}; proxy_http_version 1.1; }}"))
        .server(&format!("location /raw/ {{ proxy_pass http://{origin}/; proxy_buffering off; }}"))
        .start();
    for path in ["/big/", "/raw/big/"] {
        let mut kept = nginx.connect();
        for length in [1, 1000, 65_535, 65_536, 65_537, 300_000] {
            let response = Request::get(&format!("{path}{length}")).send_on(&mut kept);
            assert_eq!((response.status, response.text().len()), (200, length), "{path}{length}");
        }
    }
    assert!(nginx.crashes().is_empty(), "{:?}", nginx.crashes());
}

#[test]
fn origins_send_plain_text_and_clients_still_get_compressed_responses() {
    let rules = "SecResponseBodyAccess On\nSecResponseBodyMimeType text/plain application/json\n\
                 SecRule RESPONSE_BODY \"@contains never-there\" \"id:1,phase:4,deny\"\n";
    let origin = Echo::start();
    let nginx =
        setup(rules).http("gzip on;\ngzip_types *;\ngzip_min_length 1;\ngzip_proxied any;").proxy(&origin).start();
    let response = nginx.send(&Request::get("/").header("Accept-Encoding", "gzip"));
    assert_eq!((response.status, response.header("content-encoding")), (200, Some("gzip")));
    let seen = origin.seen();
    let names = seen[0]["headers"].as_array().unwrap().iter().map(|pair| pair[0].as_str().unwrap().to_lowercase());
    assert!(names.into_iter().all(|name| name != "accept-encoding"), "{seen:?}");
}

#[test]
fn detection_only_logs_without_blocking() {
    let rules = "SecRule ARGS \"@contains evil\" \"id:7,phase:2,deny,msg:'Evil'\"\n";
    let policy = POLICY.replace("files: [\"rules.conf\"]", "files: [\"rules.conf\"], detect: true");
    let by_action = Setup::policy(&policy).file("rules.conf", rules).proxy(Echo::start()).start();
    let by_files = setup(&format!("SecRuleEngine DetectionOnly\n{rules}")).proxy(Echo::start()).start();
    let policy = POLICY.replace("id: site", "id: site\n    mode: detect");
    let by_policy = Setup::policy(&policy).file("rules.conf", rules).proxy(Echo::start()).start();
    let by_location = setup(rules).server("weir detect;").proxy(Echo::start()).start();
    for nginx in [by_action, by_files, by_policy, by_location] {
        assert_eq!(nginx.get("/?a=evil").status, 200);
        let line = &nginx.attacks(1)[0];
        assert_eq!((&line["action"], &line["rule_ids"]), (&json!("detect"), &json!(["7"])), "{line:#}");
    }
}

#[test]
fn errors_in_rule_files_fail_the_check_with_positions() {
    let rules = "SecRule ARGS \"@rx fine\" \"id:1,phase:2,deny\"\nSecRule ARGZ \"@rx x\" \"id:2,phase:2,deny\"\n\
                 SecRule ARGS \"@rxx x\" \"id:3,phase:2,deny\"\nSecRool ARGS \"@rx x\" \"id:4\"\n";
    let setup = setup(rules);
    let place = setup.prefix().join("rules.conf");
    let check = setup.check();
    assert!(!check.status.success());
    let said = String::from_utf8_lossy(&check.stderr).into_owned();
    for line in 2..=4 {
        assert!(said.contains(&format!("{}:{line}:", place.display())), "line {line} in {said}");
    }
}

#[test]
fn a_reload_accepts_changed_rules_and_refuses_invalid_ones() {
    let nginx = setup("SecRule ARGS \"@contains one\" \"id:1,phase:2,deny\"\n").proxy(Echo::start()).start();
    let write = |rules: &str| std::fs::write(nginx.path("rules.conf"), rules).unwrap();
    assert_eq!((nginx.get("/?a=one").status, nginx.get("/?a=two").status), (403, 200));
    write("SecRule ARGS \"@contains two\" \"id:1,phase:2,deny\"\n");
    nginx.reload();
    assert_eq!((nginx.get("/?a=one").status, nginx.get("/?a=two").status), (200, 403));
    write("SecRule ARGS \"@contains three\" \"id:1,phase:2,denied\"\n");
    nginx.reload_refused("rules.conf:1:");
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!((nginx.get("/?a=one").status, nginx.get("/?a=two").status), (200, 403));
}

#[test]
fn no_request_fails_while_rule_sets_are_reloaded() {
    let rules = "SecAction \"id:1,phase:1,nolog,pass,initcol:ip=%{REMOTE_ADDR}\"\n\
                 SecRule ARGS \"@contains evil\" \"id:2,phase:2,deny\"\n\
                 SecResponseBodyAccess On\nSecResponseBodyMimeType application/json\n\
                 SecRule RESPONSE_BODY \"@contains never-there\" \"id:3,phase:4,deny\"\n\
                 SecAction \"id:4,phase:5,nolog,pass,setvar:ip.n=+1\"\n";
    let nginx = setup(rules).proxy(Echo::start()).start();
    let request = Request::post("/x?a=b", "application/x-www-form-urlencoded", "c=d");
    let totals = during(nginx.port, 3, Life::KeepAlive, &request, |count| {
        for _ in 0..5 {
            nginx.reload();
            let before = count.load(std::sync::atomic::Ordering::Relaxed);
            let more = || count.load(std::sync::atomic::Ordering::Relaxed) > before + 20;
            wait::until("traffic after the reload", || more().then_some(()));
        }
    });
    assert!(totals.failed.is_empty(), "{} failed: {:?}", totals.failed.len(), &totals.failed[..1]);
    assert!(nginx.crashes().is_empty(), "{:?}", nginx.crashes());
}

#[test]
fn nothing_runs_when_silenced_or_off() {
    let rules = "SecRule ARGS \"@contains evil\" \"id:1,phase:2,deny\"\n";
    let nginx =
        setup(rules).server("location /off { weir off; return 200 off; }\nlocation /on { return 200 on; }").start();
    assert_eq!((nginx.get("/off?a=evil").status, nginx.get("/on?a=evil").status), (200, 403));
}

/// A pattern that only a backtracker decides, and values that keep it busy: refused, or passed with what has been found.
#[test]
fn a_request_that_is_too_expensive_is_refused_and_explained() {
    let rules = r#"
SecRule ARGS "@rx (?=(a+)+$)x" "id:1,phase:2,pass"
SecRule ARGS:attack "@contains select" "id:2,phase:2,deny,msg:'Found'"
"#;
    let fields: Vec<String> = (0..500).map(|field| format!("f{field}={}xb", "a".repeat(200))).collect();
    let form =
        |more: &str| Request::post("/", "application/x-www-form-urlencoded", format!("{}&{more}", fields.join("&")));
    for (bounds, harmless, attack) in [("closed", 413, 413), ("open", 200, 403)] {
        let nginx = setup(rules).server(&format!("weir_bounds {bounds};")).proxy(Echo::start()).start();
        assert_eq!(nginx.send(&Request::get("/?attack=other")).status, 200);
        assert_eq!(nginx.send(&form("a=b")).status, harmless, "{bounds}");
        let begun =
            Request::post("/", "application/x-www-form-urlencoded", format!("attack=select&{}", fields.join("&")));
        assert_eq!(nginx.send(&begun).status, attack, "{bounds}");
        let line = &nginx.attacks(2)[0];
        assert!(line["unreadable"].as_str().is_some_and(|said| said.contains("too_expensive")), "{line:#}");
        let found = finding(line, "1");
        assert!(found["message"].as_str().is_some_and(|said| said.starts_with("too expensive")), "{found:#}");
        assert_eq!(found["score"], 5, "{found:#}");
        assert!(found["variable"].as_str().is_some_and(|name| name.starts_with("ARGS:f")), "{found:#}");
        assert!(nginx.error_log().contains("too_expensive"));
    }
}
