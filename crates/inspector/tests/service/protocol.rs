//! What clients may do to a connection: nothing of it harms another one.

use std::collections::HashSet;
use std::io::Write as _;
use std::time::{Duration, Instant};

use weir_inspect::frame::{Frame, VERSION, Writer, bare, hello, kind};
use weir_inspect::own::write_question;
use weir_inspect::{Advice, Question};

use crate::client::{get, start};

const POLICY: &str = r#"policies:
  - id: site
    rules:
      - {id: private, when: 'starts_with(http.request.uri.path, "/private")', action: block}
      - {id: odd, when: 'http.request.uri.path eq "/odd"', score: 3, actions: [{tag: odd}, {set_header: {on: request, name: X-Odd, value: '"yes"'}}]}
  - id: watching
    mode: detect
    rules: [{id: seen, when: 'http.request.uri.path eq "/seen"', action: block}]
"#;

fn service(more: &str) -> (crate::client::Running, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("policy.yaml"), POLICY).unwrap();
    let detectors = "detectors:\n  own: {kind: rules, policy: policy.yaml}\n  one: {kind: rules, policy: policy.yaml, apply: [site]}\n";
    (start(&format!("{detectors}{more}"), folder.path()), folder)
}

#[test]
fn answers_say_what_rules_do() {
    let (service, _folder) = service("");
    let mut client = service.client();
    let refused = client.ask(&get("own", "/private/x"));
    assert_eq!((refused.advice, refused.status, &*refused.reason), (Advice::Refuse, 403, "private"));
    let odd = client.ask(&get("own", "/odd"));
    assert_eq!((odd.advice, odd.score, odd.tags), (Advice::Pass, 3, vec!["odd".to_owned()]));
    assert_eq!(odd.set_headers, [(b"X-Odd".to_vec(), b"yes".to_vec())]);
    assert_eq!(client.ask(&get("own", "/seen")).advice, Advice::Detect);
    assert_eq!(client.ask(&get("one", "/seen")).advice, Advice::Pass, "only `site` applies");
    assert_eq!(client.ask(&get("own", "/")), weir_inspect::Answer::default());
    assert_eq!(client.ask(&get("none", "/")).advice, Advice::Unable);
    let metrics = service.metrics();
    for line in [
        "weir_inspector_questions_total 6",
        r#"weir_inspector_answers_total{detector="own",tenant="",advice="refuse"} 1"#,
        r#"weir_inspector_answers_total{detector="own",tenant="",advice="detect"} 1"#,
        r#"weir_inspector_answer_seconds_count{detector="own"} 4"#,
        "weir_inspector_unknown_detectors_total 1",
        "weir_inspector_connections 1",
        "weir_inspector_queue 0",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
}

#[test]
fn tenants_have_the_detectors_that_are_on() {
    let (service, _folder) = service("tenants: {shop: {detectors: {own: off}}, blog: {}}\n");
    let mut client = service.client();
    let mut ask = |tenant: &'static str, detector: &'static str| {
        client.ask(&Question { tenant, ..get(detector, "/private") }).advice
    };
    assert_eq!(ask("shop", "own"), Advice::Pass, "switched off");
    assert_eq!(ask("shop", "one"), Advice::Refuse);
    assert_eq!(ask("blog", "own"), Advice::Refuse);
    assert_eq!(ask("", "own"), Advice::Refuse);
    assert_eq!(ask("other", "own"), Advice::Unable);
    let line = r#"weir_inspector_answers_total{detector="own",tenant="blog",advice="refuse"} 1"#;
    assert!(service.metrics().contains(line));
}

#[test]
fn a_question_too_late_is_not_evaluated() {
    let (service, _folder) = service("");
    let mut client = service.client();
    let questions: Vec<_> = (0..400).map(|_| Question { deadline_ms: 1, ..get("own", "/private") }).collect();
    let mut bytes = Vec::new();
    questions.iter().zip(0..).for_each(|(question, id)| write_question(&mut bytes, id, question).unwrap());
    client.stream.write_all(&bytes).unwrap();
    // In time or not, each has an answer.
    for _ in 0..questions.len() {
        let (_, answer) = client.answer();
        assert!(matches!(answer.advice, Advice::Refuse | Advice::Unable));
    }
}

#[test]
fn ten_thousand_questions_at_once_have_ten_thousand_answers() {
    let (service, _folder) = service("in_flight: 100\n");
    let mut client = service.client();
    let mut bytes = Vec::new();
    for id in 0..10_000 {
        write_question(&mut bytes, id, &get("own", if id % 2 == 0 { "/private" } else { "/" })).unwrap();
    }
    bare(&mut bytes, kind::PING, 77);
    let begun = Instant::now();
    let mut writer = client.stream.try_clone().unwrap();
    let writing = std::thread::spawn(move || writer.write_all(&bytes).unwrap());
    let (mut seen, mut pong) = (HashSet::new(), false);
    while seen.len() < 10_000 || !pong {
        let (kind, bytes) = client.frame().expect("a frame");
        let (frame, _) = Frame::first(&bytes).unwrap().unwrap();
        if kind == kind::PONG {
            assert_eq!(frame.id, 77);
            pong = true;
            continue;
        }
        let answer = weir_inspect::own::read_answer(frame).unwrap();
        let expected = if frame.id % 2 == 0 { Advice::Refuse } else { Advice::Pass };
        assert_eq!(answer.advice, expected);
        assert!(seen.insert(frame.id), "answered twice");
    }
    writing.join().unwrap();
    println!("10,000 questions in {:?}", begun.elapsed());
}

#[test]
fn what_cannot_be_read_closes_only_its_connection() {
    let (service, _folder) = service("");
    let mut good = service.client();
    let bad_frame = {
        let mut bytes = Vec::new();
        let mut frame = Writer::begin(&mut bytes, kind::QUESTION, 1);
        frame.item(2, &[b"x"]);
        frame.end().unwrap();
        let last = bytes.len() - 2;
        bytes[last] = 200; // an item longer than its frame
        bytes
    };
    let mut answer = Vec::new();
    bare(&mut answer, kind::ANSWER, 1);
    for rubbish in [&b"\xff\xff\xff\xff"[..], &bad_frame, &answer, &[0, 0, 0, 1, 1]] {
        let mut bad = service.client();
        bad.stream.write_all(rubbish).unwrap();
        assert_eq!(bad.frame(), None, "closed");
        assert_eq!(good.ask(&get("own", "/private")).advice, Advice::Refuse);
    }
    for first in [&b"GET / HTTP/1.1\r\n\r\n"[..], &answer] {
        let mut bad = service.silent_client();
        bad.stream.write_all(first).unwrap();
        assert_eq!(bad.frame(), None, "closed");
    }
    assert!(service.metrics().contains("weir_inspector_malformed_total 6"), "{}", service.metrics());
}

#[test]
fn a_frame_may_come_in_pieces() {
    let (service, _folder) = service("");
    let mut client = service.client();
    let mut bytes = Vec::new();
    write_question(&mut bytes, 5, &get("own", "/private")).unwrap();
    for byte in bytes.chunks(3) {
        client.stream.write_all(byte).unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(client.answer().1.advice, Advice::Refuse);
    // Half a frame, and then nobody: the connection is gone, and nothing waits.
    client.stream.write_all(&bytes[..9]).unwrap();
    drop(client);
    assert_eq!(service.client().ask(&get("own", "/private")).advice, Advice::Refuse);
}

#[test]
fn a_hello_needs_the_token_and_the_version() {
    let (service, _folder) = service("token: {value: s3cret}\n");
    for (version, token, is_good) in [
        (VERSION, &b"s3cret"[..], true),
        (VERSION, b"", false),
        (VERSION, b"s3cretx", false),
        (b"weir-inspect/0", b"s3cret", false),
    ] {
        let mut client = service.silent_client();
        client.hello(version, token);
        match client.frame() {
            Some((kind, bytes)) => {
                assert!(is_good && kind == kind::HELLO);
                let (frame, _) = Frame::first(&bytes).unwrap().unwrap();
                let names: Vec<_> = frame
                    .items()
                    .map(Result::unwrap)
                    .filter(|(tag, _)| *tag == hello::DETECTOR)
                    .map(|(_, name)| name)
                    .collect();
                assert_eq!(names, [&b"one"[..], b"own"]);
            }
            None => assert!(!is_good),
        }
    }
    assert!(service.metrics().contains("weir_inspector_unauthenticated_total 2"));
}

#[test]
fn who_does_not_read_answers_is_not_read_either() {
    let (service, _folder) = service("in_flight: 8\n");
    let mut lazy = service.client();
    lazy.stream.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    let long = "/private".repeat(2000);
    let mut bytes = Vec::new();
    (0..50).for_each(|id| write_question(&mut bytes, id, &get("own", &long)).unwrap());
    // The answers fill the client's window, then the questions fill the service's.
    let mut written = 0;
    while written < 400 && lazy.stream.write_all(&bytes).is_ok() {
        written += 1;
    }
    assert_eq!(service.client().ask(&get("own", "/private")).advice, Advice::Refuse, "others go on");
}

#[test]
fn a_service_that_stops_says_goodbye_and_answers_what_was_asked() {
    let (mut service, _folder) = service("");
    let mut client = service.client();
    assert_eq!(client.ask(&get("own", "/private")).advice, Advice::Refuse);
    let mut bytes = Vec::new();
    (0..200).for_each(|id| write_question(&mut bytes, id, &get("own", "/private")).unwrap());
    client.stream.write_all(&bytes).unwrap();
    let stopping = service.stop();
    let (mut answers, mut goodbye) = (0, false);
    while let Some((kind, _)) = client.frame() {
        answers += u32::from(kind == kind::ANSWER);
        if kind == kind::GOODBYE {
            goodbye = true;
            // What was sent before the goodbye arrived is answered, too.
            client.stream.write_all(&bytes[..bytes.len() / 200]).unwrap();
        }
    }
    assert_eq!((answers, goodbye), (201, true));
    stopping.join().unwrap();
}
