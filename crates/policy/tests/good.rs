//! What loads, and what becomes of it: the examples, the guide, YAML beside JSON.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use weir_engine::{Action, AllowScope, Mode, Side};
use weir_policy::Snapshot;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn load(text: &str, name: &str) -> Snapshot {
    Snapshot::parse(text, Path::new(name)).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

/// Blocks of the guide whose info string is exactly `info`.
fn blocks(page: &str, info: &str) -> Vec<String> {
    let open = format!("```{info}\n");
    page.split(&open).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

#[test]
fn the_examples_load() {
    for entry in std::fs::read_dir(root().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        // The gateway's example is a state file (`gateway_guide.rs`).
        let is_policy = !path.ends_with("gateway.yaml");
        if is_policy && path.extension().is_some_and(|extension| extension == "yaml") {
            let snapshot = Snapshot::load(&path).unwrap_or_else(|errors| panic!("{errors}"));
            assert!(!snapshot.rules().is_empty(), "{}", path.display());
        }
    }
}

#[test]
fn the_guides_policies_load_and_its_excerpts_need_only_their_files() {
    let page = std::fs::read_to_string(root().join("docs/policy.md")).unwrap();
    let whole = blocks(&page, "yaml");
    assert!(whole.len() >= 6);
    for block in whole {
        load(&block, "guide.yaml");
    }
    for block in blocks(&page, "yaml excerpt") {
        let errors = Snapshot::parse(&block, Path::new("guide.yaml")).unwrap_err();
        for error in errors.errors() {
            let about_files = ["cannot read", "needs `policies`", "no file matches", "cannot be read"]
                .iter()
                .any(|part| error.message.contains(part));
            assert!(about_files, "{error}");
        }
    }
    let shown = blocks(&page, "text").concat();
    let policy = "policies:\n  - id: p\n    rules:\n      - id: a\n        when: 'ssl and http.hots eq \"a\"'\n        action: log\n";
    assert_eq!(Snapshot::parse(policy, Path::new("policy.yaml")).unwrap_err().to_string(), shown.trim_end());
}

const YAML: &str = r#"
revision: r7
client_address: {trusted: [10.0.0.0/8], from: forwarded}
lists:
  office: {addresses: [192.0.2.1/24]}
  words: {strings: [a, "b", 3, true]}
policies:
  - id: p
    mode: detect
    selectors:
      - id: s
        when: 'http.host eq "ä"'
        rules:
          - id: 942100
            when: ip.src in $office
            message: Hello
            score: 5
            actions:
              - block: {status: 404, body: "no\n", headers: {Retry-After: 30}}
              - block
              - block: 451
              - allow
              - allow: all
              - log
              - log:
              - tag: t
              - redirect: '"/"'
              - set_header: {name: X, value: 'concat("a", "b")'}
              - remove_header: {on: response, name: Y}
              - rate_limit: 10/30s
              - rate_limit: {rate: 5/m, key: http.host, burst: 0, status: 503}
  - id: q
    rules:
      - {id: b, when: ssl, action: {tag: {name: u}}}
"#;

#[test]
fn every_action_becomes_what_it_says() {
    let snapshot = load(YAML, "p.yaml");
    let policies = &snapshot.specification().policies;
    assert_eq!((policies[0].mode, policies[1].mode), (Mode::Detect, Mode::On));
    assert_eq!(policies[1].selectors[0].id, "default");
    let rule = &policies[0].selectors[0].rules[0];
    assert_eq!((rule.id.as_str(), rule.message.as_str(), rule.score, rule.index.0), ("942100", "Hello", 5, 0));
    let mut statuses = Vec::new();
    let mut limits = Vec::new();
    let mut others = Vec::new();
    for action in &rule.actions {
        match action {
            Action::Block(response) => statuses.push(response.status),
            Action::RateLimit(limit) => {
                limits.push((limit.limit, limit.requests, limit.period_ms, limit.burst, limit.response.status));
            }
            other => others.push(other.clone()),
        }
    }
    assert_eq!(statuses, [404, 403, 451]);
    assert_eq!(limits, [(0, 10, 30_000, 9, 429), (1, 5, 60_000, 0, 503)]);
    assert_eq!(snapshot.specification().rate_limits, 2);
    assert_eq!(
        others[..4],
        [Action::Allow(AllowScope::Policy), Action::Allow(AllowScope::All), Action::Log, Action::Log]
    );
    assert_eq!(others[4], Action::Tag("t".into()));
    assert!(matches!(&others[5], Action::Redirect { status: 302, .. }));
    assert!(matches!(&others[6], Action::SetHeader(Side::Request, name, _) if name == b"X"));
    assert_eq!(others[7], Action::RemoveHeader(Side::Response, b"Y".to_vec()));
    let Action::Block(response) = &rule.actions[0] else { panic!("the first action blocks") };
    assert_eq!(response.headers, [(b"Retry-After".to_vec(), b"30".to_vec())]);
    assert_eq!(
        (response.body.as_slice(), response.content_type.as_slice()),
        (&b"no\n"[..], &b"text/plain; charset=utf-8"[..])
    );
}

#[test]
fn labels_name_rules_as_logs_do() {
    let snapshot = load(YAML, "p.yaml");
    let labels: Vec<_> = snapshot
        .rules()
        .iter()
        .map(|one| (one.policy.as_str(), one.selector.as_str(), one.id.as_str(), one.line, one.plugin))
        .collect();
    assert_eq!(labels, [("p", "s", "942100", 14, "block"), ("q", "default", "b", 34, "tag")]);
    assert_eq!(snapshot.revision(), "r7");
    assert_eq!(snapshot.policy_names().collect::<Vec<_>>(), ["p", "q"]);
    assert_eq!(snapshot.client_address().trusted, ["10.0.0.0/8".parse().unwrap()]);
    assert_eq!(snapshot.client_address().source, weir_http::AddressSource::Forwarded);
}

#[test]
fn json_says_the_same_as_yaml_whatever_its_indentation() {
    let json = r#"{
		"revision": "r7",
		"client_address": {"trusted": ["10.0.0.0/8"], "from": "forwarded"},
		"policies": [{"id": "p", "mode": "detect", "selectors": [{
			"id": "s", "when": "http.host eq \"\u00e4\"",
			"rules": [{"id": "a", "when": "any(http.request.uri.args.values[*] matches \"(?i)a\\s+b\")",
				"score": 5, "actions": ["log", {"block": {"status": 404, "body": "\ud83d\ude00"}}, {"rate_limit": "5/m"}]}]
		}]}]
	}"#;
    let yaml = r#"
revision: r7
client_address: {trusted: [10.0.0.0/8], from: forwarded}
policies:
  - id: p
    mode: detect
    selectors:
      - id: s
        when: http.host eq "ä"
        rules:
          - id: a
            when: |
              any(http.request.uri.args.values[*] matches "(?i)a\s+b")
            score: 5
            actions: [log, {block: {status: 404, body: 😀}}, {rate_limit: 5/m}]
"#;
    let (json, yaml) = (load(json, "p.json"), load(yaml, "p.yaml"));
    assert_eq!(format!("{:?}", json.specification().policies), format!("{:?}", yaml.specification().policies));
    assert_eq!(json.client_address(), yaml.client_address());
}

#[test]
fn json_is_yaml_too_and_anchors_repeat_what_they_name() {
    load(r#"{"policies": [{"id": "p", "rules": [{"id": "a", "when": "ssl", "action": "block"}]}]}"#, "p.yaml");
    let text = "policies:\n  - id: p\n    rules:\n      - {id: a, when: &w 'http.host eq \"x\"', actions: &acts [log, block]}\n      - {id: b, when: *w, actions: *acts}\n";
    let snapshot = load(text, "p.yaml");
    let rules = &snapshot.specification().policies[0].selectors[0].rules;
    assert_eq!(rules[0].when, rules[1].when);
    assert_eq!(rules[0].actions, rules[1].actions);
}

#[test]
fn merge_keys_give_what_writing_the_keys_out_gives() {
    let rules = |mapping: &str| {
        let base = "&base {id: a, when: ssl, action: log, score: 1}";
        let more = "&more {id: b, when: 'not ssl', message: more, <<: *base}";
        let text = format!("policies:\n  - id: p\n    rules: [{base}, {more}, {mapping}]\n");
        format!("{:?}", load(&text, "p.yaml").specification().policies[0].selectors[0].rules[2])
    };
    for (merged, written) in [
        ("{<<: *base, id: c}", "{id: c, when: ssl, action: log, score: 1}"),
        ("{id: c, when: 'true', <<: *base}", "{id: c, when: 'true', action: log, score: 1}"),
        ("{<<: [*base, *more], id: c}", "{id: c, when: ssl, action: log, score: 1, message: more}"),
        ("{<<: [*more, *base], id: c}", "{id: c, when: 'not ssl', action: log, score: 1, message: more}"),
        ("{<<: *more, id: c}", "{id: c, when: 'not ssl', action: log, score: 1, message: more}"),
        ("{<<: {score: 2}, id: c, when: ssl, action: log}", "{id: c, when: ssl, action: log, score: 2}"),
        ("{<<: [], id: c, when: ssl, action: log}", "{id: c, when: ssl, action: log}"),
    ] {
        assert_eq!(rules(merged), rules(written), "{merged}");
    }
}

#[test]
fn merge_keys_cannot_multiply() {
    let keys: String = (0..3000).map(|key| format!("k{key}: 1, ")).collect();
    for merge in ["{<<: *a}", "{<<: [*a, *a]}", "{<<: [*a, *a], <<: *a}"] {
        let text = format!("a: &a {{{keys}}}\nb: [{}]\n", vec![merge; 3000].join(", "));
        let errors = Snapshot::parse(&text, Path::new("p.yaml")).unwrap_err().to_string();
        assert!(errors.contains("merge keys add more than") || errors.contains("`<<` is given twice"), "{errors}");
    }
}

#[test]
fn files_with_a_mark_or_other_line_ends_load() {
    let text = "policies:\n  - id: p\n    rules:\n      - {id: a, when: ssl, action: log}\n";
    for text in [format!("\u{feff}{text}"), text.replace('\n', "\r\n"), format!("%YAML 1.2\n---\n{text}...\n")] {
        assert_eq!(load(&text, "p.yaml").rules().len(), 1, "{text:?}");
    }
}
