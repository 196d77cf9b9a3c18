//! Commands whose answer is lost, repeated changes, and rollbacks that need a question.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use weir_tests::gateway::weir;
use weir_tests::nginx::kill;
use weir_tests::{Api, Control};

struct Alone {
    control: Control,
    directory: tempfile::TempDir,
}

/// A control daemon without nginx.
fn alone() -> Alone {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let control = Control::start(&directory.path().join("state"), &directory.path().join("run"));
    Alone { control, directory }
}

/// The command with these arguments.
fn command(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(weir());
    command.args(arguments).env("WEIR_RUNTIME", directory.join("run")).env_remove("WEIR_CONTROL");
    command.env("NO_COLOR", "1").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Runs the command, which must end with this code, and returns what it says.
#[track_caller]
fn run(directory: &Path, code: i32, arguments: &[&str]) -> String {
    let output = command(directory, arguments).output().expect("it runs");
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", said(&output));
    said(&output)
}

fn newest(api: &Api) -> Value {
    api.get("revisions?limit=1").expect(200).body["revisions"][0].clone()
}

/// The revisions that were made with each message.
fn revisions_of(api: &Api) -> BTreeMap<String, Vec<u64>> {
    let mut all: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for one in api.get("revisions?limit=1000").expect(200).body["revisions"].as_array().expect("a list") {
        let message = one["message"].as_str().unwrap_or_default().to_owned();
        all.entry(message).or_default().push(one["revision"].as_u64().expect("a number"));
    }
    all
}

/// `WEIR_ROUNDS` changes the number of rounds. Moments are spread over the time that a change takes, and beyond.
#[test]
fn a_change_is_made_once_whenever_control_is_killed() {
    let rounds: u64 = std::env::var("WEIR_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(40);
    let Alone { mut control, directory } = alone();
    let api = control.api.clone();
    let _ = api.put("upstreams/app", &json!({"members": {"a": "127.0.0.1:1"}})).expect(201);
    let (mut lost, mut replayed, mut made) = (0, 0, BTreeSet::new());
    for round in 0..rounds {
        let key = format!("round-{round}");
        let path = format!("/api/v1/upstreams/app/members/a/weight?message={key}");
        let body = json!(round % 100 + 1);
        let call = || api.try_call("PUT", &path, &[("idempotency-key", &key)], Some(&body));
        let first = std::thread::scope(|scope| {
            let sent = scope.spawn(call);
            std::thread::sleep(Duration::from_micros(round * 7_919 % 3_000));
            control.kill();
            sent.join().expect("no panic")
        });
        control.respawn();
        control.wait();
        let again = call().expect("it answers again").expect(200);
        lost += u64::from(first.is_err());
        replayed += u64::from(again.body["replayed"] == true);
        if let Ok(first) = first {
            assert_eq!(first.revision(), again.revision(), "what was answered stays");
        }
        assert_eq!(call().expect("it answers").expect(200).revision(), again.revision());
        made.insert(again.revision());
    }
    // Of one that control had in its change log only, the message is lost, but not the key.
    let all: usize = revisions_of(&api).values().map(Vec::len).sum();
    assert_eq!((all as u64, made.len() as u64), (rounds + 1, rounds), "each key has made one revision");
    println!("{rounds} rounds: {lost} answers were lost, {replayed} changes had been made before");
    drop(directory);
}

#[test]
fn a_command_survives_a_restart_of_control_and_says_if_it_does_not_know() {
    let Alone { mut control, directory } = alone();
    let dir = directory.path();
    run(dir, 0, &["put", "upstreams/app", "{members: {a: '127.0.0.1:1'}}"]);
    // Control takes the connection and is killed before it answers.
    let interrupted = |control: &mut Control, arguments: &[&str], comes_back: bool| {
        kill(control.pid(), libc::SIGSTOP);
        let child = command(dir, arguments).spawn().expect("it runs");
        std::thread::sleep(Duration::from_millis(500));
        control.kill();
        if comes_back {
            control.respawn();
        }
        child.wait_with_output().expect("it ends")
    };
    let weight = ["put", "upstreams/app/members/a/weight", "4", "-m", "four"];
    let output = interrupted(&mut control, &weight, true);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("asking again"), "{}", said(&output));
    assert_eq!(revisions_of(&control.api)["four"].len(), 1);
    // It does not come back: unknown, with the command that finds out.
    let output = interrupted(&mut control, &["delete", "upstreams/app", "--message", "for the last time"], false);
    let unknown = said(&output);
    assert_eq!(output.status.code(), Some(3), "{unknown}");
    assert!(unknown.contains("unknown whether the change was made"), "{unknown}");
    control.respawn();
    control.wait();
    let (_, repeat) = unknown.rsplit_once(": weir ").expect("it names a command");
    let repeat = || {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("'{}' {}", weir().display(), repeat.trim())]);
        let output = shell.env("WEIR_RUNTIME", dir.join("run")).env_remove("WEIR_CONTROL").output().expect("it runs");
        assert!(output.status.success(), "{}", said(&output));
        said(&output)
    };
    repeat();
    assert!(repeat().contains("made by an earlier attempt"));
    assert_eq!(newest(&control.api)["message"], "for the last time");
}

#[test]
fn apply_is_repeated_and_expects_a_revision() {
    let Alone { control, directory } = alone();
    let dir = directory.path();
    let file = dir.join("gateway.yaml");
    let file = file.to_str().expect("is UTF-8");
    std::fs::write(file, "upstreams: {app: {members: {a: '127.0.0.1:1'}}}\n").expect("writable");
    let dry = run(dir, 0, &["apply", file, "--dry-run"]);
    assert!(dry.contains("valid at revision 0; nothing was changed"), "{dry}");
    run(dir, 0, &["apply", file, "--expect", "0", "--idempotency-key", "k"]);
    let again = run(dir, 0, &["apply", file, "--expect", "0", "--idempotency-key", "k"]);
    assert!(again.contains("revision 1") && again.contains("made by an earlier attempt"), "{again}");
    let other = run(dir, 1, &["apply", file, "--idempotency-key", "k"]);
    assert!(other.contains("stands for another request, of revision 1"), "{other}");
    std::fs::write(file, "upstreams: {app: {members: {a: {address: '127.0.0.1:1', weight: 2}}}}\n").expect("writable");
    let moved = run(dir, 1, &["apply", file, "--expect", "0"]);
    assert!(moved.contains("revision 1 is the newest, and not 0"), "{moved}");
    assert_eq!(newest(&control.api)["revision"], 1);
}

#[test]
fn another_spelling_is_nothing_to_change() {
    let Alone { control, directory } = alone();
    let dir = directory.path();
    let file = dir.join("gateway.yaml");
    let write = |body: &str| {
        let text = format!(
            "sites: {{s: {{hosts: [s.test]}}}}\nroutes: {{r: {{site: s, path: /, respond: {{status: 200, body: {body}}}}}}}\n"
        );
        std::fs::write(&file, text).expect("writable");
        file.to_str().expect("is UTF-8")
    };
    run(dir, 0, &["apply", write("'1.2'")]);
    assert!(run(dir, 0, &["apply", write("1.2")]).contains("nothing to change"));
    let put = run(dir, 0, &["put", "routes/r", "{site: s, path: /, respond: {status: 200, body: 1.2}}"]);
    assert!(put.contains("nothing to change"), "{put}");
    assert_eq!(newest(&control.api)["revision"], 1);
}

#[test]
fn a_rollback_of_a_rollback_or_of_a_refresh_asks() {
    let Alone { control, directory } = alone();
    let (dir, api) = (directory.path(), &control.api);
    let list = dir.join("words.txt");
    std::fs::write(&list, "one\ntwo\n").expect("writable");
    run(dir, 0, &["put", "upstreams/app", "{members: {a: '127.0.0.1:1'}}"]);
    run(dir, 0, &["put", "upstreams/app/members/a/weight", "5", "-m", "more"]);
    assert!(run(dir, 0, &["rollback"]).contains("restored revision 1"), "after a change of a person it does not ask");
    let refused = run(dir, 1, &["rollback"]);
    for part in ["revision, 3, is a rollback", "`weir rollback 2`", "`weir rollback --yes`", "`weir rollback 0`"] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    assert_eq!(newest(api)["revision"], 3);
    assert!(run(dir, 0, &["rollback", "--yes", "-m", "no"]).contains("restored revision 2"));
    assert_eq!(newest(api)["message"], "back to revision 2: no");
    run(dir, 1, &["rollback"]);
    run(dir, 0, &["rollback", "2"]);
    // A refresh by the daemon: what it took is not what went wrong.
    let document = format!("{{kind: strings, file: {}, refresh: on_change}}", list.display());
    run(dir, 0, &["put", "lists/words", &document, "-m", "a list"]);
    let of_person = newest(api)["revision"].as_u64().expect("a number");
    std::fs::write(&list, "two\nthree\nfour\n").expect("writable");
    weir_tests::wait::until("the refresh", || (newest(api)["actor"] == "weir").then_some(()));
    let refused = run(dir, 1, &["rollback"]);
    let before = format!("`weir rollback {}` undoes everything", of_person - 1);
    assert!(refused.contains("was made by the daemon") && refused.contains(&before), "{refused}");
    // The lines are shown, too.
    let diff = run(dir, 0, &["diff"]);
    for line in ["- one\n", "+ three\n", "+ four\n"] {
        assert!(diff.contains(line), "{diff}");
    }
    assert!(!diff.contains("two"), "{diff}");
    let lines = &api.get(&format!("revisions/{}/diff", of_person + 1)).expect(200).body["changes"][0]["lines"];
    assert_eq!(
        *lines,
        json!({"added": {"count": 2, "lines": ["four", "three"]}, "removed": {"count": 1, "lines": ["one"]}})
    );
}
