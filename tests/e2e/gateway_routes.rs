//! The gateway routes by host, path, method, headers, query and cookies, and carries out the route.

use serde_json::{Value, json};
use weir_tests::origin::Echo;
use weir_tests::{Gateway, Request};

/// A gateway with one upstream `app` and these further documents.
fn gateway(app: &Echo, documents: &[(&str, Value)]) -> Gateway {
    let mut all = vec![("upstreams/app", json!({"members": {"a": {"address": app.to_string()}}}))];
    all.extend_from_slice(documents);
    Gateway::start(&all)
}

/// A route of the site `all` that answers with its own name.
fn answers(name: &str, more: Value) -> Value {
    let mut route = json!({"site": "all", "respond": {"status": 200, "body": name}});
    for (key, value) in more.as_object().expect("an object") {
        route[key] = value.clone();
    }
    route
}

#[test]
fn hosts_choose_the_site() {
    let site = |hosts: &[&str]| json!({ "hosts": hosts });
    let route = |site: &str| json!({"site": site, "path": "/", "respond": {"status": 200, "body": site}});
    let gateway = Gateway::start(&[
        ("sites/shop", site(&["shop.example", "*.shop.example"])),
        ("sites/api", site(&["api.shop.example"])),
        ("routes/shop", route("shop")),
        ("routes/api", route("api")),
    ]);
    for (host, want) in [
        ("shop.example", Some("shop")),
        ("SHOP.example:8080", Some("shop")),
        ("shop.example.", Some("shop")),
        ("www.shop.example", Some("shop")),
        ("a.b.shop.example", Some("shop")),
        ("api.shop.example", Some("api")),
        ("other.example", None),
        ("xshop.example", None),
    ] {
        let response = gateway.nginx.send(&Request::get("/x").host(host));
        match want {
            Some(site) => assert_eq!((response.status, response.text().as_str()), (200, site), "{host}"),
            None => assert_eq!(response.status, 404, "{host}"),
        }
    }
    let _ = gateway.api().put("sites/rest", &site(&["*"])).expect(201);
    let _ = gateway.api().put("routes/rest", &route("rest")).expect(201);
    assert_eq!(gateway.nginx.send(&Request::get("/").host("other.example")).text(), "rest");
}

#[test]
fn the_most_specific_path_wins_and_priority_wins_over_it() {
    let gateway = Gateway::start(&[
        ("sites/all", json!({"hosts": ["*"]})),
        ("routes/root", answers("root", json!({"path": "/"}))),
        ("routes/api", answers("api", json!({"path": {"prefix": "/api"}}))),
        ("routes/users", answers("users", json!({"path": {"template": "/api/users/{id}"}}))),
        ("routes/me", answers("me", json!({"path": {"exact": "/api/users/me"}}))),
        ("routes/digits", answers("digits", json!({"path": {"regex": "/api/n[0-9]+"}}))),
        ("routes/rest", answers("rest", json!({"path": {"template": "/files/{name*}"}}))),
        ("routes/x-of-urgent", answers("x-of-urgent", json!({"path": {"regex": "/api/[a-z]+/urgent/x"}}))),
        ("routes/urgent", answers("urgent", json!({"path": {"prefix": "/api/users/urgent"}, "priority": 5}))),
    ]);
    for (path, want) in [
        ("/", "root"),
        ("/apix", "root"),
        ("/api", "api"),
        ("/api/", "api"),
        ("/api/other", "api"),
        ("/api/users/7", "users"),
        ("/api/users/7/more", "api"),
        ("/api/users/me", "me"),
        ("/api/users/urgent", "urgent"),
        ("/api/users/urgent/x", "urgent"),
        ("/api/n12", "digits"),
        ("/api/n12x", "api"),
        ("/files/a/b/c", "rest"),
        ("/api/%75sers/me", "me"),
        ("/x/../api/users/me", "me"),
        ("//api//users//me", "me"),
    ] {
        assert_eq!(gateway.nginx.get(path).text(), want, "{path}");
    }
}

#[test]
fn methods_headers_query_and_cookies_are_conditions() {
    let gateway = Gateway::start(&[
        ("sites/all", json!({"hosts": ["*"]})),
        ("routes/write", answers("write", json!({"path": "/x", "methods": ["POST", "PUT"]}))),
        (
            "routes/v2",
            answers("v2", json!({"path": "/x", "methods": ["GET"], "headers": {"x-version": "2"}, "priority": 3})),
        ),
        (
            "routes/beta",
            answers(
                "beta",
                json!({"path": "/x", "methods": ["GET"], "query": {"beta": {"present": true}}, "priority": 2}),
            ),
        ),
        (
            "routes/staff",
            answers(
                "staff",
                json!({"path": "/x", "methods": ["GET"], "cookies": {"role": {"regex": "staff|admin"}}, "priority": 1}),
            ),
        ),
        ("routes/read", answers("read", json!({"path": "/x", "methods": ["GET"]}))),
    ]);
    let get = || Request::get("/x");
    for (request, want) in [
        (get(), "read"),
        (get().header("X-Version", "2"), "v2"),
        (get().header("X-Version", "22"), "read"),
        (Request::get("/x?a=1&beta"), "beta"),
        (get().header("Cookie", "a=b; role=admin"), "staff"),
        (get().header("Cookie", "role=administrator"), "read"),
        (Request::post("/x", "text/plain", "y"), "write"),
    ] {
        assert_eq!(gateway.nginx.send(&request).text(), want);
    }
    let refused = gateway.nginx.send(&Request::new("DELETE", "/x"));
    assert_eq!(refused.status, 405);
    let mut allowed: Vec<&str> = refused.header("allow").expect("says what is allowed").split(", ").collect();
    allowed.sort_unstable();
    assert_eq!(allowed, ["GET", "POST", "PUT"]);
}

#[test]
fn paths_are_rewritten_and_headers_changed() {
    let app = Echo::start();
    let gateway = gateway(
        &app,
        &[
            ("sites/all", json!({"hosts": ["*"]})),
            ("routes/prefix", json!({"site": "all", "path": "/old", "to": "app", "rewrite": {"prefix": "/new"}})),
            (
                "routes/path",
                json!({"site": "all", "path": {"template": "/u/{id}/{what}"}, "to": "app", "rewrite": {"path": "/{what}/of/{id}"}}),
            ),
            (
                "routes/regex",
                json!({"site": "all", "path": "/r", "to": "app", "rewrite": {"regex": "^/r/([a-z]+)/(.*)$", "to": "/$2/$1"}}),
            ),
            (
                "routes/headers",
                json!({"site": "all", "path": "/h", "to": "app",
                    "request_headers": {"set": {"X-Set": "new"}, "add": {"X-Add": "more"}, "remove": ["X-Remove"]},
                    "response_headers": {"set": {"X-Answer": "weir"}, "remove": ["X-Origin"]}}),
            ),
        ],
    );
    for (path, want) in [
        ("/old", "/new"),
        ("/old/a/b?q=1", "/new/a/b?q=1"),
        ("/u/7/cart?x=%20y", "/cart/of/7?x=%20y"),
        ("/r/abc/d/e", "/d/e/abc"),
        ("/h/a%20b", "/h/a%20b"),
    ] {
        assert_eq!(gateway.nginx.get(path).json()["target"], want, "{path}");
    }
    let request = Request::get("/h").header("X-Set", "old").header("X-Add", "one").header("X-Remove", "gone");
    let response = gateway.nginx.send(&request);
    let seen = response.json()["headers"].clone();
    let values = |name: &str| -> Vec<String> {
        let headers = seen.as_array().expect("the echo origin answers");
        let named = headers.iter().filter(|pair| pair[0].as_str().is_some_and(|have| have.eq_ignore_ascii_case(name)));
        named.map(|pair| pair[1].as_str().expect("is text").to_owned()).collect()
    };
    assert_eq!(
        (values("x-set"), values("x-add"), values("x-remove")),
        (vec!["new".into()], vec!["one".into(), "more".into()], vec![])
    );
    assert_eq!((response.header("X-Answer"), response.header("X-Origin")), (Some("weir"), None));
    assert_eq!(values("host"), ["weir.test"]);
    assert_eq!(values("x-forwarded-for"), ["127.0.0.1"]);
}

#[test]
fn redirects_and_answers_come_from_the_route() {
    let gateway = Gateway::start(&[
        ("sites/all", json!({"hosts": ["*"]})),
        (
            "routes/moved",
            json!({"site": "all", "path": {"template": "/old/{id}"}, "redirect": {"to": "https://{host}/new/{id}?{query}", "status": 301}}),
        ),
        (
            "routes/teapot",
            json!({"site": "all", "path": "/tea", "respond": {"status": 418, "body": "{\"short\":true}", "content_type": "application/json"}}),
        ),
    ]);
    let response = gateway.nginx.get("/old/7?a=b");
    assert_eq!((response.status, response.header("location")), (301, Some("https://weir.test/new/7?a=b")));
    let response = gateway.nginx.get("/tea");
    assert_eq!((response.status, response.header("content-type")), (418, Some("application/json")));
    assert_eq!(response.json()["short"], true);
}

#[test]
fn only_bodies_beyond_the_limit_of_the_route_are_refused() {
    let app = Echo::start();
    let gateway = gateway(
        &app,
        &[
            ("sites/all", json!({"hosts": ["*"]})),
            ("routes/small", json!({"site": "all", "path": "/small", "to": "app", "body_limit": "1k"})),
            ("routes/large", json!({"site": "all", "path": "/large", "to": "app", "body_limit": 0})),
        ],
    );
    let post = |path: &str, bytes: usize| Request::post(path, "text/plain", "x".repeat(bytes));
    for (request, status) in [
        (post("/small", 1024), 200),
        (post("/small", 1025), 413),
        (post("/small", 1000).chunked(), 200),
        (post("/small", 20_000).chunked(), 413),
        (post("/large", 3_000_000), 200),
    ] {
        assert_eq!(gateway.nginx.send(&request).status, status);
    }
}

#[test]
fn policies_of_the_route_apply_and_change_without_a_reload() {
    let app = Echo::start();
    let rule = |word: &str| json!({"id": "word", "when": format!("http.request.uri.path contains \"{word}\""), "message": "A word", "action": "block"});
    let gateway = gateway(
        &app,
        &[
            ("sites/all", json!({"hosts": ["*"], "policies": ["strict"]})),
            ("policies/strict", json!({"rules": [rule("attack")]})),
            ("routes/root", json!({"site": "all", "path": "/", "to": "app"})),
            ("routes/free", json!({"site": "all", "path": "/free", "to": "app", "policies": []})),
        ],
    );
    let status = |path: &str| gateway.nginx.get(path).status;
    assert_eq!([status("/attack"), status("/free/attack"), status("/fine")], [403, 200, 200]);
    let line = gateway.nginx.attacks(1).remove(0);
    assert_eq!((line["policy"].as_str(), line["rule_ids"][0].as_str()), (Some("strict"), Some("word")));

    let _ = gateway.api().put("policies/strict/rules/word", &rule("other")).expect(200);
    assert_eq!([status("/attack"), status("/other"), status("/free/other")], [200, 403, 200]);
    let refused = gateway
        .api()
        .put("policies/strict/rules/word", &json!({"id": "word", "when": "http.hots eq \"x\"", "action": "block"}));
    assert_eq!(refused.status, 422);
    let (pointer, message) = refused.errors().remove(0);
    assert!(pointer.starts_with("/policies/strict/rules/0/when") || pointer.contains("rules/word/when"), "{pointer}");
    assert!(message.contains("http.hots"), "{message}");
    assert_eq!([status("/attack"), status("/other")], [200, 403], "nothing was applied");
}
