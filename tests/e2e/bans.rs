//! Bans: in force in every worker when they are answered, over by themselves, and taken over from CrowdSec.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde_json::{Value, json};
use weir_tests::gateway::weir;
use weir_tests::origin::{Echo, serve};
use weir_tests::wait::until;
use weir_tests::{Control, Gateway, Nginx, Request, Setup};

/// Who is banned gets 403, and 401 if a captcha is wanted.
fn start() -> Gateway {
    let echo = Echo::start();
    let rules = json!([
        {"id": "ban", "when": "ip.ban eq \"ban\"", "action": "block"},
        {"id": "other", "when": "ip.ban ne \"\"", "action": {"block": {"status": 401}}},
    ]);
    Gateway::start(&[
        ("upstreams/app", json!({"members": {"a": {"address": echo.to_string()}}})),
        ("policies/bans", json!({"rules": rules})),
        ("settings", json!({"policies": ["bans"], "client_address": {"trusted": ["127.0.0.1"]}})),
        ("sites/all", json!({"hosts": ["*"]})),
        ("routes/all", json!({"site": "all", "to": "app"})),
    ])
}

fn status(nginx: &Nginx, client: &str) -> u16 {
    nginx.send(&Request::get("/").header("X-Forwarded-For", client)).status
}

/// What both workers answer, from the first request on.
#[track_caller]
fn all_answer(nginx: &Nginx, client: &str, want: u16) {
    let mut seen = HashSet::new();
    until("both workers to have answered", || {
        let response = nginx.send(&Request::get("/").header("X-Forwarded-For", client));
        assert_eq!(response.status, want, "{client}");
        seen.extend(response.header("x-weir").and_then(|text| text.split(' ').next()).map(str::to_owned));
        (seen.len() == 2).then_some(())
    });
}

/// Runs the command and returns what it says, of an error on standard error.
fn run(gateway: &Gateway, arguments: &[&str]) -> Result<String, String> {
    let runtime = gateway.nginx.path("run");
    let output = Command::new(weir()).arg("--runtime").arg(runtime).args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

#[test]
fn a_ban_is_in_force_at_once_and_survives_reloads_and_kills() {
    let mut gateway = start();
    all_answer(&gateway.nginx, "192.0.2.7", 200);
    let said = run(&gateway, &["ban", "192.0.2.7", "--for", "1h", "--reason", "guesses passwords"]).unwrap();
    assert!(said.starts_with("192.0.2.7: ban until "), "{said}");
    all_answer(&gateway.nginx, "192.0.2.7", 403);
    all_answer(&gateway.nginx, "192.0.2.8", 200);
    let _ = run(&gateway, &["ban", "2001:db8::1/32", "--for", "7d", "--as", "captcha"]).unwrap();
    all_answer(&gateway.nginx, "2001:db8:7::1", 401);
    let listed: Value = serde_json::from_str(&run(&gateway, &["bans", "--json"]).unwrap()).unwrap();
    let names: Vec<&str> =
        listed["bans"].as_array().unwrap().iter().map(|ban| ban["address"].as_str().unwrap()).collect();
    assert_eq!((listed["total"].as_u64(), names), (Some(2), vec!["2001:db8::/32", "192.0.2.7"]));
    let table = run(&gateway, &["bans", "192.0.2.7"]).unwrap();
    assert!(table.contains("guesses passwords") && table.contains("unix:") && !table.contains("2001"), "{table}");

    let second = json!({"address": "192.0.2.9", "for": "1s"});
    let _ = gateway.api().post("bans", &second).expect(200);
    assert_eq!(status(&gateway.nginx, "192.0.2.9"), 403);
    until("the ban to end", || (status(&gateway.nginx, "192.0.2.9") == 200).then_some(()));

    gateway.nginx.reload();
    all_answer(&gateway.nginx, "192.0.2.7", 403);
    let _ = gateway.nginx.kill_worker();
    all_answer(&gateway.nginx, "192.0.2.7", 403);
    gateway.control.kill();
    all_answer(&gateway.nginx, "192.0.2.7", 403);
    gateway.control.respawn();
    gateway.control.wait();
    all_answer(&gateway.nginx, "192.0.2.7", 403);
    let first = gateway.api().get("bans?origin=operator&limit=1").expect(200);
    assert_eq!(first.body["bans"].as_array().unwrap().len(), 1, "what has ended is not listed");
    assert!(
        first.header("link").unwrap().contains("after=2001:db8::%2F32&origin=operator"),
        "{:?}",
        first.header("link")
    );
    let rest = gateway.api().get("bans?after=2001:db8::%2F32").expect(200);
    assert_eq!(rest.body["bans"][0]["reason"], "guesses passwords");

    assert_eq!(run(&gateway, &["unban", "192.0.2.7"]).unwrap(), "192.0.2.7: not banned any more\n");
    all_answer(&gateway.nginx, "192.0.2.7", 200);
    let again = run(&gateway, &["unban", "192.0.2.7"]).unwrap_err();
    assert!(again.contains("no operator has banned 192.0.2.7") && again.contains("hint"), "{again}");
    let _ = gateway.api().delete("bans/2001:db8::%2F32").expect(200);
    all_answer(&gateway.nginx, "2001:db8:7::1", 200);

    // A runtime directory that was replaced: the next workers see the bans as well.
    let _ = gateway.api().post("bans", &json!({"address": "192.0.2.7", "for": "1h"})).expect(200);
    std::fs::remove_dir_all(gateway.nginx.path("run")).unwrap();
    gateway.nginx.reload();
    until("the ban in the new directory", || (status(&gateway.nginx, "192.0.2.7") == 403).then_some(()));
}

#[test]
fn bad_bans_are_refused_with_what_to_do() {
    let gateway = start();
    for (body, pointer, message) in [
        (json!({"address": "0.0.0.0/0", "for": "1h"}), "/address", "an address or a network"),
        (json!({"address": "::/0", "for": "1h"}), "/address", "an address or a network"),
        (json!({"address": "0.0.0.0/1", "for": "1h"}), "/address", "is wider than /8"),
        (json!({"address": "::/1", "for": "1h", "force": false}), "/address", "or /16 of IPv6"),
        (json!({"address": "shop.example", "for": "1h"}), "/address", "an address or a network"),
        (json!({"address": "192.0.2.7", "for": "1 hour"}), "/for", "a time"),
        (json!({"address": "192.0.2.7", "for": "400d"}), "/for", "a time"),
        (json!({"address": "192.0.2.7", "for": "0s"}), "/for", "a time"),
        (json!({"address": "192.0.2.7", "for": "1h", "as": "captchas"}), "/as", "captcha"),
        (json!({"address": "192.0.2.7", "for": "1h", "why": "so"}), "/why", "why"),
        (json!({"address": "192.0.2.7", "for": "1h", "reason": "two\nlines"}), "/reason", "one line"),
        (json!({"address": "192.0.2.7"}), "", "for"),
        (json!([]), "", "a ban"),
    ] {
        let refused = gateway.api().post("bans", &body).expect(422);
        let errors = refused.errors();
        assert!(errors.len() == 1 && errors[0].0 == pointer && errors[0].1.contains(message), "{body}: {errors:?}");
    }
    let wide = run(&gateway, &["ban", "128.0.0.0/1", "--for", "1s"]).unwrap_err();
    assert!(wide.contains("--force"), "{wide}");
    assert!(run(&gateway, &["ban", "128.0.0.0/1", "--for", "1s", "--force"]).is_ok());
    let _ = gateway.api().delete("bans/128.0.0.0%2F1").expect(200);
    let everybody = run(&gateway, &["ban", "0.0.0.0/0", "--for", "1h"]).unwrap_err();
    assert!(everybody.contains("this would ban everybody"), "{everybody}");
    for path in ["bans?limit=0", "bans?origin=me", "bans?address=1.2.3", "bans?after=x"] {
        let _ = gateway.api().get(path).expect(400);
    }
    let _ = gateway.api().delete("bans/everybody").expect(400);
    assert_eq!(gateway.api().get("bans").expect(200).body, json!({"bans": [], "total": 0}));
    let _ = gateway.api().post("bans", &json!({"address": "127.0.0.1", "for": "1m"})).expect(200);
    assert_eq!(gateway.nginx.get("/").status, 403);
}

#[test]
fn a_policy_file_reads_bans_of_a_control_that_starts_later() {
    let policy = "policies:\n  - {id: p, rules: [{id: ban, when: 'ip.ban eq \"ban\"', action: block}]}\n";
    let setup = Setup::policy(policy).proxy(Echo::start());
    let (state, runtime) = (setup.prefix().join("state"), setup.prefix().join("run"));
    let nginx = setup.start();
    assert_eq!(nginx.get("/").status, 200);
    let control = Control::start(&state, &runtime);
    let _ = control.api.post("bans", &json!({"address": "127.0.0.0/8", "for": "1h"})).expect(200);
    (0..8).for_each(|_| assert_eq!(nginx.get("/").status, 403));
}

/// A stand-in for CrowdSec's local API: it answers with what a test has put into it, once.
#[derive(Clone)]
struct Lapi {
    shared: Arc<Mutex<Answers>>,
    address: SocketAddr,
}

#[derive(Default)]
struct Answers {
    /// Everything that holds, for `startup=true`.
    all: Vec<Value>,
    new: Vec<Value>,
    deleted: Vec<Value>,
    /// The status of the next answers, if it is not 200.
    fault: Option<u16>,
    /// Paths and keys of the requests.
    asked: Vec<(String, String)>,
}

impl Lapi {
    fn start() -> Self {
        let shared: Arc<Mutex<Answers>> = Arc::default();
        let answers = shared.clone();
        let address = serve(move |stream| answer(stream, &answers));
        Self { shared, address }
    }

    fn with(&self, change: impl FnOnce(&mut Answers)) {
        change(&mut self.shared.lock().unwrap());
    }

    fn asked(&self) -> Vec<(String, String)> {
        self.shared.lock().unwrap().asked.clone()
    }
}

fn answer(mut stream: TcpStream, answers: &Mutex<Answers>) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    let mut key = String::new();
    for line in lines {
        let line = line?;
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("x-api-key: ") {
            value.clone_into(&mut key);
        }
    }
    let mut answers = answers.lock().unwrap();
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    answers.asked.push((path.clone(), key));
    let body = if path.ends_with("startup=true") {
        (answers.new, answers.deleted) = (Vec::new(), Vec::new());
        json!({"new": answers.all, "deleted": null})
    } else {
        json!({"new": std::mem::take(&mut answers.new), "deleted": std::mem::take(&mut answers.deleted)})
    };
    let (status, body) = (answers.fault.unwrap_or(200), body.to_string());
    let length = body.len();
    write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

fn decision(value: &str, scope: &str, kind: &str) -> Value {
    json!({"duration": "3h59m58.4s", "origin": "cscli", "scenario": "test", "scope": scope, "type": kind, "value": value})
}

#[test]
fn decisions_of_crowdsec_become_bans_and_go_with_them() {
    const KEY: &str = "5a1c0ffee5a1c0ffee5a1c0ffee";
    let mut gateway = start();
    let lapi = Lapi::start();
    lapi.with(|answers| {
        answers.all = vec![
            decision("192.0.2.7", "Ip", "ban"),
            decision("198.51.100.0/24", "Range", "captcha"),
            decision("2001:db8::5", "Ip", "mfa"),
            decision("FR", "Country", "ban"),
        ];
    });
    let settings = json!({"crowdsec": {"url": format!("http://{}/", lapi.address), "key": KEY, "every": "1s"}});
    let _ = gateway.api().patch("settings", &settings).expect(200);
    until("the first decisions", || (status(&gateway.nginx, "192.0.2.7") == 403).then_some(()));
    all_answer(&gateway.nginx, "192.0.2.7", 403);
    all_answer(&gateway.nginx, "198.51.100.9", 401);
    all_answer(&gateway.nginx, "2001:db8::5", 403);
    assert_eq!(lapi.asked()[0], ("/v1/decisions/stream?startup=true".to_owned(), KEY.to_owned()));
    let log = gateway.control.log();
    assert!(log.contains("1 decisions with scope `Country`: left out") && log.contains("type `mfa`: ban"), "{log}");
    let refused = run(&gateway, &["unban", "192.0.2.7"]).unwrap_err();
    assert!(refused.contains("cscli decisions delete"), "{refused}");

    // The key is never shown, and what was read can be written back.
    let shown = gateway.api().get("settings").expect(200).body;
    assert!(!shown.to_string().contains(KEY) && !gateway.api().get("state").body.to_string().contains(KEY), "{shown}");
    let _ = gateway.api().put("settings", &shown).expect(200);

    lapi.with(|answers| {
        answers.deleted = vec![decision("192.0.2.7", "Ip", "ban")];
        answers.new = vec![decision("192.0.2.8", "ip", "ban")];
        answers.all = vec![decision("192.0.2.8", "Ip", "ban")];
    });
    until("the difference", || (status(&gateway.nginx, "192.0.2.8") == 403).then_some(()));
    all_answer(&gateway.nginx, "192.0.2.7", 200);
    all_answer(&gateway.nginx, "198.51.100.9", 401);
    assert!(lapi.asked().iter().skip(1).any(|(path, _)| path.ends_with("startup=false")));

    // Out of reach: what is known holds, also when control starts anew. Then all decisions count.
    lapi.with(|answers| answers.fault = Some(503));
    until("the outage to be noticed", || gateway.control.log().contains("status 503").then_some(()));
    gateway.control.kill();
    gateway.control.respawn();
    gateway.control.wait();
    let asked = lapi.asked().len();
    until("three more attempts", || (lapi.asked().len() >= asked + 3).then_some(()));
    all_answer(&gateway.nginx, "198.51.100.9", 401);
    all_answer(&gateway.nginx, "192.0.2.8", 403);
    assert_eq!(gateway.control.log().matches("status 503").count(), 2, "once for each process");
    lapi.with(|answers| answers.fault = None);
    until("the end of the outage", || (status(&gateway.nginx, "198.51.100.9") == 200).then_some(()));
    all_answer(&gateway.nginx, "192.0.2.8", 403);

    // An operator's ban comes first, and leaves CrowdSec's behind when it goes.
    let _ = run(&gateway, &["ban", "192.0.2.8", "--for", "1h", "--as", "captcha"]).unwrap();
    all_answer(&gateway.nginx, "192.0.2.8", 401);
    let _ = run(&gateway, &["unban", "192.0.2.8"]).unwrap();
    all_answer(&gateway.nginx, "192.0.2.8", 403);
    let _ = gateway.api().patch("settings", &json!({"crowdsec": null})).expect(200);
    until("the decisions to go", || (status(&gateway.nginx, "192.0.2.8") == 200).then_some(()));
}

/// With the local API of CrowdSec itself, which the script starts; prints how long each change takes to be in force.
#[test]
#[ignore = "needs CrowdSec: make interop-crowdsec"]
fn a_real_crowdsec_bans_and_unbans() {
    let variable = |name: &str| std::env::var(name).expect("scripts/crowdsec.sh sets it");
    let cscli = |arguments: &[&str]| {
        let output =
            Command::new(variable("CSCLI")).arg("-c").arg(variable("CROWDSEC_CONFIG")).args(arguments).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let gateway = start();
    let key = gateway.nginx.path("crowdsec.key");
    std::fs::write(&key, cscli(&["bouncers", "add", "weir", "-o", "raw"])).unwrap();
    let _ = cscli(&["decisions", "add", "--ip", "192.0.2.7", "--duration", "1h"]);
    let url = variable("CROWDSEC_URL");
    let wrong = json!({"crowdsec": {"url": url, "key": "not-the-key-of-a-bouncer", "every": "1s"}});
    let _ = gateway.api().patch("settings", &wrong).expect(200);
    until("the refusal", || gateway.control.log().contains("status 403").then_some(()));
    let settings = json!({"crowdsec": {"key": {"value": null, "file": key}}});
    let _ = gateway.api().patch("settings", &settings).expect(200);
    let changed = |what: &str, client: &str, want: u16| {
        let begun = Instant::now();
        until(what, || (status(&gateway.nginx, client) == want).then_some(()));
        println!("{what}: in force after {} ms", begun.elapsed().as_millis());
        all_answer(&gateway.nginx, client, want);
    };
    changed("the decision that was there", "192.0.2.7", 403);
    let _ = cscli(&["decisions", "add", "--range", "2001:db8::/32", "--type", "captcha", "--duration", "1h"]);
    changed("a captcha for a range", "2001:db8:1::9", 401);
    let _ = cscli(&["decisions", "add", "--ip", "192.0.2.8", "--type", "mfa", "--duration", "1h"]);
    changed("an unknown type", "192.0.2.8", 403);
    let _ = cscli(&["decisions", "add", "--scope", "username", "--value", "eve", "--duration", "1h"]);
    let _ = cscli(&["decisions", "add", "--ip", "192.0.2.9", "--duration", "4s"]);
    changed("a short ban", "192.0.2.9", 403);
    changed("its end", "192.0.2.9", 200);
    let _ = cscli(&["decisions", "delete", "--ip", "192.0.2.7"]);
    changed("the end of the first decision", "192.0.2.7", 200);
    println!("{}", run(&gateway, &["bans"]).unwrap());
    println!("{}", gateway.control.log());
}
