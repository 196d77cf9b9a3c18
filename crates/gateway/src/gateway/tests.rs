//! Tables of matched requests and their handling. `gateway/properties.rs` compares the trie with a plain matcher.

use super::*;
use crate::{
    Patterns, Refusal, hash_key,
    op::Op,
    resource::{
        Certificate, Condition, Document, HashKey, PathMatch, Resource, ResourceKind, Rewrite, Route, RouteAction,
        Settings, Stickiness, Test,
    },
    testing::{Request, apply, forward, gateway, get, member, put_member, route, site, upstream},
};

mod changes;
mod properties;

fn exact(path: &str) -> PathMatch {
    PathMatch::Exact(path.into())
}

fn prefix(path: &str) -> PathMatch {
    PathMatch::Prefix(path.into())
}

fn template(path: &str) -> PathMatch {
    PathMatch::Template(path.into())
}

fn regex(path: &str) -> PathMatch {
    PathMatch::Regex(path.into())
}

/// A site for all hosts with these routes.
fn with(routes: impl IntoIterator<Item = Route>) -> Gateway {
    let routes = routes.into_iter().map(|route| Op::Put(Resource::Route(route)));
    gateway([Op::Put(Resource::Site(site("s", &["*"])))].into_iter().chain(routes))
}

fn id_of(gateway: &Gateway, request: &Request) -> String {
    match gateway.route(request) {
        Found::Route(matched) => matched.route.spec().id.clone(),
        Found::NoSite => "no site".into(),
        Found::NoRoute => "no route".into(),
        Found::MethodNotAllowed { allow } => format!("allow {allow}"),
    }
}

#[test]
fn the_most_specific_host_has_it() {
    let gateway = gateway([
        Op::Put(Resource::Site(site("shop", &["shop.example", "*.shop.example"]))),
        Op::Put(Resource::Site(site("any", &["*.example"]))),
        Op::Put(Resource::Site(site("rest", &["*"]))),
    ]);
    let cases = [
        ("shop.example", "shop"),
        ("SHOP.example.:443", "shop"),
        ("a.b.shop.example", "shop"),
        ("x.example", "any"),
        ("example", "rest"),
        ("", "rest"),
        ("192.0.2.1:80", "rest"),
        ("[::1]:80", "rest"),
    ];
    for (host, expected) in cases {
        assert_eq!(gateway.site(host.as_bytes()).unwrap().spec().id, expected, "{host}");
    }
    assert_eq!(id_of(&Gateway::empty(), &get("a", "/")), "no site");
}

#[test]
fn the_best_path_has_it() {
    let gateway = with([
        route("root", "s", prefix("/")),
        route("api", "s", prefix("/api/")),
        route("api-v1", "s", prefix("/api/v1")),
        route("user", "s", template("/users/{id}")),
        route("me", "s", exact("/users/me")),
        route("posts", "s", template("/users/{id}/posts")),
        route("my-any", "s", template("/users/me/{what}")),
        route("files", "s", template("/files/{path*}")),
        route("file", "s", template("/files/{name}")),
        route("digits", "s", regex("/n/[0-9]+")),
        route("n-long", "s", regex("/n/[0-9]{1,3}|/n/x")),
        route("api-n", "s", regex("/[a-z]+/n/1")),
        Route { priority: 1, ..route("pinned", "s", prefix("/pinned")) },
        Route { priority: 1, ..route("urgent", "s", regex("/urgent/.*")) },
        route("urgent-x", "s", exact("/urgent/x")),
    ]);
    let cases = [
        ("/", "root"),
        ("/other", "root"),
        ("/apix", "root"),
        ("/api", "api"),
        ("/api/", "api"),
        ("/api/v2", "api"),
        ("/api/v1", "api-v1"),
        ("/api/v1/x", "api-v1"),
        ("/users/7", "user"),
        ("/users/", "root"),
        ("/users/me", "me"),
        ("/users/me/", "root"),
        ("/users/7/posts", "posts"),
        ("/users/me/posts", "my-any"), // As many literals as `posts`; the smaller id.
        ("/files", "root"),
        ("/files/", "files"),
        ("/files/a", "file"),
        ("/files/a/b", "files"),
        ("/n/12", "n-long"), // An expression goes before a prefix, and of two the longer one.
        ("/api/n/1", "api-n"),
        ("/pinned/n/1", "pinned"), // The prefix has a higher priority.
        ("/urgent/x", "urgent"),
        ("*", "no route"),
        ("", "no route"),
    ];
    for (path, expected) in cases {
        assert_eq!(id_of(&gateway, &get("a", path)), expected, "{path}");
    }
}

#[test]
fn longer_expressions_go_first() {
    let gateway =
        with([route("a", "s", regex("/n/.*")), route("b", "s", regex("/n/[0-9]+")), route("c", "s", regex("/.*"))]);
    for (path, expected) in [("/n/1", "b"), ("/n/x", "a"), ("/x", "c")] {
        assert_eq!(id_of(&gateway, &get("h", path)), expected, "{path}");
    }
}

#[test]
fn conditions_must_all_hold() {
    let is = |name: &str, test| Condition { name: name.into(), test };
    let mut strict = Route { priority: 9, ..route("strict", "s", prefix("/")) };
    strict.matches.methods = vec!["POST".into(), "PUT".into()];
    strict.matches.headers = vec![is("x-version", Test::Is("2".into())), is("x-off", Test::Present(false))];
    strict.matches.query = vec![is("beta", Test::Present(true))];
    strict.matches.cookies = vec![is("user", Test::OneOf(vec!["a".into(), "b".into()]))];
    let mut loose = Route { priority: 5, ..route("loose", "s", prefix("/")) };
    loose.matches.headers = vec![is("x-version", Test::Regex("[0-9]+".into()))];
    let gateway = with([strict, loose, route("rest", "s", prefix("/"))]);

    let pairs = |name: &str, value: &str| vec![(String::from(name), String::from(value))];
    let full = Request {
        method: "PUT".into(),
        headers: pairs("x-version", "2"),
        arguments: pairs("beta", ""),
        cookies: pairs("user", "b"),
        ..get("h", "/")
    };
    let off = [pairs("x-version", "2"), pairs("x-off", "")].concat();
    let cases = [
        (full.clone(), "strict"),
        (Request { method: "GET".into(), ..full.clone() }, "loose"),
        (Request { headers: pairs("x-version", "3"), ..full.clone() }, "loose"),
        (Request { headers: off, ..full.clone() }, "loose"),
        (Request { arguments: vec![], ..full.clone() }, "loose"),
        (Request { cookies: pairs("user", "c"), ..full.clone() }, "loose"),
        (Request { headers: pairs("x-version", "3b"), ..full.clone() }, "rest"),
        (Request { headers: vec![], ..full }, "rest"),
    ];
    for (request, expected) in cases {
        assert_eq!(id_of(&gateway, &request), expected, "{request:?}");
    }
}

#[test]
fn of_equal_paths_the_one_with_more_conditions_goes_first() {
    let present = |name: &str| Condition { name: name.into(), test: Test::Present(true) };
    let mut two = route("z", "s", prefix("/"));
    two.matches.headers = vec![present("a")];
    two.matches.query = vec![present("b")];
    let mut one = route("y", "s", prefix("/"));
    one.matches.methods = vec!["GET".into(), "PUT".into(), "POST".into()]; // One condition, however many methods.
    let gateway = with([route("a", "s", prefix("/")), two, one]);
    let pair = |name: &str| vec![(String::from(name), String::new())];
    let full = Request { headers: pair("a"), arguments: pair("b"), ..get("h", "/") };
    let cases = [
        (full.clone(), "z"),
        (Request { headers: vec![], ..full }, "y"),
        (Request { method: "DELETE".into(), ..get("h", "/") }, "a"),
    ];
    for (request, expected) in cases {
        assert_eq!(id_of(&gateway, &request), expected, "{request:?}");
    }
}

#[test]
fn other_methods_are_told() {
    let methods = |route: Route, methods: &[&str]| {
        let mut route = route;
        route.matches.methods = methods.iter().map(|method| (*method).into()).collect();
        route
    };
    let mut hidden = methods(route("hidden", "s", exact("/a")), &["PATCH"]);
    hidden.matches.headers = vec![Condition { name: "x".into(), test: Test::Present(true) }];
    let gateway = with([
        methods(route("get", "s", exact("/a")), &["GET", "HEAD"]),
        methods(route("put", "s", exact("/a")), &["PUT", "GET"]),
        methods(route("any", "s", prefix("/a")), &["OPTIONS"]),
        hidden,
    ]);
    let cases = [("GET", "/a", "get"), ("PUT", "/a", "put"), ("OPTIONS", "/a", "any")];
    for (method, path, expected) in cases {
        assert_eq!(id_of(&gateway, &Request { method: method.into(), ..get("h", path) }), expected);
    }
    let delete = |path| id_of(&gateway, &Request { method: "DELETE".into(), ..get("h", path) });
    assert_eq!(delete("/a"), "allow GET, HEAD, PUT, OPTIONS");
    assert_eq!(delete("/a/b"), "allow OPTIONS");
    assert_eq!(delete("/b"), "no route");
}

fn matched(gateway: &Gateway, request: &Request) -> Matched {
    match gateway.route(request) {
        Found::Route(matched) => matched,
        other => panic!("{request:?}: {other:?}"),
    }
}

#[test]
fn paths_are_rewritten() {
    let to = |text: &str| Rewrite::Prefix(text.into());
    let all = |text: &str| Rewrite::Path(text.into());
    let expression = |pattern: &str, to: &str| Rewrite::Regex { pattern: pattern.into(), to: to.into() };
    let cases = [
        (prefix("/api"), to("/v1"), "/api/x/y", "/v1/x/y"),
        (prefix("/api/"), to("/v1/"), "/api/x", "/v1/x"),
        (prefix("/api"), to("/"), "/api/x", "/x"),
        (prefix("/api"), to("/"), "/api", "/"),
        (prefix("/api"), to(""), "/api", "/"),
        (prefix("/"), to("/v1"), "/x", "/v1/x"),
        (exact("/a"), to("/b"), "/a", "/b"),
        (template("/u/{id}/{rest*}"), to("/x"), "/u/7/a/b", "/x/a/b"),
        (template("/u/{id}"), all("/users/{id}"), "/u/7", "/users/7"),
        (prefix("/a"), all("/x{path}"), "/a/b", "/x/a/b"),
        (prefix("/a"), expression("^/a/(.*)$", "/$1"), "/a/b/c", "/b/c"),
        (prefix("/a"), expression("b(?<n>[0-9])", "<${n}>"), "/a/b1/b2", "/a/<1>/b2"),
        (prefix("/a"), expression("^/no", "/"), "/a/b", "/a/b"),
        (prefix("/a"), expression("^/a/", ""), "/a/b", "/b"),
    ];
    for (path, rewrite, request, expected) in cases {
        let mut rewritten = route("r", "s", path);
        let mut action = forward(&[("app", 1)]);
        action.rewrite = Some(rewrite.clone());
        rewritten.action = RouteAction::Forward(Box::new(action));
        let (gateway, request) = (with([rewritten]), get("h", request));
        let mut out = b"before".to_vec();
        assert!(matched(&gateway, &request).rewrite(&request, &mut out));
        assert_eq!(String::from_utf8_lossy(&out), format!("before{expected}"), "{rewrite:?}");
    }
    let mut out = Vec::new();
    let request = get("h", "/");
    let plain = with([route("r", "s", prefix("/"))]);
    assert!(!matched(&plain, &request).rewrite(&request, &mut out) && out.is_empty());
}

#[test]
fn redirects_are_expanded_and_escaped() {
    let cases = [
        (prefix("/"), "https://{host}{path}", "/a b/ü", "", "https://h.example/a%20b/%C3%BC"),
        (prefix("/"), "https://{host}{path}?{query}", "/a", "x=1&y=%20", "https://h.example/a?x=1&y=%20"),
        (prefix("/"), "{path}", "//evil.example/", "", "/evil.example/"),
        (template("/go/{to*}"), "{to}", "/go/https://evil.example", "", "/https://evil.example"),
        (template("/go/{to*}"), "/{to}", "/go//evil.example", "", "/evil.example"),
        (prefix("/"), "//cdn.example{path}", "/a", "", "//cdn.example/a"),
        (prefix("/"), "{path}", "/a\r\nset-cookie: x", "", "/a%0D%0Aset-cookie:%20x"),
        (prefix("/"), "{path}", "/a?b%", "", "/a%3Fb%25"),
        (template("/u/{id}"), "/users/{id}/x", "/u/7?", "", "/users/7%3F/x"),
        (prefix("/"), "/x?{query}", "/", "a b\n<", "/x?a%20b%0A%3C"),
        (prefix("/"), "/plain", "/", "", "/plain"),
    ];
    for (path, to, request, query, expected) in cases {
        let mut redirect = route("r", "s", path);
        redirect.action = RouteAction::Redirect { to: to.into(), status: 308 };
        let request = Request { query: query.into(), ..get("H.example:80", request) };
        let mut out = Vec::new();
        assert_eq!(matched(&with([redirect]), &request).redirect(&request, &mut out), Some(308));
        assert_eq!(String::from_utf8_lossy(&out), expected, "{to}");
    }
}

#[test]
fn splits_go_by_weight_and_stick() {
    let shares = |sides: &[(&str, u32)], sticky: bool| {
        let mut split = route("r", "s", prefix("/"));
        let mut action = forward(sides);
        action.sticky = sticky.then(|| Stickiness { by: HashKey::Cookie("user".into()) });
        split.action = RouteAction::Forward(Box::new(action));
        let gateway = with([split]);
        let side = |n: u64| {
            let request = Request { cookies: vec![("user".into(), n.to_string())], ..get("h", "/") };
            let random = crate::digest::pair(n, if sticky { 1 + n % 3 } else { 0 });
            matched(&gateway, &request).upstream(&request, random).map(String::from)
        };
        (0..10_000).map(side).collect::<Vec<_>>()
    };
    for sticky in [false, true] {
        let sides = shares(&[("app", 95), ("canary", 5), ("off", 0)], sticky);
        let canary = sides.iter().filter(|side| side.as_deref() == Some("canary")).count();
        assert!((420..580).contains(&canary), "{canary}");
        assert!(!sides.contains(&Some("off".into())));
    }
    let (before, after) = (shares(&[("a", 90), ("b", 10)], true), shares(&[("a", 80), ("b", 20)], true));
    let moved: Vec<_> = before.iter().zip(&after).filter(|(before, after)| before != after).collect();
    assert!(moved.iter().all(|(before, _)| before.as_deref() == Some("a")), "only from a to b");
    assert!((800..1200).contains(&moved.len()), "{}", moved.len());
}

#[test]
fn policies_of_the_route_then_the_site_then_the_settings() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).into()).collect::<Vec<String>>();
    let mut gateway = with([route("r", "s", prefix("/"))]);
    let in_effect = |gateway: &Gateway| matched(gateway, &get("h", "/")).policies(gateway).names().to_vec();
    assert_eq!(in_effect(&gateway), names(&[]));
    let settings = Settings { policies: names(&["base"]), ..Settings::default() };
    apply(&mut gateway, Op::Put(Resource::Settings(settings))).unwrap();
    assert_eq!(in_effect(&gateway), names(&["base"]));
    let of_site = crate::resource::Site { policies: Some(names(&["site"])), ..site("s", &["*"]) };
    apply(&mut gateway, Op::Put(Resource::Site(of_site))).unwrap();
    assert_eq!(in_effect(&gateway), names(&["site"]));
    let of_route = Route { policies: Some(vec![]), ..route("r", "s", prefix("/")) };
    apply(&mut gateway, Op::Put(Resource::Route(of_route))).unwrap();
    assert_eq!(in_effect(&gateway), names(&[]));
}

fn certificate(id: &str, names: &[&str], not_after: i64) -> Op {
    let names = names.iter().map(|name| (*name).into()).collect();
    let certificate = Certificate { id: id.into(), chain: String::new(), key: String::new(), names, not_after };
    Op::Put(Resource::Certificate(certificate))
}

#[test]
fn certificates_are_found_by_name() {
    let mut said = site("said", &["said.example"]);
    said.tls.certificate = Some("own".into());
    let mut dangling = site("dangling", &["www.example"]);
    dangling.tls.certificate = Some("gone".into());
    let settings = Settings { default_certificate: Some("default".into()), ..Settings::default() };
    let mut gateway = gateway([
        Op::Put(Resource::Site(said)),
        Op::Put(Resource::Site(dangling)),
        certificate("own", &[], 1),
        certificate("www", &["www.example", "said.example"], 5),
        certificate("old", &["www.example"], 4),
        certificate("wild", &["*.example"], 1),
        certificate("default", &["default"], 1),
    ]);
    let shown = |gateway: &Gateway, sni: &str| {
        gateway.certificate(sni.as_bytes()).map(|found| found.resource.id.clone()).unwrap_or_default()
    };
    assert_eq!(shown(&gateway, "other"), "");
    apply(&mut gateway, Op::Put(Resource::Settings(settings))).unwrap();
    let cases = [
        ("said.example", "own"),
        ("WWW.example", "www"),
        ("x.example", "wild"),
        ("x.y.example", "default"),
        ("other", "default"),
        ("", "default"),
    ];
    for (sni, expected) in cases {
        assert_eq!(shown(&gateway, sni), expected, "{sni}");
    }
    apply(&mut gateway, certificate("www", &["said.example"], 5)).unwrap();
    assert_eq!(shown(&gateway, "www.example"), "old");
    apply(&mut gateway, Op::Delete { kind: ResourceKind::Certificates, id: "old".into() }).unwrap();
    assert_eq!(shown(&gateway, "www.example"), "wild");
}

#[test]
fn keys_come_from_the_request() {
    let request = Request {
        query: "a=1".into(),
        headers: vec![("x".into(), "v".into())],
        cookies: vec![("x".into(), "v".into())],
        arguments: vec![("x".into(), "v".into())],
        ..get("h", "/")
    };
    let name = || String::from("x");
    let by = [HashKey::Header(name()), HashKey::Cookie(name()), HashKey::Query(name())];
    assert!(by.iter().all(|by| hash_key(by, &request) == hash_key(&HashKey::Header(name()), &request)));
    assert!(by.iter().all(|by| hash_key(by, &get("h", "/")).is_none()));
    assert_ne!(hash_key(&HashKey::Uri, &request), hash_key(&HashKey::Uri, &get("h", "/")));
    assert!(hash_key(&HashKey::Ip, &request).is_some());
}
