//! nginx's own behaviour is the same with rules that read bodies: WebDAV, subrequests, ranges, responses that are cut
//! short, uploads that are not buffered, and a log file that workers share on a full disk.

use std::ffi::CString;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::mpsc;

use weir_tests::load::{Life, during};
use weir_tests::origin::{self, Echo};
use weir_tests::wait::PATIENCE;
use weir_tests::{Request, Setup, log};

use crate::LOOKS_EVERYWHERE;

/// A rule set that holds responses back for a rule that never matches.
const HOLDS: &str = "SecResponseBodyAccess On\nSecResponseBodyMimeType text/html text/plain\n\
    SecResponseBodyLimit 65536\nSecRule RESPONSE_BODY \"@contains secret-token\" \"id:1,phase:4,deny,msg:'Leak'\"\n";

fn holding(mode: &str) -> Setup {
    let setup = Setup::weir();
    let prefix = setup.prefix().display().to_string();
    setup
        .file("rules.conf", HOLDS)
        .file(
            "policy.yaml",
            "policies: [{id: p, rules: [{id: set, when: 'true', action: {rule_set: {files: [rules.conf]}}}]}]\n",
        )
        .http(&format!("weir_policy {prefix}/policy.yaml; weir {mode};"))
}

#[test]
fn webdav_stores_a_body_that_rules_have_read() {
    let nginx = Setup::policy(LOOKS_EVERYWHERE)
        .server("location / { dav_methods PUT DELETE; client_max_body_size 1m; client_body_buffer_size 16k; }")
        .file("html/x", "")
        .start();
    for (name, length) in [("small", 10), ("large", 200_000)] {
        let body = "z".repeat(length);
        for chunked in [false, true] {
            let target = format!("/{name}-{chunked}.txt");
            let put = Request::new("PUT", &target).header("Content-Type", "text/plain").body(body.clone());
            let put = if chunked { put.chunked() } else { put };
            assert_eq!(nginx.send(&put).status, 201, "{target}");
            assert_eq!(nginx.get(&target).text(), body, "{target}");
        }
    }
    let attack = Request::new("PUT", "/bad.txt").header("Content-Type", "text/plain").body("attack-body");
    assert_eq!(nginx.send(&attack).status, 403);
    assert_eq!(nginx.get("/bad.txt").status, 404);
}

#[test]
fn a_held_page_keeps_the_body_for_its_subrequests() {
    let origin = Echo::start();
    let nginx = holding("on")
        .server(&format!(
            "client_body_in_file_only on;\nlocation = /page {{ ssi on; proxy_pass http://{}; }}\n\
             location = /part {{ proxy_pass http://{origin}; }}",
            page("text/html", "before<!--#include virtual=\"/part\" -->after")
        ))
        .start();
    let response = nginx.send(&Request::post("/page", "text/plain", "0123456789"));
    assert_eq!(response.status, 200);
    assert!(response.text().starts_with("before{"), "{}", response.text());
    let part = origin.seen().pop().unwrap();
    assert_eq!(part["body_length"], 10, "{part:#}");
}

/// An origin that reads requests whole, and answers with this page.
fn page(kind: &'static str, text: &'static str) -> std::net::SocketAddr {
    answering(move || {
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
            text.len()
        )
    })
}

/// An origin that reads a request's head and small body, sends these bytes and closes the connection.
fn answering(answer: impl Fn() -> String + Send + Sync + Clone + 'static) -> std::net::SocketAddr {
    origin::serve(move |mut stream| {
        let mut seen = Vec::new();
        let mut buffer = [0; 4096];
        while !seen.windows(4).any(|four| four == b"\r\n\r\n") {
            let read = stream.read(&mut buffer)?;
            if read == 0 {
                return Ok(());
            }
            seen.extend_from_slice(&buffer[..read]);
        }
        stream.write_all(answer().as_bytes())
    })
}

#[test]
fn an_origin_that_ends_early_gives_the_client_what_it_sent() {
    let short =
        answering(|| "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\nthe beginning".into());
    let bad = answering(|| {
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\nthe secret-token".into()
    });
    let nginx = holding("on")
        .server(&format!("location /buffered {{ proxy_pass http://{short}; }}\nlocation /raw {{ proxy_pass http://{short}; proxy_buffering off; }}\nlocation /bad {{ proxy_pass http://{bad}; }}"))
        .start();
    for target in ["/buffered", "/raw"] {
        let mut connection = nginx.connect();
        connection.send(&Request::get(target).wire());
        let received = String::from_utf8_lossy(connection.to_end()).into_owned();
        assert!(received.starts_with("HTTP/1.1 200"), "{target}: {received}");
        assert!(received.ends_with("\r\n\r\nthe beginning"), "{target}: {received}");
    }
    let mut connection = nginx.connect();
    connection.send(&Request::get("/bad").wire());
    let received = String::from_utf8_lossy(connection.to_end()).into_owned();
    assert!(received.starts_with("HTTP/1.1 403") && !received.contains("secret-token"), "{received}");
    assert!(nginx.crashes().is_empty(), "{:?}", nginx.crashes());
}

#[test]
fn held_and_observed_responses_have_ranges() {
    let origin = Setup::plain()
        .file("html/good.html", (0..20_000).map(|n| format!("{n:05}")).collect::<String>())
        .http("types { text/html html; }")
        .start();
    let origin = format!("127.0.0.1:{}", origin.port);
    let text: String = (0..20_000).map(|n| format!("{n:05}")).collect();
    for mode in ["on", "detect"] {
        let nginx = holding(mode)
            .http("types { text/html html; }")
            .server(&format!("location /proxied/ {{ proxy_pass http://{origin}/; proxy_force_ranges on; }}"))
            .file("html/good.html", &text)
            .file("html/bad.html", format!("secret-token{text}"))
            .start();
        let ranged = |target: &str, range: &str| nginx.send(&Request::get(target).header("Range", range));
        for (from, to) in [(0, 9), (65_530, 65_549), (99_000, 99_999)] {
            let response = ranged("/good.html", &format!("bytes={from}-{to}"));
            assert_eq!((response.status, response.text().as_str()), (206, &text[from..=to]), "{mode}");
        }
        let several = ranged("/good.html", "bytes=0-4,99995-99999");
        assert_eq!(several.status, 206);
        assert!(several.text().contains("\r\n\r\n00000\r\n") && several.text().contains("\r\n\r\n19999\r\n"), "{mode}");
        assert_eq!(ranged("/good.html", "bytes=200000-").status, 416);
        assert_eq!(ranged("/proxied/good.html", "bytes=200000-").status, 416);
        assert_eq!(ranged("/proxied/good.html", "bytes=5-9").text(), "00001");
        // The rules see all of it, not what was asked for.
        let bad = ranged("/bad.html", "bytes=20-29");
        assert_eq!(bad.status, if mode == "on" { 403 } else { 206 });
        let logged = log::wait(&nginx.path("attack.log"), 1);
        assert_eq!(logged[0]["findings"][0]["message"], "Leak", "{mode}: {logged:?}");
        assert!(nginx.crashes().is_empty(), "{:?}", nginx.crashes());
    }
}

#[test]
fn detection_lets_an_unbuffered_upload_stream_and_sees_it() {
    let (sender, seen) = mpsc::channel();
    let origin = origin::serve(move |mut stream| {
        let mut buffer = [0; 65_536];
        let mut all = Vec::new();
        while !all.ends_with(b"the end") {
            let read = stream.read(&mut buffer)?;
            if read == 0 {
                return Ok(());
            }
            all.extend_from_slice(&buffer[..read]);
            let _ = sender.send(all.len());
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    });
    let nginx = Setup::policy(LOOKS_EVERYWHERE)
        .server(&format!(
            "location / {{ weir detect; proxy_pass http://{origin}; proxy_http_version 1.1; proxy_request_buffering off; client_max_body_size 0; }}"
        ))
        .start();
    const LENGTH: usize = 3 << 20;
    let mut connection = nginx.connect();
    connection.send(format!("POST /up HTTP/1.1\r\nHost: x\r\nContent-Length: {LENGTH}\r\n\r\nattack-body").as_bytes());
    let first = seen.recv_timeout(PATIENCE).expect("the origin gets the first bytes before the client sends the rest");
    assert!(first < 1000, "{first}");
    let mut rest = vec![b'x'; LENGTH - "attack-body".len() - "the end".len()];
    rest.extend_from_slice(b"the end");
    connection.send(&rest);
    assert_eq!(connection.receive().status, 200);
    let line = log::wait(&nginx.path("attack.log"), 1).remove(0);
    assert_eq!((&line["action"], &line["findings"][0]["rule"]), (&"detect".into(), &"raw".into()), "{line:#}");
    assert!(line["unreadable"].as_str().unwrap().contains("truncated"), "longer than weir_body_limit: {line:#}");
    assert!(!nginx.error_log().contains("buffered to a temporary file"), "{}", nginx.error_log());
}

#[test]
fn a_redirect_from_detection_to_blocking_lets_no_body_past() {
    let origin = Echo::start();
    let nginx = Setup::policy(LOOKS_EVERYWHERE)
        .server(&format!(
            "location / {{ weir detect; try_files /none @strict; proxy_pass http://{origin}; }}\n\
             location @strict {{ weir on; proxy_pass http://{origin}; }}"
        ))
        .start();
    assert_eq!(nginx.send(&Request::post("/", "text/plain", "attack-body")).status, 403);
    let response = nginx.send(&Request::post("/", "text/plain", "harmless"));
    assert_eq!((response.status, response.json()["body_length"].as_u64()), (200, Some(8)));
}

#[test]
fn workers_glue_no_lines_in_a_log_on_a_full_disk() {
    let setup = Setup::policy(LOOKS_EVERYWHERE);
    let disk = SmallDisk::mount(setup.prefix().join("disk"));
    let (log, filler) = (disk.0.join("shared.log"), disk.0.join("filler"));
    let server =
        format!("weir_access_log {} buffer=4k flush=5ms;\nlocation / {{ try_files /a.txt =404; }}", log.display());
    let mut nginx = setup.server(&server).file("html/a.txt", "a").workers(4).start();
    let request = Request::get(&format!("/?q={}", "y".repeat(300)));
    let totals = during(nginx.port, 4, Life::One, &request, |_| {
        // Room comes and goes while the workers write.
        for round in 0..60 {
            fs::write(&filler, vec![0; 1 << 20]).unwrap_err();
            std::thread::sleep(std::time::Duration::from_millis(10 + round % 20));
            fs::remove_file(&filler).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(round % 7));
        }
    });
    assert!(totals.failed.is_empty(), "{:?}", totals.failed);
    nginx.stop();
    let text = fs::read_to_string(&log).unwrap();
    let (mut whole, mut cut) = (0, 0);
    for line in text.lines().filter(|line| !line.is_empty()) {
        match serde_json::from_str::<serde_json::Value>(line) {
            Ok(_) => whole += 1,
            Err(_) => cut += 1,
        }
        assert!(line.matches("\"request_id\"").count() <= 1, "glued: {line}");
        assert!(line.starts_with('{'), "the rest of a line without its beginning: {line}");
    }
    assert!(whole > 20, "{whole} whole, {cut} cut");
    assert!(cut <= 2 * 60, "{whole} whole, {cut} cut");
}

/// A disk of 256 KiB; unmounted with the test.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: PathBuf) -> Self {
        fs::create_dir(&at).unwrap();
        let path = CString::new(at.as_os_str().as_bytes()).unwrap();
        // SAFETY: strings that end with a zero.
        let done = unsafe {
            libc::mount(c"none".as_ptr(), path.as_ptr(), c"tmpfs".as_ptr(), 0, c"size=256k,mode=1777".as_ptr().cast())
        };
        assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
        Self(at)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let path = CString::new(self.0.as_os_str().as_bytes()).unwrap();
        // SAFETY: a string that ends with a zero.
        unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) };
    }
}
