//! The gateway balances load, keeps connections, checks health, retries, splits and mirrors.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use weir_auth::tokens::{Tokens, TokensOptions};
use weir_tests::origin::Echo;
use weir_tests::wait::until;
use weir_tests::{Gateway, Request, Setup, port};

use crate::authentication::{SECRET, signed};

/// A gateway whose only route goes to the upstream `app`.
fn gateway(app: Value) -> Gateway {
    gateway_with(Setup::gateway(), app, json!({}))
}

fn gateway_with(setup: Setup, app: Value, route: Value) -> Gateway {
    let mut all = json!({"site": "all", "path": "/", "to": "app"});
    for (key, value) in route.as_object().expect("an object") {
        all[key] = value.clone();
    }
    Gateway::start_with(setup, &[("upstreams/app", app), ("sites/all", json!({"hosts": ["*"]})), ("routes/all", all)])
}

fn member(origin: &Echo) -> Value {
    json!({"address": origin.to_string()})
}

/// The names of the origins that answer this many requests.
fn shares(gateway: &Gateway, requests: usize, target: &str) -> BTreeMap<String, usize> {
    let mut connection = gateway.nginx.connect();
    let mut shares = BTreeMap::new();
    for _ in 0..requests {
        connection.send(&Request::get(target).wire());
        let response = connection.receive();
        let name = response.header("X-Origin").unwrap_or("none").to_owned();
        *shares.entry(name).or_default() += 1;
    }
    shares
}

fn share(shares: &BTreeMap<String, usize>, name: &str) -> usize {
    shares.get(name).copied().unwrap_or(0)
}

#[test]
fn weights_are_kept_and_change_at_once() {
    let [a, b, c] = ["a", "b", "c"].map(Echo::named);
    let members = json!({"a": {"address": a.to_string(), "weight": 3}, "b": member(&b)});
    let gateway = gateway(json!({ "members": members }));
    let seen = shares(&gateway, 400, "/");
    assert!((290..=310).contains(&share(&seen, "a")) && share(&seen, "a") + share(&seen, "b") == 400, "{seen:?}");

    let _ = gateway.api().put("upstreams/app/members/c", &json!({"address": c.to_string(), "weight": 4})).expect(201);
    let seen = shares(&gateway, 400, "/");
    assert!((190..=210).contains(&share(&seen, "c")), "{seen:?}");

    let _ = gateway.api().patch("upstreams/app/members/a", &json!({"drain": true})).expect(200);
    let _ = gateway.api().delete("upstreams/app/members/c").expect(200);
    assert_eq!(shares(&gateway, 50, "/"), BTreeMap::from([("b".to_owned(), 50)]));
}

#[test]
fn connections_to_members_are_reused() {
    let app = Echo::start();
    let gateway = gateway_with(Setup::gateway().workers(1), json!({"members": {"a": member(&app)}}), json!({}));
    assert_eq!(share(&shares(&gateway, 200, "/"), "echo"), 200);
    assert_eq!(app.connections(), 1, "200 requests one after the other need one connection");
    for _ in 0..20 {
        assert_eq!(gateway.nginx.get("/").status, 200, "each on a connection of its own to nginx");
    }
    assert_eq!(app.connections(), 1);
}

#[test]
fn without_keepalive_each_request_connects() {
    let app = Echo::start();
    let gateway = gateway(json!({"keepalive": false, "members": {"a": member(&app)}}));
    assert_eq!(share(&shares(&gateway, 20, "/"), "echo"), 20);
    assert_eq!(app.connections(), 20);
}

#[test]
fn idle_connections_of_a_removed_member_are_closed() {
    let [a, b] = ["a", "b"].map(Echo::named);
    let gateway = gateway_with(Setup::gateway().workers(1), json!({"members": {"m": member(&a)}}), json!({}));
    assert_eq!(share(&shares(&gateway, 5, "/"), "a"), 5);
    let _ = gateway.api().put("upstreams/app/members/m", &member(&b)).expect(200);
    assert_eq!(share(&shares(&gateway, 5, "/"), "b"), 5, "the old address gets nothing more");
}

#[test]
fn a_consistent_hash_keeps_clients_on_their_member() {
    let names = ["a", "b", "c", "d"];
    let origins = names.map(Echo::named);
    let members: serde_json::Map<String, Value> =
        names.iter().zip(&origins).map(|(name, origin)| ((*name).to_owned(), member(origin))).collect();
    let gateway = gateway(json!({"balance": "hash", "hash_key": "header:x-user", "members": members}));
    let who = |user: usize| {
        let response = gateway.nginx.send(&Request::get("/").header("X-User", user.to_string()));
        response.header("X-Origin").expect("an origin answers").to_owned()
    };
    let before: Vec<String> = (0..60).map(who).collect();
    assert_eq!(before, (0..60).map(who).collect::<Vec<_>>(), "the same key, the same member, in every worker");
    assert!(names.iter().all(|name| before.iter().any(|one| one == name)), "{before:?}");
    let _ = gateway.api().delete("upstreams/app/members/d").expect(200);
    let after: Vec<String> = (0..60).map(who).collect();
    for (user, (before, after)) in before.iter().zip(&after).enumerate() {
        assert!(before == after || before == "d", "user {user} moved from {before} to {after}");
    }
}

#[test]
fn the_other_balancers_use_every_member() {
    for balance in ["least_connections", "ewma"] {
        let [a, b] = ["a", "b"].map(Echo::named);
        let gateway = gateway(json!({"balance": balance, "members": {"a": member(&a), "b": member(&b)}}));
        let seen = shares(&gateway, 100, "/");
        assert!(share(&seen, "a") >= 1 && share(&seen, "b") >= 1, "{balance}: {seen:?}");
    }
}

#[test]
fn a_backup_serves_only_if_no_other_member_can() {
    let [a, b] = ["a", "b"].map(Echo::named);
    let backup = json!({"address": b.to_string(), "backup": true});
    let gateway = gateway(json!({"members": {"a": member(&a), "b": backup}}));
    assert_eq!(share(&shares(&gateway, 20, "/"), "a"), 20);
    let _ = gateway.api().patch("upstreams/app/members/a", &json!({"weight": 0})).expect(200);
    assert_eq!(share(&shares(&gateway, 20, "/"), "b"), 20);
    let _ = gateway.api().delete("upstreams/app/members/b").expect(200);
    let response = gateway.nginx.get("/");
    assert_eq!(response.status, 503, "nobody is left");
}

#[test]
fn a_dead_member_is_tried_only_once() {
    let live = Echo::named("live");
    let dead = format!("127.0.0.1:{}", port::free());
    let passive = json!({"passive": {"failures": 1, "window": "10s", "eject": "30s"}});
    let gateway = gateway_with(
        Setup::gateway().workers(1),
        json!({"health": passive, "members": {"live": member(&live), "dead": {"address": dead}}}),
        json!({}),
    );
    assert_eq!(share(&shares(&gateway, 50, "/"), "live"), 50, "no request fails");
    let refused = gateway.nginx.error_log().matches("Connection refused").count();
    assert_eq!(refused, 1, "one failure is enough to leave it alone");
}

#[test]
fn retries_follow_the_route() {
    let [bad, good] = ["bad", "good"].map(Echo::named);
    bad.fail(true);
    let app = json!({"health": {"passive": {"failures": 1000, "window": "10s", "eject": "1s"}},
        "members": {"bad": member(&bad), "good": member(&good)}});
    let gateway =
        gateway_with(Setup::gateway(), app, json!({"retries": {"attempts": 2, "on": ["error", "timeout", "503"]}}));
    assert_eq!(share(&shares(&gateway, 40, "/"), "good"), 40);
    let post = |_| gateway.nginx.send(&Request::post("/", "text/plain", "x")).status;
    let statuses: Vec<u16> = (0..20).map(post).collect();
    assert!(statuses.contains(&503) && statuses.contains(&200), "a POST is not sent twice: {statuses:?}");
    let _ = gateway.api().patch("routes/all", &json!({"retries": {"on": ["error"]}})).expect(200);
    assert!(share(&shares(&gateway, 40, "/"), "bad") >= 15, "503 is an answer like others now");
}

#[test]
fn a_slow_member_meets_the_route_s_timeout() {
    let app = Echo::start();
    let gateway = gateway_with(
        Setup::gateway(),
        json!({"members": {"a": member(&app)}}),
        json!({"timeouts": {"read": "100ms"}, "retries": {"attempts": 1}}),
    );
    assert_eq!(gateway.nginx.get("/slow/").status, 504);
    let _ = gateway.api().patch("routes/all", &json!({"timeouts": {"read": "5s"}})).expect(200);
    assert_eq!(gateway.nginx.get("/slow/").status, 200);
}

#[test]
fn active_checks_take_members_out_and_bring_them_back() {
    let [a, b] = ["a", "b"].map(Echo::named);
    let active = json!({"active": {"http": {"path": "/health"}, "interval": "100ms", "timeout": "1s", "healthy": 2, "unhealthy": 2}});
    let gateway = gateway(json!({"health": active, "members": {"a": member(&a), "b": member(&b)}}));
    let settled = |want: &[&str]| {
        until(&format!("{want:?} to serve"), || {
            let seen = shares(&gateway, 20, "/");
            let names: Vec<&str> = seen.keys().map(String::as_str).collect();
            (names == want).then_some(())
        });
    };
    settled(&["a", "b"]);
    a.fail(true);
    settled(&["b"]);
    a.fail(false);
    settled(&["a", "b"]);
    assert!(a.seen().iter().any(|request| request["target"] == "/health"));
}

#[test]
fn a_canary_gets_its_share_and_clients_stay_on_one_side() {
    let [stable, canary] = ["stable", "canary"].map(Echo::named);
    let gateway = Gateway::start(&[
        ("upstreams/stable", json!({"members": {"a": member(&stable)}})),
        ("upstreams/canary", json!({"members": {"a": member(&canary)}})),
        ("sites/all", json!({"hosts": ["*"]})),
        (
            "routes/all",
            json!({"site": "all", "path": "/", "split": [{"upstream": "stable", "weight": 80}, {"upstream": "canary", "weight": 20}]}),
        ),
    ]);
    let seen = shares(&gateway, 500, "/");
    assert!((60..=140).contains(&share(&seen, "canary")), "{seen:?}");

    let _ = gateway.api().patch("routes/all", &json!({"sticky": {"by": "cookie:user"}})).expect(200);
    for user in 0..20 {
        let request = Request::get("/").header("Cookie", format!("user={user}"));
        let who = || gateway.nginx.send(&request).header("X-Origin").map(str::to_owned);
        let first = who();
        assert!((0..4).all(|_| who() == first), "user {user} changes sides");
    }
}

#[test]
fn a_mirror_gets_copies_without_delaying_requests() {
    let [app, shadow] = ["app", "shadow"].map(Echo::named);
    let gateway = Gateway::start(&[
        ("upstreams/app", json!({"members": {"a": member(&app)}})),
        ("upstreams/shadow", json!({"members": {"a": member(&shadow)}})),
        ("sites/all", json!({"hosts": ["*"]})),
        (
            "routes/all",
            json!({"site": "all", "path": "/", "to": "app", "mirror": {"upstream": "shadow", "shadow": true}}),
        ),
    ]);
    let sent = "a=1, weir.shadow=0";
    let response = gateway.nginx.send(&Request::post("/pay?x=1", "text/plain", "body").header("Baggage", sent));
    assert_eq!((response.status, response.header("X-Origin")), (200, Some("app")));
    let copy = until("the copy", || shadow.seen().into_iter().find(|request| request["target"] == "/pay?x=1"));
    assert_eq!((&copy["method"], &copy["body_length"]), (&json!("POST"), &json!(4)));
    assert_eq!(baggage(&copy), ["weir.shadow=1,a=1"]);
    assert_eq!(baggage(&app.seen()[0]), [sent], "the request itself is left alone");
    let _ = gateway
        .api()
        .patch("upstreams/shadow/members/a", &json!({"address": format!("127.0.0.1:{}", port::free())}))
        .expect(200);
    assert_eq!(gateway.nginx.get("/").status, 200, "a dead mirror is nobody's problem");
}

/// The values of the field that an origin got.
fn baggage(request: &Value) -> Vec<&str> {
    let fields = request["headers"].as_array().unwrap().iter();
    let of_name = fields.filter(|field| field[0].as_str().unwrap().eq_ignore_ascii_case("baggage"));
    of_name.map(|field| field[1].as_str().unwrap()).collect()
}

#[test]
fn rules_mark_load_tests_and_remove_the_marks_of_others() {
    let app = Echo::start();
    let test = "http.request.headers[\"x-test\"][0]";
    let rules = json!([
        {"id": "strip", "when": "true", "action": {"shadow": "strip"}},
        {"id": "mark", "when": format!("{test} eq \"secret\""), "action": {"shadow": "mark"}},
    ]);
    let gateway = Gateway::start(&[
        ("policies/edge", json!({"rules": rules})),
        ("upstreams/app", json!({"members": {"a": member(&app)}})),
        ("sites/all", json!({"hosts": ["*"]})),
        ("routes/all", json!({"site": "all", "path": "/", "to": "app", "policies": ["edge"]})),
    ]);
    for (secret, sent, expected) in [
        ("secret", None, Some("weir.shadow=1")),
        ("secret", Some("a=1;p, b=2"), Some("weir.shadow=1,a=1;p,b=2")),
        ("wrong", Some("a=1 ,weir.shadow=1"), Some("a=1")),
        ("wrong", Some("weir.shadow=1"), None),
        ("wrong", None, None),
    ] {
        let request = Request::get("/").header("X-Test", secret).header("P-Pradar-Cluster-Test", "true");
        let request = sent.iter().fold(request, |request, sent| request.header("Baggage", sent));
        assert_eq!(gateway.nginx.send(&request).status, 200);
        let seen = app.seen();
        let last = seen.last().unwrap();
        assert_eq!(baggage(last).first().copied(), expected, "{secret} {sent:?}");
        assert!(!last["headers"].to_string().to_lowercase().contains("pradar"), "{last}");
    }
}

#[test]
fn rules_mark_a_share_of_requests_and_those_that_a_consumer_has_signed() {
    let app = Echo::start();
    let path = |path| format!("http.request.uri.path eq \"{path}\"");
    let rules = json!([
        {"id": "strip", "when": "true", "action": {"shadow": "strip"}},
        {"id": "share", "when": path("/share"), "action": {"shadow": {"do": "mark", "percent": 25}}},
        {"id": "who", "when": path("/signed"), "action": {"verify_signature": "sorted_tokens"}},
        {"id": "test", "when": "consumer.id eq \"shop\"", "action": {"shadow": "mark"}},
    ]);
    let gateway = Gateway::start(&[
        ("consumers/shop", json!({"credentials": [{"signature": {"id": "shop-1", "secret": SECRET}}]})),
        ("policies/edge", json!({"rules": rules})),
        ("upstreams/app", json!({"members": {"a": member(&app)}})),
        ("sites/all", json!({"hosts": ["*"]})),
        ("routes/all", json!({"site": "all", "path": "/", "to": "app", "policies": ["edge"]})),
    ]);
    let _ = shares(&gateway, 100, "/share");
    let marked = app.seen().iter().filter(|request| baggage(request) == ["weir.shadow=1"]).count();
    assert!((20..=30).contains(&marked), "{marked} of 100 requests are marked");
    let tokens = Tokens::new(TokensOptions::default()).unwrap();
    assert_eq!(gateway.nginx.send(&signed(&tokens, "GET", "/signed", &[], b"")).status, 200);
    assert_eq!(baggage(app.seen().last().unwrap()), ["weir.shadow=1"]);
    let forged = Request::get("/signed").header("Baggage", "weir.shadow=1");
    assert_eq!(gateway.nginx.send(&forged).status, 401);
}

#[test]
fn a_fallback_serves_while_an_upstream_has_no_available_member() {
    let [app, spare] = ["app", "spare"].map(Echo::named);
    let gateway = Gateway::start(&[
        ("upstreams/app", json!({"fallback": "spare", "members": {"a": member(&app)}})),
        ("upstreams/spare", json!({"members": {"a": member(&spare)}})),
        ("sites/all", json!({"hosts": ["*"]})),
        ("routes/all", json!({"site": "all", "path": "/", "to": "app"})),
    ]);
    assert_eq!(share(&shares(&gateway, 10, "/"), "app"), 10);
    let _ = gateway.api().patch("upstreams/app/members/a", &json!({"drain": true})).expect(200);
    assert_eq!(share(&shares(&gateway, 10, "/"), "spare"), 10);
    let _ = gateway.api().patch("upstreams/spare/members/a", &json!({"drain": true})).expect(200);
    let refused = gateway.nginx.get("/");
    assert_eq!((refused.status, refused.header("Retry-After")), (503, Some("1")), "{}", refused.text());
    assert!(refused.text().contains("no_member"), "{}", refused.text());
}

#[test]
fn names_are_resolved_by_control_and_members_on_sockets_work() {
    let app = Echo::start();
    let port = app.to_string().rsplit(':').next().expect("has a port").to_owned();
    let gateway = gateway(json!({"members": {"a": {"address": format!("localhost:{port}")}}}));
    until("localhost to be resolved", || (gateway.nginx.get("/").status == 200).then_some(()));
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(gateway.nginx.get("/").header("X-Origin"), Some("echo"));
}
