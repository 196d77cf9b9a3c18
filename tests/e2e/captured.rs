//! Files that resources name: a revision means what they had when it was accepted, whatever becomes of them.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::{Value, json};
use weir_tests::wait::until;
use weir_tests::{Api, Connection, Control, Gateway, Nginx, Request, Setup};

/// A gateway that blocks `/?q=WORD` for the words of a list, which is a file.
fn gateway(workers: u8, refresh: &str) -> (Gateway, PathBuf) {
    let setup = Setup::gateway().http("weir_fail closed;").workers(workers);
    let file = setup.prefix().join("words.txt");
    std::fs::write(&file, "evil\n").expect("the prefix is writable");
    let condition = "http.request.uri.args[\"q\"][0] in $words";
    let documents = [
        ("lists/words", json!({"kind": "strings", "file": file, "refresh": refresh})),
        ("policies/waf", json!({"rules": [{"id": "word", "when": condition, "action": "block"}]})),
        ("sites/all", json!({"hosts": ["*"], "policies": ["waf"]})),
        ("routes/all", json!({"site": "all", "path": "/", "respond": {"status": 200, "body": "ok"}})),
    ];
    (Gateway::start_with(setup, &documents), file)
}

fn status(nginx: &Nginx, word: &str) -> u16 {
    nginx.get(&format!("/?q={word}")).status
}

fn newest(api: &Api) -> u64 {
    api.get("workers").expect(200).body["revision"].as_u64().expect("a number")
}

fn refresh(api: &Api) -> weir_tests::api::Answer {
    api.post("transactions", &json!({"changes": [], "refresh": ["/lists/words"]}))
}

#[test]
fn a_missing_file_changes_nothing_whatever_starts_again() {
    let (mut gateway, file) = gateway(2, "manual");
    let check = |gateway: &Gateway, when: &str| {
        assert_eq!((status(&gateway.nginx, "evil"), status(&gateway.nginx, "good")), (403, 200), "{when}");
    };
    check(&gateway, "at first");
    std::fs::remove_file(&file).expect("it is there");
    gateway.nginx.reload();
    check(&gateway, "after a reload");
    gateway.nginx.kill_worker();
    gateway.nginx.kill_worker();
    check(&gateway, "with new workers");
    gateway.control.kill();
    gateway.nginx.reload();
    check(&gateway, "without control");
    gateway.control.respawn();
    gateway.control.wait();
    gateway.nginx.reload();
    check(&gateway, "with another control");
    // A change elsewhere does not need the file; one of what names it does, and nothing is half applied.
    let changed = gateway.api().patch("routes/all", &json!({"priority": 7})).expect(200).revision();
    let refused = gateway.api().put("lists/words", &json!({"kind": "strings", "file": file})).expect(422);
    assert_eq!(refused.errors()[0].0, "/lists/words/file", "{:#}", refused.body);
    assert_eq!(newest(gateway.api()), changed);
    check(&gateway, "after a refused change");
}

#[test]
fn a_file_that_changes_is_refreshed_and_can_be_rolled_back() {
    let (gateway, file) = gateway(1, "on_change");
    let api = gateway.api();
    let before = newest(api);
    std::fs::write(&file, "evil\nworse\n").expect("writable");
    until("the refresh", || (status(&gateway.nginx, "worse") == 403).then_some(()));
    let last = api.get("revisions?limit=1").body["revisions"][0].clone();
    let message = last["message"].as_str().unwrap_or_default();
    assert!(message.contains("1 line added, 0 lines removed"), "{last}");
    assert_eq!(last["actor"], "weir");
    // A bad file is reported and changes nothing.
    std::fs::write(&file, "x".repeat(9_000)).expect("writable");
    until("the complaint", || api.get("workers").body["stale"].as_object().map(|_| ()));
    assert_eq!((status(&gateway.nginx, "evil"), status(&gateway.nginx, "worse")), (403, 403));
    // A rollback brings the content back, and the file on disk does not undo it.
    std::fs::write(&file, "evil\nworse\n").expect("writable");
    until("the complaint to end", || api.get("workers").body["stale"].is_null().then_some(()));
    let _ = api.post(&format!("revisions/{before}/rollback"), &json!({})).expect(200);
    assert_eq!((status(&gateway.nginx, "evil"), status(&gateway.nginx, "worse")), (403, 200));
    std::thread::sleep(std::time::Duration::from_secs(5));
    assert_eq!((status(&gateway.nginx, "evil"), status(&gateway.nginx, "worse")), (403, 200));
}

#[test]
fn a_worker_that_cannot_build_a_list_leaves_it_out_and_tries_again() {
    let (gateway, file) = gateway(1, "manual");
    let api = gateway.api();
    let _ = api
        .put_all(&[
            (
                "policies/other",
                json!({"rules": [{"id": "o", "when": "http.request.uri.path eq \"/o\"", "action": "block"}]}),
            ),
            (
                "routes/o",
                json!({"site": "all", "path": "/o", "respond": {"status": 200, "body": "ok"}, "policies": ["other"]}),
            ),
        ])
        .expect(200);
    let revision = newest(api);
    let hash = api.get(&format!("files{}", file.display())).expect(200).body["sha256"].clone();
    let object = gateway.nginx.path("run/objects").join(hash.as_str().expect("a hash"));
    let aside = object.with_extension("aside");
    std::fs::rename(&object, &aside).expect("it is published");
    gateway.nginx.kill_worker();
    // Only what needs it fails, as `weir_fail` says, and no revision is undone.
    until("the worker to report it", || api.get("workers").body["workers"][0]["left_out"].as_array().map(|_| ()));
    assert_eq!((status(&gateway.nginx, "good"), gateway.nginx.get("/o").status), (500, 403));
    assert_eq!(newest(api), revision);
    // Other changes go on.
    let _ = api.patch("routes/o", &json!({"priority": 3})).expect(200);
    std::fs::rename(&aside, &object).expect("ours");
    until("the worker to have it again", || (status(&gateway.nginx, "good") == 200).then_some(()));
    assert_eq!(status(&gateway.nginx, "evil"), 403);
    until("the report to end", || api.get("workers").body["workers"][0]["left_out"].is_null().then_some(()));
}

#[test]
fn a_damaged_content_is_taken_again_when_control_starts() {
    let (mut gateway, file) = gateway(1, "manual");
    let hash = gateway.api().get(&format!("files{}", file.display())).expect(200).body["sha256"].clone();
    let hash = hash.as_str().expect("a hash").to_owned();
    for dir in ["run/objects", "state/objects"] {
        let object = gateway.nginx.path(dir).join(&hash);
        std::fs::remove_file(&object).expect("it is there");
        std::fs::write(&object, "evjl\n").expect("writable");
    }
    gateway.control.kill();
    gateway.control.respawn();
    gateway.control.wait();
    until("it to be taken again", || {
        let content = std::fs::read(gateway.nginx.path("run/objects").join(&hash)).ok()?;
        (content == b"evil\n").then_some(())
    });
    gateway.nginx.kill_worker();
    until("a good worker", || (status(&gateway.nginx, "evil") == 403).then_some(()));
}

#[test]
fn a_second_control_is_refused_also_by_another_way_to_the_directory() {
    let directory = tempfile::tempdir().expect("a directory");
    let (state, run) = (directory.path().join("state"), directory.path().join("run"));
    let control = Control::start(&state, &run);
    // The flusher must not have released the lock.
    let _ = control.api.put("sites/a", &json!({"hosts": ["a.test"]})).expect(201);
    let _ = control.api.call("PUT", "/api/v1/sites/b?durable=true", Some(&json!({"hosts": ["b.test"]}))).expect(201);
    let second = |command: &mut std::process::Command| {
        let output = command.output().expect("starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(&format!("process {}", control.pid())), "{said}");
    };
    let other = directory.path().join("other");
    let weir = weir_tests::gateway::weir();
    let mut command = std::process::Command::new(&weir);
    second(command.arg("--runtime").arg(&other).arg("control").arg("--state").arg(&state));
    let bound = directory.path().join("bound");
    std::fs::create_dir(&bound).expect("ours");
    let script = "mount --bind \"$1\" \"$2\" && exec \"$3\" --runtime \"$4\" control --state \"$2\"";
    let mut command = std::process::Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, "sh"]).args([&state, &bound, &weir, &other]);
    second(&mut command);
}

#[test]
fn a_file_that_cannot_be_captured_is_named_with_its_reason_and_changes_nothing() {
    let (gateway, file) = gateway(1, "manual");
    let before = newest(gateway.api());
    for (way, reason) in [
        (0, "8192 bytes"),
        (1, "no such file"),
        (2, "not a regular file"),
        (3, "too many"),
        (4, "not below a directory"),
        (5, "larger than"),
        (6, "not a regular file"),
    ] {
        let what = damage(&file, way);
        let refused = refresh(gateway.api()).expect(422);
        let (pointer, message) = refused.errors()[0].clone();
        assert!(pointer == "/lists/words/file" && message.contains(reason), "{what}: {pointer}: {message}");
        assert_eq!((newest(gateway.api()), status(&gateway.nginx, "evil")), (before, 403), "{what}");
    }
}

/// What each revision blocks.
type Model = Mutex<BTreeMap<u64, BTreeSet<u64>>>;

/// Ends the load also when the test fails.
struct Stop<'s>(&'s AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Pseudo-random numbers (MMIX).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

const WORDS: u64 = 8;

fn content(words: &BTreeSet<u64>) -> String {
    // Padded, so that contents have the same length and can be written over each other.
    let line = |word| if words.contains(&word) { format!("word{word}\n") } else { "#####\n".to_owned() };
    (0..WORDS).map(line).collect::<String>() + &"# padding\n".repeat(5_000)
}

/// Asks for words until `stop`, and compares each answer with what the committed revision that it names says.
fn load(port: u16, seed: u64, model: &Model, stop: &AtomicBool, answers: &AtomicU64) {
    let mut random = Random(seed);
    let mut later: Vec<(u64, u64, u16)> = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let Ok(mut connection) = Connection::try_open(port) else { continue };
        for _ in 0..20 {
            let word = random.below(WORDS);
            // A worker that is killed breaks its connections off.
            let request = Request::get(&format!("/?q=word{word}"));
            let Ok(response) = request.try_send_on(&mut connection) else { break };
            let revision = response.header("x-weir").and_then(|value| value.split(' ').nth(1)?.parse().ok());
            let revision: u64 = revision.unwrap_or_else(|| panic!("no revision in a {}", response.status));
            later.push((revision, word, response.status));
            answers.fetch_add(1, Ordering::Relaxed);
            if response.header("connection") == Some("close") {
                break;
            }
        }
        // The client may hear of a revision before who made it.
        let model = model.lock().expect("nobody panics with it");
        later.retain(|(revision, word, status)| {
            let Some(words) = model.get(revision) else { return true };
            let expected = if words.contains(word) { 403 } else { 200 };
            assert_eq!(*status, expected, "word {word} in revision {revision}: {words:?}");
            false
        });
    }
    let model = model.lock().expect("nobody panics with it");
    for (revision, word, status) in later {
        let words = model.get(&revision).unwrap_or_else(|| panic!("revision {revision} was never committed"));
        assert_eq!(status, if words.contains(&word) { 403 } else { 200 }, "word {word} in revision {revision}");
    }
}

/// Breaks the file in one of several ways.
fn damage(file: &Path, way: u64) -> &'static str {
    let _ = std::fs::remove_file(file);
    let _ = std::fs::remove_dir(file);
    match way {
        0 => {
            std::fs::write(file, "x".repeat(9_000)).expect("writable");
            "broken"
        }
        1 => "missing",
        2 => {
            std::fs::create_dir(file).expect("writable");
            "a directory"
        }
        // Modes do not keep root out; a link to itself does.
        3 => {
            std::os::unix::fs::symlink(file, file).expect("writable");
            "unreadable"
        }
        4 => {
            std::os::unix::fs::symlink("/etc/hostname", file).expect("writable");
            "a link that leads out"
        }
        5 => {
            let sparse = std::fs::File::create(file).expect("writable");
            sparse.set_len(2 << 30).expect("sparse");
            "2 GiB long"
        }
        _ => {
            std::fs::File::options().write(true).create(true).truncate(true).mode(0o600).open(file).expect("writable");
            let name = std::ffi::CString::new(file.as_os_str().as_encoded_bytes()).expect("no NUL");
            let _ = std::fs::remove_file(file);
            // SAFETY: a C string that lives over the call.
            assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
            "a fifo"
        }
    }
}

/// `WEIR_ROUNDS=500` runs as many rounds; a few by default.
#[test]
fn every_answer_is_what_the_committed_revision_says_whatever_breaks() {
    let rounds = std::env::var("WEIR_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(12);
    let seed = std::env::var("WEIR_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(7);
    let (mut gateway, file) = gateway(2, "manual");
    let model = Model::default();
    let (stop, answers) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut random = Random(seed);
    let words = |random: &mut Random| (0..WORDS).filter(|_| random.below(2) == 1).collect::<BTreeSet<u64>>();
    let mut current: BTreeSet<u64> = words(&mut random);
    std::fs::write(&file, content(&current)).expect("writable");
    let revision = refresh(gateway.api()).expect(200).revision();
    let committed = AtomicU64::new(revision);
    model.lock().expect("no panic").insert(revision, current.clone());
    until("the revision", || {
        (gateway.nginx.get("/").header("x-weir")?.split(' ').nth(1)? == revision.to_string()).then_some(())
    });
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    std::thread::scope(|scope| {
        let _guard = Stop(&stop);
        let port = gateway.nginx.port;
        let clients: Vec<_> = (0..2)
            .map(|n| {
                scope.spawn({
                    let (model, stop, answers) = (&model, &stop, &answers);
                    move || load(port, n, model, stop, answers)
                })
            })
            .collect();
        let commit = |new: u64, words: &BTreeSet<u64>| {
            committed.store(new, Ordering::Relaxed);
            model.lock().expect("no panic").insert(new, words.clone());
        };
        for round in 0..rounds {
            if clients.iter().any(|client| client.is_finished()) {
                break;
            }
            // A change that is taken, or one that may be: the file is written while it is read.
            if random.below(2) == 1 {
                let next = words(&mut random);
                std::fs::write(&file, content(&next)).expect("writable");
                if next != current {
                    current = next;
                    commit(refresh(gateway.api()).expect(200).revision(), &current);
                }
            } else {
                let next = words(&mut random);
                let writing = AtomicBool::new(true);
                let (one, two) = (content(&current), content(&next));
                let answer = std::thread::scope(|scope| {
                    scope.spawn(|| {
                        use std::os::unix::fs::FileExt as _;
                        let handle = std::fs::File::options().write(true).create(true).truncate(false).open(&file);
                        let handle = handle.expect("writable");
                        for text in [&one, &two].into_iter().cycle() {
                            for (n, part) in text.as_bytes().chunks(4_096).enumerate() {
                                handle.write_all_at(part, n as u64 * 4_096).expect("writable");
                            }
                            if !writing.load(Ordering::Relaxed) && text == &two {
                                break;
                            }
                        }
                    });
                    let answer = refresh(gateway.api());
                    writing.store(false, Ordering::Relaxed);
                    answer
                });
                assert!(matches!(answer.status, 200 | 422), "{:#}", answer.body);
                if answer.status == 200 && answer.body["changed"] != json!([]) {
                    let hash = gateway.api().get(&format!("files{}", file.display())).body["sha256"].clone();
                    let taken = gateway.nginx.path("state/objects").join(hash.as_str().expect("a hash"));
                    let taken = std::fs::read_to_string(taken).expect("it is kept");
                    assert!(taken == one || taken == two, "half of one and half of the other");
                    current = if taken == one { current.clone() } else { next };
                    commit(answer.revision(), &current);
                }
            }
            let way = damage(&file, random.below(7));
            let refused = refresh(gateway.api());
            assert_eq!(refused.status, 422, "{way}: {:#}", refused.body);
            if random.below(3) == 0 {
                let new = gateway.api().patch("routes/all", &json!({"priority": round + 2})).expect(200);
                commit(new.revision(), &current);
            }
            let event = random.below(4);
            if matches!(event, 0 | 3) {
                gateway.control.kill();
            }
            if matches!(event, 1 | 3) {
                gateway.nginx.kill_worker();
            }
            if matches!(event, 2 | 3) {
                gateway.nginx.reload();
            }
            if matches!(event, 0 | 3) {
                gateway.control.respawn();
                gateway.control.wait();
            }
            assert_eq!(newest(gateway.api()), committed.load(Ordering::Relaxed), "nothing is lost or added");
            let name = ["control killed", "worker killed", "reload", "all"][event as usize];
            *counts.entry(format!("{way}, {name}")).or_default() += 1;
            let _ = std::fs::remove_dir(&file);
            let _ = std::fs::remove_file(&file);
        }
        stop.store(true, Ordering::Relaxed);
        clients.into_iter().for_each(|client| client.join().expect("every answer is right"));
    });
    let total: u64 = counts.values().sum();
    println!("{total} rounds, {} answers compared: {counts:?}", answers.load(Ordering::Relaxed));
    assert_eq!(total, rounds);
    assert!(answers.load(Ordering::Relaxed) > rounds * 10, "the load ran");
    let crashes = gateway.nginx.crashes();
    assert!(crashes.iter().all(|line| line.contains("signal 9")), "{crashes:?}");
    let _: Value = gateway.api().get("workers").expect(200).body;
}
