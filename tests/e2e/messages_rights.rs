//! Messages for clients: who may use which topics, and messages of other processes than nginx.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use weir_tests::gateway::weir;
use weir_tests::nginx::kill;
use weir_tests::wait::until;
use weir_tests::{Gateway, Nginx, Request};

use crate::messages::{Events, publish, read, say, socket};

fn start() -> Gateway {
    let user = "http.request.headers[\"x-user\"][0]";
    let own = json!({"allow_topics": {"subscribe": "users/{}/#", "publish": "users/{}/out", "value": user}});
    let rules = json!([
        {"id": "own", "when": format!("{user} ne \"admin\""), "action": own},
        {"id": "all", "when": format!("{user} eq \"admin\""), "action": {"allow_topics": {"subscribe": "#", "publish": "users/#"}}},
    ]);
    let body = json!([{"id": "word", "when": "http.request.body.raw contains \"attack\"", "action": "block"}]);
    let restricted = json!({"topics": "past", "publish": true, "restricted": true, "publish_rate": "3/1h"});
    Gateway::start(&[
        ("topics/past", json!({"topics": ["users/#", "chat"], "history": {"count": 100}, "presence": true})),
        ("sites/all", json!({"hosts": ["*"]})),
        ("policies/own", json!({"rules": rules})),
        ("policies/body", json!({"rules": body})),
        ("routes/own", json!({"site": "all", "path": "/own", "messages": restricted, "policies": ["own"]})),
        ("routes/nothing", json!({"site": "all", "path": "/nothing", "messages": restricted})),
        (
            "routes/body",
            json!({"site": "all", "path": "/body", "messages": {"topics": "past", "publish": true}, "policies": ["body"]}),
        ),
    ])
}

fn request(nginx: &Nginx, method: &str, target: &str, user: &str, body: &str) -> (u16, String) {
    let response = nginx.send(&Request::new(method, target).header("X-User", user).body(body));
    (response.status, response.text().to_owned())
}

#[test]
fn clients_use_the_topics_that_rules_allow() {
    let gateway = start();
    let nginx = &gateway.nginx;
    for (method, target, user, status) in [
        ("POST", "/own/users/anna/out", "anna", 200),
        ("POST", "/own/users/anna/in", "anna", 403),
        ("POST", "/own/users/otto/out", "anna", 403),
        ("POST", "/own/chat", "anna", 403),
        ("POST", "/own/users/otto/in", "admin", 200),
        ("POST", "/nothing/chat", "admin", 403),
        ("GET", "/own/users/anna/%23?since=oldest", "anna", 200),
        ("GET", "/own/users/otto/%23?since=oldest", "admin", 200),
        ("GET", "/own/users/otto/%23?since=oldest", "anna", 403),
        ("GET", "/own/users/%23?since=oldest", "anna", 403),
        // Whoever chooses the value does not choose the topics.
        ("GET", "/own/users/%23?since=oldest", "+", 403),
        ("GET", "/own/users/%23?since=oldest", "#", 403),
        ("GET", "/own/users/otto/in?since=oldest", "otto/in", 403),
        ("GET", "/own/users/%23?since=oldest", "", 403),
        ("GET", "/nothing/chat?since=oldest", "anna", 403),
    ] {
        let (found, text) = request(nginx, method, target, user, if method == "POST" { "x" } else { "" });
        assert_eq!(found, status, "{method} {target} {user}: {text}");
        assert!(status != 403 || text.contains("the policy allows"), "{text}");
    }
    assert!(nginx.crashes().is_empty());
}

#[test]
fn frames_have_the_same_rights_and_a_rate() {
    let gateway = start();
    let nginx = &gateway.nginx;
    let target = |path: &str| {
        let request = format!("ws://127.0.0.1:{}{path}", nginx.port);
        let mut request = tungstenite::client::IntoClientRequest::into_client_request(request).unwrap();
        request.headers_mut().insert("x-user", "anna".parse().unwrap());
        let stream = std::net::TcpStream::connect(("127.0.0.1", nginx.port)).unwrap();
        tungstenite::client(request, stream).unwrap().0
    };
    let mut own = target("/own");
    for (frame, said) in [
        (json!({"subscribe": ["users/anna/#", "users/otto/#"]}), "the policy allows"),
        (json!({"publish": "chat", "data": "x", "id": 1}), "the policy allows"),
        (json!({"publish": "users/anna/out", "data": "x", "id": 1}), ""),
        (json!({"publish": "users/anna/out", "data": "x", "id": 2}), ""),
        (json!({"publish": "users/anna/out", "data": "x", "id": 3}), ""),
        (json!({"publish": "users/anna/out", "data": "x", "id": 4}), "may publish 3 messages"),
    ] {
        say(&mut own, frame.clone());
        let answer = read(&mut own);
        let error = answer["error"].as_str().unwrap_or_default();
        assert!(error.contains(said) && error.is_empty() == said.is_empty(), "{frame}: {answer}");
    }
    // What no rule would see.
    let mut body = socket(nginx, "/body");
    say(&mut body, json!({"publish": "chat", "data": "attack", "id": 1}));
    assert!(read(&mut body)["error"].as_str().unwrap().contains("POST"));
    assert_eq!(request(nginx, "POST", "/body/chat", "", "attack").0, 403);
    assert_eq!(request(nginx, "POST", "/body/chat", "", "peace").0, 200);
}

#[test]
fn other_processes_publish_and_subscribe_and_everything_is_counted() {
    let gateway = start();
    let nginx = &gateway.nginx;
    let runtime = nginx.path("run");
    let run = |arguments: &[&str]| {
        let output = Command::new(weir()).arg("--runtime").arg(&runtime).args(arguments).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    let mut events = Events::open(nginx, "/body/chat", None);
    let mut follower = Command::new(weir())
        .arg("--runtime")
        .arg(&runtime)
        .args(["subscribe", "chat", "--since", "oldest", "-n", "2"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (done, id) = run(&["publish", "chat", "from a shell"]);
    assert!(done, "{id}");
    assert_eq!((events.next().unwrap().data.as_str(), id.contains(':')), ("from a shell", true));
    let _ = publish(nginx, "/body/chat", "from a client");
    let lines: Vec<Value> = BufReader::new(follower.stdout.take().unwrap())
        .lines()
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect();
    let data: Vec<&str> = lines.iter().map(|line| line["data"].as_str().unwrap()).collect();
    assert_eq!((data, follower.wait().unwrap().success()), (vec!["from a shell", "from a client"], true));
    for (arguments, said) in [
        (&["publish", "nobody/has/it", "x"][..], "no topics have"),
        (&["publish", "chat", "x", "--set", "none"], "there are no topics `none`"),
        (&["publish", "users/+", "x"], "+"),
        (&["subscribe", "chat", "--since", "nonsense"], "--since"),
    ] {
        let (done, text) = run(arguments);
        assert!(!done && text.contains(said), "{arguments:?}: {text}");
    }
    let counts = until("what is counted", || {
        let (_, text) = run(&["status", "--json"]);
        let value: Value = serde_json::from_str(&text).unwrap();
        let counts = &value["topics"]["past"];
        (counts["delivered"].as_u64() >= Some(2)).then(|| counts.clone())
    });
    assert_eq!((&counts["subscribers"], &counts["published"]), (&json!(1), &json!(1)), "{counts}");
    assert!(counts["nanoseconds"].as_u64() > Some(0), "{counts}");
    assert!(run(&["status"]).1.contains("SUBSCRIBERS"));
}

#[test]
fn clients_see_who_is_connected_to_any_worker() {
    let gateway = start();
    let nginx = &gateway.nginx;
    let count = |expected: u64| {
        until(&format!("{expected} to be connected"), || {
            let (status, text) = request(nginx, "GET", "/body/chat?presence", "", "");
            assert_eq!(status, 200, "{text}");
            let list: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(list["count"].as_u64(), Some(list["present"].as_array().unwrap().len() as u64));
            (list["count"] == expected).then_some(())
        });
    };
    let mut watcher = socket(nginx, "/body");
    say(&mut watcher, json!({"presence": ["chat"]}));
    assert_eq!(read(&mut watcher), json!({"topic": "chat", "count": 0, "present": []}));
    let mut members: Vec<_> = (0..6).map(|_| Events::open(nginx, "/body/chat", None)).collect();
    for expected in 1..=6 {
        let change = read(&mut watcher);
        assert!(change["joined"]["id"].is_string() && change["count"] == expected, "{change}");
    }
    count(6);
    drop(members.pop());
    let change = read(&mut watcher);
    assert!(change["left"]["id"].is_string() && change["count"] == 5, "{change}");
    // What killed workers had is gone within seconds, and their successors know each other's.
    let before = nginx.workers();
    before.iter().for_each(|pid| kill(*pid, libc::SIGKILL));
    until("new workers", || {
        let now = nginx.workers();
        (now.len() == before.len() && now.iter().all(|pid| !before.contains(pid))).then_some(())
    });
    let _more: Vec<_> = (0..6).map(|_| Events::open(nginx, "/body/chat", None)).collect();
    for _ in 0..8 {
        count(6);
    }
    for (target, status) in [("/own/chat?presence", 403), ("/body/%23?presence", 400), ("/body?presence", 400)] {
        assert_eq!(request(nginx, "GET", target, "anna", "").0, status, "{target}");
    }
}
