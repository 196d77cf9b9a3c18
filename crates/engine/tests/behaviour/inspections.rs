//! Inspectors: when they are asked, and what their answers do.

use std::sync::Arc;

use bumpalo::Bump;
use weir_engine::{Action, AllowScope, Context, Decision, Mode, NoMeter, Outcome, Plan, RuleIndex, Verdict};
use weir_http::{Header, Transaction};
use weir_inspect::breaker::Limits;
use weir_inspect::inspector::{Fail, Mode as InspectMode, Protocol, Secret, SentHeaders};
use weir_inspect::{Advice, Answer, Failure, Inspector};
use weir_rules::Phase;

use crate::{Request, block, plan, policy, run, status};

/// An inspector that may set `x-risk`.
fn inspector(id: &str, fail: Fail, body_bytes: usize) -> Action {
    Action::Inspect(
        Arc::new(Inspector {
            id: id.into(),
            protocol: Protocol::ForwardAuth,
            endpoints: vec!["127.0.0.1:1".into()],
            tls: None,
            path: "/".into(),
            token: Secret::default(),
            deadline_ms: 20,
            fail,
            mode: InspectMode::Enforce,
            headers: SentHeaders::All,
            body_bytes,
            sets: vec!["x-risk".into()],
            sample: 10_000,
            remember_ms: 0,
            skips: Vec::new(),
            breaker: Limits { share: 5000, least: 20, open_ms: 1000 },
        }),
        None,
    )
}

/// Evaluates the request phase, with an answer for each inspector by its id, and returns who was asked in which round.
fn inspected(
    plan: &Plan,
    request: &Request,
    detect: bool,
    answer: impl Fn(&str) -> Result<Answer, Failure>,
) -> (Decision, Outcome<'static>, Vec<Vec<String>>) {
    let request: &Request = Box::leak(Box::new(request.clone()));
    let arena: &Bump = Box::leak(Box::default());
    let transaction = Transaction::new(request.head(), arena);
    let (mut outcome, mut meter, mut rounds) = (Outcome::default(), NoMeter, Vec::new());
    let mut context = Context { detect, can_wait: true, ..Context::new(&mut meter) };
    loop {
        let decision = plan.evaluate(Phase::Request, &transaction, &mut context, &mut outcome);
        let mut asked = Vec::new();
        while let Some((number, one)) = outcome.inspections.next_due() {
            asked.push((number, one.inspector.id.clone()));
        }
        for (number, id) in &asked {
            outcome.inspections.answered(*number, answer(id).map(Arc::new));
        }
        rounds.extend((!asked.is_empty()).then(|| asked.into_iter().map(|(_, id)| id).collect()));
        if decision != Decision::Inspect {
            return (decision, outcome, rounds);
        }
    }
}

#[test]
fn inspectors_are_asked_together_and_not_at_all_if_a_rule_refuses() {
    let ask = |id| vec![inspector(id, Fail::Open, 0)];
    let plan = plan(vec![policy(
        "p",
        Mode::On,
        None,
        vec![
            ("true", ask("one")),
            ("http.request.uri.path contains \"/two\"", ask("two")),
            ("http.request.uri.path contains \"bad\"", vec![block()]),
            ("any(weir.tags[*] eq \"bot\")", vec![block()]),
            ("http.request.uri.path contains \"/three\"", ask("three")),
        ],
        0,
    )]);
    let pass = |_: &str| Ok(Answer::default());
    let (decision, _, rounds) = inspected(&plan, &Request::get("/two/three"), false, pass);
    assert_eq!(decision, Decision::Continue);
    assert_eq!(rounds, [vec!["one", "two"], vec!["three"]], "a rule that reads tags waits for what may set them");
    let (decision, outcome, rounds) = inspected(&plan, &Request::get("/two/bad"), false, pass);
    assert_eq!((status(&decision), outcome.verdict, rounds.len()), (403, Verdict::Block, 0));
    let bot = |id: &str| Ok(Answer { tags: vec!["bot".into()], score: u32::from(id == "one"), ..Answer::default() });
    let (decision, outcome, _) = inspected(&plan, &Request::get("/two"), false, bot);
    assert_eq!((status(&decision), outcome.decided_by), (403, Some(RuleIndex(3))));
}

#[test]
fn an_inspectors_refusal_and_its_failure_are_the_clients_answer() {
    let ask = |fail| plan(vec![policy("p", Mode::On, None, vec![("true", vec![inspector("one", fail, 0)])], 0)]);
    let (open, closed) = (ask(Fail::Open), ask(Fail::Closed(503)));
    let refuse = |_: &str| Ok(Answer { advice: Advice::Refuse, status: 302, ..Answer::default() });
    let fail = |_: &str| Err(Failure::Deadline);
    let request = Request::get("/");
    let (decision, outcome, _) = inspected(&open, &request, false, refuse);
    assert_eq!((status(&decision), outcome.verdict), (302, Verdict::Block));
    assert!(outcome.findings.iter().any(|finding| finding.action == "inspect"));
    let (decision, outcome, _) = inspected(&open, &request, true, refuse);
    assert_eq!((status(&decision), outcome.verdict), (0, Verdict::Pass), "nobody has waited for it");
    let (decision, outcome, _) = inspected(&closed, &request, false, fail);
    assert_eq!((status(&decision), outcome.verdict), (503, Verdict::Fail));
    assert!(outcome.findings.iter().any(|finding| finding.reason.contains("no answer within the deadline")));
    let (decision, outcome, _) = inspected(&open, &request, false, fail);
    assert_eq!((status(&decision), outcome.inspections.failed().len()), (0, 1), "and the log can say so");
    assert_eq!(inspected(&open, &request, true, fail).1.inspections.failed().len(), 0, "nobody has waited for it");
    let unable = |_: &str| Ok(Answer { advice: Advice::Unable, ..Answer::default() });
    assert_eq!(status(&inspected(&closed, &request, false, unable).0), 503);
}

#[test]
fn what_an_inspector_may_set_is_never_the_clients() {
    let rules = vec![("http.request.uri.path eq \"/asked\"", vec![inspector("one", Fail::Open, 0)])];
    let plan = plan(vec![policy("p", Mode::On, None, rules, 0)]);
    let mut request = Request::get("/other");
    request.headers.extend([Header::new(b"X-Risk", b"0"), Header::new(b"x_risk", b"0"), Header::new(b"X-Other", b"0")]);
    let names = |outcome: &Outcome<'_>| -> Vec<(String, Option<Vec<u8>>)> {
        let change = |change: &weir_engine::HeaderChange| {
            (String::from_utf8_lossy(&change.name).into_owned(), change.value.clone())
        };
        outcome.header_changes.iter().map(change).collect()
    };
    let answer = |_: &str| {
        let set = [("X-Risk", "7"), ("X-Other", "7"), ("x-risk", "8")];
        let set_headers = set.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()));
        Ok(Answer { set_headers: set_headers.collect(), ..Answer::default() })
    };
    let removed = [("X-Risk".to_owned(), None), ("x_risk".to_owned(), None)];
    assert_eq!(names(&inspected(&plan, &request, false, answer).1), removed);
    request.target = "/asked";
    let (_, outcome, _) = inspected(&plan, &request, false, answer);
    let changes = names(&outcome);
    assert_eq!(changes[..2], removed);
    assert_eq!(changes[2..], [("X-Risk".to_owned(), Some(b"7, 8".to_vec()))], "all values, and only what it may");
    let ends_line = |_: &str| {
        Ok(Answer { set_headers: vec![(b"X-Risk".to_vec(), b"7\r\nX-Other: 7".to_vec())], ..Answer::default() })
    };
    assert_eq!(names(&inspected(&plan, &request, false, ends_line).1)[2..], [("X-Risk".to_owned(), None)]);
    assert!(names(&inspected(&plan, &request, true, answer).1).is_empty(), "detection changes nothing");
}

#[test]
fn an_allow_does_not_overtake_an_inspector_that_waits_for_the_body() {
    let rules = vec![("true", vec![inspector("one", Fail::Open, 100)]), ("true", vec![Action::Allow(AllowScope::All)])];
    let plan = plan(vec![policy("p", Mode::On, None, rules, 0)]);
    assert_eq!(plan.inspected_bytes(), 100);
    assert!(!plan.reads_body(), "a body that is too long for rules is not too long for an inspector");
    let (_, mut outcome) = run(&plan, &Request::form("a=1"), false);
    assert_eq!(outcome.inspections.next_due().map(|(_, one)| one.inspector.id.as_str()), Some("one"));
}
