//! Documents, and what becomes of them.

use std::time::Instant;

use weir_gateway::op::Op;
use weir_gateway::resource::{
    Balance, CheckKind, HashKey, History, HostHeader, Messages, PathMatch, Rate, Resource, Rewrite, RouteAction, Test,
    Topics,
};

use super::*;

fn good(kind: ResourceKind, json: &str) -> Checked {
    let id = if kind == ResourceKind::Members { "app/a" } else { "x" };
    check(kind, if kind == ResourceKind::Settings { "" } else { id }, json.as_bytes())
        .unwrap_or_else(|faults| panic!("{json}: {faults:?}"))
}

fn faults(kind: ResourceKind, json: &str) -> Vec<Fault> {
    let id = if kind == ResourceKind::Members { "app/a" } else { "x" };
    check(kind, if kind == ResourceKind::Settings { "" } else { id }, json.as_bytes()).expect_err(json)
}

#[test]
fn a_site_is_its_hosts() {
    let checked = good(
        ResourceKind::Sites,
        r#"{"hosts": ["Shop.Example", "*.shop.example"], "tls": {"certificate": "c1", "redirect": true}, "policies": ["b", "a", "b"]}"#,
    );
    let Some(Op::Put(Resource::Site(site))) = checked.op else { panic!() };
    assert_eq!(site.hosts, ["shop.example", "*.shop.example"]);
    assert!(site.tls.redirect && site.policies == Some(vec!["b".into(), "a".into()]));
    let unique: Vec<(&str, &str)> = checked.unique.iter().map(|one| (one.key.as_str(), one.pointer.as_str())).collect();
    assert_eq!(unique, [("host shop.example", "/hosts/0"), ("host *.shop.example", "/hosts/1")]);
    assert_eq!(
        (checked.references[0].kind, checked.references[0].pointer.as_str()),
        (ResourceKind::Certificates, "/tls/certificate")
    );
    assert_eq!(checked.references[1].pointer, "/policies/0");
    let Some(Op::Put(Resource::Site(site))) = good(ResourceKind::Sites, r#"{"hosts": ["*"]}"#).op else { panic!() };
    assert_eq!(site.policies, None);
}

#[test]
fn a_route_has_its_defaults_and_short_forms() {
    let Some(Op::Put(Resource::Route(route))) = good(ResourceKind::Routes, r#"{"site": "s", "to": "app"}"#).op else {
        panic!()
    };
    assert_eq!((route.matches.path, route.priority, route.body_limit), (PathMatch::Prefix("/".into()), 0, 1 << 20));
    let RouteAction::Forward(forward) = route.action else { panic!() };
    assert_eq!(
        (forward.timeouts.connect_ms, forward.timeouts.send_ms, forward.timeouts.read_ms),
        (5000, 60_000, 60_000)
    );
    assert_eq!((forward.retries.attempts, forward.retries.on.len(), forward.retries.timeout_ms), (2, 2, 0));
    assert!(forward.websocket && forward.buffering && forward.mirror.is_none() && forward.split[0].weight == 1);

    let json = r#"{"site": "s", "path": {"template": "/u/{id}"}, "methods": ["POST", "GET", "GET"],
        "headers": {"X-Version": "2", "a": {"regex": "^x"}}, "query": {"beta": {"present": true}}, "cookies": {"c": {"one_of": ["a", "b"]}},
        "priority": 3, "split": [{"upstream": "app", "weight": 95}, {"upstream": "canary", "weight": 5}], "sticky": "cookie:user",
        "rewrite": {"path": "/x/{id}"}, "request_headers": {"set": {"X-A": "b"}, "remove": ["X-C"]}, "timeouts": {"read": "250ms"},
        "body_limit": 0, "retries": {"on": [502, "timeout"]}, "mirror": {"upstream": "shadow", "percent": 12.5}, "policies": []}"#;
    let checked = good(ResourceKind::Routes, json);
    let Some(Op::Put(Resource::Route(route))) = checked.op else { panic!() };
    assert_eq!(route.matches.methods, ["GET", "POST"]);
    assert_eq!((route.matches.headers[0].name.as_str(), &route.matches.headers[1].test), ("a", &Test::Is("2".into())));
    let RouteAction::Forward(forward) = route.action else { panic!() };
    assert_eq!(forward.rewrite, Some(Rewrite::Path("/x/{id}".into())));
    assert_eq!((forward.sticky.unwrap().by, forward.mirror.unwrap().per_10000), (HashKey::Cookie("user".into()), 1250));
    assert_eq!((forward.timeouts.read_ms, forward.timeouts.send_ms, route.body_limit), (250, 60_000, 0));
    assert_eq!((route.policies, checked.patterns), (Some(vec![]), vec!["^x".to_owned()]));
    let named: Vec<(&str, &str)> =
        checked.references.iter().map(|one| (one.id.as_str(), one.pointer.as_str())).collect();
    assert_eq!(
        named,
        [("s", "/site"), ("app", "/split/0/upstream"), ("canary", "/split/1/upstream"), ("shadow", "/mirror/upstream")]
    );

    let Some(Op::Put(Resource::Route(route))) = good(ResourceKind::Routes, r#"{"site": "s", "respond": 204}"#).op
    else {
        panic!()
    };
    assert!(matches!(route.action, RouteAction::Respond { status: 204, .. }));
    let Some(Op::Put(Resource::Route(route))) =
        good(ResourceKind::Routes, r#"{"site": "s", "redirect": "https://{host}{path}"}"#).op
    else {
        panic!()
    };
    assert!(matches!(route.action, RouteAction::Redirect { status: 302, .. }));
}

#[test]
fn topics_have_their_defaults_and_short_form() {
    let topics = |json: &str| {
        let Some(Op::Put(Resource::Topics(topics))) = good(ResourceKind::Topics, json).op else { panic!() };
        topics
    };
    let defaults = Topics {
        id: "x".into(),
        filters: vec!["orders/#".into(), "stock/+/level".into()],
        history: History { count: 0, age_ms: 600_000 },
        max_message: 64 << 10,
        presence: false,
    };
    let json = r#"{"topics": ["orders/#", "stock/+/level"]}"#;
    assert_eq!(topics(json), defaults);
    let json = r#"{"topics": ["orders/#", "stock/+/level"], "history": 100, "max_message": "16m"}"#;
    let history = History { count: 100, ..defaults.history };
    assert_eq!(topics(json), Topics { history, max_message: 16 << 20, ..defaults });
    let json = r##"{"topics": ["#"], "history": {"count": 100000, "age": "1d"}, "max_message": 1}"##;
    assert_eq!(topics(json).history, History { count: 100_000, age_ms: 86_400_000 });
}

#[test]
fn a_route_for_messages_has_its_defaults_and_short_form() {
    let messages = |json: &str| {
        let json = format!(r#"{{"site": "s", "messages": {json}}}"#);
        let checked = good(ResourceKind::Routes, &json);
        let Some(Op::Put(Resource::Route(route))) = checked.op else { panic!() };
        let RouteAction::Messages(messages) = route.action else { panic!() };
        (messages, checked.references)
    };
    let (defaults, references) = messages(r#""orders""#);
    let expected = Messages {
        topics: "orders".into(),
        publish: false,
        subscribe: true,
        buffer: 256 << 10,
        ping_ms: 30_000,
        max_connection_topics: 64,
        restricted: false,
        uninspected_frames: false,
        publish_rate: None,
        origins: vec![],
    };
    assert_eq!(defaults, expected);
    assert_eq!((references[1].kind, references[1].id.as_str()), (ResourceKind::Topics, "orders"));
    assert_eq!(references[1].pointer, "/messages");
    let (all, references) = messages(
        r#"{"topics": "chat", "publish": true, "subscribe": false, "buffer": "4k", "ping": "1h",
            "max_connection_topics": 10000, "restricted": true, "publish_rate": "100/10s", "origins": ["https://App.example.com", "https://app.example.com", "*"]}"#,
    );
    assert!(all.publish && !all.subscribe && all.max_connection_topics == 10_000 && all.restricted);
    assert_eq!(all.publish_rate, Some(Rate { requests: 100, period_ms: 10_000 }));
    assert_eq!((all.buffer, all.ping_ms, references[1].pointer.as_str()), (4096, 3_600_000, "/messages/topics"));
    assert_eq!(all.origins, ["https://app.example.com", "*"]);
}

#[test]
fn an_upstream_has_its_defaults() {
    let json = r#"{"members": {"b": "10.0.0.1:8080", "a": {"address": "app:80", "weight": 3, "backup": true}}}"#;
    let Some(Op::Put(Resource::Upstream(upstream))) = good(ResourceKind::Upstreams, json).op else { panic!() };
    assert_eq!(
        (upstream.balance, upstream.host, upstream.resolve_every_ms),
        (Balance::RoundRobin, HostHeader::Preserve, 10_000)
    );
    let (keepalive, passive) = (upstream.keepalive.unwrap(), upstream.passive.unwrap());
    assert_eq!((keepalive.connections, keepalive.requests, keepalive.idle_ms), (64, 1000, 60_000));
    assert_eq!((passive.failures, passive.window_ms, passive.eject_ms, upstream.active), (3, 10_000, 10_000, None));
    assert!(upstream.tls.verify);

    let json = r#"{"balance": "hash", "hash_key": "header:X-User", "protocol": "https", "keepalive": false, "host": "member",
        "health": {"passive": false, "active": {"http": {"path": "/h", "expect": "200-299"}, "interval": "5s"}},
        "tls": {"verify": false, "server_name": "X"}, "fallback": "other"}"#;
    let Some(Op::Put(Resource::Upstream(upstream))) = good(ResourceKind::Upstreams, json).op else { panic!() };
    assert_eq!(
        (upstream.balance, upstream.keepalive, upstream.passive),
        (Balance::Hash(HashKey::Header("x-user".into())), None, None)
    );
    let active = upstream.active.unwrap();
    assert_eq!(active.kind, CheckKind::Http { path: "/h".into(), host: None, expect: (200, 299) });
    assert_eq!((active.interval_ms, active.timeout_ms, active.healthy, active.unhealthy), (5000, 1000, 2, 3));
    assert_eq!(upstream.tls.server_name.as_deref(), Some("x"));
    let Some(Op::Put(Resource::Upstream(upstream))) =
        good(ResourceKind::Upstreams, r#"{"health": {"active": true}}"#).op
    else {
        panic!()
    };
    assert_eq!(upstream.active.unwrap().kind, CheckKind::Tcp);
}

#[test]
fn a_member_is_an_operation() {
    let Some(Op::Put(Resource::Member { upstream, member })) =
        good(ResourceKind::Members, r#"{"address": "10.0.0.1:80", "weight": 3}"#).op
    else {
        panic!()
    };
    assert_eq!((upstream.as_str(), member.id.as_str(), member.weight, member.socket.is_some()), ("app", "a", 3, true));
    assert!(good(ResourceKind::Members, r#""unix:/run/a.sock""#).op.is_some());
}

#[test]
fn settings_and_policies_name_others() {
    let checked = good(
        ResourceKind::Settings,
        r#"{"policies": ["base"], "default_certificate": "c", "client_address": {"trusted": ["10.0.0.0/8"]}}"#,
    );
    assert!(checked.references.len() == 2 && matches!(checked.op, Some(Op::Put(Resource::Settings(_)))));
    let checked = good(
        ResourceKind::Policies,
        r#"{"mode": "detect", "rules": [{"id": "a", "when": "true", "action": {"rule_set": {"set": "own"}}}]}"#,
    );
    assert_eq!(
        (checked.references[0].kind, checked.references[0].pointer.as_str()),
        (ResourceKind::RuleSets, "/rules/0/action/rule_set/set")
    );
    assert!(matches!(checked.op, Some(Op::Put(Resource::Policy(_)))));
}

#[test]
fn faults_have_pointers_and_say_what_to_do() {
    use ResourceKind::*;
    // ResourceKind, document, pointer of the first fault, part of its message, part of its hint.
    for (kind, json, pointer, message, hint) in [
        (Sites, "{}", "", "needs `hosts`", "a list"),
        (Sites, r#"{"hosts": []}"#, "/hosts", "at least one", ""),
        (Sites, r#"{"hosts": ["a", "A"]}"#, "/hosts/1", "given twice", ""),
        (Sites, r#"{"hosts": ["https://a"]}"#, "/hosts/0", "expected a host name", "without https"),
        (Sites, r#"{"hosts": ["a"], "tsl": {}}"#, "/tsl", "unknown key", "`tls`"),
        (Sites, r#"{"hosts": ["a"], "hosts": ["b"]}"#, "/hosts", "given twice", ""),
        (
            Sites,
            r#"{"hosts": ["a"], "tls": {"min_version": "1.1"}}"#,
            "/tls/min_version",
            "expected `1.2` or `1.3`",
            "",
        ),
        (Routes, r#"{"site": "s"}"#, "", "needs one of `to`", ""),
        (Routes, r#"{"site": "s", "to": "a", "split": [{"upstream": "b"}]}"#, "/split", "either `to` or `split`", ""),
        (Routes, r#"{"site": "a b", "to": "a"}"#, "/site", "expected a valid site id", "letters"),
        (Routes, r#"{"site": 1, "to": "a"}"#, "/site", "found the number 1", "quotes"),
        (Routes, r#"{"site": "s", "to": "a", "path": "/a/../b"}"#, "/path", "expected a path", "resolved"),
        (
            Routes,
            r#"{"site": "s", "to": "a", "path": {"exact": "/", "prefix": "/"}}"#,
            "/path/prefix",
            "either `exact` or `prefix`",
            "",
        ),
        (Routes, r#"{"site": "s", "to": "a", "path": {}}"#, "/path", "needs one of", ""),
        (
            Certificates,
            r#"{"certificate": {"file": "/c", "pem": "-----BEGIN X-----"}, "key": {"file": "/k"}}"#,
            "/certificate/file",
            "either `pem` or `file`",
            "",
        ),
        (Certificates, r#"{"certificate": {"file": "/c"}, "key": {}}"#, "/key", "needs one of", ""),
        (
            Certificates,
            r#"{"certificate": {"file": "/c"}, "key": {"sha256": "AB"}}"#,
            "/key/sha256",
            "expected a SHA-256",
            "",
        ),
        (
            Certificates,
            r#"{"certificate": "/c", "key": {"file": "/k"}}"#,
            "/certificate",
            "expected PEM",
            "{file: PATH}",
        ),
        (
            Routes,
            r#"{"site": "s", "to": "a", "methods": ["get"]}"#,
            "/methods/0",
            "expected a method",
            "did you mean `GET`?",
        ),
        (Routes, r#"{"site": "s", "to": "a", "headers": {"A": "1", "a": "2"}}"#, "/headers/a", "given twice", ""),
        (Routes, r#"{"site": "s", "to": "a", "timeouts": {"read": "5"}}"#, "/timeouts/read", "expected a time", "unit"),
        (Routes, r#"{"site": "s", "to": "a", "timeouts": {"read": "0s"}}"#, "/timeouts/read", "from 1ms to 1d", ""),
        (Routes, r#"{"site": "s", "to": "a", "sticky": "ip"}"#, "/sticky", "goes with `split`", ""),
        (Routes, r#"{"site": "s", "respond": 200, "mirror": "a"}"#, "/mirror", "goes with `to`", ""),
        (Routes, r#"{"site": "s", "redirect": "/{id}"}"#, "/redirect", "nothing is called {id}", "{host}"),
        (Routes, r#"{"site": "s", "to": "a", "rewrite": {"regex": "a"}}"#, "/rewrite/regex", "needs `to`", ""),
        (
            Routes,
            r#"{"site": "s", "to": "a", "path": {"regex": "a"}, "rewrite": {"prefix": "/"}}"#,
            "/rewrite/prefix",
            "no prefix",
            "",
        ),
        (Routes, r#"{"site": "s", "split": [{"upstream": "a", "weight": 0}]}"#, "/split", "all weights are 0", ""),
        (
            Routes,
            r#"{"site": "s", "split": [{"upstream": "a", "weight": -1}]}"#,
            "/split/0/weight",
            "expected an integer from 0",
            "",
        ),
        (
            Routes,
            r#"{"site": "s", "to": "a", "request_headers": {"set": {"Connection": "x"}}}"#,
            "/request_headers/set/Connection",
            "header name",
            "nginx",
        ),
        (
            Upstreams,
            r#"{"members": {"a": {"address": "10.0.0.1"}}}"#,
            "/members/a/address",
            "expected an address",
            "port is missing",
        ),
        (Upstreams, r#"{"members": {"a/b": "10.0.0.1:80"}}"#, "/members/a~1b", "expected a valid member id", ""),
        (Upstreams, r#"{"balance": "hash"}"#, "/balance", "needs `hash_key`", "ip"),
        (Upstreams, r#"{"hash_key": "ip"}"#, "/hash_key", "goes with `balance: hash`", ""),
        (Upstreams, r#"{"tls": {}}"#, "/tls", "speak TLS", "https"),
        (Upstreams, r#"{"fallback": "x"}"#, "/fallback", "its own", ""),
        (
            Upstreams,
            r#"{"keepalive": 5}"#,
            "/keepalive",
            "expected `keepalive` (a mapping), `true` or `false`",
            "connections",
        ),
        (Topics, "{}", "", "needs `topics`", "a list"),
        (Topics, r#"{"topics": []}"#, "/topics", "at least one", ""),
        (Topics, r#"{"topics": [""]}"#, "/topics/0", "expected a topic filter", ""),
        (Topics, r#"{"topics": ["a/#/b"]}"#, "/topics/0", "expected a topic filter", "the last level"),
        (Topics, r#"{"topics": ["a", "b+"]}"#, "/topics/1", "expected a topic filter", "a whole level"),
        (Topics, r#"{"topics": ["$SYS/#"]}"#, "/topics/0", "expected a topic filter", "reserved"),
        (Topics, r#"{"topics": ["a\u0000"]}"#, "/topics/0", "expected a topic filter", "control characters"),
        (Topics, r#"{"topics": ["a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q"]}"#, "/topics/0", "topic filter", "16 levels"),
        (Topics, r#"{"topics": ["a", "a"]}"#, "/topics/1", "given twice", ""),
        (Topics, r#"{"topics": [7]}"#, "/topics/0", "found the number 7", "quotes"),
        (Topics, r#"{"topics": ["a"], "history": 100001}"#, "/history", "from 0 to 100000", ""),
        (Topics, r#"{"topics": ["a"], "history": {"age": "1h"}}"#, "/history/age", "needs `count`", ""),
        (Topics, r#"{"topics": ["a"], "history": {"count": 1, "age": "2d"}}"#, "/history/age", "1ms to 1d", ""),
        (Topics, r#"{"topics": ["a"], "max_message": 0}"#, "/max_message", "expected a size from 1 to 16m", ""),
        (Topics, r#"{"topics": ["a"], "max_message": "17m"}"#, "/max_message", "from 1 to 16m", ""),
        (Topics, r#"{"topics": ["a"], "retain": 1}"#, "/retain", "unknown key", "history"),
        (Routes, r#"{"site": "s", "messages": []}"#, "/messages", "found a list", "topics"),
        (Routes, r#"{"site": "s", "messages": {"publish": true}}"#, "/messages", "needs `topics`", ""),
        (Routes, r#"{"site": "s", "messages": "a", "to": "b"}"#, "/messages", "either `to` or `messages`", ""),
        (Routes, r#"{"site": "s", "messages": "a", "mirror": "b"}"#, "/mirror", "goes with `to`", "`messages`"),
        (Routes, r#"{"site": "s", "messages": "a", "websocket": true}"#, "/websocket", "goes with `to`", ""),
        (
            Routes,
            r#"{"site": "s", "messages": {"topics": "a", "subscribe": false}}"#,
            "/messages/subscribe",
            "neither publish nor subscribe",
            "`publish`",
        ),
        (
            Routes,
            r#"{"site": "s", "messages": {"topics": "a", "buffer": "3k"}}"#,
            "/messages/buffer",
            "expected a size from 4k to 16m",
            "",
        ),
        (Routes, r#"{"site": "s", "messages": {"topics": "a", "ping": 0}}"#, "/messages/ping", "from 1s to 1h", ""),
        (
            Routes,
            r#"{"site": "s", "messages": {"topics": "a", "max_connection_topics": 0}}"#,
            "/messages/max_connection_topics",
            "from 1 to 10000",
            "",
        ),
        (
            Routes,
            r#"{"site": "s", "messages": {"topics": "a", "origins": ["https://a.example/"]}}"#,
            "/messages/origins/0",
            "expected an origin",
            "without a slash",
        ),
        (
            Routes,
            r#"{"site": "s", "messages": {"topics": "a", "origins": ["a.example"]}}"#,
            "/messages/origins/0",
            "expected an origin",
            "scheme",
        ),
        (Members, r#"{"address": "a:80", "weight": 1001}"#, "/weight", "from 0 to 1000", ""),
        (Members, r#"{"address": "a:80", "wieght": 1}"#, "/wieght", "unknown key", "`weight`"),
        (Members, "[]", "", "expected a member", "its keys are"),
        (Members, "null", "", "expected a member", ""),
        (Members, "{", "", "not valid JSON", ""),
        (Settings, r#"{"client_address": {}}"#, "/client_address", "needs `trusted`", ""),
        (Lists, "{}", "", "needs one of `addresses`", ""),
        (Lists, r#"{"addresses": ["x"]}"#, "/addresses/0", "expected an address", ""),
        (Policies, r#"{"id": "x", "rules": []}"#, "/id", "unknown key", ""),
        (Policies, "{}", "", "needs one of `rules`, `selectors`", ""),
        (RuleSets, "{}", "", "needs one of `rules`, `files`", ""),
    ] {
        let all = faults(kind, json);
        let first = &all[0];
        assert_eq!(first.pointer, pointer, "{json}: {all:?}");
        assert!(first.message.contains(message), "{json}: {all:?}");
        assert!(first.hint.as_deref().unwrap_or_default().contains(hint), "{json}: {all:?}");
    }
}

#[test]
fn all_faults_come_at_once_with_their_parts() {
    let all = faults(ResourceKind::Members, r#"{"address": "x", "weight": "3", "drian": true}"#);
    assert_eq!(all.iter().map(|fault| fault.pointer.as_str()).collect::<Vec<_>>(), ["/address", "/weight", "/drian"]);
    assert_eq!(all[1].expected.as_deref(), Some("an integer from 0 to 1000"));
    assert_eq!(all[1].found.as_deref(), Some("the text \"3\""));
    assert_eq!(all[1].hint.as_deref(), Some("remove the quotes"));
}

#[test]
fn ids_are_checked_with_the_document() {
    for (kind, id, good) in [
        (ResourceKind::Members, "app/a", true),
        (ResourceKind::Members, "app", false),
        (ResourceKind::Members, "a b/a", false),
        (ResourceKind::Members, "app/", false),
        (ResourceKind::Members, "app/..", false),
        (ResourceKind::Members, "a/b/c", false),
    ] {
        assert_eq!(check(kind, id, br#""a:80""#).is_ok(), good, "{id}");
    }
    let policy = br#"{"rules": [{"id": "a", "when": "true", "action": "log"}]}"#;
    assert!(
        check(ResourceKind::Policies, "none", policy).is_err() && check(ResourceKind::Policies, "p", policy).is_ok()
    );
    assert!(check(ResourceKind::Settings, "x", b"{}").is_err() && check(ResourceKind::Settings, "", b"{}").is_ok());
    assert!(
        check(ResourceKind::Lists, "1a", br#"{"strings": []}"#).is_err()
            && check(ResourceKind::Lists, "_a", br#"{"strings": []}"#).is_ok()
    );
    assert!(check(ResourceKind::Sites, &"a".repeat(129), br#"{"hosts": ["a"]}"#).is_err());
}

#[test]
fn hostile_documents_are_refused_soon() {
    let deep = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
    let many = format!(r#"{{"hosts": [{}"a"]}}"#, r#""b","#.repeat(2000));
    for json in [deep.as_bytes(), many.as_bytes(), b"\xff", b"", br#"{"hosts": ["\ud800"]}"#] {
        let all = check(ResourceKind::Sites, "s", json).unwrap_err();
        assert!(all.len() <= weir_policy::MAX_ERRORS && !all.is_empty());
    }
}

/// What `cargo test --profile quick -- --ignored --nocapture speed` prints.
#[test]
#[ignore = "a measurement"]
fn speed() {
    let route = r#"{"site": "shop", "path": "/api/v1", "methods": ["GET", "POST"], "headers": {"x-version": "2"}, "to": "app", "timeouts": {"read": "30s"}}"#;
    for (kind, json) in [
        (ResourceKind::Members, r#"{"address":"10.0.0.1:80","weight":3}"#),
        (ResourceKind::Routes, route),
        (ResourceKind::Sites, r#"{"hosts": ["shop.example", "*.shop.example"], "tls": {"certificate": "c1"}}"#),
        (ResourceKind::Upstreams, r#"{"members": {"a": "10.0.0.1:80", "b": "10.0.0.2:80"}}"#),
    ] {
        const ROUNDS: u32 = 200_000;
        let began = Instant::now();
        (0..ROUNDS).for_each(|_| drop(std::hint::black_box(good(kind, std::hint::black_box(json)))));
        println!("{:>14} {:?}", kind.singular(), began.elapsed() / ROUNDS);
    }
}
