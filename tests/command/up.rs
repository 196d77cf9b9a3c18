//! `weir up` reports when it is ready, and leaves nothing behind, however it ends.

use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;

use crate::running::{Running, command, root, runs, wait_for};

/// The status that curl gets for a command that `weir up` prints.
fn status_of(line: &str) -> String {
    let quiet = line.replacen("curl -i", "curl -s -o /dev/null -w '%{http_code}'", 1);
    let output = Command::new("bash").args(["-c", &quiet]).output().expect("curl is installed");
    String::from_utf8(output.stdout).expect("is text")
}

#[test]
fn suggested_commands_answer_as_announced() {
    let up = Running::start(&[]);
    let tries: Vec<_> = up.introduction.iter().filter_map(|line| line.trim().split_once('#')).collect();
    assert!(tries.len() >= 5, "{:?}", up.introduction);
    for (line, expectation) in tries {
        let expected = expectation.trim().get(..3).expect("begins with a status");
        assert_eq!(status_of(line), expected, "{line}# {expectation}");
    }
}

#[test]
fn the_page_of_messages_is_served_with_its_client() {
    let up = Running::start(&[]);
    for (path, kind, file) in [
        ("/counter", "text/html; charset=utf-8", "examples/counter.html"),
        ("/weir-messages.js", "text/javascript; charset=utf-8", "crates/messages/client/weir-messages.js"),
    ] {
        let url = format!("http://127.0.0.1:{}{path}", up.port);
        let output =
            Command::new("curl").args(["-s", "-w", "%{content_type}", &url]).output().expect("curl is installed");
        let text = std::fs::read_to_string(root().join(file)).expect("is there");
        assert_eq!(String::from_utf8(output.stdout).expect("is text"), text + kind, "{path}");
    }
}

#[test]
fn an_attack_is_reported_in_one_readable_line() {
    let up = Running::start(&[]);
    let url = format!("curl -i 'http://127.0.0.1:{}/search?q=1+union+select+password'", up.port);
    assert_eq!(status_of(&url), "403");
    let line = std::iter::from_fn(|| up.line()).find(|line| line.contains("sql-injection")).expect("a line about it");
    assert!(line.contains("block 403 127.0.0.1 GET /search?q=1+union+select+password: "), "{line}");
    assert!(line.contains("(SQL injection)") && line.contains("union select"), "{line}");
}

#[test]
fn a_signal_stops_everything_and_leaves_nothing() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let mut up = Running::start(&[]);
        let (dir, nginx) = (up.dir(), up.nginx());
        assert!(nginx.len() >= 3 && nginx.iter().all(|&pid| runs(pid)), "a master and two workers: {nginx:?}");
        up.signal(signal);
        assert!(up.child.wait().expect("ends").success());
        assert!(!nginx.iter().any(|&pid| runs(pid)), "{nginx:?}");
        assert!(!dir.exists(), "{}", dir.display());
        TcpListener::bind((Ipv4Addr::LOCALHOST, up.port)).expect("the port is free again");
    }
}

#[test]
fn killing_it_ends_nginx_and_the_next_run_works() {
    let mut up = Running::start(&[]);
    let nginx = up.nginx();
    up.child.kill().expect("kills");
    up.child.wait().expect("reaps");
    wait_for("nginx ends with its parent", || !nginx.iter().any(|&pid| runs(pid)));
    assert!(up.dir().exists(), "nobody could clean up");
    let mut again = Running::start_on(up.port, &[]);
    again.signal(libc::SIGTERM);
    assert!(again.child.wait().expect("ends").success());
}

#[test]
fn it_reports_the_death_of_nginx_and_ends() {
    let mut up = Running::start(&[]);
    let nginx = up.nginx();
    // SAFETY: sends a signal to the nginx that this test has started.
    unsafe { libc::kill(i32::try_from(nginx[0]).expect("is a pid"), libc::SIGKILL) };
    assert_eq!(up.child.wait().expect("ends").code(), Some(1));
    assert!(!nginx.iter().any(|&pid| runs(pid)), "workers without a master: {nginx:?}");
}

#[test]
fn a_second_instance_on_the_same_port_is_refused_without_harm() {
    let up = Running::start(&[]);
    let port = up.port.to_string();
    let output = command(&["up", "--port", &port]).output().expect("runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(error.contains(&format!("port {port} on 127.0.0.1 is taken")) && error.contains("nginx"), "{error}");
    assert_eq!(status_of(&format!("curl -i http://127.0.0.1:{port}/")), "200");
}

#[test]
fn an_invalid_policy_is_refused_with_its_position() {
    let dir = tempfile::tempdir().expect("temp dir");
    let policy = dir.path().join("bad.yaml");
    std::fs::write(
        &policy,
        "policies:\n  - id: p\n    rules:\n      - {id: a, when: 'http.hots eq \"x\"', action: block}\n",
    )
    .expect("writes");
    let port = weir_tests::port::free().to_string();
    let output =
        command(&["up", "--port", &port, "--policy", policy.to_str().expect("is text")]).output().expect("runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(error.contains("bad.yaml:4:") && error.contains("http.host"), "{error}");
}

#[test]
fn a_given_directory_keeps_its_logs() {
    let dir = tempfile::tempdir().expect("temp dir");
    let run = dir.path().join("run");
    let mut up = Running::start(&["--dir", run.to_str().expect("is text"), "--workers", "1"]);
    assert_eq!(status_of(&format!("curl -i http://127.0.0.1:{}/", up.port)), "200");
    up.signal(libc::SIGTERM);
    assert!(up.child.wait().expect("ends").success());
    let access = std::fs::read_to_string(run.join("access.log")).expect("stays");
    assert_eq!(access.lines().count(), 1, "written before nginx ended: {access}");
    assert!(run.join("nginx.conf").exists());
}

#[test]
fn every_example_is_a_valid_policy() {
    for example in std::fs::read_dir(root().join("examples")).expect("is there").flatten() {
        let path = example.path();
        if path.extension().is_some_and(|end| end == "yaml" || end == "json") {
            let mut check = command(&["check", path.to_str().expect("is text")]);
            if path.ends_with("gateway.yaml") {
                // `weir up` applies both.
                check.arg(root().join("examples/demo.yaml"));
            }
            let output = check.output().expect("runs");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }
}
