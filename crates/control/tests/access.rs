//! Who gets in, and what it may do: every route with every role, over TCP and over the socket.

#![allow(clippy::unwrap_used, reason = "in a test it is the assertion, in its helpers too")]

mod support;

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use support::Daemon;
use weir_control::api::openapi::routes;
use weir_control::auth::{Grant, Role, Scope, create_token};
use weir_control::client::{Client, Method, Target};
use weir_resource::ResourceKind;

/// The role that a route needs; `None` if it needs none. Written apart from the product's own table.
fn needed(method: &str, path: &str) -> Option<Role> {
    match (method, path) {
        (_, "/healthz") => None,
        ("GET", "/api/v1/backup") | (_, "/api/v1/shadow/{app}") => Some(Role::Admin),
        ("POST", "/api/v1/probes") => Some(Role::Probe),
        ("GET", _) => Some(Role::Read),
        (_, "/api/v1/settings" | "/api/v1/revisions/{revision}/rollback" | "/api/v1/restore") => Some(Role::Admin),
        _ => Some(Role::Edit),
    }
}

/// Whether a token that is limited to upstreams, or to the site `shop`, gets further than its limits.
fn is_within(site: bool, method: &str, path: &str) -> bool {
    match path {
        "/healthz" | "/openapi.json" | "/api/v1/state" | "/api/v1/transactions" => true,
        "/api/v1/sites" => site && method == "GET",
        "/api/v1/routes" | "/api/v1/routes/{id}" => site,
        _ => !site && path.starts_with("/api/v1/upstreams"),
    }
}

/// A token of the highest role with an end and limits.
fn limited(daemon: &Daemon, name: &str, kinds: &[ResourceKind], sites: &[&str], until: Option<u64>) -> String {
    let scope = Scope { kinds: kinds.to_vec(), sites: sites.iter().map(|site| (*site).to_owned()).collect() };
    let scope = (scope != Scope::default()).then(|| Arc::new(scope));
    let grant = Grant { role: Role::Admin, until, scope };
    create_token(&daemon.dir.path().join("state"), name, grant).unwrap()
}

/// Writes one request and returns the status of its answer.
fn status(stream: impl Read + Write, method: &str, path: &str, token: Option<&str>) -> u16 {
    let body = if matches!(method, "GET" | "DELETE") { "" } else { "{}" };
    status_of(stream, method, path, token, body)
}

/// As [`status`], with a body.
fn status_of(mut stream: impl Read + Write, method: &str, path: &str, token: Option<&str>, body: &str) -> u16 {
    let token = token.map_or_else(String::new, |token| format!("Authorization: Bearer {token}\r\n"));
    // In one piece: the daemon may answer a head without waiting for the body, and close.
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: weir\r\n{token}Content-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    line.split(' ').nth(1).unwrap_or_else(|| panic!("{method} {path}: {line:?}")).parse().unwrap()
}

/// A connection from 127.0.0.N.
fn connect(address: SocketAddr, n: u8) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stream = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(([127, 0, 0, n], 0).into()).unwrap();
        socket.connect(address).await.unwrap().into_std().unwrap()
    });
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// A daemon with a TCP address, and a token of each role.
fn daemon() -> (Daemon, SocketAddr, Vec<(Role, String)>) {
    let (daemon, address) = Daemon::with_address();
    let state = daemon.dir.path().join("state");
    let tokens = Role::ALL.map(|role| (role, create_token(&state, role.as_str(), Grant::unlimited(role)).unwrap()));
    (daemon, address, tokens.to_vec())
}

#[test]
fn every_route_lets_in_the_roles_of_the_table() {
    let (daemon, address, tokens) = daemon();
    let socket = daemon.runtime().join("control.sock");
    let upstreams = limited(&daemon, "upstreams", &[ResourceKind::Upstreams], &[], None);
    let shop = limited(&daemon, "shop", &[], &["shop"], None);
    let expired = limited(&daemon, "expired", &[], &[], Some(1));
    let mut count = 0;
    for (method, template) in routes() {
        // Nothing has these names, so that nothing changes on the way.
        let path = template.replace("{revision}", "999").replace(['{', '}'], "");
        let needed = needed(method, &template);
        // After many failures of an address, 429 takes the place of 401 and 403.
        let none = status(connect(address, 1), method, &path, None);
        assert_eq!(matches!(none, 401 | 429), needed.is_some(), "{method} {template} without a token: {none}");
        for (role, token) in &tokens {
            let answer = status(connect(address, 2), method, &path, Some(token));
            // A registration is answered with passwords.
            let is_let_in =
                Some(*role) >= needed && (needed != Some(Role::Probe) || matches!(role, Role::Probe | Role::Admin));
            assert_eq!(!matches!(answer, 401 | 403 | 429), is_let_in, "{method} {template} as {role}: {answer}");
        }
        let answer = status(connect(address, 3), method, &path, Some(&expired));
        assert_eq!(
            matches!(answer, 401 | 429),
            needed.is_some(),
            "{method} {template} with an expired token: {answer}"
        );
        for (token, site) in [(&upstreams, false), (&shop, true)] {
            let answer = status(connect(address, 4), method, &path, Some(token));
            let is_let_in = is_within(site, method, &template);
            assert_eq!(!matches!(answer, 403 | 429), is_let_in, "{method} {template}, limited, site {site}: {answer}");
        }
        let answer = status(UnixStream::connect(&socket).unwrap(), method, &path, None);
        assert!(!matches!(answer, 401 | 403 | 429), "{method} {template} over the socket: {answer}");
        count += 1;
    }
    assert!(count > 50, "{count} routes");
}

#[test]
fn no_spelling_of_a_path_gets_around_the_role() {
    let (daemon, address, tokens) = daemon();
    let edit = &tokens[2].1;
    for path in [
        "/api/v1/settings",
        "/api/v1/api/v1/settings",
        "/api/v1//settings",
        "//api/v1/settings",
        "/api/v1/settings/",
        "/api/v1/%73ettings",
        "/api/v1/settings%2f",
        "/api/v1/upstreams/../settings",
        "/api/v1/upstreams/%2e%2e/settings",
        "/API/v1/settings",
        "/api/v1/Settings",
        "/api/v1/settings?x=/api/v1/upstreams/a",
        "http://weir/api/v1/settings",
        "/api/v1/settings;a=b",
        "/api/v1/settings/attack_log",
    ] {
        for method in ["PUT", "PATCH", "POST", "DELETE"] {
            let answer = status(TcpStream::connect(address).unwrap(), method, path, Some(edit));
            assert!((400..500).contains(&answer), "{method} {path}: {answer}");
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert_eq!(runtime.block_on(daemon.get("/revisions")).body, json!({"revisions": []}), "nothing has changed");
}

#[test]
fn limits_hold_for_what_a_change_does_however_it_is_asked_for() {
    let (daemon, address) = Daemon::with_address();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let route = |site: &str, path: &str| json!({"site": site, "path": path, "to": "app"});
    let put = |path: &str, body: Value| json!({"method": "PUT", "path": path, "body": body});
    let changes = json!({"changes": [
        put("/upstreams/app", json!({"members": {"a": "127.0.0.1:1"}})),
        put("/sites/shop", json!({"hosts": ["shop.example"]})),
        put("/sites/blog", json!({"hosts": ["blog.example"]})),
        put("/routes/of-shop", route("shop", "/")),
        put("/routes/of-blog", route("blog", "/")),
    ]});
    assert_eq!(runtime.block_on(daemon.call(Method::Post, "/transactions", Some(changes))).status, 200);
    let state = || runtime.block_on(daemon.get("/state")).body;
    let before = state();
    let shop = limited(&daemon, "shop", &[], &["shop"], None);
    let both = limited(&daemon, "both", &[ResourceKind::Upstreams], &["shop"], None);
    let lists = limited(&daemon, "lists", &[ResourceKind::Lists], &[], None);
    let send = |n: u8, token: &str, method: &str, path: &str, body: &str| {
        status_of(connect(address, n), method, &format!("/api/v1{path}"), Some(token), body)
    };
    let (foreign, own) = (route("blog", "/n").to_string(), route("shop", "/n").to_string());
    let transaction = |changes: Value| json!({ "changes": changes }).to_string();
    let forbidden: Vec<(&str, &str, String)> = vec![
        ("PUT", "/routes/new", foreign.clone()),
        ("POST", "/routes", foreign.replacen('{', r#"{"id":"new","#, 1)),
        ("PUT", "/routes/of-shop", foreign.clone()),
        ("PUT", "/routes/of-blog", own.clone()),
        ("PATCH", "/routes/of-shop", r#"{"site": "blog"}"#.into()),
        ("PATCH", "/routes/of-blog", r#"{"priority": 3}"#.into()),
        ("PATCH", "/routes/of-blog?dry_run", r#"{"priority": 3}"#.into()),
        ("PATCH", "/routes/of%2Dblog", r#"{"priority": 3}"#.into()),
        ("PUT", "/routes/of-shop/site", r#""blog""#.into()),
        ("PUT", "/routes/of-blog/priority", "3".into()),
        ("DELETE", "/routes/of-blog/path", String::new()),
        ("DELETE", "/routes/of-blog", String::new()),
        ("DELETE", "/sites/blog", String::new()),
        ("PUT", "/sites/new", r#"{"hosts": ["new.example"]}"#.into()),
        ("POST", "/sites", r#"{"id": "new", "hosts": ["new.example"]}"#.into()),
        ("PUT", "/upstreams/app/members/a/weight", "3".into()),
        ("POST", "/upstreams/app/members", r#"{"id": "b", "address": "127.0.0.1:2"}"#.into()),
        ("PUT", "/settings", "{}".into()),
        ("POST", "/revisions/0/rollback", "{}".into()),
        (
            "POST",
            "/transactions",
            transaction(json!([put("/routes/new", route("shop", "/n")), put("/upstreams/x", json!({}))])),
        ),
        (
            "POST",
            "/transactions",
            transaction(json!([{"method": "PATCH", "path": "/routes/of-shop", "body": {"site": "blog"}}])),
        ),
        ("POST", "/transactions", r#"{"changes": [], "refresh": true}"#.into()),
        ("POST", "/transactions", r#"{"changes": [], "refresh": ["/lists/l"]}"#.into()),
    ];
    for (n, (method, path, body)) in (10..).zip(&forbidden) {
        assert_eq!(send(n, &shop, method, path, body), 403, "{method} {path} {body}");
    }
    assert_eq!(state(), before, "nothing has changed");
    for (path, expected) in [
        ("/routes/of-shop", 200),
        ("/routes/of-blog", 403),
        ("/sites/blog", 403),
        ("/upstreams/app", 403),
        ("/lists", 403),
        ("/settings", 403),
        ("/files", 403),
    ] {
        assert_eq!(send(50, &shop, "GET", path, ""), expected, "{path}");
    }
    let client = Client::new(Target::url(&format!("http://{address}"), Some(shop.clone())).unwrap());
    let get = |path: &str| runtime.block_on(client.call(Method::Get, path, None)).unwrap().body;
    let seen = get("/api/v1/state");
    let ids = |kind: &str| seen[kind].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!((ids("sites"), ids("routes")), (vec!["shop".to_owned()], vec!["of-shop".to_owned()]), "{seen}");
    assert_eq!(seen["upstreams"], json!({}));
    assert_eq!(get("/api/v1/routes?limit=1").as_object().unwrap().len(), 1);
    for (token, method, path, body, expected) in [
        (&shop, "PUT", "/routes/new", own.as_str(), 201),
        (&shop, "PUT", "/sites/shop", r#"{"hosts": ["shop.example"], "tls": {"redirect": false}}"#, 200),
        (&shop, "PUT", "/sites/shop", r#"{"hosts": ["shop.example", "www.blog.example"]}"#, 403),
        (&shop, "PATCH", "/sites/shop", r#"{"hosts": ["*"]}"#, 403),
        (&both, "PUT", "/upstreams/app/members/a/weight", "3", 200),
        (&both, "DELETE", "/routes/new", "", 200),
        (&both, "DELETE", "/routes/of-blog", "", 403),
        (&lists, "GET", "/lists", "", 200),
        (&lists, "GET", "/sites", "", 403),
        (&lists, "PUT", "/routes/of-shop", own.as_str(), 403),
    ] {
        assert_eq!(send(60, token, method, path, body), expected, "{method} {path}");
    }
}

#[test]
fn silent_connections_are_closed_and_leave_room_for_others() {
    let (daemon, address, tokens) = daemon();
    let silent: Vec<TcpStream> = (0..1100).map_while(|_| TcpStream::connect(address).ok()).collect();
    assert!(silent.len() > 500, "{}", silent.len());
    let socket = daemon.runtime().join("control.sock");
    assert_eq!(status(UnixStream::connect(socket).unwrap(), "GET", "/api/v1/state", None), 200, "the socket answers");
    let other = connect(address, 2);
    assert_eq!(status(other, "GET", "/api/v1/state", Some(&tokens[1].1)), 200, "another address has its own share");
    // Those beyond the share are closed at once, the rest after ten seconds: neither read waits for its time-out.
    for mut stream in [silent.last().unwrap(), &silent[0]] {
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let end = stream.read(&mut [0]);
        let is_closed = end.as_ref().map_or_else(|error| error.kind() == ErrorKind::ConnectionReset, |read| *read == 0);
        assert!(is_closed, "{end:?}");
    }
}

#[test]
fn a_change_needs_its_content_type_and_no_foreign_page() {
    let (daemon, address, tokens) = daemon();
    let socket = daemon.runtime().join("control.sock");
    for (headers, expected) in [("", 201), ("Origin: http://weir\r\n", 200), ("Sec-Fetch-Site: same-origin\r\n", 200)]
        .into_iter()
        .chain([("Origin: https://evil.example\r\n", 403), ("Sec-Fetch-Site: cross-site\r\n", 403)])
    {
        // A header field more in place of the token's end.
        let token = format!("{}\r\n{}X: y", tokens[2].1, headers);
        let answer = status(TcpStream::connect(address).unwrap(), "PUT", "/api/v1/upstreams/b", Some(&token));
        assert_eq!(answer, expected, "{headers}");
    }
    for (head, expected) in [
        ("Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", 201),
        ("Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}", 415),
        ("Content-Length: 2\r\n\r\n{}", 415),
        ("Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 2\r\n\r\n{}", 415),
    ] {
        let mut stream = UnixStream::connect(&socket).unwrap();
        write!(stream, "PUT /api/v1/upstreams/a HTTP/1.1\r\nHost: weir\r\nConnection: close\r\n{head}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert_eq!(answer.split(' ').nth(1), Some(expected.to_string().as_str()), "{head}: {answer}");
    }
}
