//! The detector `rules` says what the engine says in process, for some hundred requests of all shapes.

use std::time::{Duration, Instant};

use bumpalo::Bump;
use weir_engine::{Context, Decision, NoMeter, Outcome, Verdict};
use weir_http::{Anomalies, Head, Header, Transaction, Version};
use weir_inspect::{Advice, Answer, Question};
use weir_policy::Snapshot;
use weir_rules::Phase;

use crate::client::{get, post, start};

const POLICY: &str = r#"policies:
  - id: own
    rules:
      - {id: traversal, when: 'url_decode(raw.http.request.uri.path) contains "../"', action: {block: {status: 400}}}
      - {id: agent, when: 'http.user_agent contains "nikto"', action: {redirect: {to: '"/"'}}}
      - {id: form, when: 'any(http.request.body.form.values[*] contains "<script")', score: 5, action: block}
      - {id: tagged, when: 'http.host eq "shop.example"', actions: [{tag: shop}]}
      - {id: json, when: 'any(http.request.body.json.values[*] eq "admin")', action: {block: {status: 403, body: "no\n"}}}
"#;

const CRS_POLICY: &str = "  - id: crs\n    rules: [{id: crs, when: 'true', action: {crs: {paranoia: 2}}}]\n";

const PAYLOADS: [&str; 22] = [
    "1",
    "hello world",
    "1' OR '1'='1",
    "1;DROP TABLE users",
    "<script>alert(1)</script>",
    "../../etc/passwd",
    "%3Cimg%20src=x%20onerror=alert(1)%3E",
    "$(id)",
    "; cat /etc/passwd",
    "{\"a\":\"admin\"}",
    "{\"a\":",
    "admin'--",
    "${jndi:ldap://x/y}",
    "a=1&b=2&c=%zz",
    "<?php system('id'); ?>",
    "union select 1,2,3 from users",
    "file:///etc/passwd",
    "http://10.0.0.1/x",
    "\u{e4}\u{f6}\u{fc}",
    "sleep(5)",
    "x' and extractvalue(1,2)#",
    "javascript:alert(1)",
];

fn questions<'q>(payloads: &'q [String], targets: &'q [String]) -> Vec<Question<'q>> {
    let mut all = Vec::new();
    for (payload, target) in payloads.iter().zip(targets) {
        all.push(get("own", target));
        all.push(post("own", "/form", payload));
        all.push(post("own", "/form?x=1", target));
        for (name, value) in [
            (&b"User-Agent"[..], &b"nikto"[..]),
            (b"Cookie", payload.as_bytes()),
            (b"Referer", payload.as_bytes()),
            (b"Content-Encoding", b"gzip"),
            (b"Host", b"other.example"),
        ] {
            let mut question = get("own", "/header");
            question.headers.push((name, value));
            all.push(question);
        }
        for kind in ["application/json", "multipart/form-data; boundary=x", "text/xml", "application/octet-stream"] {
            let mut question = post("own", "/typed", payload);
            question.headers.pop();
            question.headers.push((b"Content-Type", kind.as_bytes()));
            all.push(question);
        }
        let mut partial = post("own", "/partial", payload);
        partial.body_bytes += 1;
        all.push(partial);
        all.push(Question { method: b"PROPFIND", protocol: b"HTTP/1.0", ..get("own", "/method") });
    }
    all
}

/// What the engine says, from the request as a question has it.
fn in_process(
    snapshot: &Snapshot,
    names: &[&str],
    question: &Question<'_>,
) -> (Verdict, Option<u16>, u32, Vec<String>) {
    let arena = Bump::new();
    let plan = snapshot.plan(names).unwrap();
    let headers: Vec<_> = question.headers.iter().map(|(name, value)| Header::new(name, value)).collect();
    let path = weir_http::path::normalise(question.target).path;
    let head = Head {
        method: question.method,
        target: question.target,
        path: &path,
        query: question.target.splitn(2, |byte| *byte == b'?').nth(1).unwrap_or_default(),
        version: if question.protocol == b"HTTP/1.0" { Version::Http10 } else { Version::Http11 },
        host: question.host,
        headers: &headers,
        peer: question.client,
        peer_port: 0,
        client: question.client,
        server: [0, 0, 0, 0].into(),
        server_port: 80,
        tls: None,
        received_ms: 0,
    };
    let transaction = Transaction::new(head, &arena);
    if question.target.contains(&b'#') {
        transaction.flag(Anomalies::INVALID_TARGET);
    }
    transaction.flag(transaction.head.host_anomalies());
    let mut outcome = Outcome::default();
    let mut meter = NoMeter;
    let mut context = Context { request_id: b"r1", now_ms: 1, ..Context::new(&mut meter) };
    let mut decision = plan.evaluate(Phase::Request, &transaction, &mut context, &mut outcome);
    if decision == Decision::Continue {
        if plan.wants_body(&transaction, &outcome).is_some() && !question.body.is_empty() {
            if question.is_partial() {
                transaction.set_body_truncated();
            }
            transaction.set_body(question.body);
        }
        decision = plan.evaluate(Phase::Body, &transaction, &mut context, &mut outcome);
    }
    let is_own = !outcome.is_decided_by_rule_set();
    let answered = match &decision {
        Decision::Respond(response) => Some(response.status),
        Decision::Continue | Decision::Verify | Decision::Inspect => None,
    };
    match transaction.unreadable().filter(|_| answered.is_none() || !is_own) {
        Some(unreadable) => (Verdict::Fail, Some(unreadable.status()), outcome.score, outcome.tags),
        None => (outcome.verdict, answered, outcome.score, outcome.tags),
    }
}

fn compare(policy: &str, names: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("policy.yaml"), policy).unwrap();
    let snapshot = Snapshot::load(&folder.path().join("policy.yaml")).unwrap_or_else(|errors| panic!("{errors}"));
    let service = start("detectors: {own: {kind: rules, policy: policy.yaml}}\n", folder.path());
    // Four gateways ask in turn.
    let mut clients: Vec<_> = (0..4).map(|_| service.client()).collect();
    let (mut asked, mut refused, mut remote, mut local) = (0, 0, Duration::ZERO, Duration::ZERO);
    for round in 0..rounds() {
        // Values that come again are looked up, not inspected.
        let change =
            |payload: &&str| if round == 0 { (*payload).into() } else { format!("{payload} {}", round * 7919) };
        let payloads: Vec<String> = PAYLOADS.iter().map(change).collect();
        let target = |payload: &String| format!("/search?q={}", payload.replace(' ', "+"));
        let targets: Vec<String> = payloads.iter().map(target).collect();
        for question in &questions(&payloads, &targets) {
            let begun = Instant::now();
            let Answer { advice, status, score, tags, reason, .. } = clients[asked % 4].ask(question);
            let answered = Instant::now();
            let expected = in_process(&snapshot, names, question);
            (remote, local) = (remote + (answered - begun), local + answered.elapsed());
            asked += 1;
            let shown = format!("{} {:?}: {reason}", String::from_utf8_lossy(question.target), question.headers);
            let expected_advice = match (expected.0, expected.1) {
                (_, Some(_)) => Advice::Refuse,
                (Verdict::Detect, None) => Advice::Detect,
                (_, None) => Advice::Pass,
            };
            let expected = (expected_advice, expected.1.unwrap_or(0), expected.2, expected.3);
            assert_eq!((advice, status, score, tags), expected, "{shown}");
            refused += usize::from(advice == Advice::Refuse);
        }
    }
    assert!(refused > 20 && refused < asked, "{refused} of {asked}");
    let each = |time: Duration| time / asked as u32;
    println!("{asked} questions, {refused} refused; remote {:?} each, in process {:?}", each(remote), each(local));
}

/// How often all requests are asked about, with other values; `WEIR_ROUNDS=65` is 20,000 requests.
fn rounds() -> usize {
    std::env::var("WEIR_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(1)
}

/// A gateway whose inspector has no `body` used to get every body past the rules of its service.
#[test]
fn a_body_that_was_not_sent_is_one_that_rules_cannot_read() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("policy.yaml"), POLICY).unwrap();
    let detectors = "detectors:\n  closed: {kind: rules, policy: policy.yaml}\n  open: {kind: rules, policy: policy.yaml, bounds: open}\n";
    let service = start(detectors, folder.path());
    let mut client = service.client();
    for bytes in [14, weir_inspect::UNKNOWN_LENGTH] {
        let unsent = |detector| Question { body: b"", body_bytes: bytes, ..post(detector, "/form", "") };
        let refused = client.ask(&unsent("closed"));
        assert_eq!((refused.advice, refused.status), (Advice::Refuse, 413), "{bytes}");
        assert!(refused.reason.contains("body_truncated") && refused.reason.contains("`body:`"), "{}", refused.reason);
        assert_eq!(client.ask(&unsent("open")).advice, Advice::Pass, "{bytes}");
    }
    assert_eq!(client.ask(&post("closed", "/form", "")).advice, Advice::Pass, "there is no body");
}

#[test]
fn own_rules_decide_as_in_process() {
    compare(POLICY, &["own"]);
}

#[test]
fn the_core_rule_set_decides_as_in_process() {
    compare(&format!("{POLICY}{CRS_POLICY}"), &["own", "crs"]);
}
