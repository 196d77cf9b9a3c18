//! A fault in Weir never takes the site down: panics are caught, killed workers are replaced.

use std::sync::atomic::Ordering;

use serde_json::json;
use weir_ledger::Control;
use weir_tests::load::{Life, during};
use weir_tests::origin::Echo;
use weir_tests::{Nginx, Request, Setup, wait};

use crate::LOOKS_EVERYWHERE;

fn panicking(phase: &str, fail: &str) -> Nginx {
    let server = format!("weir_fail {fail};\nweir_inject_panic {phase};\nadd_header X-Id $weir_request_id always;");
    let rule = "    rules:\n      - {id: odd, when: 'http.response.code eq 599', action: log}\n";
    let policy = LOOKS_EVERYWHERE.replace("    rules:\n", rule);
    Setup::policy(&policy).environment("WEIR_TESTING", "1").server(&server).proxy(Echo::start()).start()
}

#[test]
fn a_panic_follows_the_fail_mode_and_the_worker_lives_on() {
    for (phase, fail, status) in [
        ("request", "open", 200),
        ("request", "closed", 500),
        ("body", "open", 200),
        ("body", "closed", 500),
        ("response", "open", 200),
        ("response", "closed", 500),
        ("log", "open", 200),
        ("log", "closed", 200),
    ] {
        let nginx = panicking(phase, fail);
        let workers = nginx.workers();
        let mut ids = Vec::new();
        for round in 0..6 {
            let response = nginx.send(&Request::post("/", "application/x-www-form-urlencoded", "a=b"));
            assert_eq!(response.status, status, "{phase} {fail} round {round}");
            ids.push(response.header("x-id").unwrap_or_default().to_owned());
        }
        assert_eq!(nginx.workers(), workers, "{phase} {fail}: a worker died");
        for id in ids {
            wait::until(&format!("{phase} {fail}: an error line with the request id {id}"), || {
                nginx.error_log().contains(&id).then_some(())
            });
        }
        assert!(nginx.crashes().is_empty());
        let faults =
            || Control::open(&nginx.path("run")).unwrap().workers().iter().map(|worker| worker.faults).sum::<u64>();
        wait::until("the faults to be counted", || (faults() >= 6).then_some(()));
    }
}

#[test]
fn a_panic_is_a_fail_verdict_in_the_log_when_closed() {
    let mut nginx = panicking("request", "closed");
    assert_eq!(nginx.get("/").status, 500);
    nginx.stop();
    let line = &nginx.accesses(1)[0];
    assert_eq!((&line["verdict"], &line["status"]), (&json!("fail"), &json!(500)), "{line:#}");
}

#[test]
fn panics_can_be_injected_only_in_testing_mode() {
    let nginx = Setup::policy(LOOKS_EVERYWHERE)
        .server("weir_fail closed;\nweir_inject_panic request;")
        .proxy(Echo::start())
        .start();
    assert_eq!(nginx.get("/").status, 200);
    assert!(nginx.error_log().contains("weir_inject_panic"), "{}", nginx.error_log());
}

#[test]
fn a_killed_worker_is_replaced_and_counters_and_switches_continue() {
    let nginx = Setup::policy(LOOKS_EVERYWHERE).proxy(Echo::start()).start();
    for _ in 0..3 {
        let (old, new) = nginx.kill_worker();
        assert_eq!((nginx.get("/").status, nginx.get("/attack-path").status), (200, 403), "after {old} came {new}");
    }
    let control = Control::open(&nginx.path("run")).unwrap();
    wait::until("all workers in the control file", || {
        let known: Vec<_> =
            control.workers().into_iter().filter(|worker| worker.alive).map(|worker| worker.pid as i32).collect();
        nginx.workers().iter().all(|pid| known.contains(pid)).then_some(())
    });
    control.set_silence(true);
    assert_eq!(nginx.get("/attack-path").status, 200);
    control.set_silence(false);
    assert_eq!(nginx.get("/attack-path").status, 403);
}

#[test]
fn workers_killed_under_load_lose_only_their_own_connections() {
    let nginx = Setup::policy(LOOKS_EVERYWHERE).proxy(Echo::start()).start();
    let totals = during(nginx.port, 4, Life::One, &Request::get("/?a=b"), |count| {
        for _ in 0..3 {
            nginx.kill_worker();
            let before = count.load(Ordering::Relaxed);
            wait::until("traffic after the kill", || (count.load(Ordering::Relaxed) > before + 20).then_some(()));
        }
    });
    // Each kill may interrupt the requests in flight on that worker: at most one per client.
    assert!(totals.failed.len() <= 3 * 4, "{:?}", totals.failed);
}
