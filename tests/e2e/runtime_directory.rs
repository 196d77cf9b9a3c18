//! The runtime directory: replaced, full, or attacked by a worker that was taken over. Workers serve the committed
//! revision, control lives on, and all is well again without a second reload.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weir_tests::wait::until;
use weir_tests::{Control, Gateway, Setup};

fn route(value: &str) -> Value {
    json!({"site": "all", "path": "/a", "respond": {"status": 200, "body": value}})
}

fn documents() -> [(&'static str, Value); 2] {
    [("sites/all", json!({"hosts": ["*"]})), ("routes/a", route("begin"))]
}

/// Puts a value, which all `workers` must apply, and asks several times for it.
fn reaches_all(gateway: &Gateway, value: &str, workers: usize) {
    let answer = gateway.api().put("routes/a", &route(value)).expect(200);
    let applied = answer.body["workers"].as_array().expect("tells of each worker");
    assert_eq!(applied.len(), workers, "{:#}", answer.body);
    assert!(applied.iter().all(|worker| worker["result"] == "applied"), "{:#}", answer.body);
    for _ in 0..20 {
        assert_eq!(gateway.nginx.get("/a").text(), value);
    }
}

fn is_root() -> bool {
    // SAFETY: geteuid has no preconditions and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

#[test]
fn a_replaced_runtime_directory_is_followed_without_a_restart_of_control() {
    for renamed in [false, true] {
        let gateway = Gateway::start(&documents());
        reaches_all(&gateway, "before", 2);
        let run = gateway.nginx.path("run");
        if renamed {
            fs::rename(&run, gateway.nginx.path("run.old")).expect("ours");
        } else {
            fs::remove_dir_all(&run).expect("ours");
        }
        gateway.nginx.reload();
        until("workers with the committed revision", || (gateway.nginx.get("/a").text() == "before").then_some(()));
        until("the socket", || gateway.api().try_call("GET", "/healthz", &[], None).ok());
        until("the old workers' end", || {
            let workers = gateway.api().get("workers").body;
            let live = workers["workers"].as_array()?.iter().filter(|worker| worker["state"] == "running").count();
            (live == 2).then_some(())
        });
        reaches_all(&gateway, "after", 2);
        // A second control is still refused.
        let weir = weir_tests::gateway::weir();
        let other = gateway.nginx.path("other-state");
        let second = Command::new(weir).arg("--runtime").arg(&run).arg("control").arg("--state").arg(other).output();
        let second = second.expect("starts");
        let said = String::from_utf8_lossy(&second.stderr).into_owned();
        assert!(!second.status.success() && said.contains("only one control"), "{said}");
    }
}

#[test]
fn workers_of_a_replaced_runtime_directory_get_changes_until_the_reload() {
    let gateway = Gateway::start(&documents());
    fs::rename(gateway.nginx.path("run"), gateway.nginx.path("run.old")).expect("ours");
    until("the socket", || gateway.api().try_call("GET", "/healthz", &[], None).ok());
    for value in ["one", "two"] {
        reaches_all(&gateway, value, 2);
    }
    gateway.nginx.reload();
    until("workers with the committed revision", || (gateway.nginx.get("/a").text() == "two").then_some(()));
}

/// A small file system on a directory, until it is dropped.
struct Small(PathBuf);

impl Small {
    fn mount(at: &Path, size: &str) -> Self {
        fs::create_dir_all(at).expect("the prefix is writable");
        let status = Command::new("mount").args(["-t", "tmpfs", "-o", size, "weir-test"]).arg(at).status();
        assert!(status.expect("is there").success(), "mounting needs root");
        Self(at.to_owned())
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn with_a_full_runtime_directory_changes_reach_reloaded_workers() {
    let setup = Setup::gateway();
    let run = setup.prefix().join("run");
    let small = Small::mount(&run, "size=64m,mode=0700");
    let gateway = Gateway::start_with(setup, &documents());
    reaches_all(&gateway, "before", 2);
    let ballast = run.join("ballast");
    // All the room there is: the rest of what the journal has reserved is enough for small changes.
    let _ = fs::write(&ballast, vec![1; 64 << 20]).expect_err("it is full");
    gateway.nginx.reload();
    assert_eq!(gateway.nginx.get("/a").text(), "before");
    until("workers without the bus", || {
        let workers = gateway.api().get("workers").body;
        let mut live = workers["workers"].as_array()?.iter().filter(|worker| worker["state"] == "running");
        (live.clone().count() == 2 && live.all(|worker| worker["bus"] == false)).then_some(())
    });
    for value in ["one", "two", "three"] {
        reaches_all(&gateway, value, 2);
    }
    let log = gateway.nginx.error_log();
    assert!(log.contains("no shared memory with control") && log.contains("No space left"), "{log}");
    // What does not fit is refused with the reason, and nothing is half applied.
    let names: Vec<String> = (0..18).map(|n| format!("routes/long{n}")).collect();
    let text = "x".repeat(200_000);
    let respond =
        |name: &String| json!({"site": "all", "path": format!("/{name}"), "respond": {"status": 200, "body": text}});
    let many: Vec<(&str, Value)> = names.iter().map(|name| (name.as_str(), respond(name))).collect();
    let long = gateway.api().put_all(&many);
    assert!(long.status >= 500 && long.body.to_string().contains("make room"), "{:#}", long.body);
    gateway.nginx.kill_worker();
    until("the new worker", || {
        let workers = gateway.api().get("workers").body;
        let agree = workers["workers"].as_array()?.iter().filter(|worker| worker["agrees"] == true).count();
        (agree == 2).then_some(())
    });
    reaches_all(&gateway, "four", 2);
    fs::remove_file(&ballast).expect("ours");
    let _ = gateway.api().put_all(&many).expect(200);
    reaches_all(&gateway, "room again", 2);
    gateway.nginx.reload();
    until("workers with the bus", || {
        let workers = gateway.api().get("workers").body;
        let mut live = workers["workers"].as_array()?.iter().filter(|worker| worker["state"] == "running");
        (live.clone().count() == 2 && live.all(|worker| worker.get("bus").is_none())).then_some(())
    });
    reaches_all(&gateway, "end", 2);
    drop((gateway, small));
}

/// The descriptors of a process: target and access mode.
fn descriptors(pid: i32) -> Vec<(PathBuf, i32)> {
    let all = fs::read_dir(format!("/proc/{pid}/fd")).expect("it runs").flatten();
    all.filter_map(|entry| {
        let about = fs::read_to_string(format!("/proc/{pid}/fdinfo/{}", entry.file_name().to_str()?)).ok()?;
        let flags = about.lines().find_map(|line| line.strip_prefix("flags:"))?;
        let flags = i32::from_str_radix(flags.trim(), 8).ok()?;
        Some((fs::read_link(entry.path()).ok()?, flags & libc::O_ACCMODE))
    })
    .collect()
}

#[test]
fn a_worker_inherits_nothing_with_which_it_could_write_the_journal_or_truncate_shared_memory() {
    let gateway = Gateway::start(&documents());
    let run = gateway.nginx.path("run");
    let journal = run.join("policy.journal");
    for worker in gateway.nginx.workers() {
        let own: Vec<_> = descriptors(worker).into_iter().filter(|(path, _)| path.starts_with(&run)).collect();
        assert!(own.iter().any(|(path, _)| *path == journal), "{own:?}");
        for (path, mode) in own {
            let name = path.file_name().expect("a file").to_string_lossy().into_owned();
            let is_bell = name.contains("bell");
            let may = is_bell || (path == journal && mode == libc::O_RDONLY) || name == "objects";
            assert!(may, "{name}: access mode {mode}");
        }
        let maps = fs::read_to_string(format!("/proc/{worker}/maps")).expect("it runs");
        for line in maps.lines().filter(|line| line.contains("policy.journal")) {
            assert!(line.contains("r--s"), "{line}");
        }
    }
    for entry in fs::read_dir(&run).expect("ours").flatten() {
        let mode = entry.metadata().expect("ours").permissions().mode() & 0o777;
        assert!(mode == 0o600 || entry.file_name() == "objects", "{:?}: {mode:o}", entry.file_name());
    }
    if is_root() {
        // The user of workers cannot open the inherited file anew, for writing.
        let inherited = File::open(&journal).expect("ours");
        let mut again = Command::new("sh");
        again.args(["-c", "echo x >> /proc/self/fd/0"]).uid(65534).gid(65534).stdin(Stdio::from(inherited));
        let output = again.output().expect("starts");
        assert!(String::from_utf8_lossy(&output.stderr).contains("ermission denied"), "{output:?}");
    }
}

/// Writes odd words all over a region, as a worker that was taken over can, until `stop`.
fn scribble(region: &Path, stop: &AtomicBool) {
    let file = OpenOptions::new().write(true).open(region).expect("ours");
    let length = file.metadata().expect("ours").size();
    let (front, mut state) = (16 << 10, 0x9e37_79b9_7f4a_7c15_u64);
    while !stop.load(Ordering::Relaxed) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        // The header, slots and indices get as much as all the rest.
        let at = if state & 1 == 0 { (state >> 8) % front } else { (state >> 8) % length } & !7;
        let small = if state & 6 == 0 { state >> 56 } else { state };
        file.write_all_at(&small.to_ne_bytes(), at.min(length - 8)).expect("it has this length");
    }
}

#[test]
fn a_worker_that_was_taken_over_neither_stops_control_nor_changes_anything() {
    let gateway = Gateway::start(&documents());
    let run = gateway.nginx.path("run");
    let region = fs::read_dir(&run).expect("ours").flatten().map(|entry| entry.path());
    let region = region.filter(|path| path.extension().is_some_and(|end| end.to_string_lossy().parse::<u64>().is_ok()));
    let region = region.filter(|path| path.file_stem().is_some_and(|stem| stem == "bus")).max().expect("a region");
    let control = gateway.control.pid();
    let stop = AtomicBool::new(false);
    let mut made = 1;
    thread::scope(|scope| {
        scope.spawn(|| scribble(&region, &stop));
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(4) {
            let answer =
                gateway.api().call("PUT", "/api/v1/routes/a?timeout=200ms", Some(&route(&format!("value {made}"))));
            assert!(matches!(answer.status, 200 | 202), "{:#}", answer.body);
            made += 1;
            let _ = gateway.api().get("workers").expect(200);
            let _ = gateway.api().call("GET", "/metrics", None).expect(200);
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(gateway.control.pid(), control);
    // Control has published what was put, and nothing else.
    let newest = gateway.api().get("revisions?limit=1").body["revisions"][0]["revision"].as_u64();
    assert_eq!(newest, Some(made), "{made} revisions were made");
    let status = Command::new(weir_tests::gateway::weir()).arg("--runtime").arg(&run).arg("status").output();
    let status = status.expect("starts");
    assert!(status.status.success(), "{status:?}");
    // New workers of a new region, as after a reload; the journal was never in danger.
    gateway.nginx.reload();
    until("the committed value", || (gateway.nginx.get("/a").text() == format!("value {}", made - 1)).then_some(()));
    until("two workers that agree", || {
        let workers = gateway.api().get("workers").body;
        let agree = workers["workers"].as_array()?.iter().filter(|worker| worker["agrees"] == true).count();
        (agree >= 2).then_some(())
    });
    let answer = gateway.api().call("PUT", "/api/v1/routes/a?timeout=500ms", Some(&route("after")));
    assert!(matches!(answer.status, 200 | 202), "{:#}", answer.body);
    until("the change", || (gateway.nginx.get("/a").text() == "after").then_some(()));
}

#[test]
fn control_survives_files_that_are_truncated_under_it() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (state, run) = (directory.path().join("state"), directory.path().join("run"));
    let control = Control::start(&state, &run);
    let _ = control.api.put_all(&documents()).expect(200);
    // Without workers, which would be killed. The ledger's control file is made as nginx's master does.
    drop(weir_ledger::Control::open_or_create(&run).expect("ours"));
    thread::sleep(Duration::from_millis(1500));
    for name in ["control", "policy.journal"] {
        let file = OpenOptions::new().write(true).open(run.join(name)).expect("ours");
        file.set_len(0).expect("ours");
        thread::sleep(Duration::from_millis(1500));
        let answer = control.api.put("routes/a", &route(name));
        assert!(matches!(answer.status, 200 | 500 | 507), "{:#}", answer.body);
        assert_eq!(control.api.call("GET", "/healthz", None).status, 200);
    }
    until("a line in the log", || control.log().contains("are gone").then_some(()));
}
