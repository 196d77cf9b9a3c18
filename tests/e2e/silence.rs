//! The silence switch and the log level take effect at once in every worker, without a reload.

use std::thread;

use weir_ledger::{Control, Report};
use weir_tests::origin::Echo;
use weir_tests::{Nginx, Request, Setup, wait};

use crate::LOOKS_EVERYWHERE;

/// One persistent connection to each of the two workers, found by the `pid` variable.
fn connection_to_each_worker(nginx: &Nginx) -> Vec<weir_tests::Connection> {
    let mut found: Vec<(String, weir_tests::Connection)> = Vec::new();
    wait::until("connections to both workers", || {
        let mut connections: Vec<_> = (0..8).map(|_| nginx.connect()).collect();
        for mut connection in connections.drain(..) {
            let pid = Request::get("/").send_on(&mut connection).header("x-pid").unwrap().to_owned();
            if found.iter().all(|(known, _)| *known != pid) {
                found.push((pid, connection));
            }
        }
        (found.len() == 2).then_some(())
    });
    found.into_iter().map(|(_, connection)| connection).collect()
}

#[test]
fn silence_acts_on_the_next_request_of_every_worker() {
    let nginx = Setup::policy(LOOKS_EVERYWHERE).proxy(Echo::start()).server("add_header X-Pid $pid always;").start();
    let mut connections = connection_to_each_worker(&nginx);
    let control = Control::open(&nginx.path("run")).unwrap();
    let workers = nginx.workers();
    for silent in [true, false, true, false] {
        control.set_silence(silent);
        for connection in &mut connections {
            let expected = if silent { 200 } else { 403 };
            for request in [Request::get("/attack-path"), Request::post("/", "text/plain", "attack-body")] {
                assert_eq!(request.send_on(connection).status, expected, "silent {silent}");
            }
        }
    }
    assert_eq!(nginx.workers(), workers, "no reload");
    assert_eq!(nginx.attacks(8).len(), 8);
}

#[test]
fn silence_survives_a_reload_and_a_restart() {
    let nginx = Setup::policy(LOOKS_EVERYWHERE).proxy(Echo::start()).start();
    Control::open(&nginx.path("run")).unwrap().set_silence(true);
    nginx.reload();
    assert_eq!(nginx.get("/attack-path").status, 200);
    Control::open(&nginx.path("run")).unwrap().set_silence(false);
    assert_eq!(nginx.get("/attack-path").status, 403);
}

#[test]
fn the_ledger_counts_every_rule_exactly_over_all_workers() {
    let text = r#"
policies:
  - id: p
    rules:
      - {id: every, when: 'http.request.method ne "NEVER"', action: {tag: x}}
      - {id: some, when: 'http.request.uri.query contains "hit"', action: log}
"#;
    let nginx = Setup::policy(text)
        .http("weir_sample 1;")
        .server("location / { try_files /a.txt =404; }")
        .file("html/a.txt", "a")
        .start();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut connection = nginx.connect();
                for at in 0..50 {
                    let target = if at % 5 == 0 { "/?hit" } else { "/" };
                    assert_eq!(Request::get(target).send_on(&mut connection).status, 200);
                }
            });
        }
    });
    let report = wait::until("a report of all requests", || {
        Report::read(&nginx.path("run")).ok().filter(|report| report.requests >= 200)
    });
    assert_eq!(report.requests, 200);
    let entry = |id: &str| {
        report.entries.iter().find(|entry| entry.entry.id == id).unwrap_or_else(|| panic!("{id} in {report:#?}"))
    };
    assert_eq!((entry("every").hits, entry("some").hits), (200, 40));
    assert!(entry("every").ns_total > 0.0 && report.total_ns > 0.0, "{report:#?}");
}

#[test]
fn the_log_level_changes_at_run_time() {
    let nginx =
        Setup::policy(LOOKS_EVERYWHERE).http("weir_log_level error;").error_level("debug").proxy(Echo::start()).start();
    let weir_lines =
        || nginx.error_log().lines().filter(|line| line.contains("weir") && !line.contains("[notice]")).count();
    assert_eq!(nginx.get("/attack-path").status, 403);
    let before = weir_lines();
    Control::open(&nginx.path("run")).unwrap().set_log_level(8);
    assert_eq!(nginx.get("/attack-path").status, 403);
    wait::until("messages of the new level", || (weir_lines() > before).then_some(()));
}
