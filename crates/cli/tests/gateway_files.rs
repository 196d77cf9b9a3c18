//! Commands that take the files of a gateway, as `weir apply` does: `check`, `replay`, `rules` and `tune`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

/// Three files of one gateway, which refer to each other.
const SITES: &str = "\
settings:
  policies: [base]
sites:
  shop: {hosts: [shop.example], policies: [shop]}
  blog: {hosts: ['*.blog.example']}
routes:
  shop-api: {site: shop, path: /api, to: app, policies: [base, shop]}
  shop-all: {site: shop, path: /, to: app}
  beta: {site: shop, path: /beta, headers: {x-beta: '1'}, to: app, policies: []}
  blog-post: {site: blog, path: /, methods: [GET], to: app}
";
const POLICIES: &str = "\
# The policies.
policies:
  base:
    rules:
      - {id: no-dot-env, when: 'http.request.uri.path contains \"/.env\"', action: block}
      - {id: office, when: 'ip.src in $office', action: log}
  shop: # ours
    selectors:
      - id: all
        rules:
          - id: shop-own
            when: 'true' # all
            action:
              rule_set:
                set: own # inline
rule_sets:
  own:
    rules: |
      SecRule ARGS \"@contains evil\" \"id:100,phase:2,deny,msg:'Evil'\"
";
const REST: &str = "\
upstreams:
  app: {members: {a: '127.0.0.1:1'}}
lists:
  office: {kind: addresses, file: office.txt}
";
const REQUESTS: &str = "\
GET /api?q=evil HTTP/1.1\r\nHost: shop.example\r\n\r\n\
GET /x/.env?q=evil HTTP/1.1\r\nHost: SHOP.example:8080\r\n\r\n\
GET /beta?q=evil HTTP/1.1\r\nHost: shop.example\r\nX-Beta: 1\r\n\r\n\
GET /.env HTTP/1.1\r\nHost: a.blog.example\r\n\r\n\
DELETE /.env HTTP/1.1\r\nHost: a.blog.example\r\n\r\n\
GET /.env HTTP/1.1\r\nHost: other.example\r\n\r\n";

fn gateway() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("temp dir");
    fs::create_dir(dir.path().join("gateway")).expect("is made");
    for (name, text) in [
        ("gateway/1-sites.yaml", SITES),
        ("gateway/2-policies.yaml", POLICIES),
        ("gateway/3-rest.yml", REST),
        ("gateway/office.txt", "192.0.2.0/24\n"),
        ("requests", REQUESTS),
    ] {
        fs::write(dir.path().join(name), text).expect("is written");
    }
    dir
}

fn weir(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.env("COLUMNS", "100").args(arguments).current_dir(dir).output().expect("runs")
}

fn out(dir: &Path, arguments: &[&str]) -> String {
    let output = weir(dir, arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8(output.stdout).expect("is UTF-8")
}

fn edit(dir: &Path, file: &str, from: &str, to: &str) {
    let path = dir.join("gateway").join(file);
    let text = fs::read_to_string(&path).expect("is read");
    assert!(text.contains(from), "{from}");
    fs::write(path, text.replace(from, to)).expect("is written");
}

#[test]
fn files_and_directories_are_checked_as_one_gateway() {
    let dir = gateway();
    let text = out(dir.path(), &["check", "gateway"]);
    assert!(text.contains("gateway: good: ") && text.contains("2 policies") && text.contains("4 routes"), "{text}");
    let files = ["check", "--json", "gateway/2-policies.yaml", "gateway/1-sites.yaml", "gateway/3-rest.yml"];
    let value: Value = serde_json::from_str(&out(dir.path(), &files)).expect("JSON");
    assert_eq!((&value["ok"], &value["rules"], &value["resources"]["sites"]), (&json!(true), &json!(3), &json!(2)));
    assert_eq!((&value["errors"], &value["warnings"]), (&json!([]), &json!([])));
    let lint = weir(dir.path(), &["check", "--lint", "gateway"]);
    assert!(lint.status.success(), "{lint:?}");
    edit(dir.path(), "2-policies.yaml", "phase:2,", "");
    let lint = weir(dir.path(), &["check", "--lint", "--strict", "gateway"]);
    let error = String::from_utf8_lossy(&lint.stderr);
    assert!(lint.status.code() == Some(1) && error.contains("rule_sets/own:1:1: warning: a rule without"), "{error}");
}

#[test]
fn what_apply_would_refuse_is_found_at_its_place() {
    for (file, from, to, place, message) in [
        ("1-sites.yaml", "to: app}\n  beta", "to: ap}\n  beta", "1-sites.yaml:8:39", "there is no upstream `ap`"),
        ("1-sites.yaml", "policies: [base]\n", "policies: [bas]\n", "1-sites.yaml:2:14", "there is no policy `bas`"),
        ("1-sites.yaml", "'*.blog.example'", "SHOP.example", "1-sites.yaml:4:18", "the host `shop.example`"),
        ("1-sites.yaml", "path: /beta", "path: {regex: '/beta('}", "1-sites.yaml:9:36", "unclosed group"),
        ("2-policies.yaml", "$office", "$ofice", "2-policies.yaml:6:28", "unknown list"),
        ("2-policies.yaml", "set: own", "set: owm", "2-policies.yaml:15:22", "owm"),
        ("2-policies.yaml", "@contains evil", "@contain evil", "2-policies.yaml:19:7", "line 1"),
        ("2-policies.yaml", "id: office", "id: no-dot-env", "2-policies.yaml:6:14", "is already taken"),
        ("3-rest.yml", "office.txt", "offic.txt", "3-rest.yml:4:35", "no such file"),
        ("3-rest.yml", "app: {", "shop: {fallback: shop, ", "3-rest.yml:2:20", "its own `fallback`"),
        ("office.txt", "192.0.2.0/24", "192.0.2.0/33", "office.txt:1:", "found \"192.0.2.0/33\""),
        (
            "3-rest.yml",
            "lists:",
            "sites: {shop: {hosts: [b]}}\nlists:",
            "3-rest.yml:3:15",
            "the site `shop` is given twice",
        ),
    ] {
        let dir = gateway();
        edit(dir.path(), file, from, to);
        let output = weir(dir.path(), &["check", "gateway"]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{to}: {error}");
        assert!(error.contains(place) && error.contains(message), "{to}: {error}");
        let output = weir(dir.path(), &["check", "--json", "gateway"]);
        let value: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let errors = value["errors"].as_array().expect("a list");
        let says = |error: &Value| error["message"].as_str().is_some_and(|text| text.contains(message));
        assert!(errors.iter().any(says), "{value}");
        assert_eq!((output.status.code(), &value["ok"]), (Some(1), &json!(false)), "{value}");
        let places = |error: &Value| [&error["file"], &error["line"], &error["column"]].map(Value::to_string);
        let distinct: std::collections::BTreeSet<_> = errors.iter().map(places).collect();
        assert_eq!(distinct.len(), errors.len(), "one fault is one error: {value}");
    }
}

#[test]
fn what_cannot_be_read_is_named_and_does_not_block() {
    let dir = gateway();
    let pipe = dir.path().join("pipe.yaml");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("runs").success());
    fs::File::create(dir.path().join("large.yaml")).and_then(|file| file.set_len(2 << 30)).expect("is made");
    fs::create_dir(dir.path().join("empty")).expect("is made");
    for (arguments, message) in [
        (&["check", "pipe.yaml"][..], "pipe.yaml: cannot read the policy: it is a named pipe, not a regular file"),
        (&["check", "large.yaml"], "large.yaml: cannot read the policy: it is larger than 16777216 bytes"),
        (&["check", "gateway", "none.yaml"], "none.yaml: cannot read the policy: no such file or directory"),
        (&["check", "empty"], "empty: no file ends in"),
        (&["replay", "requests", "--policy", "pipe.yaml"], "a named pipe"),
        (&["rules", "list", "--policy", "large.yaml"], "larger than"),
    ] {
        let output = weir(dir.path(), arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && error.contains(message), "{arguments:?}: {error}");
    }
    fs::remove_file(dir.path().join("gateway/office.txt")).expect("is removed");
    fs::rename(&pipe, dir.path().join("gateway/office.txt")).expect("is moved");
    let error = weir(dir.path(), &["check", "gateway"]).stderr;
    let error = String::from_utf8_lossy(&error);
    assert!(error.contains("3-rest.yml:4:35: cannot read the list file") && error.contains("a named pipe"), "{error}");
}

#[test]
fn a_replayed_request_gets_the_policies_of_its_route() {
    let dir = gateway();
    let replay = |more: &[&str]| -> Vec<Value> {
        let base = ["replay", "requests", "--json", "--repeat", "1", "--policy", "gateway"];
        let lines = out(dir.path(), &[&base, more].concat());
        lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let requests = replay(&[]);
    for (request, (route, policies, verdict, decided_by)) in requests.iter().zip([
        (json!("shop-api"), json!(["base", "shop"]), "block", json!("100")),
        (json!("shop-all"), json!(["shop"]), "block", json!("100")),
        (json!("beta"), json!([]), "pass", Value::Null),
        (json!("blog-post"), json!(["base"]), "block", json!("no-dot-env")),
        (Value::Null, json!(["base"]), "block", json!("no-dot-env")),
        (Value::Null, json!(["base"]), "block", json!("no-dot-env")),
    ]) {
        assert_eq!((&request["route"], &request["policies"]), (&route, &policies), "{request}");
        assert_eq!((&request["verdict"], &request["decided_by"]), (&json!(verdict), &decided_by), "{request}");
    }
    let finding = &requests[3]["findings"][0];
    assert_eq!(finding["line"], 5, "{finding}");
    assert!(finding["file"].as_str().is_some_and(|file| file.ends_with("2-policies.yaml")), "{finding}");
    let notes = |n: usize| requests[n]["notes"].to_string();
    assert!(notes(4).contains("no route for this method and answers 405"), "{}", notes(4));
    assert!(notes(5).contains("no site for this host and answers 404"), "{}", notes(5));
    assert_eq!(notes(0).matches("the gateway").count(), 0, "{}", notes(0));
    let named = replay(&["--policy-id", "shop"]);
    assert!(named.iter().all(|request| request["policies"] == json!(["shop"]) && request["route"].is_null()));
    let text = out(dir.path(), &["replay", "requests", "--repeat", "1", "--policy", "gateway"]);
    assert!(text.contains("   route shop-api of site shop: policies base, shop\n"), "{text}");
    assert!(text.contains("   route beta of site shop: no policy\n"), "{text}");
}

#[test]
fn without_sites_the_policies_of_the_settings_or_all_are_used() {
    let dir = gateway();
    fs::remove_file(dir.path().join("gateway/1-sites.yaml")).expect("is removed");
    let policies = || -> Value {
        let text = out(dir.path(), &["replay", "requests", "--json", "--repeat", "1", "--policy", "gateway"]);
        serde_json::from_str::<Value>(text.lines().next().expect("a line")).expect("JSON")["policies"].clone()
    };
    assert_eq!(policies(), json!(["base", "shop"]));
    edit(dir.path(), "3-rest.yml", "upstreams:", "settings: {policies: [shop]}\nupstreams:");
    assert_eq!(policies(), json!(["shop"]));
}

#[test]
fn rules_of_a_gateway_are_explained_with_their_places() {
    let dir = gateway();
    let text = out(dir.path(), &["rules", "explain", "shop-own", "--policy", "gateway"]);
    assert!(text.contains("gateway/2-policies.yaml:11, policy shop, selector all"), "{text}");
    assert!(out(dir.path(), &["rules", "list", "--policy", "gateway"]).contains("Evil"));
    let text = out(dir.path(), &["rules", "explain", "100", "--policy", "gateway"]);
    assert!(text.contains("ARGS") && text.contains("evil"), "{text}");
}

/// An attack log with a finding of rule 100, in policy and by rule as said.
fn log(dir: &Path, policy: &str, via: &str) {
    let line = json!({
        "request_id": "r1", "client": "192.0.2.7", "host": "shop.example", "method": "GET", "uri": "/api?q=evil",
        "status": 403, "action": "block", "policy": policy, "rule_ids": ["100"], "score": 0,
        "findings": [{ "rule": "100", "message": "Evil", "variable": "ARGS:q", "matched": "evil", "via": via,
            "policy": policy }],
    });
    fs::write(dir.join("attack.log"), format!("{line}\n")).expect("is written");
}

const EXCLUSION: &str = "{rule: 100, target: 'ARGS:q', when: 'http.request.uri.path eq \"/api\"'}";

#[test]
fn exclusions_are_written_into_the_file_that_has_the_rule() {
    let dir = gateway();
    log(dir.path(), "shop", "shop-own");
    let tune = |more: &[&str]| {
        let base = ["tune", "attack.log", "--false-positive", "r1", "--apply", "gateway"];
        let output = weir(dir.path(), &[&base, more].concat());
        (output.status.code(), String::from_utf8(output.stderr).expect("is UTF-8"))
    };
    let (code, said) = tune(&["--dry-run"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(EXCLUSION) && said.contains("gateway would load with 1 exclusion more"), "{said}");
    let read = |name: &str| fs::read_to_string(dir.path().join("gateway").join(name)).expect("is read");
    assert_eq!(read("2-policies.yaml"), POLICIES);
    let (code, said) = tune(&[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("2-policies.yaml: added 1 exclusion; `weir apply gateway` activates"), "{said}");
    let expected = POLICIES.replace(
        "                set: own # inline\n",
        &format!("                exclude:\n                  - {EXCLUSION}\n                set: own # inline\n"),
    );
    assert_eq!(read("2-policies.yaml"), expected);
    assert_eq!((read("1-sites.yaml").as_str(), read("3-rest.yml").as_str()), (SITES, REST));
    assert!(tune(&[]).1.contains("already has these exclusions"));
    let text = out(dir.path(), &["replay", "requests", "--repeat", "1", "--policy", "gateway"]);
    assert!(text.starts_with("1  GET /api?q=evil  line 1\n   pass"), "{text}");
}

#[test]
fn the_action_is_found_by_rule_or_policy_and_named_otherwise() {
    const TWO: &str = "\
policies:
  a: {rules: [{id: a-own, when: ssl, action: {rule_set: {set: own}}}]}
  b: {rules: [{id: b-own, when: ssl, actions: [log, rule_set: {set: own}]}]}
rule_sets: {own: {rules: 'SecRule ARGS \"@contains evil\" \"id:100,phase:2,deny\"'}}
";
    let dir = tempfile::tempdir().expect("temp dir");
    let changed = |policy: &str, via: &str, more: &[&str]| {
        log(dir.path(), policy, via);
        fs::write(dir.path().join("two.yaml"), TWO).expect("is written");
        let base = ["tune", "attack.log", "--rule", "100", "--apply", "two.yaml"];
        let output = weir(dir.path(), &[&base, more].concat());
        let text = fs::read_to_string(dir.path().join("two.yaml")).expect("is read");
        let line = text.lines().position(|line| line.contains("exclude"));
        (line, String::from_utf8(output.stderr).expect("is UTF-8"))
    };
    for (policy, via, more, line) in [
        ("a", "a-own", &[][..], Some(1)),
        ("", "b-own", &[], Some(2)),
        ("b", "renamed", &[], Some(2)),
        ("a", "a-own", &["--into", "b-own"], Some(2)),
        ("gone", "renamed", &[], None),
        ("a", "a-own", &["--into", "none"], None),
    ] {
        let (found, said) = changed(policy, via, more);
        assert_eq!(found, line, "{policy} {via} {more:?}: {said}");
        assert!(line.is_some() || said.contains("--into names the rule to change: a-own (policy a), b-own"), "{said}");
    }
    let shared = TWO.replace("{rule_set: {set: own}}}]}\n  b", "{rule_set: &x {set: own}}}]}\n  b");
    let shared = shared.replace("actions: [log, rule_set: {set: own}]", "action: {rule_set: *x}");
    fs::write(dir.path().join("two.yaml"), &shared).expect("is written");
    log(dir.path(), "b", "b-own");
    let output = weir(dir.path(), &["tune", "attack.log", "--rule", "100", "--apply", "two.yaml"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && error.contains("two.yaml:3:") && error.contains("alias"), "{error}");
    assert_eq!(fs::read_to_string(dir.path().join("two.yaml")).expect("is read"), shared);
}
