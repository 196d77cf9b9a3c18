//! The daemon from outside: what is answered is live in every worker, and what is not good changes nothing.

#![allow(clippy::unwrap_used, reason = "in a test it is the assertion, in its helpers too")]

mod support;

use serde_json::{Value, json};
use support::{Daemon, REFUSED, Workers};
use weir_control::auth::{Grant, Role};
use weir_control::client::{Answer, Client, Method, Target};

fn upstream() -> Value {
    json!({"members": {"a": "127.0.0.1:8081", "b": {"address": "127.0.0.1:8082", "weight": 2}}})
}

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
}

#[test]
fn a_change_is_answered_when_every_worker_has_it() {
    let daemon = Daemon::start();
    let workers = Workers::start(&daemon.runtime(), 1, 2);
    run(async {
        assert_eq!(daemon.good("/upstreams/app", upstream()).await, 1);
        let answer = daemon.put("/upstreams/app/members/a/weight", json!(7)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.body["revision"], 2);
        assert_eq!(answer.body["changed"], json!(["/upstreams/app/members/a"]));
        let results = answer.body["workers"].as_array().unwrap();
        assert_eq!(results.len(), 2, "{answer:?}");
        assert!(results.iter().all(|worker| worker["result"] == "applied" && worker["us"].is_u64()), "{answer:?}");
        assert_eq!(workers.region.slot(0).applied(), 2);
        daemon.all_agree().await;
        let member = daemon.get("/upstreams/app/members/a").await;
        assert_eq!(member.body, json!({"address": "127.0.0.1:8081", "weight": 7}));
        assert_eq!(member.etag.as_deref(), Some("\"2\""));
    });
}

#[test]
fn nothing_changes_in_a_dry_run() {
    let daemon = Daemon::start();
    run(async {
        let answer = daemon.put("/upstreams/app?dry_run", upstream()).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.body["dry_run"], true);
        assert_eq!(answer.body["changed"][0], "/upstreams/app");
        assert_eq!(daemon.get("/upstreams/app").await.status, 404);
        assert_eq!(daemon.get("/revisions").await.body, json!({"revisions": []}));
        let bad = daemon.put("/upstreams/app?dry_run", json!({"balance": "dice"})).await;
        assert_eq!(bad.status, 422, "{bad:?}");
        assert_eq!(bad.body["errors"][0]["pointer"], "/upstreams/app/balance");
    });
}

#[test]
fn conditions_hold_or_it_is_412() {
    let daemon = Daemon::start();
    run(async {
        daemon.good("/upstreams/app", upstream()).await;
        let put = async |value: &str, name: &str| {
            let path = "/api/v1/upstreams/app/members/a";
            let body = json!({"address": "127.0.0.1:1", "weight": value.len()});
            daemon.client.call_with(Method::Put, path, Some(&body), &[(name, value)]).await.unwrap().status
        };
        assert_eq!(put("\"1\"", "if-match").await, 200);
        assert_eq!(put("\"1\"", "if-match").await, 412);
        assert_eq!(put("\"9\", \"2\"", "if-match").await, 200);
        assert_eq!(put("*", "if-none-match").await, 412);
        assert_eq!(put("*", "if-match").await, 200);
        let path = "/api/v1/upstreams/app";
        let unchanged = daemon.client.call_with(Method::Get, path, None, &[("if-none-match", "\"4\"")]).await.unwrap();
        assert_eq!(unchanged.status, 304, "an upstream has changed when one of its members has");
    });
}

#[test]
fn a_change_is_made_only_at_the_expected_revision() {
    let daemon = Daemon::start();
    run(async {
        assert_eq!(daemon.put("/upstreams/app?expect=0", upstream()).await.status, 201);
        for (method, path, body) in [
            (Method::Put, "/upstreams/app/members/a/weight?expect=0", json!(5)),
            (Method::Patch, "/upstreams/app?expect=2", json!({"balance": "least_connections"})),
            (Method::Delete, "/upstreams/app?expect=0", Value::Null),
            (Method::Post, "/transactions?expect=0", json!({"changes": []})),
            (Method::Post, "/revisions/0/rollback?expect=0", json!({})),
            (Method::Put, "/upstreams/app/members/a/weight?expect=0&dry_run", json!(5)),
        ] {
            let answer = daemon.call(method, path, Some(body)).await;
            assert_eq!((answer.status, &answer.body["newest"]), (412, &json!(1)), "{path}: {answer:?}");
        }
        assert_eq!(daemon.put("/upstreams/app/members/a/weight?expect=1", json!(5)).await.body["revision"], 2);
        assert_eq!(daemon.put("/upstreams/app?expect=x", upstream()).await.status, 400);
    });
}

#[test]
fn a_change_with_a_key_is_made_once() {
    let daemon = Daemon::start();
    let _workers = Workers::start(&daemon.runtime(), 1, 2);
    async fn send(daemon: &Daemon, key: &str, path: &str, body: Value) -> Answer {
        let path = format!("/api/v1{path}");
        daemon.client.call_with(Method::Put, &path, Some(&body), &[("idempotency-key", key)]).await.unwrap()
    }
    let of = |answer: &Answer| (answer.status, answer.body["revision"].clone(), answer.body["replayed"] == true);
    run(async {
        let first = send(&daemon, "k1", "/upstreams/app", upstream()).await;
        assert_eq!(of(&first), (201, json!(1), false), "{first:?}");
        daemon.good("/upstreams/app/members/a/weight", json!(7)).await;
        // Also in quotes, as the draft wants it, and with what only concerns the answer.
        for (key, path) in [("k1", "/upstreams/app"), ("\"k1\"", "/upstreams/app?timeout=1s&durable")] {
            let again = send(&daemon, key, path, upstream()).await;
            assert_eq!(of(&again), (201, json!(1), true), "{again:?}");
            assert_eq!(again.body["changed"], first.body["changed"]);
            assert!(again.body["workers"].as_array().unwrap().iter().all(|worker| worker["result"] == "applied"));
        }
        assert_eq!(daemon.get("/upstreams/app/members/a").await.body["weight"], 7);
        for (path, body) in [
            ("/upstreams/app", json!({})),
            ("/upstreams/other", upstream()),
            ("/upstreams/app?message=x", upstream()),
            ("/upstreams/app?expect=2", upstream()),
        ] {
            let other = send(&daemon, "k1", path, body).await;
            assert_eq!((other.status, &other.body["revision"]), (422, &json!(1)), "{path}: {other:?}");
        }
        // One that changed nothing is remembered; one that was refused, and a dry run, are not.
        assert_eq!(of(&send(&daemon, "k2", "/upstreams/app/members/a/weight", json!(7)).await), (200, json!(2), false));
        assert_eq!(send(&daemon, "k3", "/upstreams/app/members/a/weight", json!("x")).await.status, 422);
        assert_eq!(send(&daemon, "k3", "/upstreams/app/members/a/weight?dry_run", json!(8)).await.status, 200);
        assert_eq!(of(&send(&daemon, "k3", "/upstreams/app/members/a/weight", json!(8)).await), (200, json!(3), false));
        let nothing = send(&daemon, "k2", "/upstreams/app/members/a/weight", json!(7)).await;
        assert_eq!((of(&nothing), &nothing.body["changed"]), ((200, json!(2), true), &json!([])));
        assert_eq!(daemon.get("/upstreams/app/members/a").await.body["weight"], 8);
        // One that a worker refused was undone, and stays so.
        let member = json!({"address": REFUSED});
        for replayed in [false, true] {
            let undone = send(&daemon, "k4", "/upstreams/app/members/c", member.clone()).await;
            assert_eq!((of(&undone), &undone.body["undone_by"]), ((409, json!(4), replayed), &json!(5)), "{undone:?}");
            assert_eq!(undone.body["refused_by"][0]["reason"], "a member that nobody wants");
        }
        for key in ["", "a b", "\u{e4}", &"x".repeat(256)] {
            assert_eq!(send(&daemon, key, "/upstreams/x", json!({})).await.status, 400, "{key:?}");
        }
    });
    let daemon = Daemon::start_in(daemon.stop(), weir_control::Limits::default());
    run(async {
        let again = send(&daemon, "k1", "/upstreams/app", upstream()).await;
        assert_eq!(of(&again), (201, json!(1), true), "after a restart: {again:?}");
        let undone = send(&daemon, "k4", "/upstreams/app/members/c", json!({"address": REFUSED})).await;
        assert_eq!(of(&undone), (409, json!(4), true), "{undone:?}");
        assert_eq!(daemon.get("/revisions?limit=1").await.body["revisions"][0]["revision"], 5);
    });
}

#[test]
fn a_transaction_is_all_or_nothing() {
    let daemon = Daemon::start();
    let _workers = Workers::start(&daemon.runtime(), 1, 2);
    run(async {
        let site = |hosts: Value| json!({"method": "PUT", "path": "/sites/shop", "body": {"hosts": hosts}});
        let route = |to: &str| {
            let body = json!({"site": "shop", "path": "/", "to": to});
            json!({"method": "PUT", "path": "/routes/all", "body": body})
        };
        let app = json!({"method": "PUT", "path": "/upstreams/app", "body": upstream()});
        let call = async |changes: Value| {
            daemon.call(Method::Post, "/transactions", Some(json!({"changes": changes, "message": "why"}))).await
        };
        let bad = call(json!([route("app"), site(json!(["shop.example"])), app, route("none")])).await;
        assert_eq!(bad.status, 422, "{bad:?}");
        assert_eq!(bad.body["errors"][0]["pointer"], "/routes/all/to");
        assert_eq!(daemon.get("/state").await.body["upstreams"], json!({}));
        let good = call(json!([route("app"), site(json!(["shop.example"])), app])).await;
        assert_eq!(good.status, 200, "{good:?}");
        assert_eq!(good.body["changed"].as_array().unwrap().len(), 5);
        daemon.all_agree().await;
        // A condition is for one resource: on the whole of a transaction it would say nothing.
        let path = "/api/v1/transactions";
        let body = json!({"changes": [app]});
        let odd = daemon.client.call_with(Method::Post, path, Some(&body), &[("if-match", "\"1\"")]).await.unwrap();
        assert_eq!(odd.status, 400, "{odd:?}");
        // What others refer to stays.
        let gone = daemon.call(Method::Delete, "/upstreams/app", None).await;
        assert_eq!(gone.status, 422, "{gone:?}");
        assert_eq!(gone.body["errors"][0]["pointer"], "/routes/all/to");
        let twice = daemon.put("/sites/other", json!({"hosts": ["shop.example"]})).await;
        assert_eq!(twice.status, 422, "{twice:?}");
        let both = call(json!([
            {"method": "DELETE", "path": "/upstreams/app"}, {"method": "DELETE", "path": "/routes/all"}
        ]));
        assert_eq!(both.await.status, 200);
        daemon.all_agree().await;
    });
}

#[test]
fn a_roll_back_is_a_revision_that_restores() {
    let daemon = Daemon::start();
    let _workers = Workers::start(&daemon.runtime(), 1, 1);
    run(async {
        daemon.good("/upstreams/app", upstream()).await;
        let before = daemon.get("/state").await.body;
        daemon.good("/upstreams/app/members/a/weight", json!(9)).await;
        daemon.good("/upstreams/other", json!({"members": {"x": "127.0.0.1:9"}})).await;
        daemon.call(Method::Delete, "/upstreams/app", None).await;
        let back = daemon.call(Method::Post, "/revisions/1/rollback", Some(json!({"message": "oh"}))).await;
        assert_eq!(back.status, 200, "{back:?}");
        assert_eq!(back.body["revision"], 5);
        assert_eq!(daemon.get("/state").await.body, before);
        daemon.all_agree().await;
        let diff = daemon.get("/revisions/2/diff").await.body;
        assert_eq!(diff["changes"][0]["path"], "/upstreams/app/members/a");
        assert_eq!(diff["changes"][0]["old"], "127.0.0.1:8081");
        assert_eq!(diff["changes"][0]["new"], json!({"address": "127.0.0.1:8081", "weight": 9}));
        assert_eq!(diff["message"], Value::Null);
        let list = daemon.get("/revisions?limit=1").await.body;
        assert_eq!(list["revisions"][0]["message"], "back to revision 1: oh");
        assert!(list["revisions"][0]["actor"].as_str().unwrap().starts_with("unix:"));
        assert_eq!(daemon.call(Method::Post, "/revisions/99/rollback", None).await.status, 404);
    });
}

#[test]
fn what_a_worker_refuses_is_undone_everywhere() {
    let daemon = Daemon::start();
    let workers = Workers::start(&daemon.runtime(), 1, 2);
    run(async {
        daemon.good("/upstreams/app", upstream()).await;
        let before = daemon.get("/state").await.body;
        let refused = daemon.put("/upstreams/app/members/c", json!({"address": REFUSED})).await;
        assert_eq!(refused.status, 409, "{refused:?}");
        assert_eq!(refused.body["revision"], 2);
        assert_eq!(refused.body["undone_by"], 3);
        assert_eq!(refused.body["refused_by"][0]["reason"], "a member that nobody wants");
        assert_eq!(daemon.get("/state").await.body, before);
        daemon.good("/upstreams/app/members/a/weight", json!(3)).await;
        assert_eq!(workers.region.slot(1).applied(), 4);
        daemon.all_agree().await;
        let audit = daemon.get("/audit").await.body;
        assert_eq!(audit["refused"][0]["status"], 409);
    });
}

#[test]
fn a_worker_that_does_not_answer_makes_it_202() {
    let daemon = Daemon::start();
    let workers = Workers::start(&daemon.runtime(), 1, 1);
    run(async {
        daemon.good("/upstreams/app", upstream()).await;
        workers.paused.store(true, std::sync::atomic::Ordering::Relaxed);
        std::thread::sleep(std::time::Duration::from_millis(50));
        let pending = daemon.put("/upstreams/app/members/a/weight?timeout=100ms", json!(3)).await;
        assert_eq!(pending.status, 202, "{pending:?}");
        assert_eq!(pending.body["workers"][0]["result"], "pending");
        let accepted = daemon.put("/upstreams/app/members/a/weight?wait=accepted&durable", json!(4)).await;
        assert_eq!(accepted.status, 200, "{accepted:?}");
        workers.paused.store(false, std::sync::atomic::Ordering::Relaxed);
        daemon.good("/upstreams/app/members/a/weight", json!(5)).await;
        daemon.all_agree().await;
    });
}

#[test]
fn watchers_see_past_and_live_revisions_in_order() {
    let daemon = Daemon::start();
    run(async {
        for weight in 1..=5 {
            daemon
                .good("/upstreams/app", json!({"members": {"a": {"address": "127.0.0.1:1", "weight": weight}}}))
                .await;
        }
        let target = daemon.client.target().clone();
        let watcher = weir_control::client::Client::new(target);
        let mut seen = Vec::new();
        let mut see = |event: &Value| seen.push(event["revision"].as_u64().unwrap());
        let watching = watcher.events("/api/v1/watch?since=2", &mut see);
        let changing = async {
            for weight in 10..15 {
                daemon.good("/upstreams/app/members/a/weight", json!(weight)).await;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        };
        tokio::select! { ended = watching => panic!("{ended:?}"), () = changing => {} }
        assert_eq!(seen, (3..=10).collect::<Vec<_>>());
    });
}

#[test]
fn what_was_answered_is_there_after_a_restart() {
    let daemon = Daemon::start();
    let (state, revision) = {
        let mut out = (Value::Null, 0);
        run(async {
            daemon.good("/upstreams/app", upstream()).await;
            daemon.good("/sites/shop", json!({"hosts": ["shop.example"]})).await;
            daemon.good("/routes/r", json!({"site": "shop", "path": "/x", "to": "app"})).await;
            out = (daemon.get("/state").await.body, daemon.get("/workers").await.body["revision"].as_u64().unwrap());
        });
        out
    };
    let dir = daemon.stop();
    let daemon = Daemon::start_in(dir, weir_control::Limits::default());
    let _workers = Workers::start(&daemon.runtime(), 2, 2);
    run(async {
        assert_eq!(daemon.get("/state").await.body, state);
        assert_eq!(daemon.get("/upstreams/app").await.etag.as_deref(), Some("\"1\""));
        assert_eq!(daemon.good("/upstreams/app/members/a/weight", json!(3)).await, revision + 1);
        daemon.all_agree().await;
    });
}

#[test]
fn a_lost_store_is_told_and_its_revisions_are_never_used_again() {
    type Lose = fn(&std::path::Path);
    let cases: [(&str, Lose); 2] = [
        ("recovered", |state| std::fs::write(state.join("store.sqlite"), vec![0x5a; 1 << 16]).unwrap()),
        ("ok", |state| std::fs::remove_dir_all(state).unwrap()),
    ];
    for (status, lose) in cases {
        let daemon = Daemon::start();
        let workers = Workers::start(&daemon.runtime(), 1, 2);
        let mut before = Value::Null;
        run(async {
            daemon.good("/upstreams/app", upstream()).await;
            daemon.good("/upstreams/app/members/a/weight", json!(3)).await;
            before = daemon.get("/state").await.body;
        });
        let dir = daemon.stop();
        lose(&dir.path().join("state"));
        let daemon = Daemon::start_in(dir, weir_control::Limits::default());
        run(async {
            let health = daemon.client.call(Method::Get, "/healthz", None).await.unwrap().body;
            assert_eq!(health["status"], status, "{health}");
            if status == "recovered" {
                assert_eq!(daemon.get("/state").await.body, before);
                assert!(health["recovered"].as_str().unwrap().contains("last-good.json"), "{health}");
            }
            let revision = daemon.good("/upstreams/other", json!({})).await;
            assert!(revision > 2, "{revision}");
            assert_eq!((workers.region.slot(0).applied(), workers.region.slot(1).applied()), (revision, revision));
            daemon.all_agree().await;
        });
        // And what follows is whole.
        let daemon = Daemon::start_in(daemon.stop(), weir_control::Limits::default());
        run(async {
            let health = daemon.client.call(Method::Get, "/healthz", None).await.unwrap().body;
            assert_eq!(health["status"], "ok", "{health}");
            assert_eq!(daemon.get("/upstreams/other").await.status, 200);
            daemon.all_agree().await;
        });
    }
}

#[test]
fn changes_of_many_connections_all_arrive() {
    let daemon = Daemon::start();
    let _workers = Workers::start(&daemon.runtime(), 1, 2);
    run(async {
        daemon.good("/upstreams/app", json!({})).await;
        let target = daemon.client.target().clone();
        let mut clients = tokio::task::JoinSet::new();
        for n in 0..32 {
            let target = target.clone();
            clients.spawn(async move {
                let client = weir_control::client::Client::new(target);
                for weight in 1..=20 {
                    let body = json!({"address": "127.0.0.1:1", "weight": weight});
                    let path = format!("/api/v1/upstreams/app/members/m{n}");
                    let answer = client.call(Method::Put, &path, Some(&body)).await.unwrap();
                    assert!(matches!(answer.status, 200 | 201), "{answer:?}");
                }
            });
        }
        while let Some(ended) = clients.join_next().await {
            ended.unwrap();
        }
        let workers = daemon.get("/workers").await.body;
        assert_eq!(workers["revision"], 1 + 32 * 20);
        daemon.all_agree().await;
    });
}

#[test]
fn problems_are_problems() {
    let daemon = Daemon::start();
    run(async {
        let client = &daemon.client;
        let cases = [
            (Method::Get, "/api/v1/nothing", 404),
            (Method::Get, "/nothing", 404),
            (Method::Get, "/api/v1/upstreams/none", 404),
            (Method::Get, "/api/v1/revisions/7", 404),
            (Method::Get, "/api/v1/revisions/x", 404),
            (Method::Delete, "/api/v1/upstreams", 405),
            (Method::Post, "/api/v1/upstreams/app", 405),
            (Method::Delete, "/api/v1/revisions", 405),
            (Method::Put, "/api/v1/upstreams/app", 400),
            (Method::Get, "/api/v1/revisions?limit=0", 400),
            (Method::Delete, "/api/v1/upstreams/none?wat=1", 400),
            (Method::Delete, "/api/v1/upstreams/none", 404),
            (Method::Get, "/api/v1/watch?since=9", 409),
        ];
        for (method, path, status) in cases {
            let answer = client.call(method, path, None).await.unwrap();
            assert_eq!(answer.status, status, "{method:?} {path}: {answer:?}");
            assert_eq!(answer.body["status"], status, "{method:?} {path}: {answer:?}");
            assert!(answer.body["title"].is_string() && answer.body["detail"].is_string(), "{answer:?}");
        }
        let body = json!({"hosts": ["a.example"]});
        let form = [("content-type", "application/x-www-form-urlencoded")];
        let path = "/api/v1/sites/s";
        let answer = client.call_with(Method::Put, path, Some(&body), &form).await.unwrap();
        assert_eq!(answer.status, 415, "{answer:?}");
        let odd = client.call(Method::Put, "/api/v1/sites/%20", Some(&body)).await.unwrap();
        assert_eq!(odd.status, 422, "{odd:?}");
        let healthz = client.call(Method::Get, "/healthz", None).await.unwrap();
        assert_eq!(healthz.body["status"], "ok");
    });
}

#[test]
fn only_the_socket_says_what_the_state_directory_is() {
    let (daemon, address) = Daemon::with_address();
    let (host, port) = (address.ip().to_string(), address.port());
    let state = daemon.dir.path().join("state");
    let token = weir_control::auth::create_token(&state, "admin", Grant::unlimited(Role::Admin)).unwrap();
    let outside = Client::new(Target::Tcp { host, port, tls: false, token: Some(token) });
    run(async {
        let health = daemon.client.call(Method::Get, "/healthz", None).await.unwrap();
        assert_eq!(health.body["state_directory"], json!(state));
        let health = outside.call(Method::Get, "/healthz", None).await.unwrap();
        assert_eq!((&health.body["status"], &health.body["state_directory"]), (&json!("ok"), &Value::Null));
    });
}
