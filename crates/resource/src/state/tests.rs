//! State files, and where their faults are.

use serde_json::json;

use super::*;

fn parse(text: &str) -> Result<State, PolicyErrors> {
    parse_state(text, Path::new("state.yaml"))
}

const SHOP: &str = "\
settings: {policies: [base]}
geo: geo.mmdb
sites:
  shop:
    hosts: [shop.example]
routes:
  api: {site: shop, path: /api, to: app, headers: {x-version: 1.20, x-b: 2}, mirror: {upstream: app, percent: 12.50}}
upstreams:
  app:
    members: {a: '10.0.0.1:80'}
policies:
  - id: base
    rules: [{id: r, when: ssl, action: log}]
rule_sets:
  own: {rules: 'SecRuleEngine On'}
lists:
  office: {addresses: [10.0.0.0/8]}
";

#[test]
fn a_file_is_its_documents() {
    let state = parse(SHOP).unwrap();
    let ids: Vec<String> = state.documents().keys().map(|(kind, id)| format!("{kind}/{id}")).collect();
    assert_eq!(
        ids,
        ["lists/office", "rule_sets/own", "policies/base", "settings/", "upstreams/app", "sites/shop", "routes/api"]
    );
    let get = |kind: ResourceKind, id: &str| &state.documents()[&(kind, id.to_owned())];
    assert_eq!(
        get(ResourceKind::Settings, ""),
        &json!({ "policies": ["base"], "geo": std::path::absolute("geo.mmdb").unwrap() })
    );
    assert_eq!(
        get(ResourceKind::Policies, "base"),
        &json!({ "rules": [{ "id": "r", "when": "ssl", "action": "log" }] })
    );
    assert_eq!(get(ResourceKind::Routes, "api")["headers"], json!({ "x-version": "1.20", "x-b": 2 }));
    for ((kind, id), body) in state.documents() {
        assert!(crate::check(*kind, id, body.to_string().as_bytes()).is_ok(), "{kind} {id}");
    }
}

#[test]
fn policies_may_stand_under_their_ids_and_json_is_a_file_too() {
    let by_id = parse("policies: {base: {rules: [{id: r, when: ssl, action: log}]}}").unwrap();
    let listed = parse("policies: [{id: base, rules: [{id: r, when: ssl, action: log}]}]").unwrap();
    assert_eq!(by_id.documents(), listed.documents());
    assert!(parse("# sites:\n").is_err(), "an empty file would take everything away");
    let json = parse_state(r#"{"sites": {"a": {"hosts": ["a"]}}}"#, Path::new("a.json")).unwrap();
    assert_eq!(json.documents().len(), 1);
}

#[test]
fn certificates_name_files_and_keys_their_hash() {
    let hash = "0".repeat(64);
    let text = format!("certificates: {{a: {{certificate: {{file: live/c.pem}}, key: {{sha256: '{hash}'}}}}}}");
    let state = parse_state(&text, Path::new("/etc/weir/all.yaml")).unwrap();
    let document = &state.documents()[&(ResourceKind::Certificates, "a".to_owned())];
    let expected = json!({"certificate": {"file": "/etc/weir/live/c.pem"}, "key": {"sha256": hash}});
    assert_eq!(*document, expected);
}

#[test]
fn faults_have_lines_and_columns() {
    for (text, line, column, message) in [
        ("sites:\n  a: {hosts: [a, A]}\n", 2, 18, "given twice"),
        ("sites:\n  a: {hosts: [a]}\n  a: {hosts: [b]}\n", 3, 3, "given twice"),
        ("sites:\n  'a b': {hosts: [a]}\n", 2, 3, "expected a valid site id"),
        ("site: {}\n", 1, 1, "unknown key"),
        ("routes:\n  a: {site: s}\n", 2, 6, "needs one of"),
        ("routes:\n  a: {site: s, to: a, sticky: ip}\n", 2, 23, "goes with `split`"),
        ("upstreams:\n  a:\n    members:\n      m: {address: x}\n", 4, 20, "expected an address"),
        ("upstreams: [a]\n", 1, 12, "expected a mapping"),
        ("policies: [{id: a/b, rules: [{id: r, when: ssl, action: log}]}]", 1, 17, "expected an id"),
        ("policies: {none: {rules: [{id: r, when: ssl, action: log}]}}", 1, 12, "expected a valid policy id"),
        ("settings: {geo: a}\ngeo: b\n", 2, 6, "stands in `settings`"),
        ("certificates: {a: {certificate: '-----BEGIN X-----', key: '-----BEGIN X-----'}}", 1, 33, "has no -----END"),
        ("a: [", 1, 5, ""),
    ] {
        let errors = parse(text).unwrap_err();
        let error = &errors.errors()[0];
        assert!(error.message.contains(message), "{text}: {errors}");
        assert_eq!((error.line, error.column), (line, column), "{text}: {errors}");
    }
}

#[test]
fn faults_of_control_are_led_back_to_their_places() {
    let state = parse(SHOP).unwrap();
    for (kind, id, pointer, line) in [
        (ResourceKind::Routes, "api", "/to", 7),
        (ResourceKind::Upstreams, "app", "/members/a", 10),
        (ResourceKind::Policies, "base", "/rules/0/when", 13),
        (ResourceKind::Settings, "", "/policies/0", 1),
        (ResourceKind::Settings, "", "/geo", 2),
        (ResourceKind::Sites, "shop", "/nothing/here", 5),
    ] {
        let fault = Fault { pointer: pointer.into(), message: "x".into(), ..Fault::default() };
        assert_eq!(state.error(kind, id, &fault).unwrap().line, line, "{kind} {pointer}");
    }
    assert!(state.error(ResourceKind::Sites, "other", &Fault::default()).is_none());
}

#[test]
fn paths_of_the_api_are_led_to_files() {
    let state = parse(SHOP).unwrap();
    for (pointer, line) in [
        ("/routes/api/to", Some(7)),
        ("/routes/api", Some(7)),
        ("/upstreams/app/members/a/address", Some(10)),
        ("/settings/geo", Some(2)),
        ("/settings", Some(1)),
        ("/routes/other/to", None),
        ("/nothing/x", None),
        ("/routes", None),
        ("", None),
    ] {
        let fault = Fault { pointer: pointer.into(), message: "x".into(), ..Fault::default() };
        assert_eq!(state.error_at_path(&fault).map(|error| error.line), line, "{pointer}");
    }
}

#[test]
fn topics_are_warned_of_where_they_mean_less_than_they_seem_to() {
    let text = "topics:\n  a: {topics: [a/*, a*]}\nroutes:\n  b: {site: s, messages: {topics: a, origins: [https://a, '*']}}\n";
    let warnings: Vec<String> = parse(text).unwrap().warnings().iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].starts_with("state.yaml:2:16: `*` is an ordinary character"), "{warnings:?}");
    assert!(warnings[1].starts_with("state.yaml:4:59: `*` allows all origins"), "{warnings:?}");
    let many: String = (0..17).map(|n| format!("  t{n}: {{topics: [t{n}]}}\n")).collect();
    let errors = parse(&format!("topics:\n{many}")).unwrap_err().to_string();
    assert!(errors.contains("17 entries in `topics` of a state file; at most 16 are possible"), "{errors}");
}

#[test]
fn methods_that_no_standard_has_are_warned_of() {
    let route = |method: &str| parse(&format!("routes:\n  a: {{site: s, to: u, methods: [GET, {method}]}}\n"));
    let state = route("FETCH").unwrap();
    let warning = state.warnings()[0].to_string();
    assert!(warning.starts_with("state.yaml:2:38: `FETCH` is not a method of any standard"), "{warning}");
    assert!(route("PROPFIND").unwrap().warnings().is_empty());
    for (method, meant) in [("post", "POST"), ("GTE", "GET"), ("OPTION", "OPTIONS")] {
        let errors = route(method).unwrap_err().to_string();
        assert!(
            errors.contains("state.yaml:2:38:") && errors.contains(&format!("did you mean `{meant}`?")),
            "{errors}"
        );
    }
}

#[test]
fn merge_keys_work_in_state_files() {
    let text = "routes:\n  a: &a {site: s, to: u, path: /a}\n  b: {<<: *a, path: /b}\n";
    let state = parse(text).unwrap();
    let route = |id: &str| &state.documents()[&(ResourceKind::Routes, id.to_owned())];
    assert_eq!(*route("b"), json!({"site": "s", "to": "u", "path": "/b"}));
    let fault = Fault { pointer: "/to".into(), message: "x".into(), ..Fault::default() };
    assert_eq!(state.error(ResourceKind::Routes, "b", &fault).unwrap().line, 2, "where it is written");
}

#[test]
fn files_are_merged_but_not_over_each_other() {
    let mut state = parse(SHOP).unwrap();
    let more = parse_state("sites:\n  blog: {hosts: [blog.example]}\n", Path::new("blog.yaml")).unwrap();
    state.merge(more).unwrap();
    assert_eq!(state.error(ResourceKind::Sites, "blog", &Fault::default()).unwrap().file, "blog.yaml");
    let again = parse_state("sites:\n  shop: {hosts: [x]}\n", Path::new("again.yaml")).unwrap();
    let errors = state.merge(again).unwrap_err().to_string();
    assert!(errors.contains("again.yaml:2") && errors.contains("the first is in state.yaml"), "{errors}");
}
