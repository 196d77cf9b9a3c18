//! The distribution's stripped nginx under load: at least 99 of 100 stacks reach `main`'s caller.
//!
//! Its worker is stopped some hundred times a second, steps some instructions, and is sampled
//! wherever it is then: in its own code, OpenSSL's assembly, zlib, libc, code compiled by PCRE, the
//! kernel.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use weir_unwind::{Process, Symbols, UnwindEnd, Unwinder};

use crate::support::Traced;

/// Number of sampled stacks.
const SAMPLES: usize = 1500;
/// Maximum number of instructions between an interruption and a sample.
const MAX_STEPS: usize = 1000;

const CONFIGURATION: &str = r#"
daemon off; master_process on; worker_processes 1; pcre_jit on;
error_log DIR/error.log; pid DIR/nginx.pid;
events { worker_connections 256; }
http {
    access_log DIR/access.log; client_body_temp_path DIR/body; proxy_temp_path DIR/proxy;
    fastcgi_temp_path DIR/f; uwsgi_temp_path DIR/u; scgi_temp_path DIR/s;
    gzip on; gzip_min_length 1; gzip_types *;
    ssl_certificate DIR/cert.pem; ssl_certificate_key DIR/key.pem;
    server { listen unix:DIR/up.sock; location / { return 200 'TEXT'; } }
    server {
        listen 127.0.0.1:PORT; listen 127.0.0.1:TLS ssl;
        location / { proxy_pass http://unix:DIR/up.sock; }
        location ~ "^/(a|b+|[c-f]{3,})+/(?<x>.*?)z(.*)$" { return 200 $x; }
    }
}"#;

struct Nginx {
    master: Child,
    worker: i32,
    port: u16,
    tls: Option<u16>,
}

impl Nginx {
    fn start(directory: &Path) -> Self {
        let free = || std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let (port, tls_port) = (free(), free());
        let at = |name: &str| directory.join(name);
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=test", "-keyout"])
            .arg(at("key.pem"))
            .arg("-out")
            .arg(at("cert.pem"))
            .stderr(Stdio::null())
            .status();
        let tls = made.is_ok_and(|status| status.success()).then_some(tls_port);
        let mut text = CONFIGURATION
            .replace("DIR", &directory.to_string_lossy())
            .replace("PORT", &port.to_string())
            .replace("TLS", &tls_port.to_string())
            .replace("TEXT", &"some text ".repeat(300));
        if tls.is_none() {
            text = text.replace(&format!("listen 127.0.0.1:{tls_port} ssl;"), "");
            text = text.lines().filter(|line| !line.contains("ssl_certificate")).collect::<Vec<_>>().join("\n");
        }
        fs::write(at("nginx.conf"), text).unwrap();
        let mut command = Command::new("/usr/sbin/nginx");
        command.arg("-c").arg(at("nginx.conf")).arg("-p").arg(directory).arg("-e").arg(at("error.log"));
        let master = command.stderr(Stdio::null()).spawn().unwrap();
        let mut nginx = Self { master, worker: 0, port, tls };
        let children = format!("/proc/{0}/task/{0}/children", nginx.master.id());
        for _ in 0..100 {
            thread::sleep(Duration::from_millis(50));
            let listed = fs::read_to_string(&children).unwrap_or_default();
            if let Some(worker) = listed.split_whitespace().next().and_then(|pid| pid.parse().ok()) {
                thread::sleep(Duration::from_millis(100));
                nginx.worker = worker;
                return nginx;
            }
        }
        panic!("{}", fs::read_to_string(at("error.log")).unwrap_or_default());
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // SAFETY: signals the process that this test has started; SIGTERM makes it end its workers.
        unsafe { libc::kill(self.master.id() as i32, libc::SIGTERM) };
        let _ = self.master.wait();
    }
}

fn requests(port: u16, stop: &AtomicBool) {
    for number in 0_u64.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return };
        let path = ["/", "/accdefbb/0123456789/abczzz?x=1"][(number % 2) as usize];
        let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n");
        let mut answer = Vec::new();
        let _ = stream.write_all(request.as_bytes()).and_then(|()| stream.read_to_end(&mut answer));
    }
}

fn tls_requests(port: u16, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let mut command = Command::new("openssl");
        command.args(["s_client", "-quiet", "-connect"]).arg(format!("127.0.0.1:{port}"));
        let Ok(mut child) = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn() else {
            return;
        };
        let request =
            "GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(99) + "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        let _ = child.stdin.as_mut().map(|input| input.write_all(request.as_bytes()));
        thread::sleep(Duration::from_millis(50));
        let _ = child.kill();
        let _ = child.wait();
    }
}

#[test]
fn stacks_of_the_distributions_nginx_come_to_their_root() {
    let directory = tempfile::tempdir().unwrap();
    let nginx = Nginx::start(directory.path());
    let stop = Arc::new(AtomicBool::new(false));
    let (port, tls) = (nginx.port, nginx.tls);
    let mut loads: Vec<_> = (0..2)
        .map(|_| {
            let stop = Arc::clone(&stop);
            thread::spawn(move || requests(port, &stop))
        })
        .collect();
    if let Some(tls) = tls {
        let stop = Arc::clone(&stop);
        loads.push(thread::spawn(move || tls_requests(tls, &stop)));
    }
    let mut ends: BTreeMap<String, usize> = BTreeMap::new();
    let mut innermost: BTreeMap<String, usize> = BTreeMap::new();
    let mut good = 0;
    let mut traced = Traced::attach(nginx.worker).expect("nginx's worker can be traced, which needs privileges");
    let mut process = Process::open(nginx.worker as u32).unwrap();
    let (mut unwinder, mut symbols) = (Unwinder::new(), Symbols::new());
    for sample in 0..SAMPLES {
        thread::sleep(Duration::from_micros(500));
        let (registers, stack) = traced.look(sample * 7919 % MAX_STEPS);
        let (mut frames, mut named) = (Vec::new(), Vec::new());
        let end = unwinder.unwind(&mut process, &registers, &stack, None, &mut frames);
        for frame in &frames {
            symbols.resolve(&process, frame.lookup, &mut named);
        }
        *innermost.entry(named[0].module.clone()).or_default() += 1;
        if end == UnwindEnd::Root && frames.len() > 3 {
            good += 1;
        } else {
            let names: Vec<_> = named.iter().map(|frame| format!("{} ({})", frame.name, frame.module)).collect();
            *ends.entry(format!("{end:?}: {}", names.join(" < "))).or_default() += 1;
        }
    }
    drop(traced);
    stop.store(true, Ordering::Relaxed);
    drop(nginx);
    for load in loads {
        load.join().unwrap();
    }
    eprintln!("{good} of {SAMPLES} to the root; where they were: {innermost:#?}; others: {ends:#?}");
    assert!(good * 100 >= SAMPLES * 99, "{good} of {SAMPLES}");
}
