//! Header changes: the origin and the client see what the policy says, also for headers known to nginx.

use weir_tests::origin::Echo;
use weir_tests::{Request, Setup};

fn policy(actions: &[&str]) -> String {
    let actions: String = actions.iter().map(|action| format!("          - {action}\n")).collect();
    format!("policies:\n  - id: p\n    rules:\n      - id: change\n        when: 'true'\n        actions:\n{actions}")
}

#[test]
fn the_origin_sees_request_headers_set_and_removed() {
    let text = policy(&[
        r#"set_header: {on: request, name: X-Client, value: 'ip.src'}"#,
        r#"set_header: {on: request, name: X-Double, value: '"once"'}"#,
        r#"set_header: {on: request, name: User-Agent, value: '"weir"'}"#,
        r#"set_header: {on: request, name: Cookie, value: 'concat("seen=", http.host)'}"#,
        r#"set_header: {on: request, name: Accept-Language, value: '"de"'}"#,
        r#"set_header: {on: request, name: X-Id, value: 'weir.request_id'}"#,
        r#"remove_header: {on: request, name: X-Secret}"#,
        r#"remove_header: {on: request, name: Referer}"#,
        r#"remove_header: {on: request, name: Authorization}"#,
        r#"remove_header: {on: request, name: X-Never-There}"#,
    ]);
    let nginx = Setup::policy(&text).proxy(Echo::start()).start();
    let request = Request::get("/")
        .header("X-Double", "a")
        .header("x-double", "b")
        .header("User-Agent", "curl")
        .header("Cookie", "a=b")
        .header("Cookie", "c=d")
        .header("X-Secret", "1")
        .header("x-secret", "2")
        .header("Referer", "http://x/")
        .header("Authorization", "Basic eDp5")
        .header("X-Kept", "kept");
    let response = nginx.send(&request);
    let json = response.json();
    let all = |name: &str| -> Vec<String> {
        let headers = json["headers"].as_array().unwrap().iter();
        headers
            .filter(|pair| pair[0].as_str().unwrap().eq_ignore_ascii_case(name))
            .map(|pair| pair[1].as_str().unwrap().to_owned())
            .collect()
    };
    for (name, expected) in [
        ("X-Client", vec!["127.0.0.1"]),
        ("X-Double", vec!["once"]),
        ("User-Agent", vec!["weir"]),
        ("Cookie", vec!["seen=weir.test"]),
        ("Accept-Language", vec!["de"]),
        ("X-Secret", vec![]),
        ("Referer", vec![]),
        ("Authorization", vec![]),
        ("X-Kept", vec!["kept"]),
    ] {
        assert_eq!(all(name), expected, "{name} in {json:#}");
    }
    assert_eq!(all("X-Id").len(), 1);
}

#[test]
fn nginx_variables_follow_the_changed_request_headers() {
    let text = policy(&[
        r#"set_header: {on: request, name: User-Agent, value: '"weir"'}"#,
        r#"set_header: {on: request, name: X-New, value: '"new"'}"#,
        r#"remove_header: {on: request, name: Cookie}"#,
        r#"set_header: {on: request, name: Host, value: '"other.test"'}"#,
    ]);
    let location = format!(
        "location / {{ proxy_set_header X-Seen \"$http_user_agent/$http_x_new/$http_cookie/$cookie_a\"; proxy_set_header Host $http_host; proxy_pass http://{}; }}",
        Echo::start()
    );
    let nginx = Setup::policy(&text).server(&location).start();
    let response = nginx.send(&Request::get("/").header("User-Agent", "curl").header("Cookie", "a=b"));
    assert_eq!(response.received("X-Seen").as_deref(), Some("weir/new//"), "{}", response.text());
    assert_eq!(response.received("Host").as_deref(), Some("other.test"), "{}", response.text());
}

#[test]
fn the_client_sees_response_headers_set_and_removed() {
    let text = policy(&[
        r#"set_header: {on: response, name: X-Frame-Options, value: '"DENY"'}"#,
        r#"set_header: {on: response, name: Content-Type, value: '"text/x-weir"'}"#,
        r#"set_header: {on: response, name: Server, value: '"weir"'}"#,
        r#"remove_header: {on: response, name: X-Origin}"#,
        r#"remove_header: {on: response, name: Set-Cookie}"#,
    ]);
    let nginx = Setup::policy(&text).proxy(Echo::start()).start();
    let response = nginx.get("/header/Set-Cookie/a=b");
    assert_eq!(response.status, 200);
    for (name, expected) in [
        ("X-Frame-Options", Some("DENY")),
        ("Content-Type", Some("text/x-weir")),
        ("Server", Some("weir")),
        ("X-Origin", None),
        ("Set-Cookie", None),
    ] {
        assert_eq!(response.header(name), expected, "{name} in {:?}", response.headers);
    }
    assert_eq!(response.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("content-type")).count(), 1);
}

#[test]
fn response_rules_see_the_origins_answer_and_may_block_it() {
    let text = r#"
policies:
  - id: p
    rules:
      - {id: hide, when: 'http.response.code in {500..599}', action: {set_header: {on: response, name: X-Hidden, value: 'to_string(http.response.code)'}}}
      - {id: leak, when: 'any(http.response.headers["x-leak"][*] contains "secret")', action: {block: {status: 502, body: hidden}}}
"#;
    let nginx = Setup::policy(text).proxy(Echo::start()).start();
    assert_eq!(nginx.get("/").header("x-hidden"), None);
    let failed = nginx.get("/status/503/");
    assert_eq!((failed.status, failed.header("x-hidden")), (503, Some("503")));
    // nginx closes the connection after an answer that replaces another one.
    let leak = nginx.get("/header/X-Leak/secret");
    assert_eq!((leak.status, leak.text().as_str()), (502, "hidden"));
    assert_eq!((leak.header("x-leak"), leak.header("connection")), (None, Some("close")));
    assert_eq!(nginx.attacks(1)[0]["rule_ids"], serde_json::json!(["leak"]));
}
