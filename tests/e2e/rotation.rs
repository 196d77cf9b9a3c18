//! Log rotation under load: no line is lost, torn, or written twice.

use std::collections::HashSet;
use std::time::Duration;
use std::{fs, thread};

use weir_tests::load::{Life, during};
use weir_tests::{Request, Setup, log, wait};

const LOGS_ALL: &str = "policies: [{id: p, rules: [{id: seen, when: 'true', action: log}]}]\n";

#[test]
fn logs_renamed_and_reopened_under_load_lose_and_tear_no_line() {
    const ROTATIONS: usize = 5;
    let mut nginx =
        Setup::policy(LOGS_ALL).server("location / { try_files /a.txt =404; }").file("html/a.txt", "a").start();
    let totals = during(nginx.port, 4, Life::KeepAlive, &Request::get("/"), |count| {
        for rotation in 0..ROTATIONS {
            let before = count.load(std::sync::atomic::Ordering::Relaxed);
            wait::until("some traffic between rotations", || {
                (count.load(std::sync::atomic::Ordering::Relaxed) > before + 200).then_some(())
            });
            for name in ["access.log", "attack.log"] {
                fs::rename(nginx.path(name), nginx.path(&format!("{name}.{rotation}"))).unwrap();
            }
            nginx.reopen();
            wait::until("the logs to be there again", || {
                (nginx.path("access.log").exists() && nginx.path("attack.log").exists()).then_some(())
            });
            // Workers reopen their logs a little after the master.
            thread::sleep(Duration::from_millis(100));
        }
    });
    assert!(totals.failed.is_empty(), "{:?}", totals.failed);
    nginx.stop();
    for name in ["access.log", "attack.log"] {
        let rotated = (0..ROTATIONS).map(|rotation| format!("{name}.{rotation}"));
        let files: Vec<Vec<_>> = rotated.chain([name.to_owned()]).map(|name| log::whole(&nginx.path(&name))).collect();
        let sizes: Vec<usize> = files.iter().map(Vec::len).collect();
        assert_eq!(sizes.iter().sum::<usize>(), totals.answered, "{name}: {sizes:?}");
        assert!(sizes.iter().filter(|size| **size > 0).count() > ROTATIONS / 2, "{name}: {sizes:?}");
        let ids: HashSet<_> = files.iter().flatten().map(|line| line["request_id"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), totals.answered, "{name}: lines written twice");
    }
}

#[test]
fn lines_are_flushed_by_time_and_by_size() {
    let setup = Setup::weir();
    let prefix = setup.prefix().display().to_string();
    let server = format!(
        "weir_access_log {prefix}/slow.log buffer=64k flush=400ms;\nlocation / {{ return 204; }}\n\
         location /big {{ weir_access_log {prefix}/big.log buffer=4k flush=1h; return 204; }}"
    );
    let http = format!("weir_policy {prefix}/policy.yaml; weir on;");
    let nginx = setup.file("policy.yaml", LOGS_ALL).http(&http).server(&server).workers(1).start();
    assert_eq!(nginx.get("/").status, 204);
    assert!(log::lines(&nginx.path("slow.log")).is_empty(), "held for the flush time");
    assert_eq!(log::wait(&nginx.path("slow.log"), 1).len(), 1);
    let mut connection = nginx.connect();
    for _ in 0..50 {
        assert_eq!(Request::get("/big").send_on(&mut connection).status, 204);
    }
    assert!(log::lines(&nginx.path("big.log")).len() > 10, "a full buffer is written without waiting");
}

#[test]
fn a_graceful_stop_and_a_reload_flush_everything() {
    let setup = Setup::weir();
    let prefix = setup.prefix().display().to_string();
    let http = format!("weir_policy {prefix}/policy.yaml; weir on;");
    let server = format!("weir_access_log {prefix}/held.log flush=1h;\nlocation / {{ return 204; }}");
    let mut nginx = setup.file("policy.yaml", LOGS_ALL).http(&http).server(&server).start();
    for _ in 0..20 {
        assert_eq!(nginx.get("/").status, 204);
    }
    nginx.reload();
    assert_eq!(log::wait(&nginx.path("held.log"), 20).len(), 20);
    for _ in 0..20 {
        assert_eq!(nginx.get("/").status, 204);
    }
    nginx.stop();
    assert_eq!(log::whole(&nginx.path("held.log")).len(), 40);
}
