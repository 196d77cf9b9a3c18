//! `weir ablate` ranks a planted slow rule first, and a gateway gets its policy back however the
//! run ends.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::{Value, json};
use weir_tests::{Gateway, Setup};

use crate::running::{command, runs, wait_for};

/// Three groups of rules. The gaps in the planted pattern overlap in every way over a form's values, so
/// that its automaton has a new state for nearly every byte.
const POLICY: &str = r#"
policies:
  - id: shop
    rules:
      - id: path-backup
        when: 'http.request.uri.path matches r"(?i)\.(?:bak|old|orig)$"'
        action: block
      - id: form-sql
        when: 'any(http.request.body.form.values[*] matches r"(?i)\bunion\b.{0,40}\bselect\b")'
        action: block
      - id: form-xss
        when: 'any(http.request.body.form.values[*] matches r"(?i)<\s*script")'
        action: block
      - id: planted-slow
        when: 'any(http.request.body.form.values[*] matches r"(?:.{0,40}[02468ace].{0,40}[13579bdf]){2,20}[^0-9a-z]{4}")'
        action: block
"#;

fn text(path: &Path) -> &str {
    path.to_str().expect("is text")
}

#[test]
fn a_planted_slow_rule_comes_first_and_intervals_are_given() {
    let directory = tempfile::tempdir().expect("temp dir");
    let (policy, json, html) =
        (directory.path().join("policy.yaml"), directory.path().join("a.json"), directory.path().join("a.html"));
    std::fs::write(&policy, POLICY).expect("writes");
    let run = command(&["ablate", "--policy", text(&policy), "--rounds", "4", "--seconds", "0.1", "--no-pairs"])
        .args(["--seed", "7", "--json", text(&json), "--html", text(&html)])
        .output()
        .expect("runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let outcome: Value = serde_json::from_slice(&std::fs::read(json).expect("is written")).expect("is JSON");
    let parts = outcome["parts"].as_array().expect("a list");
    assert_eq!(parts.len(), 3, "{outcome:#}");
    assert_eq!(parts[0]["name"], "planted", "{outcome:#}");
    for part in parts {
        let [low, value, high] = ["low", "value", "high"].map(|key| part["cost"][key].as_f64().expect("a number"));
        assert!(low <= value && value <= high && low < high, "{part:#}");
        assert!(part["ledger"].as_f64().is_some_and(|ledger| ledger >= 0.0), "{part:#}");
    }
    let table = String::from_utf8(run.stdout).expect("is text");
    assert!(table.contains("the sum is ") && table.contains("planted "), "{table}");
    assert!(std::fs::read_to_string(html).expect("is written").contains("<svg"));
}

#[test]
fn impossible_ablations_are_reported_before_anything_runs() {
    let directory = tempfile::tempdir().expect("temp dir");
    let at = |name: &str, content: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, content).expect("writes");
        text(&path).to_owned()
    };
    let (policy, bad) = (at("policy.yaml", POLICY), at("bad.yaml", "policies: 7"));
    let (log, broken) = (at("empty.log", "rubbish\n"), at("broken.conf", "no_such_directive on;\n"));
    let variant = format!("none={broken}");
    let replay = format!("replay:{log}");
    for (arguments, expected) in [
        (&["--policy", &policy, "--group", "pth-"][..], "no rule's id begins with pth-; there are path-backup"),
        (&["--policy", &policy, "--by", "rule", "--only", "slow"], "there is no rule slow"),
        (&["--policy", &bad], "expected"),
        (&["--policy", "/nowhere.yaml"], "/nowhere.yaml"),
        (&["--policy", &policy, "--load", &replay], "no request in 1 line"),
        (&["--nginx-conf", &broken, "--variant", &variant, "--url", "http://127.0.0.1:1/"], "no_such_directive"),
        (&["--live", "--control", "/nowhere.sock", "--state", text(directory.path())], "does not answer"),
    ] {
        let run = command(&[&["ablate"], arguments].concat()).output().expect("runs");
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(run.status.code(), Some(1), "{said}");
        assert!(said.contains(expected), "{expected:?} is not in {said}");
    }
}

/// A gateway with the policy above, and a `weir ablate` that changes it for longer than any test.
struct Ablated {
    gateway: Gateway,
    original: Value,
    run: Child,
}

impl Ablated {
    fn start() -> Self {
        let rule = |id: &str| json!({"id": id, "when": "http.host eq \"x\"", "action": "block"});
        let gateway = Gateway::start_with(
            Setup::gateway().workers(1),
            &[
                ("policies/p", json!({"rules": [rule("a-1"), rule("a-2"), rule("b")]})),
                ("settings", json!({"policies": ["p"]})),
                ("sites/all", json!({"hosts": ["*"]})),
                ("routes/all", json!({"site": "all", "path": "/x", "respond": {"status": 200, "body": "ok"}})),
            ],
        );
        let original = gateway.api().get("policies/p").expect(200).body;
        let url = format!("http://127.0.0.1:{}/x", gateway.nginx.port);
        let run = Self::command(&gateway)
            .args(["--live", "--url", &url, "--rounds", "1000", "--seconds", "0.02", "--connections", "2"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let this = Self { gateway, original, run };
        wait_for("the policy is changed", || this.policy() != this.original);
        this
    }

    fn command(gateway: &Gateway) -> std::process::Command {
        let mut command = command(&["ablate", "--runtime", text(&gateway.nginx.path("run"))]);
        command.arg("--state").arg(gateway.nginx.path("ablate"));
        command
    }

    fn policy(&self) -> Value {
        self.gateway.api().get("policies/p").expect(200).body
    }

    fn journal(&self) -> bool {
        self.gateway.nginx.path("ablate/ablate.json").exists()
    }

    /// Sends a signal to the run; returns its standard error output, and its guard.
    fn signal(&mut self, signal: i32) {
        // SAFETY: sends a signal to the child just started.
        assert_eq!(unsafe { libc::kill(i32::try_from(self.run.id()).expect("is a pid"), signal) }, 0);
    }

    /// The guard: the run's only child.
    fn guard(&self) -> u32 {
        let path = format!("/proc/{0}/task/{0}/children", self.run.id());
        let children = std::fs::read_to_string(path).expect("it runs");
        children.split_whitespace().next().and_then(|pid| pid.parse().ok()).expect("has a guard")
    }
}

impl Drop for Ablated {
    fn drop(&mut self) {
        let _ = self.run.kill();
        let _ = self.run.wait();
    }
}

#[test]
fn the_guard_restores_the_policy_of_a_killed_run() {
    let mut ablated = Ablated::start();
    let guard = ablated.guard();
    ablated.signal(libc::SIGKILL);
    ablated.run.wait().expect("our own child");
    wait_for("the guard has put the policy back", || ablated.policy() == ablated.original && !ablated.journal());
    wait_for("the guard ends", || !runs(guard));
}

#[test]
fn an_interrupted_run_restores_the_policy_and_shows_the_finished_rounds() {
    let mut ablated = Ablated::start();
    let guard = ablated.guard();
    let mut said = BufReader::new(ablated.run.stderr.take().expect("is piped")).lines().map_while(Result::ok);
    assert!(said.any(|line| line.contains("round 3/")));
    ablated.signal(libc::SIGINT);
    let said: Vec<String> = said.collect();
    assert!(said.iter().any(|line| line.contains("rounds that are finished")), "{said:?}");
    assert_eq!(ablated.run.wait().expect("our own child").code(), Some(0));
    assert_eq!(ablated.policy(), ablated.original);
    assert!(!ablated.journal() && !runs(guard));
}

#[test]
fn the_policy_of_a_run_killed_with_its_guard_can_be_restored() {
    let mut ablated = Ablated::start();
    let guard = ablated.guard();
    // SAFETY: sends a signal to the guard that this test has made start.
    assert_eq!(unsafe { libc::kill(i32::try_from(guard).expect("is a pid"), libc::SIGKILL) }, 0);
    ablated.signal(libc::SIGKILL);
    ablated.run.wait().expect("our own child");
    wait_for("the guard has ended", || !runs(guard));
    assert!(ablated.journal());
    let restore = Ablated::command(&ablated.gateway).arg("--restore").output().expect("runs");
    assert!(restore.status.success(), "{}", String::from_utf8_lossy(&restore.stderr));
    assert_eq!(ablated.policy(), ablated.original);
    assert!(!ablated.journal());
}

#[test]
fn a_foreign_change_ends_the_run_and_is_kept() {
    let mut ablated = Ablated::start();
    let theirs = json!({"rules": [{"id": "theirs", "when": "ssl", "action": "log"}]});
    let _ = ablated.gateway.api().put("policies/p", &theirs).expect(200);
    let mut said = String::new();
    let mut errors = ablated.run.stderr.take().expect("is piped");
    std::io::Read::read_to_string(&mut errors, &mut said).expect("is text");
    assert_eq!(ablated.run.wait().expect("our own child").code(), Some(1));
    assert!(said.contains("another client has changed policies/p"), "{said}");
    assert!(said.contains("left unchanged: p"), "{said}");
    let now = ablated.policy();
    assert_eq!(now["rules"][0]["id"], "theirs", "{now:#}");
    assert!(!ablated.journal());
}
