use serde_json::{Value, json};

use super::*;
use crate::state::{Action, Edit, Target};

fn edits(documents: &[(&str, Value)]) -> Vec<Edit> {
    let edit =
        |(path, document): &(&str, Value)| Edit::new(Target::parse(path).unwrap(), Action::Put(document.clone()));
    documents.iter().map(edit).collect()
}

/// The findings of a change of an empty state, as pointers and messages.
fn found(documents: &[(&str, Value)]) -> Vec<String> {
    found_after(&mut State::default(), documents)
}

fn found_after(state: &mut State, documents: &[(&str, Value)]) -> Vec<String> {
    let applied = state.apply(state.revision() + 1, &edits(documents)).unwrap();
    shown(of(state, &applied.deltas, Bounds::CHANGE))
}

fn shown(found: Vec<Finding>) -> Vec<String> {
    found.into_iter().map(|Finding { key, fault }| format!("{key}{}: {}", fault.pointer, fault.message)).collect()
}

fn route(path: Value) -> Value {
    json!({"site": "s", "path": path, "respond": 204})
}

const SITE: (&str, &str) = ("sites/s", r#"{"hosts": ["s.example"]}"#);

fn site() -> (&'static str, Value) {
    (SITE.0, serde_json::from_str(SITE.1).unwrap())
}

#[test]
fn an_ordinary_gateway_has_no_findings() {
    let all = [
        site(),
        ("routes/all", route(json!("/"))),
        ("routes/php", route(json!({"regex": ".*[.]php"}))),
        ("routes/api", route(json!("/api"))),
        ("routes/user", route(json!({"template": "/api/users/{id}"}))),
        ("routes/me", route(json!({"exact": "/api/users/me"}))),
        ("routes/to", json!({"site": "s", "path": "/to", "to": "app"})),
        ("upstreams/app", json!({"members": {"a": "127.0.0.1:1"}})),
    ];
    assert_eq!(found(&all), Vec::<String>::new());
}

#[test]
fn a_change_reports_the_routes_that_it_shadows_and_no_others() {
    let mut state = State::default();
    let first = [site(), ("routes/all", route(json!("/"))), ("routes/api", route(json!("/api")))];
    assert_eq!(found_after(&mut state, &first), Vec::<String>::new());
    let shadow = [("routes/any", route(json!({"regex": "/api.*"})))];
    let expected = "/routes/api/path: the route `api` is never chosen: the route `any` takes every request that it \
                    matches (a regular expression goes before a prefix)";
    assert_eq!(found_after(&mut state, &shadow), [expected]);
    assert_eq!(found_after(&mut state, &[("routes/x", route(json!("/x")))]), Vec::<String>::new(), "known already");
    let never = found_after(&mut state, &[("routes/never", route(json!({"regex": "[.]php"})))]);
    assert_eq!(never, ["/routes/never/path: the route `never` is never chosen: its expression matches no path"]);
}

#[test]
fn a_site_with_more_routes_than_the_bound_is_not_searched() {
    let mut state = State::default();
    let mut all = vec![site()];
    let names: Vec<String> = (0..Bounds::CHANGE.routes).map(|n| format!("routes/r{n}")).collect();
    all.extend(names.iter().enumerate().map(|(n, name)| (name.as_str(), route(json!(format!("/r{n}"))))));
    assert_eq!(found_after(&mut state, &all), Vec::<String>::new());
    assert_eq!(found_after(&mut state, &[("routes/any", route(json!({"regex": "/.*"})))]), Vec::<String>::new());
}

#[test]
fn sites_without_routes_and_upstreams_without_members_are_found() {
    let mut state = State::default();
    let empty = "/sites/s: the site `s` has no routes: every request gets 404";
    assert_eq!(found_after(&mut state, &[site()]), [empty]);
    let to = json!({"site": "s", "split": [{"upstream": "app", "weight": 1}, {"upstream": "next", "weight": 0}]});
    let all = [("routes/r", to), ("upstreams/app", json!({})), ("upstreams/next", json!({}))];
    let bare = "/upstreams/app: the upstream `app` has no members: requests of the route `r` are answered with 503";
    assert_eq!(found_after(&mut state, &all), [bare]);
    let fallback = [("upstreams/app", json!({"fallback": "next"}))];
    assert_eq!(found_after(&mut state, &fallback), Vec::<String>::new());
    let gone = state.apply(9, &[Edit::new(Target::parse("routes/r").unwrap(), Action::Delete)]).unwrap();
    assert_eq!(shown(of(&state, &gone.deltas, Bounds::CHANGE)), [empty]);
}

#[test]
fn what_is_elsewhere_is_not_missing_in_a_part() {
    let (state, deltas) =
        State::of_part(&edits(&[("sites/s", json!({"hosts": ["a"], "tls": {"redirect": true}}))]), &());
    assert_eq!(of(&state, &deltas, Bounds::FILE), Vec::new());
    let elsewhere = [("routes/r", route(json!({"regex": "/.*"}))), ("routes/q", route(json!("/q")))];
    let (state, deltas) = State::of_part(&edits(&elsewhere), &());
    assert_eq!(of(&state, &deltas, Bounds::FILE).len(), 1, "the site is in another file");
}

#[test]
fn certificates_that_are_missing_or_do_not_fit_or_expire_are_found() {
    let certificate = |names: &[&str], days: u64| {
        let mut params =
            rcgen::CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap();
        let end = u64::try_from(now()).unwrap() + days * 86_400 + 3_600;
        params.not_after = rcgen::date_time_ymd(1970, 1, 1) + std::time::Duration::from_secs(end);
        let key = rcgen::KeyPair::generate().unwrap();
        json!({"certificate": params.self_signed(&key).unwrap().pem(), "key": key.serialize_pem()})
    };
    let tls = |hosts: &[&str], certificate: Option<&str>| {
        let mut tls = json!({"redirect": true});
        if let Some(certificate) = certificate {
            tls["certificate"] = certificate.into();
        }
        json!({"hosts": hosts, "tls": tls})
    };
    let all = |hosts: &[&str], named: Option<&str>, days: u64| {
        vec![
            ("certificates/c", certificate(&["a.example", "*.b.example"], days)),
            ("sites/s", tls(hosts, named)),
            ("routes/r", route(json!("/"))),
        ]
    };
    for (hosts, named, days, expected) in [
        (&["a.example", "x.b.example", "*.b.example"][..], None, 90, None),
        (&["a.example"], Some("c"), 90, None),
        (&["a.example"], None, 9, Some("/certificates/c/certificate: the certificate `c` expires in 9 days")),
        (
            &["x.y.b.example"],
            None,
            90,
            Some("/sites/s/tls: no certificate covers `x.y.b.example`: TLS handshakes fail"),
        ),
        (&["*"], None, 90, None),
        (&["*.example"], None, 90, None),
        (&["*.c.example"], None, 90, Some("/sites/s/tls: no certificate covers `*.c.example`: TLS handshakes fail")),
        (
            &["a.example", "c.example"],
            Some("c"),
            90,
            Some("/sites/s/tls/certificate: the certificate `c` does not cover `c.example`: clients will reject it"),
        ),
    ] {
        let found = found(&all(hosts, named, days));
        assert_eq!(
            found.iter().map(String::as_str).collect::<Vec<_>>(),
            expected.into_iter().collect::<Vec<_>>(),
            "{hosts:?}"
        );
    }
    let mut state = State::default();
    found_after(&mut state, &all(&["a.example"], None, 90));
    let deleted = state.apply(2, &[Edit::new(Target::parse("certificates/c").unwrap(), Action::Delete)]).unwrap();
    let found = shown(of(&state, &deleted.deltas, Bounds::CHANGE));
    assert_eq!(found, ["/sites/s/tls: no certificate covers `a.example`: TLS handshakes fail"]);
    let default =
        [("certificates/d", certificate(&["d.example"], 90)), ("settings", json!({"default_certificate": "d"}))];
    let found = found_after(&mut state, &default);
    assert_eq!(
        found,
        [
            "/sites/s/tls: no certificate covers `a.example`: clients get the default certificate `d`, and will reject it"
        ]
    );
}

#[test]
fn an_upgrade_says_which_routes_and_policies_differ() {
    let mut state = State::default();
    let policy = || json!({"rules": [{"id": "r", "when": "true", "action": "log"}]});
    let mut other = policy();
    other["rules"][0]["id"] = "other".into();
    let all = [
        site(),
        ("policies/a", policy()),
        ("policies/p", other),
        ("settings", json!({"policies": ["a", "p"]})),
        ("routes/all", json!({"site": "s", "path": "/", "respond": 204, "policies": ["p", "a"]})),
        ("routes/php", route(json!({"regex": ".*[.]php"}))),
        ("routes/api", route(json!("/api"))),
        ("routes/pinned", json!({"site": "s", "path": "/pinned", "respond": 204, "priority": 1})),
        ("routes/put", json!({"site": "s", "path": "/put", "respond": 204, "methods": ["PUT"]})),
        ("routes/id", json!({"site": "s", "path": {"regex": "/[0-9]+"}, "respond": 204, "methods": ["GET"]})),
    ];
    found_after(&mut state, &all);
    assert_eq!(
        upgrade::differences(&state),
        [
            "/routes/all: policies run in the order p, a; before, a, p",
            "/routes/id: its expression now goes before the prefixes of `all` in the site `s`",
            "/routes/php: its expression now goes before the prefixes of `all`, `api`, `put` in the site `s`",
        ]
    );
}
