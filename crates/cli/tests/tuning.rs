//! `weir replay`, `weir rules` and `weir tune` with the Core Rule Set of Debian's package, from a
//! false positive to the policy that lets it pass.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

const CRS: &str = "/usr/share/modsecurity-crs/rules";

/// Requests with a false positive each, and what is in their logs.
const REQUESTS: &str = "\
GET /search?q=1%27+or+1%3d1--+&page=2 HTTP/1.1\r\nHost: shop.example.com\r\nUser-Agent: test\r\nAccept: */*\r\n\r\n\
POST /post?id=7 HTTP/1.1\r\nHost: shop.example.com\r\nUser-Agent: test\r\nAccept: */*\r\n\
Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 49\r\n\r\n\
comment=%3Cscript%3Ealert(1)%3C/script%3E&c%20d=x\r\n\
POST /api/7 HTTP/1.1\r\nHost: shop.example.com\r\nUser-Agent: test\r\nAccept: */*\r\n\
Content-Type: application/json\r\nContent-Length: 49\r\n\r\n\
{\"items\": [{\"note\": \"1' union select a from b\"}]}\r\n\
GET /file.bak HTTP/1.1\r\nHost: shop.example.com\r\nUser-Agent: test\r\nAccept: */*\r\n\
Cookie: basket=1%27+or+1%3d1--+\r\n\r\n\
GET /plain HTTP/1.1\r\nHost: 192.0.2.1\r\nAccept: */*\r\nReferer: http://x/?a=../../etc/passwd\r\n\r\n";

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

/// A directory with a policy that runs CRS, and the requests.
fn site(settings: &str) -> tempfile::TempDir {
    assert!(Path::new(CRS).is_dir(), "there is no {CRS}: `make setup` installs it");
    let dir = tempfile::tempdir().expect("temp dir");
    let policy = format!(
        "# The shop's.\npolicies:\n  - id: shop\n    rules:\n      - id: shop-crs\n        when: 'true' # all\n        \
         action:\n          crs:\n            paranoia: 2 # strict\n{settings}"
    );
    fs::write(dir.path().join("policy.yaml"), policy).expect("writes");
    fs::write(dir.path().join("requests"), REQUESTS).expect("writes");
    dir
}

fn replay(dir: &Path) -> Vec<Value> {
    let lines = out(dir, &["replay", "requests", "--policy", "policy.yaml", "--json", "--repeat", "1"]);
    lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// What nginx would have written into the attack log.
fn attack_log(dir: &Path) -> PathBuf {
    let mut log = String::from("cut off by a rotation\"}\n");
    for (number, request) in replay(dir).into_iter().enumerate() {
        let line = json!({
            "request_id": format!("r{number}"), "client": "192.0.2.7", "host": request["host"],
            "method": request["method"], "uri": request["target"], "status": request["status"],
            "findings": request["findings"], "score": request["score"],
        });
        log.push_str(&format!("{line}\n"));
    }
    let path = dir.join("attack.log");
    fs::write(&path, log).expect("writes");
    path
}

fn fired(request: &Value) -> Vec<&str> {
    request["findings"].as_array().expect("a list").iter().filter_map(|finding| finding["rule"].as_str()).collect()
}

#[test]
fn a_replayed_attack_says_what_fired_where_and_what_it_cost() {
    let dir = site("");
    let requests = replay(dir.path());
    assert_eq!(requests.len(), 5);
    let first = &requests[0];
    assert_eq!((&first["verdict"], &first["status"]), (&json!("block"), &json!(403)), "{first}");
    assert_eq!(first["decided_by"], "949110");
    let sqli = first["findings"].as_array().expect("a list").iter().find(|finding| finding["rule"] == "942100");
    let sqli = sqli.expect("942100 fires");
    assert_eq!((&sqli["variable"], &sqli["score"], &sqli["via"]), (&json!("ARGS:q"), &json!(5), &json!("shop-crs")));
    assert!(sqli["file"].as_str().is_some_and(|file| file.ends_with("SQLI.conf")), "{sqli}");
    assert!(fired(&requests[2]).contains(&"942100"), "the body is read as JSON: {}", requests[2]);
    let costs = first["costs"].as_array().expect("a list");
    let names = |kind: &str| costs.iter().filter(|cost| cost["kind"] == kind).count();
    assert!(names("lane") > 3 && names("rule") > 3, "{first}");
    let ns: Vec<u64> = costs.iter().filter_map(|cost| cost["ns"].as_u64()).collect();
    assert!(ns.is_sorted_by(|a, b| a >= b) && first["total_ns"].as_u64() > Some(0));
    let text = out(dir.path(), &["replay", "requests", "--policy", "policy.yaml", "--top", "3"]);
    for want in ["GET /search?q=1%27+or+1%3d1--+&page=2", "block by 949110, answered with 403", "ARGS:q", "COST"] {
        assert!(text.contains(want), "{want}: {text}");
    }
}

#[test]
fn without_a_policy_crs_only_detects() {
    let dir = site("");
    let text = out(dir.path(), &["replay", "requests", "--repeat", "1"]);
    assert!(
        text.contains("detect by 949110, goes on to the origin") && text.contains("this is a default policy"),
        "{text}"
    );
    let output = weir(dir.path(), &["replay", "requests", "--crs", "nowhere"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && error.contains("nowhere/rules"), "{error}");
}

#[test]
fn a_har_file_gives_the_same_as_the_raw_request() {
    let dir = site("");
    let header = |name: &str, value: &str| json!({ "name": name, "value": value });
    let har = json!({ "log": { "entries": [{ "request": {
        "method": "POST", "url": "https://shop.example.com/post?id=7", "httpVersion": "HTTP/1.1",
        "headers": [header("Host", "shop.example.com"), header("User-Agent", "test"), header("Accept", "*/*"),
            header("Content-Type", "application/x-www-form-urlencoded"), header("Content-Length", "49")],
        "postData": { "mimeType": "x", "text": "comment=%3Cscript%3Ealert(1)%3C/script%3E&c%20d=x" },
    } }] } });
    let raw = replay(dir.path()).remove(1);
    fs::write(dir.path().join("requests"), har.to_string()).expect("writes");
    let from_har = replay(dir.path()).remove(0);
    assert_eq!((fired(&raw), &raw["score"]), (fired(&from_har), &from_har["score"]));
    assert!(fired(&raw).contains(&"941100"), "{raw}");
}

#[test]
fn an_attack_log_s_entry_fires_again_and_says_what_it_lacks() {
    let dir = site("");
    let before = replay(dir.path());
    attack_log(dir.path());
    fs::rename(dir.path().join("attack.log"), dir.path().join("requests")).expect("renames");
    // A log may begin with half a line; a file that does is none.
    let log = fs::read_to_string(dir.path().join("requests")).expect("reads");
    let log = log.split_once('\n').expect("lines").1.to_owned();
    fs::write(dir.path().join("requests"), log).expect("writes");
    let after = replay(dir.path());
    assert_eq!(fired(&before[0]), fired(&after[0]));
    assert!(fired(&after[1]).contains(&"941100"), "the body's field was put back: {}", after[1]);
    let notes = after[1]["notes"].to_string();
    assert!(notes.contains("no body") && notes.contains("body field comment"), "{notes}");
}

#[test]
fn what_tune_proposes_lets_the_named_pass_and_nothing_else() {
    for settings in ["", "            exclude:\n              - {rule: 920100} # known\n            detect: false\n"] {
        let dir = site(settings);
        let dir = dir.path();
        attack_log(dir);
        let old = fs::read_to_string(dir.join("policy.yaml")).expect("reads");
        let tune = ["tune", "attack.log", "--all-from", "192.0.2.0/24", "--apply", "policy.yaml"];
        out(dir, &[&tune[..], &["--dry-run"]].concat());
        assert_eq!(fs::read_to_string(dir.join("policy.yaml")).expect("reads"), old);
        out(dir, &tune);
        let new = fs::read_to_string(dir.join("policy.yaml")).expect("reads");
        let kept: Vec<&str> = new.lines().filter(|line| old.lines().any(|known| known == *line)).collect();
        assert_eq!(kept, old.lines().collect::<Vec<_>>(), "every line of before is there, in its order");
        for request in replay(dir) {
            assert_eq!((&request["verdict"], &request["score"]), (&json!("pass"), &json!(0)), "{request}\n{new}");
        }
        // The same attacks in other places are found as before.
        fs::write(dir.join("requests"), REQUESTS.replace("?q=", "?z=").replace("comment=", "commend="))
            .expect("writes");
        let other = replay(dir);
        assert!(fired(&other[0]).contains(&"942100") && fired(&other[1]).contains(&"941100"));
        out(dir, &tune);
        assert_eq!(fs::read_to_string(dir.join("policy.yaml")).expect("reads"), new, "there is nothing to add");
    }
}

#[test]
fn tune_names_targets_paths_and_what_else_would_go() {
    let dir = site("");
    attack_log(dir.path());
    let text = out(dir.path(), &["tune", "attack.log", "--false-positive", "r0"]);
    let want = "- {rule: 942100, target: 'ARGS:q', when: 'http.request.uri.path eq \"/search\"'}";
    assert!(text.contains(want) && !text.contains("949110"), "{text}");
    let log = fs::read_to_string(dir.path().join("attack.log")).expect("reads");
    fs::write(dir.path().join("attack.log"), log.clone() + &log.replace("\"r0\"", "\"x0\"")).expect("writes");
    let text = out(dir.path(), &["tune", "attack.log", "--false-positive", "r0"]);
    assert!(text.contains("warning: it also silences 1 finding in 1 request not named, such as x0"), "{text}");
    let value: Value =
        serde_json::from_str(&out(dir.path(), &["tune", "attack.log", "--rule", "942100", "--json"])).expect("JSON");
    assert_eq!(value["requests"], 10);
    assert!(value["exclusions"].as_array().is_some_and(|all| all.iter().all(|one| one["target"].is_string())));
}

#[test]
fn tune_says_why_it_can_propose_nothing() {
    let dir = site("");
    attack_log(dir.path());
    for (arguments, code, want) in [
        (&["tune", "attack.log"][..], 2, "--false-positive"),
        (&["tune", "attack.log", "--false-positive", "nobody"], 1, "has no request nobody"),
        (&["tune", "attack.log", "--rule", "1"], 1, "none of its 5 requests"),
        (&["tune", "requests", "--rule", "1"], 1, "none of its lines is from an attack log"),
        (&["tune", "attack.log", "--all-from", "x"], 1, "expected an address"),
        (&["tune", "attack.log", "--rule", "942100", "--apply", "missing.yaml"], 1, "missing.yaml"),
        (&["tune", "attack.log", "--rule", "942100", "--dry-run"], 2, "--apply"),
        (&["replay", "policy.yaml"], 1, "expected a request line"),
        (&["rules", "explain", "942101x"], 1, "has no rule 942101x"),
        (&["rules", "explain", "942102"], 1, "its neighbours: 942101, 942110"),
    ] {
        let output = weir(dir.path(), arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(code) && error.contains(want), "{arguments:?}: {error}");
    }
}

#[test]
fn a_rule_is_explained_from_its_place_to_its_exclusion() {
    let dir = site("            exclude: [{tag: attack-sqli, target: 'ARGS:q'}]\n");
    let text = out(dir.path(), &["rules", "explain", "942100", "--policy", "policy.yaml"]);
    for want in [
        "REQUEST-942-APPLICATION-ATTACK-SQLI.conf:",
        "phase 2 (the request's body), severity CRITICAL, paranoia level 1",
        "@detectSQLi",
        "utf8toUnicode, urlDecodeUni, removeNulls",
        "tx.sql_injection_score",
        "only if a value begins as SQL injection could",
        "- {rule: 942100, target: ",
        "shop: tag attack-sqli, ARGS:q, in all requests",
    ] {
        assert!(text.contains(want), "{want}: {text}");
    }
    let explained = |id: &str| -> Value {
        let text = out(dir.path(), &["rules", "explain", id, "--policy", "policy.yaml", "--json"]);
        serde_json::from_str(&text).expect("JSON")
    };
    for (id, way) in [("942100", "gated"), ("942251", "skipped"), ("901100", "folded")] {
        assert_eq!(explained(id)["runs"][0]["way"], way, "{id}");
    }
    assert!(explained("920120")["links"].as_array().is_some_and(|links| !links.is_empty()));
}

#[test]
fn rules_are_listed_by_tag_and_file() {
    let dir = site("");
    let list = |more: &[&str]| -> Vec<Value> {
        let text = out(dir.path(), &[&["rules", "list", "--json"], more].concat());
        serde_json::from_str::<Value>(&text).expect("JSON").as_array().expect("a list").clone()
    };
    let (all, sqli) = (list(&[]), list(&["--tag", "attack-sqli"]));
    assert!(all.len() > sqli.len() && sqli.len() > 20, "{} {}", all.len(), sqli.len());
    let both = list(&["--tag", "attack-sqli", "--tag", "paranoia-level/1"]);
    assert!(both.len() < sqli.len() && both.iter().all(|rule| rule["paranoia"] == 1));
    assert!(list(&["--file", "REQUEST-941"]).iter().all(|rule| rule["id"].as_u64() >= Some(941_000)));
    assert!(out(dir.path(), &["rules", "list"]).contains("942100"));
}

#[test]
fn lint_tells_of_the_policy_s_own_rule_files() {
    let dir = tempfile::tempdir().expect("temp dir");
    let dir = dir.path();
    fs::write(dir.join("own.conf"), "SecRule ARGS \"@contains x\" \"id:1,deny\"\n").expect("writes");
    fs::write(dir.join("bad.conf"), "SecRule ARGS \"@contain x\" \"id:1,phase:2,deny\"\nSecRul X\n").expect("writes");
    let policy =
        "policies:\n  - id: p\n    rules:\n      - {id: r, when: 'true', action: {rule_set: {files: [own.conf]}}}\n";
    fs::write(dir.join("policy.yaml"), policy).expect("writes");
    for (arguments, code, want) in [
        (&["check", "policy.yaml"][..], 0, ""),
        (&["check", "--lint", "policy.yaml"], 0, "own.conf:1:1: warning: a rule without a phase"),
        (&["check", "--lint", "--strict", "policy.yaml"], 1, "own.conf:1:1: warning"),
        (&["check", "--lint", "own.conf"], 0, "own.conf:1:1: warning"),
        (&["check", "--lint", "--strict", "own.conf"], 1, "own.conf:1:1: warning"),
        (&["check", "--lint", "bad.conf"], 1, "bad.conf:2:1: error"),
        (&["check", "--lint", "missing.conf"], 1, "missing.conf"),
        (&["check", "own.conf"], 1, "weir check --lint own.conf"),
        (&["check", "policy.yaml", "own.conf"], 1, "one policy at a time"),
        (&["check", "--strict", "policy.yaml"], 2, "--lint"),
    ] {
        let output = weir(dir, arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(code) && error.contains(want), "{arguments:?}: {error}");
        assert!(!want.is_empty() || error.is_empty(), "{error}");
    }
    let value: Value = serde_json::from_str(&out(dir, &["check", "--lint", "--json", "policy.yaml"])).expect("JSON");
    assert_eq!((&value["ok"], &value["lint"][0]["severity"]), (&json!(true), &json!("warning")));
}

/// Commands of a page's `console` blocks, with the lines shown below each.
fn steps(page: &str) -> Vec<(String, Vec<String>)> {
    let mut steps: Vec<(String, Vec<String>)> = Vec::new();
    let mut is_inside = false;
    for line in page.lines() {
        if line.starts_with("```") {
            is_inside = line == "```console";
        } else if let (true, Some(command)) = (is_inside, line.strip_prefix("$ ")) {
            steps.push((command.to_owned(), Vec::new()));
        } else if is_inside {
            steps.last_mut().expect("a block begins with a command").1.push(line.to_owned());
        }
    }
    steps
}

/// Whether a line has these parts in this order; `...` stands for anything.
fn has_parts(line: &str, pattern: &str) -> bool {
    let mut rest = Some(line);
    for part in pattern.split("...") {
        rest = rest.and_then(|rest| rest.split_once(part.trim())).map(|(_, rest)| rest);
    }
    rest.is_some()
}

#[test]
fn every_command_of_the_guides_prints_what_they_show() {
    let dir = site("");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::create_dir(dir.path().join("examples")).expect("creates");
    for name in ["attack.http", "attack.log", "crs.yaml"] {
        fs::copy(root.join("examples").join(name), dir.path().join("examples").join(name)).expect("copies");
    }
    let bin = Path::new(env!("CARGO_BIN_EXE_weir")).parent().expect("is in a directory");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    for page in ["docs/replay.md", "docs/tuning.md"] {
        let steps = steps(&fs::read_to_string(root.join(page)).expect("is there"));
        assert!(steps.len() >= 3, "{page}");
        for (command, shown) in steps {
            let mut bash = Command::new("bash");
            bash.args(["-c", &format!("set -o pipefail; {command} 2>&1")]).current_dir(dir.path()).env("PATH", &path);
            let output = bash.output().expect("bash runs");
            let printed = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{page}: {command}: {printed}");
            let mut lines = printed.lines();
            for pattern in shown.iter().filter(|line| *line != "..." && !line.is_empty()) {
                assert!(lines.any(|line| has_parts(line, pattern)), "{page}: {command}: {pattern}\n{printed}");
            }
        }
    }
}

#[test]
fn explain_names_the_rules_that_make_nginx_wait_for_bodies() {
    let dir = tempfile::tempdir().expect("temp dir");
    let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).expect("writes");
    write(
        "policy.yaml",
        "policies:\n  - id: p\n    rules:\n      \
         - {id: form, when: 'any(http.request.body.form.values[*] contains \"x\")', action: block}\n      \
         - {id: set, when: 'http.host eq \"held.example\"', action: {rule_set: {files: [rules.conf]}}}\n",
    );
    write(
        "rules.conf",
        "SecResponseBodyAccess On\nSecResponseBodyMimeType text/html\nSecResponseBodyLimit 1000\n\
         SecRule RESPONSE_BODY \"@contains x\" \"id:1,phase:4,deny\"\n",
    );
    let explain = |more: &[&str]| {
        let arguments = [&["explain", "-X", "POST", "--policy", "policy.yaml", "--json"], more].concat();
        serde_json::from_str::<Value>(&out(dir.path(), &arguments)).expect("JSON")
    };
    let fate = |found: &Value, side: &str, kind: &str| {
        let all = found[side].as_array().expect("a list").clone();
        let one = all.into_iter().find(|one| one["content_type"] == kind).expect("is looked at");
        json!([one["body"], one["because"]["rule"], one["bytes"]])
    };
    const FORM: &str = "application/x-www-form-urlencoded";
    let found = explain(&["http://shop.example/"]);
    assert_eq!(fate(&found, "request", FORM), json!(["awaited", "form", 1 << 20]));
    assert_eq!(fate(&found, "request", "application/json"), json!(["unread", null, null]));
    assert_eq!(fate(&found, "response", "text/html"), json!(["unread", null, null]));
    let found = explain(&["http://held.example/"]);
    assert_eq!(fate(&found, "response", "text/html"), json!(["awaited", "set", 1000]));
    assert_eq!(fate(&found, "response", "text/plain"), json!(["unread", null, null]));
    let found = explain(&["http://held.example/", "--detect", "-H", "Content-Type: application/x-www-form-urlencoded"]);
    assert_eq!(found["request"].as_array().map(Vec::len), Some(1));
    assert_eq!(fate(&found, "request", FORM), json!(["observed", "form", 1 << 20]));
    assert_eq!(fate(&found, "response", "text/html"), json!(["observed", "set", 1000]));
    let text = out(dir.path(), &["explain", "http://shop.example/", "--policy", "policy.yaml"]);
    assert!(text.contains("rule form of policy p reads its first 1,048,576 bytes"), "{text}");
    for (wrong, hint) in [(&["shop"][..], "http://HOST/PATH"), (&["http://a/", "-H", "x"], "NAME: VALUE")] {
        let output = weir(dir.path(), &[&["explain"], wrong].concat());
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stderr).contains(hint), "{output:?}");
    }
}
