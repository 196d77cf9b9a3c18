//! What happens to inspectors, and to requests that wait for them: kills, hangs, restarts, aborts, reloads, live changes.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use weir_inspect::{Advice, Answer};
use weir_tests::load::{Life, during};
use weir_tests::origin::Echo;
use weir_tests::origin::inspector::{Inspector, Reply};
use weir_tests::tls::Certificate;
use weir_tests::wait::until;
use weir_tests::{Gateway, Nginx, Request, Setup, nginx};

/// How often things are broken; `WEIR_ROUNDS` sets another number.
fn rounds(default: usize) -> usize {
    std::env::var("WEIR_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(default)
}

fn policy(inspector: &str) -> String {
    format!(
        "inspectors:\n  side: {inspector}\npolicies:\n  - id: p\n    rules:\n      - {{id: ask, when: 'starts_with(http.request.uri.path, \"/asked\")', action: {{inspect: side}}}}\n"
    )
}

fn unharmed(nginx: &Nginx) {
    let log = nginx.error_log();
    let signs = ["fault in", "exited on signal", "open socket", "[alert]", "[crit]"];
    assert!(signs.iter().all(|sign| !log.contains(sign)), "{log}");
}

#[test]
fn an_inspector_that_is_killed_hung_and_restarted_costs_no_request_more_than_its_fail_mode() {
    // nginx is the service: it can be stopped, killed and started again as a real one is.
    let service = || Setup::plain().workers(1).server("location / { return 204; }");
    let first = service();
    let port = first.port;
    let more = "deadline: 50ms, fail: open, breaker: {requests: 5, open: 50ms}";
    let text = policy(&format!("{{protocol: forward_auth, endpoints: [\"127.0.0.1:{port}\"], {more}}}"));
    let nginx = Setup::policy(&text).proxy(Echo::start()).start();
    let request = Request::get("/asked");
    let mut side = Some(first.start());
    let mut slowest = Duration::ZERO;
    let totals = during(nginx.port, 4, Life::KeepAlive, &request, |_| {
        for round in 0..rounds(6) {
            let running = side.take().expect("it runs");
            match round % 3 {
                0 => {
                    running
                        .workers()
                        .into_iter()
                        .chain([running.master()])
                        .for_each(|pid| nginx::kill(pid, libc::SIGKILL));
                    drop(running);
                    thread::sleep(Duration::from_millis(100));
                    let mut again = service();
                    again.port = port;
                    side = Some(again.start());
                }
                1 => {
                    running.workers().into_iter().for_each(|pid| nginx::kill(pid, libc::SIGSTOP));
                    thread::sleep(Duration::from_millis(200));
                    running.workers().into_iter().for_each(|pid| nginx::kill(pid, libc::SIGCONT));
                    side = Some(running);
                }
                _ => {
                    running.reload();
                    side = Some(running);
                }
            }
            // Requests that ask nobody are not held up.
            let began = Instant::now();
            assert_eq!(nginx.get("/other").status, 200);
            slowest = slowest.max(began.elapsed());
        }
    });
    assert!(totals.failed.is_empty(), "{} of {}: {:?}", totals.failed.len(), totals.answered, &totals.failed[..1]);
    println!("{} requests; the slowest that asked nobody took {slowest:?}", totals.answered);
    unharmed(&nginx);
    drop(side);
}

#[test]
fn while_the_service_misbehaves_in_every_way_closed_means_closed() {
    let is_well = Arc::new(AtomicBool::new(true));
    let state = Arc::clone(&is_well);
    let turn = std::sync::atomic::AtomicUsize::new(0);
    let service = Inspector::start(move |_| {
        if state.load(Ordering::SeqCst) {
            return Reply::Say(Answer::default());
        }
        match turn.fetch_add(1, Ordering::SeqCst) % 4 {
            0 => Reply::Nothing,
            1 => Reply::Close,
            2 => Reply::Bytes(vec![0xff; 64]),
            _ => Reply::Say(Answer { advice: Advice::Unable, ..Answer::default() }),
        }
    });
    let more = "deadline: 50ms, fail: closed, breaker: {requests: 5, open: 50ms}";
    let nginx = Setup::policy(&policy(&format!("{{endpoints: [\"{}\"], {more}}}", service.address)))
        .proxy(Echo::start())
        .start();
    for _ in 0..rounds(4) {
        is_well.store(true, Ordering::SeqCst);
        until("it to be asked again", || (nginx.get("/asked").status == 200).then_some(()));
        is_well.store(false, Ordering::SeqCst);
        for _ in 0..20 {
            let status = nginx.get("/asked").status;
            assert_eq!(status, 503);
        }
    }
    unharmed(&nginx);
}

#[test]
fn clients_that_leave_at_any_moment_leave_nothing_behind() {
    let service = Inspector::start(|question| match question.target.len() % 3 {
        0 => Reply::Say(Answer::default()),
        1 => Reply::After(Duration::from_millis(3), Answer::default()),
        _ => Reply::Nothing,
    });
    let text = policy(&format!("{{endpoints: [\"{}\"], deadline: 20ms, body: 1k}}", service.address));
    let nginx = Setup::policy(&text).proxy(Echo::start()).listen("http2").start();
    let port = nginx.port;
    let clients: Vec<_> = (0..4_usize)
        .map(|client| {
            thread::spawn(move || {
                for n in 0..rounds(100) {
                    let pad = "x".repeat((n + client) % 5);
                    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).expect("nginx listens");
                    if n % 2 == 0 {
                        // Preface, empty settings, a request on stream 1, and its reset.
                        let path = format!("/asked{pad}");
                        let mut head = vec![0x82, 0x86, 0x41, 4, b'a', b'.', b'b', b'c', 0x44, path.len() as u8];
                        head.extend_from_slice(path.as_bytes());
                        let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
                        bytes.extend_from_slice(&[0, 0, head.len() as u8, 1, 5, 0, 0, 0, 1]);
                        bytes.extend_from_slice(&head);
                        let _ = stream.write_all(&bytes);
                        thread::sleep(Duration::from_millis((n % 7) as u64));
                        let _ = stream.write_all(&[0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 8]);
                    } else {
                        let request =
                            format!("POST /asked{pad} HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n123456789");
                        let _ = stream.write_all(&request.as_bytes()[..request.len() - n % 12]);
                        thread::sleep(Duration::from_millis((n % 5) as u64));
                    }
                }
            })
        })
        .collect();
    clients.into_iter().for_each(|client| client.join().expect("clients do not panic"));
    nginx.reload();
    unharmed(&nginx);
    until("old workers to end", || (service.open() <= nginx.workers().len()).then_some(()));
}

#[test]
fn a_request_that_waits_survives_a_reload_and_a_redirect() {
    let service = Inspector::start(|_| Reply::After(Duration::from_millis(400), Answer::default()));
    let text = policy(&format!("{{endpoints: [\"{}\"], deadline: 2s, sets: [X-Risk]}}", service.address));
    let nginx = Setup::policy(&text)
        .server("error_page 404 = @missing; location @missing { return 410; } location / { try_files $uri =404; }")
        .start();
    let mut connection = nginx.connect();
    connection.send(b"GET /asked HTTP/1.1\r\nHost: a\r\n\r\n");
    until("the question", || (service.questions().len() == 1).then_some(()));
    nginx.reload();
    assert_eq!(connection.receive().status, 410, "asked once, whatever nginx does with it afterwards");
    assert_eq!(service.questions().len(), 1);
    unharmed(&nginx);
}

#[test]
fn a_gateways_inspector_changes_live_and_stays_while_a_policy_names_it() {
    let answer = |status| move |_: &_| Reply::Say(Answer { advice: Advice::Refuse, status, ..Answer::default() });
    let (one, two) = (Inspector::start(answer(401)), Inspector::start(answer(402)));
    let rule = json!({"id": "ask", "when": "true", "action": {"inspect": "side"}});
    let gateway = Gateway::start(&[
        ("inspectors/side", json!({"endpoints": [one.address.to_string()], "deadline": "2s"})),
        ("upstreams/app", json!({"members": {"a": {"address": Echo::start().to_string()}}})),
        ("policies/ask", json!({"rules": [rule]})),
        ("settings", json!({"policies": ["ask"]})),
        ("sites/all", json!({"hosts": ["*"]})),
        ("routes/all", json!({"site": "all", "to": "app"})),
    ]);
    let status = || gateway.nginx.get("/").status;
    assert_eq!(status(), 401);
    let _ = gateway.api().patch("inspectors/side", &json!({"endpoints": [two.address.to_string()]})).expect(200);
    assert_eq!(status(), 402, "in all workers when the change is answered");
    assert_eq!(gateway.api().delete("inspectors/side").status, 422, "a policy names it");
    let missing = json!({"rules": [{"id": "ask", "when": "true", "action": {"inspect": "sid"}}]});
    let refused = gateway.api().put("policies/other", &missing).expect(422);
    assert!(refused.body.to_string().contains("no inspector"), "{}", refused.body);
    let weir = std::process::Command::new(weir_tests::gateway::weir())
        .arg("--runtime")
        .arg(gateway.nginx.path("run"))
        .arg("status")
        .output()
        .expect("the command is built");
    let text = String::from_utf8_lossy(&weir.stdout).into_owned();
    assert!(text.contains("INSPECTOR") && text.contains("side"), "{text}");
    unharmed(&gateway.nginx);
}

#[test]
fn tls_unix_sockets_and_names_are_ways_to_an_inspector() {
    let auth = Setup::plain().workers(1);
    let directory = auth.prefix().to_owned();
    let certificate = Certificate::create(&directory);
    let auth = auth
        .listen("ssl")
        .server(&certificate.directives())
        .server("location / { add_header X-User $scheme always; return 204; }")
        .http(&format!(
            "server {{ listen unix:{}/auth.sock; location / {{ add_header X-User unix; return 204; }} }}",
            directory.display()
        ))
        .start();
    let (port, authority) = (auth.port, certificate.certificate.display());
    let good = format!("tls: {{authorities: {authority}}}");
    for (endpoint, tls, expected) in [
        (format!("localhost:{port}"), good.as_str(), Some("https")),
        (format!("127.0.0.1:{port}"), good.as_str(), Some("https")),
        (format!("127.0.0.1:{port}"), "tls: {verify: false}", Some("https")),
        (format!("127.0.0.1:{port}"), "tls: true", None),
        (format!("unix:{}/auth.sock", directory.display()), "tls: false", Some("unix")),
    ] {
        let text = policy(&format!(
            "{{protocol: forward_auth, endpoints: [\"{endpoint}\"], deadline: 2s, sets: [X-User], breaker: {{requests: 1000}}, {tls}}}"
        ));
        let nginx = Setup::policy(&text).workers(1).proxy(Echo::start()).start();
        let answer = until("the name to be resolved", || {
            let answer = nginx.get("/asked");
            (expected.is_none() || answer.status == 200).then_some(answer)
        });
        match expected {
            Some(user) => assert_eq!(answer.received("X-User").as_deref(), Some(user), "{endpoint} {tls}"),
            None => assert_eq!(answer.status, 503, "a certificate of nobody we know"),
        }
        unharmed(&nginx);
    }
}
