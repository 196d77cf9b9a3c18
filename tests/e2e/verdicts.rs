//! Requests are handled as the policy says.

use serde_json::json;
use weir_tests::origin::Echo;
use weir_tests::{Nginx, Request, Setup};

use crate::LOOKS_EVERYWHERE;

const UNION: &str = "/?q=1%20UNION%20%20SELECT%20password";

fn guarded(origin: &Echo, policy: &str) -> Nginx {
    Setup::policy(policy).proxy(origin).start()
}

#[test]
fn harmless_requests_reach_the_origin_unchanged() {
    let origin = Echo::start();
    let (with, without) = (guarded(&origin, LOOKS_EVERYWHERE), Setup::plain().proxy(&origin).start());
    for request in [
        Request::get("/a/b%20c/..%2f?x=1&y=%41&y=z&&flag"),
        Request::get("/")
            .header("Cookie", "a=b; c=d")
            .header("X-Probe", "x")
            .header("X-Probe", "y")
            .header("User-Agent", "test/1"),
        Request::post("/form", "application/x-www-form-urlencoded", "a=b&c=%20d"),
        Request::post("/json", "application/json", r#"{"a": [1, 2]}"#).chunked(),
        Request::new("DELETE", "/thing"),
        Request::new("OPTIONS", "*"),
    ] {
        let (got, expected) = (with.send(&request), without.send(&request));
        assert_eq!(
            (got.status, &got.body),
            (expected.status, &expected.body),
            "{}",
            String::from_utf8_lossy(&request.head())
        );
        let comparable = |headers: &[(String, String)]| -> Vec<_> {
            headers.iter().filter(|(name, _)| name != "Date").cloned().collect()
        };
        assert_eq!(comparable(&got.headers), comparable(&expected.headers));
    }
    assert!(!with.path("attack.log").exists() || with.attacks(0).is_empty());
}

#[test]
fn an_attack_anywhere_gets_403_and_one_line_that_explains_itself() {
    let origin = Echo::start();
    let nginx = guarded(&origin, LOOKS_EVERYWHERE);
    let form = |body: &str| Request::post("/f", "application/x-www-form-urlencoded", body);
    let cases = [
        ("path", "attack-path", "http.request.uri.path", Request::get("/x/%61ttack-path")),
        ("args", "UNION  SELECT", "http.request.uri.args[\"q\"]", Request::get(UNION)),
        (
            "header",
            "attack-header",
            "http.request.headers[\"x-probe\"]",
            Request::get("/").header("X-Probe", "an attack-header"),
        ),
        (
            "cookie",
            "attack-cookie",
            "http.request.cookies[\"b\"]",
            Request::get("/").header("Cookie", "a=1; b=attack-cookie"),
        ),
        ("referer", "attack-referer", "http.referer", Request::get("/").header("Referer", "http://x/attack-referer")),
        ("agent", "attack-agent", "http.user_agent", Request::get("/").header("User-Agent", "attack-agent/1.0")),
        ("form", "attack-form", "http.request.body.form[\"b\"]", form("a=1&b=%61ttack-form")),
        ("raw", "attack-body", "http.request.body.raw", form("a=attack-body")),
    ];
    for (_, _, _, request) in &cases {
        assert_eq!(nginx.send(request).status, 403);
    }
    let lines = nginx.attacks(cases.len());
    for (rule, matched, variable, _) in &cases {
        let line = lines
            .iter()
            .find(|line| line["rule_ids"] == json!([rule]))
            .unwrap_or_else(|| panic!("no line for {rule}: {lines:#?}"));
        let finding = &line["findings"][0];
        assert_eq!((&finding["rule"], &finding["matched"]), (&json!(rule), &json!(matched)), "{line:#}");
        let shown = finding["variable"].as_str().unwrap();
        assert!(shown.starts_with(variable), "{shown} for {variable}");
        assert!(!finding["message"].as_str().unwrap().is_empty());
        assert_eq!((&line["status"], &line["action"], &line["policy"]), (&json!(403), &json!("block"), &json!("waf")));
    }
    assert!(origin.seen().is_empty(), "a blocked request reached the origin");
}

#[test]
fn an_attack_log_line_has_every_promised_field() {
    let nginx = guarded(&Echo::start(), LOOKS_EVERYWHERE);
    let request = Request::get(UNION).header("User-Agent", "attack-agent").host("Shop.Example");
    assert_eq!(nginx.send(&request).status, 403);
    let line = &nginx.attacks(1)[0];
    for (field, expected) in [
        ("client", json!("127.0.0.1")),
        ("host", json!("shop.example")),
        ("method", json!("GET")),
        ("uri", json!(UNION)),
        ("status", json!(403)),
        ("action", json!("block")),
        ("policy", json!("waf")),
        ("rule_ids", json!(["args"])),
        ("score", json!(5)),
    ] {
        assert_eq!(line[field], expected, "{field} in {line:#}");
    }
    for field in ["request_id", "time", "revision"] {
        assert!(line[field].as_str().is_some_and(|text| !text.is_empty()), "{field} in {line:#}");
    }
}

#[test]
fn matched_bytes_are_escaped_and_bounded() {
    let policy = r#"
policies:
  - id: p
    rules:
      - {id: long, when: 'any(http.request.uri.args.values[*] matches "(?s-u)evil.*")', action: block}
"#;
    let nginx = guarded(&Echo::start(), policy);
    let target = format!("/?q=evil%00%ff%22%0a{}", "x".repeat(5000));
    assert_eq!(nginx.get(&target).status, 403);
    let line = &nginx.attacks(1)[0];
    let matched = line["findings"][0]["matched"].as_str().unwrap();
    assert!(matched.starts_with("evil") && matched.len() < 600, "{matched}");
}

fn rule(id: &str, when: &str, actions: &str) -> String {
    format!("      - {{id: {id}, when: '{when}', actions: [{actions}]}}\n")
}

fn policy(id: &str, rules: &[(&str, &str, &str)]) -> String {
    let rules: String = rules.iter().map(|(id, when, actions)| rule(id, when, actions)).collect();
    format!("  - id: {id}\n    rules:\n{rules}")
}

#[test]
fn detect_mode_logs_the_verdict_without_blocking() {
    let origin = Echo::start();
    let by_directive = Setup::policy(LOOKS_EVERYWHERE).server("weir detect;").proxy(&origin).start();
    let by_policy = guarded(&origin, &LOOKS_EVERYWHERE.replace("- id: waf", "- id: waf\n    mode: detect"));
    for nginx in [by_directive, by_policy] {
        let request = Request::post(UNION, "application/x-www-form-urlencoded", "a=attack-body");
        assert_eq!(nginx.send(&request).status, 200);
        let line = &nginx.attacks(1)[0];
        assert_eq!((&line["action"], &line["status"]), (&json!("detect"), &json!(200)), "{line:#}");
        assert_eq!(line["rule_ids"], json!(["args", "raw"]), "{line:#}");
    }
}

#[test]
fn allow_skips_the_rest_of_its_policy_or_of_all() {
    let path = |path: &str| format!("starts_with(http.request.uri.path, \"{path}\")");
    let text = format!(
        "policies:\n{}{}",
        policy(
            "first",
            &[
                ("all", &path("/all"), "allow: all"),
                ("own", &path("/policy"), "allow: policy"),
                ("other", "true", "tag: first"),
            ]
        ),
        policy("second", &[("block", "http.request.uri.query contains \"evil\"", "block")]),
    );
    let nginx = Setup::policy(&text).proxy(Echo::start()).server("add_header X-Tags \"[$weir_tags]\" always;").start();
    for (target, status, tags) in [
        ("/all?evil", 200, "[]"),
        ("/policy?evil", 403, "[]"),
        ("/policy", 200, "[]"),
        ("/other", 200, "[first]"),
        ("/other?evil", 403, "[first]"),
    ] {
        let response = nginx.get(target);
        assert_eq!((response.status, response.header("x-tags")), (status, Some(tags)), "{target}");
    }
}

#[test]
fn redirect_sends_the_client_to_the_value_of_its_expression() {
    let text = r#"
policies:
  - id: p
    rules:
      - {id: old, when: 'http.request.uri.path eq "/old"', action: {redirect: {status: 301, to: 'concat("https://", http.host, "/new?", http.request.uri.query)'}}}
      - {id: split, when: 'http.request.uri.path eq "/split"', action: {redirect: {to: 'http.request.uri.args["to"][0]'}}}
"#;
    let nginx = guarded(&Echo::start(), text);
    let response = nginx.get("/old?a=b");
    assert_eq!((response.status, response.header("location")), (301, Some("https://weir.test/new?a=b")));
    let response = nginx.get("/split?to=/x%0d%0aX-Evil:%201");
    assert_eq!((response.status, response.header("x-evil")), (302, None), "a header was split: {response:?}");
}

#[test]
fn block_answers_with_status_body_type_and_headers() {
    let text = r#"
policies:
  - id: p
    rules:
      - {id: tea, when: 'http.request.uri.path eq "/tea"', action: {block: {status: 418, body: '{"short": "stout"}', content_type: application/json, headers: {X-Pot: yes, Cache-Control: no-store}}}}
      - {id: gone, when: 'http.request.uri.path eq "/gone"', action: {block: 410}}
"#;
    let nginx = guarded(&Echo::start(), text);
    let mut connection = nginx.connect();
    let tea = Request::get("/tea").send_on(&mut connection);
    assert_eq!((tea.status, tea.text().as_str()), (418, r#"{"short": "stout"}"#));
    assert_eq!(tea.header("content-type"), Some("application/json"));
    assert_eq!((tea.header("x-pot"), tea.header("cache-control")), (Some("yes"), Some("no-store")));
    let head = Request::new("HEAD", "/tea").send_on(&mut connection);
    assert_eq!((head.status, head.body.len()), (418, 0));
    let gone = Request::get("/gone").send_on(&mut connection);
    assert_eq!(gone.status, 410);
    assert!(gone.text().contains("410 Gone"), "nginx's own page: {}", gone.text());
    assert_eq!(Request::get("/").send_on(&mut connection).status, 200, "the connection goes on");
}

#[test]
fn selectors_select_their_traffic() {
    let text = r#"
policies:
  - id: p
    selectors:
      - id: shop
        when: 'http.host eq "shop.test"'
        rules: [{id: no-post, when: 'http.request.method eq "POST"', action: block}]
      - id: api
        when: 'starts_with(http.request.uri.path, "/api/")'
        rules: [{id: no-get, when: 'http.request.method eq "GET"', action: block}]
"#;
    let nginx = guarded(&Echo::start(), text);
    for (method, host, path, status) in [
        ("POST", "shop.test", "/", 403),
        ("GET", "shop.test", "/", 200),
        ("GET", "other.test", "/api/x", 403),
        ("POST", "other.test", "/api/x", 200),
        ("GET", "shop.test", "/api/x", 403),
    ] {
        let request = Request::new(method, path).host(host).body("");
        assert_eq!(nginx.send(&request).status, status, "{method} {host}{path}");
    }
}

#[test]
fn variables_contain_verdict_rule_score_and_tags() {
    let text = r#"
policies:
  - id: p
    rules:
      - {id: noted, when: 'http.request.uri.query contains "a"', score: 2, actions: [{tag: first}, {tag: second}, log]}
      - {id: seen-tag, when: 'any(weir.tags[*] eq "second")', score: 3, actions: [log]}
      - {id: stop, when: 'http.request.uri.query contains "b"', action: block}
"#;
    let header = "add_header X-Weir \"$weir_verdict/$weir_rule/$weir_score/$weir_tags\" always;";
    let nginx = Setup::policy(text).proxy(Echo::start()).server(header).start();
    for (target, expected) in [
        ("/", "pass//0/"),
        ("/?a", "pass//5/first,second"),
        ("/?b", "block/stop/0/"),
        ("/?ab", "block/stop/5/first,second"),
    ] {
        assert_eq!(nginx.get(target).header("x-weir"), Some(expected), "{target}");
    }
}

#[test]
fn apply_and_off_are_per_location() {
    let origin = Echo::start();
    let text = format!(
        "policies:\n{}{}",
        policy("one", &[("one", "http.request.uri.query contains \"one\"", "block")]),
        policy("two", &[("two", "http.request.uri.query contains \"two\"", "block")]),
    );
    let locations: String = [
        ("/", ""),
        ("/only-one", "weir_apply one;"),
        ("/both", "weir_apply one two;"),
        ("/none", "weir_apply none;"),
        ("/off", "weir off;"),
        ("/detect", "weir detect;"),
    ]
    .map(|(path, directive)| format!("location {path} {{ {directive} proxy_pass http://{origin}; }}\n"))
    .concat();
    let nginx = Setup::policy(&text).server(&locations).start();
    for (target, status) in [
        ("/?one", 403),
        ("/?two", 403),
        ("/only-one?one", 403),
        ("/only-one?two", 200),
        ("/both?one", 403),
        ("/both?two", 403),
        ("/none?one", 200),
        ("/off?two", 200),
        ("/detect?two", 200),
    ] {
        assert_eq!(nginx.get(target).status, status, "{target}");
    }
    let lines = nginx.attacks(6);
    assert_eq!(lines.iter().filter(|line| line["action"] == "detect").count(), 1);
}
