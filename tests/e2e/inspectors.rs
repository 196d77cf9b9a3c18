//! Inspectors: asked in parallel, only where a rule asks, and never waited for beyond their deadline.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

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

/// Milliseconds that a request takes.
fn ms(work: impl FnOnce()) -> u128 {
    let began = Instant::now();
    work();
    began.elapsed().as_millis()
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
fn all_are_asked_at_once_and_waiting_ends_with_the_slowest() {
    let slow = || Inspector::start(|_| Reply::After(Duration::from_millis(80), pass()));
    let (one, two) = (slow(), slow());
    let nginx = nginx(&[("one", one.address.to_string()), ("two", two.address.to_string())], "    deadline: 1s\n");
    assert_eq!(nginx.get("/asked").status, 200);
    // The best of several: other processes hold some of them up.
    let took = (0..5).map(|_| ms(|| assert_eq!(nginx.get("/asked").status, 200))).min().unwrap();
    assert!((80..155).contains(&took), "{took} ms, and one after the other at least 160");
    assert_eq!((one.questions().len(), two.questions().len()), (6, 6));
}

#[test]
fn without_an_answer_the_fail_mode_decides_at_the_deadline() {
    let service = Inspector::start(|_| Reply::Nothing);
    for (fail, status) in [("open", 200), ("closed", 503)] {
        let more = format!("    deadline: 50ms\n    fail: {fail}\n    breaker: {{requests: 1000}}\n");
        let nginx = nginx(&[("mute", service.address.to_string())], &more);
        let took = ms(|| assert_eq!(nginx.get("/asked").status, status, "{fail}"));
        assert!((45..1000).contains(&took), "{took}");
    }
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
            let Some(uri) = head.iter().find_map(|line| line.strip_prefix("x-forwarded-uri: ").map(str::to_owned))
            else {
                return Ok(());
            };
            let answer = match uri.as_str() {
                "/asked/login" => "302 Found\r\nLocation: https://login.example/\r\nContent-Length: 0\r\n",
                "/asked/often" => "429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 4\r\n",
                "/asked/broken" => "500 Internal Server Error\r\nContent-Length: 0\r\n",
                _ => "200 OK\r\nX-User: ada\r\nContent-Length: 0\r\n",
            };
            let body = if answer.contains("Content-Length: 4") { "slow" } else { "" };
            write!(&stream, "HTTP/1.1 {answer}\r\n{body}")?;
        }
    });
    let more = "    protocol: forward_auth\n    path: /verify\n    deadline: 1s\n    sets: [X-User]\n";
    let nginx = nginx(&[("auth", service.to_string())], more);
    let passed = nginx.send(&Request::get("/asked").header("X-User", "root"));
    assert_eq!((passed.status, passed.received("X-User").as_deref()), (200, Some("ada")));
    let login = nginx.get("/asked/login");
    assert_eq!((login.status, login.header("Location")), (302, Some("https://login.example/")));
    let often = nginx.get("/asked/often");
    assert_eq!((often.status, often.header("Retry-After"), often.text().as_str()), (429, Some("7"), "slow"));
    assert_eq!(nginx.get("/asked/broken").status, 503, "closed by default");
}

#[test]
fn an_observed_request_does_not_wait_and_a_remembered_answer_is_not_asked_for() {
    let service = Inspector::start(|_| Reply::After(Duration::from_millis(500), refuse(403)));
    let nginx_observing = nginx(&[("slow", service.address.to_string())], "    deadline: 2s\n    mode: observe\n");
    let took = ms(|| assert_eq!(nginx_observing.get("/asked").status, 200));
    assert!(took < 400, "{took}");
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
