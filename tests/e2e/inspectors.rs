//! Inspectors: asked in parallel, only where a rule asks, and never waited for beyond their deadline.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use weir_inspect::{Advice, Answer};
use weir_tests::origin::inspector::{Inspector, Reply};
use weir_tests::origin::{self, Echo};
use weir_tests::wait::until;
use weir_tests::{Nginx, Request, Setup};

fn pass() -> Answer {
    Answer::default()
}

fn refuse(status: u16) -> Answer {
    Answer { advice: Advice::Refuse, status, reason: "told so".into(), ..Answer::default() }
}

/// An nginx whose rule `ask` asks the inspectors for paths below `/asked`; `more` are their further keys.
fn nginx(inspectors: &[(&str, String)], more: &str) -> Nginx {
    let mut policy = String::from("inspectors:\n");
    for (id, endpoint) in inspectors {
        policy += &format!("  {id}:\n    endpoints: [\"{endpoint}\"]\n{more}");
    }
    policy += "policies:\n  - id: p\n    rules:\n";
    for (id, _) in inspectors {
        policy += &format!(
            "      - {{id: ask-{id}, when: 'starts_with(http.request.uri.path, \"/asked\")', action: {{inspect: {id}}}}}\n"
        );
    }
    policy += "      - {id: tagged, when: 'any(weir.tags[*] eq \"bot\")', action: {block: {status: 418}}}\n";
    Setup::policy(&policy).proxy(Echo::start()).start()
}

#[test]
fn only_requests_for_which_a_rule_asks_are_asked_about() {
    let service = Inspector::start(|question| match &question.target[..] {
        b"/asked/no" => Reply::Say(Answer {
            response_headers: vec![
                (b"X-Why".to_vec(), b"because".to_vec()),
                (b"Set-Cookie".to_vec(), b"a=1".to_vec()),
                (b"Set-Cookie".to_vec(), b"b=2".to_vec()),
            ],
            body: b"not you".to_vec(),
            ..refuse(451)
        }),
        b"/asked/bot" => Reply::Say(Answer { tags: vec!["bot".into()], ..pass() }),
        _ => Reply::Say(Answer {
            set_headers: vec![(b"X-Risk".to_vec(), b"7".to_vec()), (b"X-Else".to_vec(), b"1".to_vec())],
            ..pass()
        }),
    });
    let nginx = nginx(&[("bots", service.address.to_string())], "    deadline: 2s\n    sets: [X-Risk]\n");
    assert_eq!(nginx.get("/other").status, 200);
    assert!(service.questions().is_empty());

    let passed = nginx.send(&Request::get("/asked/yes?q=1").header("X-Risk", "0").header("X_Risk", "0"));
    assert_eq!(
        (passed.status, passed.received("X-Risk").as_deref(), passed.received("X-Else")),
        (200, Some("7"), None)
    );
    let refused = nginx.get("/asked/no");
    assert_eq!((refused.status, refused.header("X-Why"), refused.text().as_str()), (451, Some("because"), "not you"));
    assert_eq!(nginx.get("/asked/bot").status, 418, "a rule that reads tags waits for the answer");
    // What the client says in a field that is the inspector's is removed where nobody is asked, too.
    let other = nginx.send(&Request::get("/other").header("X-Risk", "0"));
    assert!(!other.text().to_ascii_lowercase().contains("x-risk"), "{}", other.text());

    let questions = service.questions();
    assert_eq!(questions.len(), 3);
    let first = &questions[0];
    assert_eq!(
        (&first.method[..], &first.target[..], &first.scheme[..]),
        (&b"GET"[..], &b"/asked/yes?q=1"[..], &b"http"[..])
    );
    assert_eq!((first.detector.as_str(), first.client), ("bots", Some([127, 0, 0, 1].into())));
    let attacks = nginx.attacks(2);
    // Each worker writes its lines when its buffer is due, so the order is not that of the requests.
    assert!(attacks.iter().any(|attack| attack.to_string().contains("told so")), "{attacks:?}");
}

#[test]
fn all_are_asked_at_once_and_each_answer_is_waited_for() {
    // Neither answers before both are asked: one after the other, they would both miss the deadline.
    let both = Arc::new(Barrier::new(2));
    let start = |answer: Answer| {
        let both = Arc::clone(&both);
        Inspector::start(move |_| {
            both.wait();
            Reply::Say(answer.clone())
        })
    };
    let (one, two) = (start(pass()), start(Answer { tags: vec!["bot".into()], ..pass() }));
    let more = "    deadline: 15s\n    fail: closed\n";
    let nginx = nginx(&[("one", one.address.to_string()), ("two", two.address.to_string())], more);
    (0..5).for_each(|_| assert_eq!(nginx.get("/asked").status, 418));
    assert_eq!((one.questions().len(), two.questions().len()), (5, 5));
}

#[test]
fn without_an_answer_the_fail_mode_decides_at_the_deadline() {
    let service = Inspector::start(|_| Reply::Nothing);
    for (fail, status) in [("open", 200), ("closed", 503)] {
        let more = format!("    deadline: 50ms\n    fail: {fail}\n    breaker: {{requests: 1000}}\n");
        let nginx = nginx(&[("mute", service.address.to_string())], &more);
        assert_eq!(nginx.get("/asked").status, status, "{fail}");
        let (lines, said) = match fail {
            "open" => (nginx.accesses(1), r#""inspectors_failed":["mute"]"#),
            _ => (nginx.attacks(1), "mute: no answer within the deadline"),
        };
        assert!(lines[0].to_string().contains(said), "{fail}: {}", lines[0]);
    }
    assert_eq!(service.questions().len(), 2);
}

#[test]
fn rubbish_resets_and_answers_to_nobody_are_failures_of_the_inspector_alone() {
    type Case = (&'static str, fn() -> Reply);
    let answers: [Case; 5] = [
        ("rubbish", || Reply::Bytes(b"HTTP/1.1 200 OK\r\n\r\n".to_vec())),
        ("half", || Reply::Bytes(vec![0, 0, 0, 50, 2, 0, 0])),
        ("huge", || Reply::Bytes(vec![0xff; 8])),
        ("close", || Reply::Close),
        ("another", || Reply::Bytes(vec![0, 0, 0, 11, 2, 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0, 1, 1])),
    ];
    for (name, answer) in answers {
        let service = Inspector::start(move |_| answer());
        let more = "    deadline: 100ms\n    fail: closed\n    breaker: {requests: 1000}\n";
        let nginx = nginx(&[("bad", service.address.to_string())], more);
        for _ in 0..3 {
            assert_eq!(nginx.get("/asked").status, 503, "{name}");
        }
        assert_eq!(nginx.get("/other").status, 200);
        let log = nginx.error_log();
        assert!(!log.contains("fault in") && !log.contains("exited"), "{name}: {log}");
    }
}

#[test]
fn the_breaker_spares_an_inspector_that_fails_and_lets_it_back() {
    let is_well = Arc::new(AtomicBool::new(false));
    let state = Arc::clone(&is_well);
    let service =
        Inspector::start(move |_| if state.load(Ordering::SeqCst) { Reply::Say(refuse(403)) } else { Reply::Close });
    let more = "    deadline: 1s\n    breaker: {requests: 3, open: 30s}\n";
    let open = nginx(&[("gone", service.address.to_string())], more);
    for _ in 0..40 {
        assert_eq!(open.get("/asked").status, 200, "open by default");
    }
    let log = open.error_log();
    assert!((1..=2).contains(&log.matches("fails too often").count()), "once in each worker: {log}");
    let asked = service.questions().len();
    assert!(asked <= 2 * 2 * 3, "{asked}: three in each worker, each twice");

    let nginx = nginx(&[("back", service.address.to_string())], &more.replace("30s", "50ms"));
    for _ in 0..40 {
        assert_eq!(nginx.get("/asked").status, 200);
    }
    is_well.store(true, Ordering::SeqCst);
    until("it to be asked again", || (nginx.get("/asked").status == 403).then_some(()));
    until("the log to say so", || nginx.error_log().contains("inspector back answers again").then_some(()));
}

#[test]
fn forward_auth_passes_with_its_fields_and_anything_else_reaches_the_client() {
    let service = origin::serve(|stream| {
        use std::io::{BufRead as _, Write as _};
        let mut lines = std::io::BufReader::new(&stream).lines();
        loop {
            let mut head = Vec::new();
            for line in lines.by_ref() {
                let line = line?;
                if line.is_empty() {
                    break;
                }
                head.push(line.to_ascii_lowercase());
            }
            let host = head.iter().find_map(|line| line.strip_prefix("x-forwarded-host: ")).unwrap_or_default();
            let to_host = format!("200 OK\r\nX-User: {host}\r\nX-User: second\r\nContent-Length: 0\r\n");
            let Some(uri) = head.iter().find_map(|line| line.strip_prefix("x-forwarded-uri: ").map(str::to_owned))
            else {
                return Ok(());
            };
            let answer = match uri.as_str() {
                "/asked/login" => "302 Found\r\nLocation: https://login.example/\r\nContent-Length: 0\r\n",
                "/asked/often" => "429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 4\r\n",
                "/asked/who" => {
                    "401 Unauthorized\r\nWWW-Authenticate: Basic realm=a\r\nWWW-Authenticate: Bearer\r\nContent-Length: 0\r\n"
                }
                "/asked/host" => to_host.as_str(),
                "/asked/broken" => "500 Internal Server Error\r\nContent-Length: 0\r\n",
                "/asked/large" => "403 Forbidden\r\nContent-Length: 9999999\r\n",
                _ => "200 OK\r\nX-User: ada\r\nContent-Length: 0\r\n",
            };
            let body = if answer.contains("Content-Length: 4") { "slow" } else { "" };
            write!(&stream, "HTTP/1.1 {answer}\r\n{body}")?;
        }
    });
    let more = "    protocol: forward_auth\n    path: /verify\n    deadline: 1s\n    sets: [X-User]\n    breaker: {requests: 3}\n";
    let nginx = nginx(&[("auth", service.to_string())], more);
    let passed = nginx.send(&Request::get("/asked").header("X-User", "root"));
    assert_eq!((passed.status, passed.received("X-User").as_deref()), (200, Some("ada")));
    let login = nginx.get("/asked/login");
    assert_eq!((login.status, login.header("Location")), (302, Some("https://login.example/")));
    let often = nginx.get("/asked/often");
    assert_eq!((often.status, often.header("Retry-After"), often.text().as_str()), (429, Some("7"), "slow"));
    let mut connection = nginx.connect();
    connection.send(b"GET /asked/host HTTP/1.1\r\nHost: Shop.example:8443\r\n\r\n");
    let to_host = connection.receive().received("X-User");
    assert_eq!(to_host.as_deref(), Some("shop.example:8443, second"), "with its port, and with all values");
    connection.send(b"GET /asked/who HTTP/1.1\r\nHost: a\r\n\r\n");
    let who = format!("{:?}", connection.receive());
    assert!(who.contains("Basic realm=a") && who.contains("Bearer"), "{who}");
    // What the service has no good answer to fails by itself: it keeps nobody else out.
    for path in ["/asked/broken", "/asked/large"] {
        (0..20).for_each(|_| assert_eq!(nginx.get(path).status, 503, "{path}: closed by default"));
        assert_eq!(nginx.get("/asked").status, 200, "{path}");
    }
    let log = nginx.error_log();
    assert!(!log.contains("inspector auth"), "{log}");
}

#[test]
fn an_observed_request_does_not_wait_and_a_remembered_answer_is_not_asked_for() {
    // A client that had to wait for the deadline would have given up.
    let service = Inspector::start(|_| Reply::Nothing);
    let nginx_observing = nginx(&[("mute", service.address.to_string())], "    deadline: 60s\n    mode: observe\n");
    assert_eq!(nginx_observing.get("/asked").status, 200);
    until("the question", || (service.questions().len() == 1).then_some(()));

    let service = Inspector::start(|_| Reply::Say(refuse(403)));
    let cached = nginx(
        &[("quick", service.address.to_string())],
        "    deadline: 2s\n    cache: {key: http.request.uri.query, for: 1m}\n",
    );
    for _ in 0..10 {
        assert_eq!(cached.get("/asked?a=1").status, 403);
    }
    assert!(service.questions().len() <= 2, "once in each worker");
    assert!(service.connections() <= 2, "one in each worker");
}

#[test]
fn an_inspector_gets_the_beginning_of_the_body_and_its_length() {
    let service = Inspector::start(|_| Reply::Say(pass()));
    let nginx = nginx(&[("body", service.address.to_string())], "    deadline: 2s\n    body: 1k\n");
    let body = vec![b'x'; 3_000_000];
    assert_eq!(nginx.send(&Request::post("/asked", "text/plain", body)).status, 200, "whatever weir_body_limit is");
    assert_eq!(nginx.send(&Request::post("/asked", "text/plain", b"short")).status, 200);
    let questions = service.questions();
    assert_eq!((questions[0].body.len(), questions[0].body_bytes), (1024, 3_000_000));
    assert_eq!((&questions[1].body[..], questions[1].body_bytes), (&b"short"[..], 5));
}

#[test]
fn an_inspector_that_gets_no_body_is_told_that_there_is_one() {
    let service = Inspector::start(|_| Reply::Say(pass()));
    let nginx = nginx(&[("head", service.address.to_string())], "    deadline: 2s\n");
    assert_eq!(nginx.send(&Request::post("/asked", "text/plain", b"short")).status, 200);
    let mut connection = nginx.connect();
    connection.send(b"POST /asked HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n");
    assert_eq!(connection.receive().status, 200);
    assert_eq!(nginx.get("/asked").status, 200);
    let told =
        service.questions().iter().map(|question| (question.body.len(), question.body_bytes)).collect::<Vec<_>>();
    assert_eq!(told, [(0, 5), (0, weir_inspect::UNKNOWN_LENGTH), (0, 0)]);
}

#[test]
fn an_endpoint_that_takes_nothing_is_busy_and_another_one_is_asked() {
    let stuck = origin::serve(|stream| {
        std::thread::sleep(Duration::from_secs(60));
        drop(stream);
        Ok(())
    });
    let service = Inspector::start(|_| Reply::Say(pass()));
    let mut request = b"POST /asked HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n".to_vec();
    request.resize(request.len() + 1_000_000, b'x');
    let statuses = |endpoints: &str| {
        let policy = format!(
            "inspectors:\n  side: {{endpoints: [{endpoints}], deadline: 5s, fail: closed, body: 1m}}\n\
             policies: [{{id: p, rules: [{{id: ask, when: 'true', action: {{inspect: side}}}}]}}]\n"
        );
        let nginx = Setup::policy(&policy).workers(1).proxy(Echo::start()).start();
        let connect = |_| {
            let mut connection = nginx.connect();
            connection.send(&request);
            connection
        };
        let mut all: Vec<_> = (0..48).map(connect).collect();
        let good = all.iter_mut().filter_map(|connection| (connection.receive().status == 200).then_some(())).count();
        (good, nginx.error_log())
    };
    // Half of the questions are the stuck endpoint's; those for which it has no room go to the other.
    let (good, log) = statuses(&format!("\"{stuck}\", \"{}\"", service.address));
    assert!((25..48).contains(&good), "{good}");
    assert!(!log.contains("is busy"), "{log}");
    let (good, log) = statuses(&format!("\"{stuck}\""));
    assert_eq!((good, log.matches("inspector side is busy").count()), (0, 1), "{log}");
}

#[test]
fn a_lone_endpoint_that_is_left_out_is_waited_for_by_one_request_at_a_time() {
    let service = Inspector::start(|_| Reply::Nothing);
    let more = "    deadline: 150ms\n    breaker: {requests: 1000}\n";
    let policy = |more: &str| {
        format!(
            "inspectors:\n  mute:\n    endpoints: [\"{}\"]\n{more}policies: [{{id: p, rules: [{{id: ask, when: 'true', action: {{inspect: mute}}}}]}}]\n",
            service.address
        )
    };
    let nginx = Setup::policy(&policy(more)).workers(1).proxy(Echo::start()).start();
    (0..3).for_each(|_| assert_eq!(nginx.get("/").status, 200));
    let asked = service.questions().len();
    (0..20).for_each(|_| assert_eq!(nginx.get("/").status, 200));
    // It is tried once a second at most, and two of these requests are not a second apart.
    let tried = service.questions().len() - asked;
    assert!(tried <= 2, "{tried} of 20 asked it");
    std::thread::sleep(Duration::from_millis(1100) * 2_u32.pow(tried as u32));
    let asked = service.questions().len();
    let mut all: Vec<_> = (0..5).map(|_| nginx.connect()).collect();
    all.iter_mut().for_each(|connection| connection.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    all.iter_mut().for_each(|connection| assert_eq!(connection.receive().status, 200));
    assert_eq!(service.questions().len(), asked + 1, "one tries");
}
