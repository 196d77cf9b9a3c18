//! Facts and baselines of a real nginx, with and without keepalive connections to the upstream.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use weir_diagnose::baseline::store::Store;
use weir_diagnose::baseline::{Area, Comparison};
use weir_diagnose::facts::{BinaryKind, CollectError, Facts, OptimisationLevel, Options, Role, TailCalls, collect};

const PATIENCE: Duration = Duration::from_secs(20);

/// An nginx that ends with the test.
struct Nginx {
    child: Child,
    port: u16,
}

impl Nginx {
    fn start(dir: &Path, configuration: &str, port: u16) -> Self {
        fs::create_dir_all(dir).expect("creates");
        fs::write(dir.join("nginx.conf"), configuration).expect("writes");
        let mut command = Command::new("nginx");
        command.arg("-p").arg(dir).args(["-c", "nginx.conf"]).stderr(Stdio::null());
        let child = command.spawn().expect("nginx starts");
        let nginx = Self { child, port };
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() || nginx.workers().len() < 2 {
            assert!(began.elapsed() < PATIENCE, "nginx does not listen; see {}", dir.display());
            std::thread::sleep(Duration::from_millis(20));
        }
        nginx
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Workers that have started: they then have their title.
    fn workers(&self) -> Vec<u32> {
        let pid = self.pid();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        let title = |pid: &str| fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let workers = children.split_whitespace().filter(|pid| title(pid).contains("worker process"));
        workers.filter_map(|pid| pid.parse().ok()).collect()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let pid = i32::try_from(self.child.id()).expect("fits");
        if matches!(self.child.try_wait(), Ok(None)) {
            // SAFETY: the child has not been waited for, so the pid is still its own.
            unsafe { libc::kill(pid, libc::SIGTERM) };
            let _ = self.child.wait();
        }
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("binds").port()
}

const HEAD: &str =
    "daemon off; worker_processes 2; pid nginx.pid; error_log error.log warn; events { worker_connections 256; }\n";
const TEMPORARY: &str =
    "client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;\n";

fn upstream(dir: &Path) -> Nginx {
    let port = free_port();
    let text = format!(
        "{HEAD}http {{ {TEMPORARY} access_log off; keepalive_requests 100000; server {{ listen 127.0.0.1:{port}; return 200 ok; }} }}"
    );
    Nginx::start(&dir.join("upstream"), &text, port)
}

/// The gateway's configuration, with the upstream block in a separate file.
fn gateway(dir: &Path, port: u16, to: u16, kept: bool, gzip: bool) -> Nginx {
    let dir = dir.join("gateway");
    fs::create_dir_all(dir.join("conf.d")).expect("creates");
    let (keep, version) = if kept {
        ("    keepalive 16;\n", "proxy_http_version 1.1; proxy_set_header Connection '';")
    } else {
        ("", "")
    };
    let block = format!("# the upstream\nupstream backend {{\n    server 127.0.0.1:{to};\n{keep}}}\n");
    fs::write(dir.join("conf.d/upstream.conf"), block).expect("writes");
    let gzip = if gzip { "gzip on;" } else { "" };
    let text = format!(
        "{HEAD}http {{ {TEMPORARY} access_log access.log; include conf.d/*.conf;\n  server {{\n    listen 127.0.0.1:{port};\n    \
         location /status {{ stub_status; access_log off; }}\n    location / {{ {gzip} proxy_pass http://backend; {version} }}\n  }}\n}}"
    );
    Nginx::start(&dir, &text, port)
}

/// Sends requests on two connections until it is dropped.
struct Load {
    stop: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Load {
    fn on(port: u16) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let one = || {
            let stop = stop.clone();
            std::thread::spawn(move || {
                let mut connection = TcpStream::connect(("127.0.0.1", port)).expect("connects");
                let mut buffer = [0; 4096];
                while !stop.load(Ordering::Relaxed) {
                    connection.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").expect("writes");
                    let length = connection.read(&mut buffer).expect("reads");
                    if length == 0 || buffer[..length].windows(17).any(|part| part == b"Connection: close") {
                        connection = TcpStream::connect(("127.0.0.1", port)).expect("connects");
                    }
                }
            })
        };
        Self { threads: vec![one(), one()], stop }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the load ran through");
        }
    }
}

fn facts(nginx: &Nginx, profile: bool) -> Facts {
    let options = Options {
        duration: Duration::from_millis(1500),
        profile,
        requests_from: Some(format!("http://127.0.0.1:{}/status", nginx.port)),
        ..Options::default()
    };
    let _load = Load::on(nginx.port);
    collect(nginx.pid(), &options, &AtomicBool::new(false), &mut |_| {}).expect("gathers")
}

fn directory() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("creates");
    // nginx drops its privileges: workers must reach their files.
    let path = dir.path().to_owned();
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("permits");
    (dir, path)
}

#[test]
fn a_running_nginx_is_known_from_outside() {
    let (_kept, dir) = directory();
    let backend = upstream(&dir);
    let nginx = gateway(&dir, free_port(), backend.port, false, true);
    let facts = facts(&nginx, false);
    let process = facts.process.as_ref().expect("known");
    assert_eq!((process.role, process.pid, process.workers.len()), (Role::NginxMaster, nginx.pid(), 2));
    assert!(process.workers.iter().all(|worker| !worker.partial && worker.open_files > 5), "{process:?}");
    assert!(process.workers.iter().map(|worker| worker.cpu_us()).sum::<u64>() > 0, "{process:?}");
    assert_eq!(process.sockets.listening, [format!("127.0.0.1:{}", nginx.port)]);
    let remote = process.sockets.remotes.iter().find(|one| one.address == format!("127.0.0.1:{}", backend.port));
    assert!(remote.is_some_and(|one| one.time_wait > 16), "{:?}", process.sockets);
    assert!(process.nofile.is_some_and(|limit| limit.used > 5 && limit.soft >= limit.used));
    assert!(facts.requests.is_some_and(|requests| requests > 20), "{:?} {:?}", facts.requests, facts.remarks);
    assert!(facts.cpu_us_per_request().is_some_and(|us| us > 1.0));
    let read = facts.nginx.as_ref().expect("is one");
    assert!(read.version.starts_with("1.") && read.configuration.errors.is_empty(), "{read:?}");
    assert!(
        read.configuration_path.ends_with("/gateway/nginx.conf") && read.changed_since_start.is_empty(),
        "{read:?}"
    );
    let upstream = &read.configuration.upstreams()[0];
    assert!(upstream.keepalive().is_none() && upstream.directive.place.to_string().ends_with("conf.d/upstream.conf:2"));
    let executable = facts.executable().expect("known");
    assert_eq!((executable.kind, executable.stripped), (BinaryKind::Executable, true));
    assert_eq!(
        (executable.optimisation.level, executable.optimisation.tail_calls),
        (OptimisationLevel::O2OrHigher, TailCalls::Optimised)
    );
    assert_eq!(executable.build_id, process.build_id);
    assert!(facts.binaries.iter().any(|build| build.path.contains("libc.so")), "{:?}", facts.remarks);
    assert!(facts.kernel.as_ref().and_then(|kernel| kernel.grown("Tcp.ActiveOpens")).is_some_and(|opened| opened > 20));
    // A worker stands for its nginx.
    let once = Options { duration: Duration::ZERO, ..Options::default() };
    let of_worker = collect(process.workers[0].pid, &once, &AtomicBool::new(false), &mut |_| {}).expect("gathers");
    assert_eq!(of_worker.process.map(|process| process.pid), Some(nginx.pid()));
    assert!(!of_worker.remarks.iter().any(|remark| remark.contains("was changed")), "{:?}", of_worker.remarks);
    let configuration = dir.join("gateway/nginx.conf");
    let file = std::fs::File::options().append(true).open(&configuration).expect("is there");
    // The start of a process is known to the second only.
    file.set_modified(std::time::SystemTime::now() + Duration::from_secs(5)).expect("is its owner");
    let changed = collect(nginx.pid(), &once, &AtomicBool::new(false), &mut |_| {}).expect("gathers");
    assert!(changed.remarks.iter().any(|remark| remark.contains("nginx.conf was changed")), "{:?}", changed.remarks);
}

#[test]
fn samples_and_system_calls_come_with_it() {
    weir_sample::privilege().unwrap_or_else(|error| panic!("{error}"));
    let (_kept, dir) = directory();
    let backend = upstream(&dir);
    let nginx = gateway(&dir, free_port(), backend.port, false, false);
    let facts = facts(&nginx, true);
    let profile = facts.profile.as_ref().unwrap_or_else(|| panic!("sampled: {:?}", facts.remarks));
    assert!(profile.health.samples > 0 && profile.meta.requests == facts.requests, "{:?}", profile.health);
    let requests = facts.requests.expect("counted");
    let connects: u64 = profile.system_calls.iter().filter(|call| call.name == "connect").map(|call| call.calls).sum();
    assert!(
        connects * 10 >= requests * 8,
        "{connects} connects, {requests} requests: each request has its own connection"
    );
    assert!(facts.process.expect("known").workers.iter().all(|worker| worker.accepted.is_some()));
}

#[test]
fn a_baseline_says_what_has_changed() {
    let (_kept, dir) = directory();
    let backend = upstream(&dir);
    let port = free_port();
    let sampled = weir_sample::privilege().is_ok();
    let store = Store::at(dir.join("baselines"));
    let old = {
        let nginx = gateway(&dir, port, backend.port, true, false);
        facts(&nginx, sampled)
    };
    store.save("good", &old, false).expect("saves");
    let old = store.load("good").expect("loads");
    let (new, same) = {
        let nginx = gateway(&dir, port, backend.port, false, true);
        (facts(&nginx, sampled), facts(&nginx, false))
    };
    let comparison = Comparison::of(&old, &new);
    let text = comparison.text();
    let changed: Vec<&str> = comparison.context.iter().map(|change| change.what.as_str()).collect();
    let location = format!("http > server 127.0.0.1:{port} > location /");
    let want = [
        "http > upstream backend: keepalive".to_owned(),
        format!("{location}: gzip"),
        format!("{location}: proxy_http_version"),
        format!("{location}: proxy_set_header"),
    ];
    let mut sorted = changed.clone();
    sorted.sort_unstable();
    let mut want_sorted: Vec<&str> = want.iter().map(String::as_str).collect();
    want_sorted.sort_unstable();
    assert_eq!(sorted, want_sorted, "{text}");
    let keepalive = comparison.context.iter().find(|change| change.what.ends_with("keepalive")).expect("is there");
    assert_eq!(
        (keepalive.area, keepalive.before.as_deref(), keepalive.after.as_deref()),
        (Area::Configuration, Some("keepalive 16;"), None)
    );
    assert!(keepalive.place_before.ends_with("/conf.d/upstream.conf:4"), "{keepalive:?}");
    assert!(comparison.cost.ratio.is_some() && text.contains("CPU per request"), "{text}");
    assert_eq!(comparison.on_cpu.is_some(), sampled, "{text}");
    let unchanged = Comparison::of(&new, &same);
    assert!(unchanged.same_context(), "{}", unchanged.text());
    assert!(unchanged.text().contains("Context: no changes"));
}

#[test]
fn what_is_not_there_is_an_error_and_what_ends_meanwhile_too() {
    let options = Options { duration: Duration::from_millis(1500), profile: false, ..Options::default() };
    let stop = AtomicBool::new(false);
    assert!(matches!(collect(u32::MAX - 7, &options, &stop, &mut |_| {}), Err(CollectError::NoProcess { .. })));
    let mut short = Command::new("sleep").arg("1").spawn().expect("starts");
    let pid = short.id();
    let waiting = std::thread::spawn(move || short.wait());
    assert!(matches!(collect(pid, &options, &stop, &mut |_| {}), Err(CollectError::Ended { .. })));
    waiting.join().expect("ends").expect("waits");
}

#[test]
fn an_orphan_of_a_killed_nginx_stands_for_itself_alone() {
    let (_kept, dir) = directory();
    let mut nginx = upstream(&dir);
    let orphans = nginx.workers();
    nginx.child.kill().expect("ends");
    nginx.child.wait().expect("our own child");
    let options = Options { duration: Duration::ZERO, ..Options::default() };
    let facts = collect(orphans[0], &options, &AtomicBool::new(false), &mut |_| {});
    for &orphan in &orphans {
        // SAFETY: sends a signal to a worker of the nginx that this test has started.
        unsafe { libc::kill(i32::try_from(orphan).expect("fits"), libc::SIGKILL) };
    }
    let process = facts.expect("gathers").process.expect("known");
    assert_eq!((process.pid, process.role, process.workers.len()), (orphans[0], Role::NginxSingle, 1));
}

#[test]
fn another_program_has_facts_too() {
    let options = Options { duration: Duration::ZERO, ..Options::default() };
    let facts = collect(std::process::id(), &options, &AtomicBool::new(false), &mut |_| {}).expect("gathers");
    let process = facts.process.as_ref().expect("known");
    assert!(process.role == Role::Other && process.workers.iter().any(|worker| worker.pid == process.pid));
    assert!(facts.nginx.is_none() && facts.lua.is_none() && facts.executable().is_some(), "{:?}", facts.remarks);
    assert!(Comparison::of(&facts, &facts).same_context());
}
