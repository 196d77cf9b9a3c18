//! Changes reach every worker, each request sees one revision, and no acknowledged change is lost when a
//! process dies.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weir_tests::nginx::kill;
use weir_tests::wait::until;
use weir_tests::{Api, Control, Gateway, Request, Setup};

/// Routes that answer with a value, so that a request shows a worker's state.
fn route(name: &str, value: &str) -> Value {
    json!({"site": "all", "path": format!("/{name}"), "respond": {"status": 200, "body": value}})
}

fn gateway(setup: Setup, names: &[&str]) -> Gateway {
    let paths: Vec<String> = names.iter().map(|name| format!("routes/{name}")).collect();
    let mut documents = vec![("sites/all", json!({"hosts": ["*"]}))];
    documents.extend(paths.iter().zip(names).map(|(path, name)| (path.as_str(), route(name, "begin"))));
    Gateway::start_with(setup, &documents)
}

/// The answer of every worker, by its number; opens connections until all workers have answered.
fn everywhere(gateway: &Gateway, path: &str, workers: usize) -> BTreeMap<String, String> {
    let mut seen = BTreeMap::new();
    until("an answer from each worker", || {
        let response = gateway.nginx.get(path);
        let worker = response.header("X-Weir").and_then(|text| text.split(' ').next())?.to_owned();
        seen.insert(worker, response.text());
        (seen.len() == workers).then_some(())
    });
    seen
}

/// Waits until the daemon reports that all workers have the same revision and content.
fn agreed(api: &Api, workers: usize) {
    until("all workers to agree with control", || {
        let body = api.try_call("GET", "/api/v1/workers", &[], None).ok()?.body;
        let all = body["workers"].as_array()?;
        let live: Vec<&Value> = all.iter().filter(|worker| worker["state"] == "running").collect();
        // The daemon's revision, and the same digest of the content.
        (live.len() == workers && live.iter().all(|worker| worker["agrees"] == true)).then_some(())
    });
}

#[test]
fn an_answered_change_is_live_in_every_worker() {
    let gateway = gateway(Setup::gateway().workers(3), &["a"]);
    for round in 0..20 {
        let value = format!("value {round}");
        let answer = gateway.api().put("routes/a", &route("a", &value)).expect(200);
        let workers = answer.body["workers"].as_array().expect("tells of each worker").clone();
        assert_eq!(workers.len(), 3);
        assert!(workers.iter().all(|worker| worker["result"] == "applied" && worker["us"].is_u64()), "{workers:?}");
        let seen = everywhere(&gateway, "/a", 3);
        assert!(seen.values().all(|seen| *seen == value), "{seen:?}");
    }
}

#[test]
fn a_long_request_keeps_the_revision_it_began_with() {
    let app = weir_tests::origin::Echo::start();
    let member = json!({"address": app.to_string()});
    let gateway = Gateway::start(&[
        ("sites/all", json!({"hosts": ["*"]})),
        ("upstreams/app", json!({"members": {"a": member}})),
        (
            "routes/all",
            json!({"site": "all", "path": "/", "to": "app", "response_headers": {"set": {"X-Seen": "old"}}}),
        ),
    ]);
    let before = gateway.api().get("upstreams/app").header("etag").is_some();
    assert!(before, "every resource has a tag");
    let mut connection = gateway.nginx.connect();
    connection.send(&Request::get("/slow/").wire());
    thread::sleep(Duration::from_millis(50));
    let revision = gateway
        .api()
        .patch("routes/all", &json!({"response_headers": {"set": {"X-Seen": "new"}}}))
        .expect(200)
        .revision();
    let response = connection.receive();
    assert_eq!((response.status, response.header("X-Seen")), (200, Some("old")));
    let said = response.header("X-Weir").and_then(|text| text.split(' ').nth(1)).expect("says its revision").to_owned();
    assert!(said.parse::<u64>().expect("is a number") < revision, "{said} {revision}");
    assert_eq!(gateway.nginx.get("/").header("X-Seen"), Some("new"));
}

#[test]
fn a_restarted_worker_has_the_full_state_without_control() {
    let mut gateway = gateway(Setup::gateway(), &["a", "b"]);
    let _ = gateway.api().put("routes/a", &route("a", "changed")).expect(200);
    gateway.control.kill();
    gateway.nginx.kill_worker();
    gateway.nginx.kill_worker();
    let seen = everywhere(&gateway, "/a", 2);
    assert!(seen.values().all(|value| value == "changed"), "{seen:?}");
    gateway.control.respawn();
    gateway.control.wait();
    let _ = gateway.api().put("routes/b", &route("b", "later")).expect(200);
    assert!(everywhere(&gateway, "/b", 2).values().all(|value| value == "later"));
    agreed(gateway.api(), 2);
}

#[test]
fn workers_are_not_affected_when_control_is_killed() {
    let mut gateway = gateway(Setup::gateway(), &["a"]);
    let _ = gateway.api().put("routes/a", &route("a", "kept")).expect(200);
    let totals =
        weir_tests::load::during(gateway.nginx.port, 2, weir_tests::load::Life::KeepAlive, &Request::get("/a"), |_| {
            for _ in 0..3 {
                gateway.control.kill();
                thread::sleep(Duration::from_millis(50));
                let start = Instant::now();
                gateway.control.respawn();
                gateway.control.wait();
                println!("control answers {} ms after its start", start.elapsed().as_millis());
            }
        });
    assert!(totals.failed.is_empty() && totals.answered > 100, "{totals:?}");
    assert_eq!(gateway.nginx.get("/a").text(), "kept");
    agreed(gateway.api(), 2);
}

#[test]
fn acknowledged_changes_survive_killing_everything() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (state, runtime) = (directory.path().join("state"), directory.path().join("run"));
    let mut control = Control::start(&state, &runtime);
    let _ =
        control.api.put_all(&[("sites/all", json!({"hosts": ["*"]})), ("routes/a", route("a", "begin"))]).expect(200);
    for round in 0..5 {
        let value = format!("round {round}");
        let revision = control.api.put("routes/a", &route("a", &value)).expect(200).revision();
        control.kill();
        // The machine's memory is lost, too: only the store remains.
        std::fs::remove_dir_all(&runtime).expect("is there");
        control.respawn();
        control.wait();
        let there = control.api.get("routes/a").expect(200);
        assert_eq!(there.body["respond"]["body"], json!(value));
        assert_eq!(control.api.get("revisions?limit=1").body["revisions"][0]["revision"], json!(revision));
    }
}

#[test]
fn a_transaction_is_atomic_when_control_is_killed() {
    let mut gateway = gateway(Setup::gateway(), &[]);
    let mut both = [false, false];
    for round in 0..12_u64 {
        let api = gateway.api().clone();
        let changes: Vec<Value> = (0..300)
            .map(|n| json!({"method": "PUT", "path": format!("/routes/r{n}"), "body": route(&format!("r{n}"), &round.to_string())}))
            .collect();
        let body = json!({ "changes": changes });
        let sender = thread::spawn(move || {
            let answer = api.try_call("POST", "/api/v1/transactions", &[], Some(&body));
            answer.is_ok_and(|answer| answer.status == 200)
        });
        thread::sleep(Duration::from_millis(round * 2));
        gateway.control.kill();
        let acknowledged = sender.join().expect("does not panic");
        gateway.control.respawn();
        gateway.control.wait();
        let routes = gateway.api().get("routes?limit=1000").expect(200);
        let with_round = routes.body.to_string().matches(&format!("\"body\":\"{round}\"")).count();
        assert!(with_round == 0 || with_round == 300, "{with_round} of 300 routes of a transaction");
        assert!(!acknowledged || with_round == 300, "an acknowledged transaction is lost");
        both[usize::from(with_round == 300)] = true;
        agreed(gateway.api(), 2);
        if with_round == 300 {
            assert!(everywhere(&gateway, "/r299", 2).values().all(|value| *value == round.to_string()));
        }
    }
    println!("seen: none of a transaction {}, all of it {}", both[0], both[1]);
}

#[test]
fn reloads_of_nginx_lose_no_change() {
    let gateway = gateway(Setup::gateway(), &["a"]);
    let stop = AtomicBool::new(false);
    let last = thread::scope(|scope| {
        let changing = scope.spawn(|| {
            let mut last = 0;
            for round in 1.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let answer = gateway.api().put("routes/a", &route("a", &round.to_string()));
                assert!(matches!(answer.status, 200 | 202), "{:#}", answer.body);
                last = round;
            }
            last
        });
        for _ in 0..5 {
            gateway.nginx.reload();
            thread::sleep(Duration::from_millis(100));
        }
        stop.store(true, Ordering::Relaxed);
        changing.join().expect("does not panic")
    });
    assert!(last > 10, "{last} changes beside five reloads");
    agreed(gateway.api(), 2);
    assert!(everywhere(&gateway, "/a", 2).values().all(|value| *value == last.to_string()));
}

#[test]
fn a_corrupt_store_is_set_aside_and_reported() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (state, runtime) = (directory.path().join("state"), directory.path().join("run"));
    let mut control = Control::start(&state, &runtime);
    let _ =
        control.api.put_all(&[("sites/all", json!({"hosts": ["*"]})), ("routes/a", route("a", "kept"))]).expect(200);
    assert_eq!(control.stop(), Some(0));
    for name in ["store.sqlite", "store.sqlite-wal"] {
        let path = state.join(name);
        if let Ok(content) = std::fs::read(&path) {
            let damaged: Vec<u8> = content.iter().map(|byte| byte ^ 0x5a).collect();
            std::fs::write(&path, damaged).expect("writes");
        }
    }
    control.respawn();
    control.wait();
    assert_eq!(control.api.get("routes/a").expect(200).body["respond"]["body"], "kept");
    assert!(control.log().contains("corrupt") || control.log().contains("damaged"), "{}", control.log());
    let health = control.api.call("GET", "/healthz", None);
    assert!(
        health.body.to_string().contains("last-good") || health.body.to_string().contains("journal"),
        "{}",
        health.body
    );
    let _ = control.api.put("routes/a", &route("a", "goes on")).expect(200);
}

#[test]
fn rolling_back_beyond_the_first_settings_leaves_all_workers_agreed() {
    let gateway = gateway(Setup::gateway(), &["a"]);
    let before = gateway.api().put("routes/a", &route("a", "x")).expect(200).revision();
    let _ = gateway
        .api()
        .put_all(&[
            ("policies/p", json!({"rules": [{"id": "r", "when": "false", "action": "log"}]})),
            ("settings", json!({"policies": ["p"]})),
        ])
        .expect(200);
    agreed(gateway.api(), 2);
    let _ = gateway.api().call("POST", &format!("/api/v1/revisions/{before}/rollback"), None).expect(200);
    agreed(gateway.api(), 2);
}

#[test]
fn a_new_generation_of_the_journal_delays_no_request() {
    let gateway = gateway(Setup::gateway(), &["a"]);
    // About 40 MB of operations, more than fit into one generation.
    let text = "x".repeat(200_000);
    for round in 0..200 {
        let answer = gateway.api().put("routes/a", &route("a", &format!("{round}{text}")));
        assert!(answer.status == 200, "round {round}: {:#}", answer.body);
    }
    agreed(gateway.api(), 2);
}

/// The number of rounds of random kills.
const ROUNDS: usize = 100;

/// The last acknowledged value, and those sent since then without an answer.
#[derive(Default)]
struct Known {
    acknowledged: Option<String>,
    unanswered: Vec<String>,
}

#[test]
fn a_hundred_random_kills_lose_nothing_that_was_acknowledged() {
    let names = ["a", "b", "c"];
    let mut gateway = gateway(Setup::gateway(), &names);
    let mut known: BTreeMap<&str, Known> = names.iter().map(|name| (*name, Known::default())).collect();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64 ^ u64::from(std::process::id());
    let mut next = move |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    for round in 0..ROUNDS {
        let stop = AtomicBool::new(false);
        let (victim, after) = (next(3), Duration::from_millis(5 + next(40)));
        let api = gateway.api().clone();
        let sent = thread::scope(|scope| {
            let senders: Vec<_> = names
                .map(|name| {
                    scope.spawn({
                        let (api, stop) = (&api, &stop);
                        move || changes(api, name, round, stop)
                    })
                })
                .into();
            thread::sleep(after);
            if victim != 1 {
                gateway.control.kill();
            }
            if victim != 0 {
                let workers = gateway.nginx.workers();
                kill(workers[next(workers.len() as u64) as usize], libc::SIGKILL);
            }
            stop.store(true, Ordering::Relaxed);
            senders.into_iter().map(|sender| sender.join().expect("does not panic")).collect::<Vec<_>>()
        });
        if victim != 1 {
            gateway.control.respawn();
            gateway.control.wait();
        }
        for (name, new) in names.iter().zip(sent) {
            let known = known.get_mut(name).expect("is one of them");
            if new.acknowledged.is_some() {
                *known = new;
            } else {
                known.unanswered.extend(new.unanswered);
            }
        }
        until("two workers", || (gateway.nginx.workers().len() == 2).then_some(()));
        agreed(gateway.api(), 2);
        for (name, known) in &mut known {
            let seen = everywhere(&gateway, &format!("/{name}"), 2);
            let value = seen.values().next().expect("two workers").clone();
            assert!(seen.values().all(|other| *other == value), "round {round}: workers differ: {seen:?}");
            let expected = known.acknowledged.as_deref().unwrap_or("begin");
            let possible = value == expected || known.unanswered.contains(&value);
            assert!(possible, "round {round}: {name} is {value:?}, acknowledged was {expected:?}");
            *known = Known { acknowledged: Some(value), unanswered: Vec::new() };
        }
    }
}

/// Changes a value repeatedly, until `stop` is set or the connection ends.
fn changes(api: &Api, name: &str, round: usize, stop: &AtomicBool) -> Known {
    let mut known = Known::default();
    let Ok(mut connection) = api.connect() else { return known };
    for number in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let value = format!("{round}-{number}");
        let answer = connection.call("PUT", &format!("/api/v1/routes/{name}"), &[], Some(&route(name, &value)));
        match answer {
            // 202: stored, but a worker that was killed has not answered.
            Ok(answer) if matches!(answer.status, 200 | 202) => {
                known = Known { acknowledged: Some(value), unanswered: Vec::new() }
            }
            Ok(answer) => panic!("{} {:#}", answer.status, answer.body),
            Err(_) => {
                known.unanswered.push(value);
                break;
            }
        }
    }
    known
}

#[test]
fn a_debug_log_does_not_crash_workers() {
    let gateway = gateway(Setup::gateway().error_level("debug"), &["a"]);
    for value in ["one", "two"] {
        let _ = gateway.api().put("routes/a", &route("a", value)).expect(200);
        thread::sleep(Duration::from_millis(1500)); // timers of changes fire
    }
    assert!(gateway.nginx.crashes().is_empty(), "{:?}", gateway.nginx.crashes());
}
