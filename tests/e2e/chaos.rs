//! Everything at once: traffic of all kinds while policies reload, logs rotate, silence toggles
//! and workers die. Afterwards no worker has crashed and every log line is complete.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use weir_ledger::Control;
use weir_tests::origin::Echo;
use weir_tests::{Connection, Nginx, Request, Setup, log, wait};

use crate::LOOKS_EVERYWHERE;

/// The duration of the test.
const STORM: Duration = Duration::from_secs(4);

const MORE: &str = r#"
  - id: more
    rules:
      - {id: limit, when: 'true', action: {rate_limit: {key: 'http.request.uri.path', rate: 50/s}}}
      - {id: mark, when: 'true', actions: [{set_header: {on: request, name: X-Mark, value: weir.request_id}}, {set_header: {on: response, name: X-Mark, value: weir.request_id}}, {tag: marked}]}
      - {id: leak, when: 'any(http.response.headers["x-leak"][*] contains "secret")', action: {block: {status: 502, body: hidden}}}
      - {id: away, when: 'http.request.uri.path eq "/away"', action: {redirect: '"/elsewhere"'}}
"#;

fn requests() -> Vec<Request> {
    let form = "application/x-www-form-urlencoded";
    vec![
        Request::get("/?a=b&c=d"),
        Request::get("/file"),
        Request::get("/attack-path"),
        Request::get("/away"),
        Request::get("/returned"),
        Request::get("/missing/file"),
        Request::get("/header/X-Leak/secret"),
        Request::get("/inside"),
        Request::new("HEAD", "/attack-path"),
        Request::post("/", form, "a=b&c=attack-form"),
        Request::post("/", form, "a=".to_owned() + &"b".repeat(50_000)).chunked(),
        Request::post("/", "application/json", r#"{"a": [1, {"b": "c"}]}"#),
        Request::post("/", "text/plain", "x".repeat(300_000)),
        Request::post(
            "/",
            "multipart/form-data; boundary=B",
            "--B\r\nContent-Disposition: form-data; name=a\r\n\r\nb\r\n--B--\r\n",
        ),
        Request::get("/").header("Cookie", "a=\u{fc}\u{1}; b=attack-cookie").header("X-Probe", [0xff, 0xfe, b'"']),
        Request::get("/%00%ff?%zz=%00"),
    ]
}

/// Sends all kinds of requests in random order, some incomplete, some pipelined, until `stop` is set.
fn client(port: u16, seed: u64, stop: &AtomicBool) -> usize {
    let requests = requests();
    let (mut state, mut answered) = (seed, 0);
    let mut below = |bound: usize| {
        // Knuth's linear congruential generator (MMIX); its upper bits are the random ones.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    while !stop.load(Ordering::Relaxed) {
        let (request, next) = (&requests[below(requests.len())], &requests[below(requests.len())]);
        let wire = request.wire();
        let Ok(mut connection) = Connection::try_open(port) else { continue };
        match below(11) {
            0 => drop(connection.try_send(&wire[..request.head().len() / 2])),
            1 => drop(connection.try_send(&wire[..wire.len() - 1])),
            2 => drop(connection.try_send(&wire)),
            3 => {
                drop(connection.try_send(&[wire, next.wire()].concat()));
                let both = [request, next].map(|request| connection.try_receive(request.is_head()).is_ok());
                answered += both.into_iter().filter(|ok| *ok).count();
            }
            _ => answered += usize::from(request.try_send_on(&mut connection).is_ok()),
        }
    }
    answered
}

fn disturb(nginx: &Nginx) {
    let control = Control::open(&nginx.path("run")).unwrap();
    let begun = Instant::now();
    let mut round = 0;
    while begun.elapsed() < STORM {
        round += 1;
        control.set_silence(round % 3 == 0);
        control.set_log_level(round % 9);
        nginx.write_policy(&format!("{}{}", LOOKS_EVERYWHERE, if round % 2 == 0 { MORE } else { "" }));
        nginx.signal(libc::SIGHUP);
        for name in ["access.log", "attack.log"] {
            let _ = fs::rename(nginx.path(name), nginx.path(&format!("{name}.{round}")));
        }
        nginx.reopen();
        let victim = nginx.workers().first().copied().filter(|_| round % 4 == 0);
        if let Some(worker) = victim {
            weir_tests::nginx::kill(worker, libc::SIGKILL);
        }
        thread::sleep(Duration::from_millis(150));
    }
    control.set_silence(false);
    control.set_log_level(0);
}

#[test]
fn mixed_load_crashes_no_worker_and_tears_no_line() {
    let origin = Echo::start();
    let server = format!(
        "error_page 403 /denied.html; error_page 404 = @missing;\nclient_body_buffer_size 8k;\n\
         location / {{ proxy_pass http://{origin}; }}\nlocation /file {{ try_files /a.txt =404; }}\n\
         location = /denied.html {{ }}\nlocation @missing {{ return 404 none; }}\nlocation /missing/ {{ }}\n\
         location /returned {{ return 200 returned; }}\nlocation /inside {{ rewrite ^ /file last; }}"
    );
    let setup = Setup::policy(&format!("{LOOKS_EVERYWHERE}{MORE}"))
        .http("weir_heartbeat_log beat.log interval=100ms;\nweir_sample 3;");
    let mut nginx = setup.server(&server).file("html/a.txt", "a").file("html/denied.html", "denied").start();
    let stop = AtomicBool::new(false);
    let answered: usize = thread::scope(|scope| {
        let stop = &stop;
        let port = nginx.port;
        let clients: Vec<_> = (0..4).map(|seed| scope.spawn(move || client(port, seed, stop))).collect();
        disturb(&nginx);
        stop.store(true, Ordering::Relaxed);
        clients.into_iter().map(|client| client.join().unwrap()).sum()
    });
    assert!(answered > 200, "{answered}");
    wait::until("workers of the last reload", || (nginx.workers().len() == 2).then_some(()));
    wait::until("the site to answer", || (nginx.get("/attack-path").status == 403).then_some(()));
    nginx.stop();
    assert!(nginx.crashes().is_empty(), "{:?}", nginx.crashes());
    let log = nginx.error_log();
    assert!(
        !log.contains("fault in"),
        "{}",
        log.lines().filter(|line| line.contains("fault in")).collect::<Vec<_>>().join("\n")
    );
    let mut lines = 0;
    for entry in fs::read_dir(nginx.prefix()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("access.log") || name.starts_with("attack.log") {
            lines += log::whole(&path).len();
        }
    }
    assert!(lines > 100, "{lines}");
}
