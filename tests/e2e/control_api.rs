//! The API as its users see it: errors with positions, entity tags, transactions, revisions, and limits.

use std::io::{BufRead, BufReader, Read as _, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};
use weir_tests::nginx::kill;
use weir_tests::wait::until;
use weir_tests::{Control, Gateway, Setup};

struct Alone {
    control: Control,
    _directory: tempfile::TempDir,
}

/// A control daemon without nginx.
fn alone(environment: &[(&str, &str)]) -> Alone {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let control = Control::start_with(&directory.path().join("state"), &directory.path().join("run"), environment);
    Alone { control, _directory: directory }
}

fn some() -> Vec<(&'static str, Value)> {
    vec![
        ("sites/all", json!({"hosts": ["all.test"]})),
        ("upstreams/app", json!({"members": {"a": {"address": "127.0.0.1:9", "weight": 2}}})),
        ("routes/r", json!({"site": "all", "path": "/", "to": "app"})),
    ]
}

#[test]
fn all_errors_are_reported_with_pointers_and_nothing_is_applied() {
    let alone = alone(&[]);
    let api = &alone.control.api;
    let revision = api.put_all(&some()).expect(200).revision();
    let refused = api.put_all(&[
        ("sites/two", json!({"hosts": ["all.test"], "colour": "red"})),
        ("routes/x", json!({"site": "nowhere", "path": "/x", "to": "nobody", "priority": "high"})),
        ("upstreams/app/members/b", json!({"address": "127.0.0.1", "weight": -1})),
        ("policies/p", json!({"rules": [{"id": "a", "when": "http.hots eq 1", "action": "block"}]})),
    ]);
    let refused = refused.expect(422);
    assert_eq!(refused.header("content-type"), Some("application/problem+json"));
    let errors = refused.errors();
    for (pointer, part) in
        [("/sites/two/colour", "colour"), ("/routes/x/priority", "integer"), ("/upstreams/app/members/b/weight", "-1")]
    {
        assert!(
            errors.iter().any(|(at, message)| at == pointer && message.contains(part)),
            "{pointer} {part}: {errors:#?}"
        );
    }
    assert!(
        refused.body["errors"].as_array().is_some_and(|errors| errors.iter().any(|error| error["hint"].is_string()))
    );
    assert_eq!(api.get("revisions?limit=1").body["revisions"][0]["revision"], json!(revision));
    assert_eq!(api.get("sites/two").status, 404);
}

#[test]
fn well_formed_but_meaningless_changes_are_refused() {
    let alone = alone(&[]);
    let api = &alone.control.api;
    let _ = api.put_all(&some()).expect(200);
    let route = |more: Value| {
        let mut route = json!({"site": "all", "path": "/", "to": "app"});
        more.as_object().expect("an object").iter().for_each(|(key, value)| route[key] = value.clone());
        route
    };
    for (path, body, pointer) in [
        ("routes/x", route(json!({"site": "none"})), "/routes/x/site"),
        ("routes/x", route(json!({"path": "/y", "to": "none"})), "/routes/x/to"),
        ("routes/x", route(json!({})), "/routes/x"),
        ("sites/x", json!({"hosts": ["all.test"]}), "/sites/x/hosts"),
        ("upstreams/app", json!({"fallback": "app"}), "/upstreams/app/fallback"),
        ("routes/x", route(json!({"path": {"regex": "(unclosed"}})), "/routes/x/path/regex"),
        ("rule_sets/x", json!({"rules": "SecRule ARGS \"@nothing x\" \"id:1,deny\""}), "/rule_sets/x/rules"),
    ] {
        let refused = api.put(path, &body).expect(422);
        assert!(refused.errors().iter().any(|(at, _)| at.starts_with(pointer)), "{path}: {:#?}", refused.errors());
    }
    let refused = api.delete("upstreams/app").expect(422);
    assert!(refused.body.to_string().contains("routes/r"), "names who refers to it: {}", refused.body);
}

#[test]
fn entity_tags_prevent_overwriting_concurrent_changes() {
    let alone = alone(&[]);
    let api = &alone.control.api;
    let _ = api.put_all(&some()).expect(200);
    let tag = api.get("upstreams/app/members/a").expect(200).header("etag").expect("a tag").to_owned();
    let patch = |tag: &str, weight: u32| {
        let body = json!({ "weight": weight });
        api.try_call("PATCH", "/api/v1/upstreams/app/members/a", &[("If-Match", tag)], Some(&body)).expect("answers")
    };
    let _ = patch(&tag, 5).expect(200);
    let _ = patch(&tag, 6).expect(412);
    assert_eq!(api.get("upstreams/app/members/a").body["weight"], 5);
    let body = json!({"address": "127.0.0.1:1"});
    let create = || api.try_call("PUT", "/api/v1/upstreams/app/members/a", &[("If-None-Match", "*")], Some(&body));
    let _ = create().expect("answers").expect(412);
}

#[test]
fn a_dry_run_checks_and_changes_nothing() {
    let alone = alone(&[]);
    let api = &alone.control.api;
    let _ = api.put_all(&some()).expect(200);
    assert!(api.put("sites/x?dry_run=true", &json!({"hosts": ["x.test"]})).status < 300);
    assert_eq!(api.get("sites/x").status, 404);
    let _ = api.put("sites/x?dry_run=true", &json!({"hosts": []})).expect(422);
}

#[test]
fn revisions_are_kept_compared_and_rolled_back() {
    let alone = alone(&[]);
    let api = &alone.control.api;
    let first = api.put_all(&some()).expect(200).revision();
    let second = api.patch("upstreams/app/members/a?message=more", &json!({"weight": 9})).expect(200).revision();
    let _ = api.delete("routes/r").expect(200);
    let diff = api.get(&format!("revisions/{second}/diff")).expect(200);
    let change = &diff.body["changes"][0];
    assert_eq!((&change["old"]["weight"], &change["new"]["weight"]), (&json!(2), &json!(9)), "{change}");
    assert_eq!(diff.body["message"], "more");
    let back = api.call("POST", &format!("/api/v1/revisions/{first}/rollback"), None).expect(200);
    assert!(back.revision() > second);
    assert_eq!(api.get("upstreams/app/members/a").body["weight"], 2);
    assert_eq!(api.get("routes/r").status, 200);
    assert_eq!(api.call("POST", "/api/v1/revisions/9999/rollback", None).status, 404);
}

#[test]
fn changes_can_be_watched_from_a_revision_on() {
    let alone = alone(&[]);
    let api = &alone.control.api;
    let first = api.put_all(&some()).expect(200).revision();
    let second = api.patch("upstreams/app/members/a", &json!({"weight": 9})).expect(200).revision();
    let mut stream = UnixStream::connect(api.socket()).expect("listens");
    write!(stream, "GET /api/v1/watch?since={first} HTTP/1.1\r\nhost: a\r\n\r\n").expect("writes");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
    let mut lines = BufReader::new(stream).lines().map(|line| line.expect("a line in time"));
    let mut revision = || {
        let data = lines.by_ref().find_map(|line| line.strip_prefix("data:").map(str::to_owned)).expect("an event");
        serde_json::from_str::<Value>(&data).expect("is JSON")["revision"].as_u64().expect("a revision")
    };
    assert_eq!(revision(), second, "what came before the watch");
    let third = api.patch("upstreams/app/members/a", &json!({"weight": 10})).expect(200).revision();
    assert_eq!(revision(), third, "what comes in it");
}

#[test]
fn unusual_requests_get_clear_answers() {
    let alone = alone(&[]);
    let api = &alone.control.api;
    let huge = json!({"kind": "strings", "strings": ["x".repeat(17 << 20)]});
    for (method, path, body, status) in [
        ("GET", "/api/v1/nonsense", None, 404),
        ("GET", "/nonsense", None, 404),
        ("DELETE", "/api/v1/sites/none", None, 404),
        ("POST", "/api/v1/sites/none", Some(json!({})), 405),
        ("DELETE", "/api/v1/settings", None, 405),
        ("PUT", "/api/v1/sites/no%20space", Some(json!({"hosts": ["a.test"]})), 422),
        ("PUT", "/api/v1/lists/huge", Some(huge), 413),
        ("PUT", "/api/v1/sites/a", Some(json!("text")), 422),
        ("PATCH", "/api/v1/sites/none", Some(json!({"hosts": ["a.test"]})), 404),
    ] {
        let answer = api.try_call(method, path, &[], body.as_ref());
        // The server may close the connection before a rejected body has been sent completely.
        if let Ok(answer) = answer {
            assert_eq!(answer.status, status, "{method} {path}: {}", answer.body);
            assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{method} {path}");
        } else {
            assert_eq!(status, 413, "{method} {path}");
        }
    }
}

#[test]
fn a_policy_that_exhausts_time_or_memory_is_refused() {
    let alone = alone(&[("WEIR_TESTING", "1")]);
    let api = &alone.control.api;
    let with = |list: &str| {
        let lists = json!({"strings": ["x"]});
        api.put(&format!("lists/{list}"), &lists)
    };
    for marker in ["weir-test-abort", "weir-test-memory"] {
        let refused = with(marker).expect(422);
        assert!(!refused.errors().is_empty(), "{}", refused.body);
    }
    let _ = with("harmless").expect(201);
}

#[test]
fn a_full_disk_refuses_changes_and_loses_none() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (state, runtime) = (directory.path().join("state"), directory.path().join("run"));
    let control = Control::start_on_small_disk(&state, &runtime, 4096);
    let text = "x".repeat(100_000);
    let page = |n: usize| json!({"site": "all", "path": format!("/{n}"), "respond": {"status": 200, "body": text}});
    let _ = control.api.put("sites/all", &json!({"hosts": ["*"]})).expect(201);
    let full = (0..200).find(|n| {
        let answer = control.api.put(&format!("routes/r{n}"), &page(*n));
        assert!(matches!(answer.status, 201 | 507), "{:#}", answer.body);
        answer.status == 507
    });
    let full = full.expect("4 MiB are full some time");
    assert!(full > 5, "{full} routes of 100 kB fit into 4 MiB");
    assert_eq!(control.api.get(&format!("routes/r{full}")).status, 404, "what was refused is not there");
    assert_eq!(control.api.get(&format!("routes/r{}", full - 1)).status, 200);
    assert_eq!(control.api.call("GET", "/healthz", None).status, 200, "control lives on");
}

/// The daemon's child process that compiles, if there is one.
fn sandbox(control: &Control) -> Option<i32> {
    let parent = control.pid().to_string();
    let processes = std::fs::read_dir("/proc").expect("is there").flatten();
    processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).find(|pid: &i32| {
        let read = |what: &str| std::fs::read_to_string(format!("/proc/{pid}/{what}")).unwrap_or_default();
        // After the name, which is in parentheses, come the state and the parent.
        let stat = read("stat");
        let of_control = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)) == Some(&parent);
        of_control && read("cmdline").split('\0').any(|argument| argument == "sandbox")
    })
}

#[test]
fn excess_changes_for_the_sandbox_are_told_to_retry() {
    /// The same value as in `crates/control/src/sandbox.rs`.
    const MAX_WAITING: usize = 64;
    const TOO_MANY: usize = 6;
    let alone = alone(&[("WEIR_TESTING", "1")]);
    let (sender, answers) = mpsc::channel();
    let put = |list: String| {
        let (api, sender) = (alone.control.api.clone(), sender.clone());
        // Most of them are answered when the daemon ends; the test does not wait for that.
        std::thread::spawn(move || {
            let path = format!("/api/v1/lists/{list}");
            let _ = sender.send(api.try_call("PUT", &path, &[], Some(&json!({"strings": ["x"]}))));
        })
    };
    put("weir-test-sleep".to_owned());
    until("the first to be in the sandbox", || sandbox(&alone.control));
    for n in 0..MAX_WAITING + TOO_MANY {
        put(format!("l{n}"));
    }
    for _ in 0..TOO_MANY {
        let answer = answers.recv_timeout(Duration::from_secs(15)).expect("in time").expect("a whole one");
        assert_eq!((answer.status, answer.header("retry-after")), (429, Some("1")), "{}", answer.body);
    }
    assert!(answers.try_recv().is_err(), "the others wait");
    let _ = alone.control.api.put("sites/light", &json!({"hosts": ["a.test"]})).expect(201);
}

#[test]
fn a_sandbox_that_is_killed_is_replaced() {
    let alone = alone(&[]);
    let mut before = None;
    for round in 0..3 {
        let _ = alone.control.api.put(&format!("lists/l{round}"), &json!({"strings": ["x"]})).expect(201);
        let child = sandbox(&alone.control).expect("it is kept");
        assert_ne!(before, Some(child));
        kill(child, libc::SIGKILL);
        before = Some(child);
    }
}

#[test]
fn what_a_worker_refuses_is_undone_everywhere() {
    let setup = Setup::gateway().workers(3);
    let names = setup.prefix().join("names.txt");
    std::fs::write(&names, "1\n2\n").expect("writable");
    let run = setup.prefix().join("run");
    let control = Control::start(&setup.prefix().join("state"), &run);
    let _ = control.api.put("lists/names", &json!({"kind": "strings", "file": names})).expect(201);
    let captured = control.api.get("files").body;
    let first = control.api.put("lists/names", &json!({"strings": ["a"]})).expect(200).revision();
    let gateway = Gateway { nginx: setup.start(), control };
    let api = gateway.api();
    // What is published under the hash is something else.
    let hash = captured.as_object().and_then(|files| files.values().next()).map(|file| file["sha256"].clone());
    let hash = hash.and_then(|hash| hash.as_str().map(str::to_owned)).expect("one file was captured");
    let file = format!("/files{}", names.display());
    let object = run.join("objects").join(hash);
    std::fs::remove_file(&object).expect("it is published");
    std::fs::write(&object, "1\n3\n").expect("writable");
    let refused = api.put("lists/names", &json!({"kind": "integers", "file": names})).expect(409);
    assert_eq!(refused.body["revision"], json!(first + 1), "{:#}", refused.body);
    assert_eq!(refused.body["undone_by"], json!(first + 2), "{:#}", refused.body);
    let reason = refused.body["refused_by"][0]["reason"].as_str().expect("says why");
    assert!(reason.contains("names.txt"), "{reason}");
    assert_eq!(api.get("lists/names").body, json!({"strings": ["a"]}));
    let undoing = api.get(&format!("revisions/{}", first + 2)).expect(200);
    assert_eq!((&undoing.body["actor"], &undoing.body["changed"]), (&json!("weir"), &json!([file, "/lists/names"])));
    until("all workers to agree with control", || {
        let workers = api.get("workers").body["workers"].as_array()?.clone();
        let agree = |worker: &Value| worker["agrees"] == true && worker["applied"] == json!(first + 2);
        (workers.iter().filter(|worker| agree(worker)).count() == 3).then_some(())
    });
    let next = api.put("lists/names", &json!({"strings": ["c"]})).expect(200);
    let results = next.body["workers"].as_array().expect("tells of each worker");
    assert!(results.len() == 3 && results.iter().all(|worker| worker["result"] == "applied"), "{results:?}");
}

#[test]
fn watchers_do_not_delay_the_shutdown_of_control() {
    let mut alone = alone(&[]);
    let mut streams = Vec::new();
    for _ in 0..3 {
        let mut stream = BufReader::new(UnixStream::connect(alone.control.api.socket()).expect("listens"));
        write!(stream.get_mut(), "GET /api/v1/watch HTTP/1.1\r\nhost: a\r\n\r\n").expect("writes");
        let mut line = String::new();
        while !line.starts_with(": watching") {
            line.clear();
            assert_ne!(stream.read_line(&mut line).expect("a line"), 0);
        }
        streams.push(stream);
    }
    assert_eq!(alone.control.stop(), Some(0));
    // A stream that held control up would be cut off, as requests in flight are after a while.
    for mut stream in streams {
        let mut rest = String::new();
        stream.read_to_string(&mut rest).expect("ends in order");
        assert!(rest.ends_with("0\r\n\r\n"), "{rest:?}");
    }
}

#[test]
fn files_that_lists_name_are_within_the_directories_and_never_quoted() {
    let (alone, elsewhere) = (alone(&[]), tempfile::tempdir().expect("a temporary directory"));
    let secret = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\n";
    let key = elsewhere.path().join("key.pem");
    let files = alone._directory.path().join("files");
    let write = |path: &std::path::Path, text: &str| std::fs::write(path, text).expect("is written");
    std::fs::create_dir_all(files.join("archive")).expect("is made");
    write(&key, secret);
    write(&files.join("inside.pem"), secret);
    write(&files.join("archive/1.txt"), "192.0.2.1\n");
    for (target, link) in [(key.clone(), "out.txt"), ("archive/1.txt".into(), "live.txt")] {
        std::os::unix::fs::symlink(target, files.join(link)).expect("is made");
    }
    let list = |file: std::path::PathBuf| json!({"kind": "addresses", "file": file});
    for (file, said) in [
        (key, "--files"),
        (files.join("out.txt"), "--files"),
        (files.join("inside.pem"), "line"),
        ("/etc/shadow".into(), "--files"),
    ] {
        let refused = alone.control.api.put("lists/a", &list(file.clone())).expect(422);
        let text = refused.body.to_string();
        assert!(text.contains(said) && !text.contains("PRIVATE") && !text.contains("MIIE"), "{file:?}: {text}");
    }
    let _ = alone.control.api.put("lists/a", &list(files.join("live.txt"))).expect(201);
}
