//! Probes register, and what is asked of them is handed on; shadow configurations have revisions.

#![allow(clippy::unwrap_used, reason = "in a test it is the assertion, in its helpers too")]

mod support;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};
use support::Daemon;
use weir_control::client::{Answer, Method};

/// A probe that answers everything with one status and body, and tells what it was asked.
fn probe(status: u16, body: &Value) -> (u16, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (tell, told) = channel();
    let text = body.to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (mut bytes, mut request) = ([0; 4096], String::new());
            // The head, and a body of its length.
            while !request.split_once("\r\n\r\n").is_some_and(|(head, body)| {
                let length = head
                    .to_lowercase()
                    .split("content-length: ")
                    .nth(1)
                    .map_or(0, |rest| rest.lines().next().unwrap().parse::<usize>().unwrap());
                body.len() >= length
            }) {
                let read = stream.read(&mut bytes).unwrap();
                assert!(read > 0, "{request}");
                request.push_str(std::str::from_utf8(&bytes[..read]).unwrap());
            }
            let length = text.len();
            write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}")
                .unwrap();
            if tell.send(request).is_err() {
                return;
            }
        }
    });
    (port, told)
}

fn about(pid: u64, port: u16, revision: u64) -> Value {
    json!({
        "app": "shop", "host": "a", "pid": pid, "address": "127.0.0.1", "port": port, "token": "s3cret",
        "state": "armed", "shadow_revision": revision,
    })
}

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
}

async fn post(daemon: &Daemon, path: &str, body: Value) -> Answer {
    daemon.call(Method::Post, path, Some(body)).await
}

#[test]
fn what_is_asked_of_a_probe_is_handed_on_with_its_token() {
    let daemon = Daemon::start();
    run(async {
        let (port, told) = probe(200, &json!({"state": "silent"}));
        let answer = post(&daemon, "/probes", about(7, port, 0)).await;
        assert_eq!((answer.status, &answer.body["id"]), (200, &json!("7@a")), "{answer:?}");
        let listed = daemon.get("/probes").await.body;
        assert_eq!(listed["probes"][0]["state"], "armed");
        assert!(!listed.to_string().contains("s3cret"), "{listed}");
        for (method, path, body, line, sent) in [
            (Method::Get, "/probes/7@a", None, "GET /v1/probe ", ""),
            (Method::Get, "/probes/7@a/cost", None, "GET /v1/cost ", ""),
            (Method::Post, "/probes/7@a/silence", Some(json!({"plugin": "x"})), "POST /v1/silence ", r#""plugin":"x""#),
            (Method::Post, "/probes/7@a/arm", None, "POST /v1/arm ", r#""why":"by unix:"#),
        ] {
            let answer = daemon.call(method, path, body).await;
            assert_eq!((answer.status, &answer.body["state"]), (200, &json!("silent")), "{path}: {answer:?}");
            let request = told.recv().unwrap();
            assert!(request.starts_with(line) && request.contains(sent), "{request}");
            assert!(request.to_lowercase().contains("authorization: bearer s3cret"), "{request}");
        }
        assert_eq!(post(&daemon, "/probes/7@a/leave", json!({})).await.status, 404);
        assert_eq!(post(&daemon, "/probes/8@a/arm", json!({})).await.status, 404);
        assert_eq!(post(&daemon, "/probes", json!({"app": "shop"})).await.status, 422);
        assert_eq!(post(&daemon, "/probes", json!([])).await.status, 400);
    });
}

#[test]
fn refusals_of_a_probe_are_told_and_one_that_is_gone_is_503() {
    let daemon = Daemon::start();
    run(async {
        let refusal =
            json!({"detail": "not armed: jdbc: no shadow", "hint": "h", "check": [{"plugin": "jdbc", "ok": false}]});
        let (port, _told) = probe(409, &refusal);
        post(&daemon, "/probes", about(7, port, 0)).await;
        let answer = post(&daemon, "/probes/7@a/arm", json!({})).await;
        assert_eq!(answer.status, 409);
        assert_eq!(answer.body["detail"], "not armed: jdbc: no shadow");
        assert_eq!(answer.body["check"], refusal["check"], "{answer:?}");
        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        post(&daemon, "/probes", about(8, closed, 0)).await;
        let answer = daemon.get("/probes/8@a/cost").await;
        assert_eq!(answer.status, 503, "{answer:?}");
        let refused = daemon.get("/audit").await.body;
        assert!(refused.to_string().contains("/probes/7@a/arm"), "{refused}");
    });
}

#[test]
fn shadow_configurations_have_revisions_and_reach_probes() {
    let daemon = Daemon::start();
    let stored = run_and_keep(daemon);
    let daemon = Daemon::start_in(stored, weir_control::Limits::default());
    run(async {
        let answer = daemon.get("/shadow/shop").await;
        assert_eq!(
            (answer.etag.as_deref(), &answer.body["shadow"]),
            (Some("\"2\""), &json!({"logback": {"suffix": ".b"}}))
        );
        assert_eq!(daemon.get("/shadow/shop?revision=1").await.body["shadow"]["logback"]["suffix"], ".a");
        assert_eq!(answer.body["revisions"].as_array().unwrap().len(), 2, "{answer:?}");
        assert_eq!(daemon.get("/shadow/stock").await.status, 404);
    });
}

fn run_and_keep(daemon: Daemon) -> tempfile::TempDir {
    run(async {
        let (port, told) = probe(200, &json!({"state": "armed", "check": []}));
        assert_eq!(post(&daemon, "/probes", about(7, port, 0)).await.body.get("shadow"), None);
        let first = json!({"logback": {"suffix": ".a"}});
        let answer = daemon.put("/shadow/shop", first.clone()).await;
        assert_eq!(answer.body["probes"], json!([{"id": "7@a", "result": "applied", "state": "armed", "check": []}]));
        let request = told.recv().unwrap();
        assert!(
            request.starts_with("PUT /v1/shadow ") && request.to_lowercase().contains("weir-revision: 1"),
            "{request}"
        );
        assert!(request.ends_with(&first.to_string()), "{request}");
        // One that was not there then gets it with its registration, and not again.
        let late = post(&daemon, "/probes", about(8, port, 0)).await.body;
        assert_eq!((&late["shadow"], &late["shadow_revision"]), (&first, &json!(1)));
        assert_eq!(post(&daemon, "/probes", about(8, port, 1)).await.body.get("shadow"), None);
        let second = json!({"logback": {"suffix": ".b"}});
        for (tag, status) in [("\"7\"", 412), ("\"1\"", 200), ("\"1\"", 412)] {
            let put =
                daemon.client.call_with(Method::Put, "/api/v1/shadow/shop", Some(&second), &[("if-match", tag)]).await;
            assert_eq!(put.unwrap().status, status, "{tag}");
        }
        assert_eq!(daemon.put("/shadow/shop", json!([1])).await.status, 400);
        assert_eq!(daemon.put("/shadow/a%20b", json!({})).await.status, 400);
    });
    daemon.stop()
}
