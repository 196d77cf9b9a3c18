//! Reloads: no request fails, a valid policy takes over, an invalid one is rejected as a whole.

use std::sync::atomic::Ordering;
use std::thread;

use weir_tests::load::{Life, during};
use weir_tests::origin::Echo;
use weir_tests::{Request, Setup, wait};

use crate::LOOKS_EVERYWHERE;

fn reloads_under_load(life: Life) {
    let nginx = Setup::policy(LOOKS_EVERYWHERE).proxy(Echo::start()).start();
    let request = Request::post("/x?a=b", "application/x-www-form-urlencoded", "c=d").header("Cookie", "a=b");
    let totals = during(nginx.port, 3, life, &request, |count| {
        for round in 0..5 {
            nginx.write_policy(&format!("# {round}\n{LOOKS_EVERYWHERE}"));
            nginx.reload();
            let before = count.load(Ordering::Relaxed);
            wait::until("traffic after the reload", || (count.load(Ordering::Relaxed) > before + 20).then_some(()));
        }
    });
    assert!(
        totals.failed.is_empty(),
        "{} of {} failed: {:?}",
        totals.failed.len(),
        totals.answered,
        &totals.failed[..1]
    );
    assert!(totals.answered > 100);
    assert!(nginx.crashes().is_empty(), "{:?}", nginx.crashes());
}

#[test]
fn no_request_fails_on_new_connections() {
    reloads_under_load(Life::One);
}

#[test]
fn no_request_fails_on_kept_connections() {
    reloads_under_load(Life::KeepAlive);
}

#[test]
fn a_reload_activates_the_new_policy_and_revision() {
    let nginx = Setup::policy(LOOKS_EVERYWHERE).proxy(Echo::start()).start();
    assert_eq!(nginx.get("/attack-path").status, 403);
    nginx.write_policy(&LOOKS_EVERYWHERE.replace("attack-path", "other-path"));
    assert_eq!(nginx.get("/attack-path").status, 403, "not before the reload");
    nginx.reload();
    assert_eq!((nginx.get("/attack-path").status, nginx.get("/other-path").status), (200, 403));
    let lines = nginx.accesses(4);
    let revisions: std::collections::HashSet<_> = lines.iter().map(|line| line["revision"].as_str().unwrap()).collect();
    assert_eq!(revisions.len(), 2, "{revisions:?}");
}

/// An invalid policy: an unknown field on line 5, a wrong type on line 6.
const BAD: &str = r#"
policies:
  - id: waf
    rules:
      - {id: a, when: 'http.hots eq "x"', action: block}
      - {id: b, when: 'ip.src contains "x"', action: blok}
"#;

#[test]
fn an_invalid_policy_is_refused_and_the_old_one_stays_active() {
    let nginx = Setup::policy(LOOKS_EVERYWHERE).proxy(Echo::start()).start();
    let workers = nginx.workers();
    nginx.write_policy(BAD);
    nginx.reload_refused("policy.yaml:5:");
    thread::sleep(std::time::Duration::from_millis(200));
    assert_eq!(nginx.workers(), workers, "the old workers serve on");
    assert_eq!((nginx.get("/attack-path").status, nginx.get("/").status), (403, 200));
    let path = nginx.path("policy.yaml").display().to_string();
    let log = nginx.error_log();
    for expected in [format!("{path}:5:"), format!("{path}:6:"), "http.host".into()] {
        assert!(log.contains(&expected), "{expected} in {log}");
    }
    nginx.write_policy(LOOKS_EVERYWHERE);
    nginx.reload();
    assert_eq!(nginx.get("/attack-path").status, 403);
}

#[test]
fn nginx_t_prints_every_error_with_position_and_hint() {
    let check = Setup::policy(BAD).check();
    assert!(!check.status.success());
    let said = String::from_utf8_lossy(&check.stderr).into_owned();
    for expected in ["policy.yaml:5:", "policy.yaml:6:", "http.hots", "http.host", "^", "blok", "block"] {
        assert!(said.contains(expected), "{expected} in {said}");
    }
    let good = Setup::policy(LOOKS_EVERYWHERE).check();
    assert!(good.status.success(), "{}", String::from_utf8_lossy(&good.stderr));
}

#[test]
fn nginx_t_says_if_the_runtime_directory_cannot_be_used() {
    for (setup, is_refused, expected) in [
        (Setup::policy(LOOKS_EVERYWHERE), false, "there will be no counters"),
        (Setup::gateway(), true, "gateways would serve nothing"),
    ] {
        let run = setup.prefix().join("run");
        std::fs::remove_dir_all(&run).unwrap();
        assert!(setup.check().status.success() && run.is_dir(), "a missing one is made");
        std::fs::remove_dir_all(&run).unwrap();
        std::fs::write(&run, "a file").unwrap();
        let check = setup.check();
        let said = String::from_utf8_lossy(&check.stderr).into_owned();
        assert_eq!(check.status.success(), !is_refused, "{said}");
        assert!(said.contains(expected) && said.contains(&run.display().to_string()), "{said}");
    }
}

#[test]
fn invalid_directives_fail_the_check_with_a_reason() {
    for (directive, expected) in [
        ("weir maybe;", "weir"),
        ("weir_fail sometimes;", "weir_fail"),
        ("weir_body_limit lots;", "weir_body_limit"),
        ("weir_apply wfa;", "waf"),
        ("weir_access_log /tmp/x bufer=1k;", "bufer"),
        ("weir_request_id_header;", "weir_request_id_header"),
        ("weir_policy /nonexistent.yaml;", "weir_policy"),
    ] {
        let setup = Setup::policy(LOOKS_EVERYWHERE);
        let check = if directive.contains("policy") || directive.contains("header") {
            setup.http(directive)
        } else {
            setup.server(directive)
        }
        .check();
        let said = String::from_utf8_lossy(&check.stderr).into_owned();
        assert!(!check.status.success(), "{directive}");
        assert!(said.contains(expected), "{directive}: {said}");
    }
    let check = Setup::weir().http("weir on; weir_policy /nonexistent.yaml;").check();
    assert!(String::from_utf8_lossy(&check.stderr).contains("/nonexistent.yaml"));
}

#[test]
fn many_reloads_leak_nothing() {
    let nginx = Setup::policy(LOOKS_EVERYWHERE).proxy(Echo::start()).start();
    let entries = |path: String| std::fs::read_dir(path).unwrap().count();
    let state = |nginx: &weir_tests::Nginx| {
        let ledgers = std::fs::read_dir(nginx.path("run")).unwrap().count();
        (entries(format!("/proc/{}/fd", nginx.master())), ledgers)
    };
    for _ in 0..3 {
        nginx.reload();
    }
    let before = state(&nginx);
    for _ in 0..10 {
        nginx.reload();
    }
    wait::until("as many open files and ledgers as before", || (state(&nginx) <= before).then_some(()));
    assert_eq!(nginx.get("/attack-path").status, 403);
}
