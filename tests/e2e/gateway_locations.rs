//! A server with `weir_gateway on` leaves no hole: locations of one's own get the policies of the host's site, policies
//! run in the order listed, and a site's header changes hold for every response.

use std::process::Command;

use serde_json::{Value, json};
use weir_tests::gateway::weir;
use weir_tests::origin::Echo;
use weir_tests::{Control, Gateway, Request, Response, Setup, port};

/// A policy that blocks requests with an argument `a` of this value with this status.
fn blocks(id: &str, value: &str, status: u16) -> Value {
    let when = format!("any(http.request.uri.args[\"a\"][*] eq \"{value}\")");
    json!({"rules": [{"id": id, "when": when, "action": {"block": {"status": status}}}]})
}

/// A site with a policy against `evil`, settings with one against `bad`, and a route without policies of its own.
fn documents() -> Vec<(&'static str, Value)> {
    vec![
        ("policies/of-site", blocks("of-site", "evil", 403)),
        ("policies/of-settings", blocks("of-settings", "bad", 418)),
        ("settings", json!({"policies": ["of-settings"]})),
        ("sites/shop", json!({"hosts": ["shop.example"], "policies": ["of-site"]})),
        ("routes/shop", json!({"site": "shop", "path": "/", "respond": {"body": "routed"}})),
        ("routes/free", json!({"site": "shop", "path": "/free", "policies": [], "to": "nobody"})),
        ("upstreams/nobody", json!({"members": {"a": format!("127.0.0.1:{}", port::free())}})),
    ]
}

fn get(gateway: &Gateway, target: &str) -> Response {
    gateway.nginx.send(&Request::get(target).host("shop.example"))
}

#[test]
fn locations_of_ones_own_get_the_policies_of_the_hosts_site() {
    let app = Echo::start();
    let setup = Setup::gateway().file("html/page.html", "static").server(&format!(
        "location /own {{ proxy_pass http://{app}; }}
         location /page.html {{ root html; }}
         location /said {{ return 200 said; }}
         location /off {{ weir off; return 200 off; }}
         location /detect {{ weir detect; return 200 detect; }}
         location /none {{ weir_apply none; return 200 none; }}
         location /outer {{ location /outer/inner {{ return 200 inner; }} return 200 outer; }}
         location /asks {{ auth_request /allowed; proxy_pass http://{app}; }}
         location = /allowed {{ internal; return 204; }}
         location /tries {{ try_files /absent @named; }}
         location @named {{ return 200 named; }}
         location /free {{ return 200 unused; }}",
    ));
    let mut all = documents();
    all.retain(|(path, _)| *path != "routes/free");
    let gateway = Gateway::start_with(setup, &all);
    for target in ["/", "/own", "/page.html", "/said", "/outer", "/outer/inner", "/asks", "/tries", "/free"] {
        assert_eq!(get(&gateway, target).status, 200, "{target}");
        assert_eq!(get(&gateway, &format!("{target}?a=evil")).status, 403, "{target}");
        assert_eq!(
            get(&gateway, &format!("{target}?a=bad")).status,
            200,
            "the site's policies, not the settings': {target}"
        );
        let other =
            |query: &str| gateway.nginx.send(&Request::get(&format!("{target}?a={query}")).host("other.example"));
        if target != "/" {
            assert_eq!((other("bad").status, other("evil").status), (418, 200), "no site has the host: {target}");
        }
    }
    // Which site's policies would hold is not clear.
    let two_hosts = Request::get("http://other.example/own?a=evil").host("shop.example");
    assert_eq!(gateway.nginx.send(&two_hosts).status, 400);
    for target in ["/off", "/none", "/detect"] {
        assert_eq!(get(&gateway, &format!("{target}?a=evil")).status, 200, "{target}");
    }
    let attacks = gateway.nginx.attacks(18);
    let detected: Vec<&Value> = attacks.iter().filter(|line| line["uri"] == "/detect?a=evil").collect();
    assert_eq!(detected.len(), 1, "{attacks:?}");
    assert_eq!(detected[0]["rule_ids"], json!(["of-site"]));

    let _ = gateway.api().put("policies/of-site", &blocks("of-site", "worse", 403)).expect(200);
    assert_eq!(
        (get(&gateway, "/own?a=evil").status, get(&gateway, "/own?a=worse").status),
        (200, 403),
        "without a reload"
    );
}

#[test]
fn a_weir_policy_holds_where_it_is_asked_for_in_a_gateways_server() {
    let file = "policies:\n  - id: file\n    rules:\n      - {id: f, when: 'http.request.uri.query contains \"file\"', action: block}\n";
    let setup = Setup::gateway().file("policy.yaml", file);
    let path = setup.prefix().join("policy.yaml").display().to_string();
    let setup = setup.http(&format!("weir_policy {path};")).server(
        "location /said { weir on; return 200 said; }
         location /named { weir_apply file; return 200 named; }
         location /own { return 200 own; }",
    );
    let gateway = Gateway::start_with(setup, &documents());
    for (target, status) in [
        ("/said?a=file", 403),
        ("/named?a=file", 403),
        ("/named?a=evil", 200),
        ("/own?a=file", 200),
        ("/own?a=evil", 403),
    ] {
        assert_eq!(get(&gateway, target).status, status, "{target}");
    }
}

#[test]
fn an_error_page_keeps_the_policies_of_the_route() {
    let setup = Setup::gateway().server(
        "proxy_intercept_errors on;
         error_page 502 503 /sorry; error_page 403 /refused;
         location = /sorry { return 200 sorry; }
         location = /refused { return 200 refused; }",
    );
    let gateway = Gateway::start_with(setup, &documents());
    let text = |target: &str| get(&gateway, target).text();
    assert_eq!(text("/free?a=evil"), "sorry", "the route has no policies");
    assert_eq!(text("/?a=evil"), "refused");
    assert_eq!(text("/sorry?a=evil"), "refused", "a client asks for the page itself");
    assert_eq!(gateway.nginx.attacks(2).len(), 2, "each request once");
}

#[test]
fn policies_run_in_the_order_listed() {
    let both = |status: u16| blocks(&format!("with-{status}"), "evil", status);
    let route =
        |path: &str, policies: &[&str]| json!({"site": "shop", "path": path, "policies": policies, "respond": 204});
    let gateway = Gateway::start(&[
        ("policies/a", both(401)),
        ("policies/p", both(409)),
        ("sites/shop", json!({"hosts": ["shop.example"]})),
        ("routes/listed", route("/listed", &["p", "a"])),
        ("routes/sorted", route("/sorted", &["a", "p"])),
        ("routes/twice", route("/twice", &["p", "a", "p"])),
    ]);
    for (target, status) in [("/listed", 409), ("/sorted", 401), ("/twice", 409)] {
        assert_eq!(get(&gateway, &format!("{target}?a=evil")).status, status, "{target}");
    }
}

#[test]
fn weir_apply_takes_policies_in_the_order_listed() {
    let rule = |id: &str, status: u16| {
        format!(
            "  - id: {id}\n    rules:\n      - {{id: {id}, when: 'true', action: {{block: {{status: {status}}}}}}}\n"
        )
    };
    let nginx = Setup::policy(&format!("policies:\n{}{}", rule("a", 401), rule("p", 409)))
        .server("location /listed { weir_apply p a; } location /sorted { weir_apply a p; } location /all { }")
        .start();
    for (target, status) in [("/listed", 409), ("/sorted", 401), ("/all", 401)] {
        assert_eq!(nginx.get(target).status, status, "{target}");
    }
}

#[test]
fn header_changes_of_a_site_hold_for_every_response() {
    const NAME: &str = "Strict-Transport-Security";
    let app = Echo::start();
    let mut all = documents();
    let changes = json!({"set": {NAME: "max-age=1", "x-by": "site"}});
    let limit = json!({"rate_limit": {"key": "ip.src", "rate": "1/h"}});
    all.extend([
        ("policies/limit", json!({"rules": [{"id": "limit", "when": "true", "action": limit}]})),
        ("upstreams/app", json!({"members": {"a": app.to_string()}})),
        ("upstreams/empty", json!({})),
        ("sites/shop", json!({"hosts": ["shop.example"], "policies": ["of-site"], "response_headers": changes})),
        ("sites/plain", json!({"hosts": ["plain.example"], "tls": {"redirect": true}, "response_headers": changes})),
        ("sites/few", json!({"hosts": ["few.example"], "response_headers": changes})),
        (
            "routes/app",
            json!({"site": "shop", "path": "/app", "to": "app", "response_headers": {"set": {"x-by": "route"}}}),
        ),
        ("routes/empty", json!({"site": "shop", "path": "/empty", "to": "empty"})),
        ("routes/small", json!({"site": "shop", "path": "/small", "to": "app", "body_limit": 1})),
        ("routes/limited", json!({"site": "shop", "path": "/limited", "policies": ["limit"], "respond": 204})),
        ("routes/moved", json!({"site": "shop", "path": "/moved", "redirect": "/new"})),
        ("routes/plain", json!({"site": "plain", "to": "app"})),
        ("routes/few", json!({"site": "few", "path": "/few", "methods": ["GET"], "to": "app"})),
    ]);
    let gateway = Gateway::start_with(Setup::gateway().server("location /own { return 200 own; }"), &all);
    let _ = get(&gateway, "/limited");
    for (host, request, status, by) in [
        ("shop.example", Request::get("/app"), 200, "route"),
        ("shop.example", Request::get("/"), 200, "site"),
        ("shop.example", Request::get("/?a=evil"), 403, "site"),
        ("shop.example", Request::get("/free"), 502, "site"),
        ("shop.example", Request::get("/empty"), 503, "site"),
        ("shop.example", Request::get("/moved"), 302, "site"),
        ("shop.example", Request::get("/limited"), 429, "site"),
        ("shop.example", Request::post("/small", "text/plain", "long"), 413, "site"),
        ("shop.example", Request::get("/own"), 200, "site"),
        ("shop.example", Request::get("/own?a=evil"), 403, "site"),
        ("plain.example", Request::get("/"), 308, "site"),
        ("few.example", Request::get("/absent"), 404, "site"),
        ("few.example", Request::post("/few", "text/plain", "x"), 405, "site"),
    ] {
        let what = format!("{host} {:?}", String::from_utf8_lossy(&request.head()));
        let response = gateway.nginx.send(&request.host(host));
        assert_eq!(response.status, status, "{what}");
        assert_eq!((response.header(NAME), response.header("x-by")), (Some("max-age=1"), Some(by)), "{what}");
    }
    let unknown = gateway.nginx.send(&Request::get("/").host("unknown.example"));
    assert_eq!((unknown.status, unknown.header(NAME)), (404, None));
}

#[test]
fn answers_to_changes_warn_of_what_is_odd() {
    let gateway = Gateway::start(&[
        ("sites/s", json!({"hosts": ["s.example"]})),
        ("routes/api", json!({"site": "s", "path": "/api", "respond": 204})),
    ]);
    let shadow = json!({"site": "s", "path": {"regex": "/.*"}, "respond": 200});
    let dry = gateway.api().put("routes/any?dry_run=true", &shadow);
    let put = gateway.api().put("routes/any", &shadow).expect(201);
    for answer in [dry, put] {
        let warning = &answer.body["warnings"][0];
        assert_eq!(warning["pointer"], "/routes/api/path", "{answer:?}");
        assert!(
            warning["message"].as_str().is_some_and(|text| text.contains("`any` takes every request")),
            "{answer:?}"
        );
        assert!(warning["hint"].as_str().is_some_and(|text| text.contains("priority")), "{answer:?}");
    }
    let quiet =
        gateway.api().put("routes/other", &json!({"site": "s", "path": {"exact": "/x"}, "respond": 204})).expect(201);
    assert_eq!(quiet.body["warnings"], Value::Null);
}

#[test]
fn check_warns_of_what_is_odd_with_its_place() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("gateway.yaml");
    let text = "sites: {s: {hosts: [s.example]}, empty: {hosts: [e.example]}}\n\
                routes:\n  api: {site: s, path: /api, to: app}\n  any: {site: s, path: {regex: '/.*'}, respond: 204}\n\
                upstreams:\n  app: {}\n";
    std::fs::write(&path, text).expect("the directory is writable");
    let run = |more: &[&str]| Command::new(weir()).arg("check").args(more).arg(&path).output().expect("is built");
    let output = run(&[]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    for (line, message) in [
        (":3:", "the route `api` is never chosen: the route `any` takes every request that it matches"),
        (":1:", "the site `empty` has no routes"),
        (":6:", "the upstream `app` has no members: requests of the route `api` are answered with 503"),
    ] {
        let found = said.lines().any(|one| one.starts_with("warning: ") && one.contains(line) && one.contains(message));
        assert!(found, "{line} {message}: {said}");
    }
    let json: Value = serde_json::from_slice(&run(&["--json"]).stdout).expect("is JSON");
    assert_eq!(json["warnings"].as_array().map(Vec::len), Some(3), "{json}");
}

#[test]
fn a_new_state_has_no_differences_from_earlier_versions() {
    let setup = Setup::gateway();
    let mut control = Control::start(&setup.prefix().join("state"), &setup.prefix().join("run"));
    let regex = json!({"site": "s", "path": {"regex": ".*[.]php"}, "respond": 204});
    let all = [
        ("sites/s", json!({"hosts": ["s.example"]})),
        ("routes/all", json!({"site": "s", "respond": 204})),
        ("routes/php", regex),
    ];
    let _ = control.api.put_all(&all).expect(200);
    control.stop();
    control.respawn();
    control.wait();
    assert!(!control.log().contains("differs from earlier versions"), "{}", control.log());
}
