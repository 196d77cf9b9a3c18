//! What policies do, rule by rule: actions, order, phases, modes, and what is not repeated.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use bumpalo::Bump;
use weir_engine::{
    Action, AllowScope, Context, Decision, Mode, NoMeter, Outcome, Plan, PolicySpec, RateLimit, RateTable, Response,
    RuleIndex, RuleSpec, SelectorSpec, Side, Specification, Verdict,
};
use weir_http::{Head, Header, Transaction, Version};
use weir_rules::Phase;

#[path = "behaviour/inspections.rs"]
mod inspections;

/// A policy of rules given as condition and actions, in one selector.
fn policy(id: &str, mode: Mode, when: Option<&str>, rules: Vec<(&str, Vec<Action>)>, first: u32) -> PolicySpec {
    let parse = |text: &str| {
        weir_rules::parse(text, &weir_rules::NoLists).unwrap_or_else(|errors| panic!("{}", errors[0].render(text)))
    };
    let rules = rules.into_iter().enumerate().map(|(number, (when, actions))| RuleSpec {
        index: RuleIndex(first + number as u32),
        id: format!("{id}-{number}"),
        message: String::new(),
        score: 1,
        when: parse(when),
        actions,
    });
    let selector = SelectorSpec { id: "all".into(), when: when.map(parse), rules: rules.collect() };
    PolicySpec { id: id.into(), mode, inflate: false, selectors: vec![selector] }
}

fn block() -> Action {
    Action::Block(Arc::new(Response { status: 403, ..Response::default() }))
}

#[derive(Clone)]
struct Request {
    target: &'static str,
    headers: Vec<Header<'static>>,
    body: &'static str,
}

impl Request {
    fn get(target: &'static str) -> Self {
        Self { target, headers: vec![Header::new(b"Host", b"example.com")], body: "" }
    }

    fn form(body: &'static str) -> Self {
        let mut request = Self::get("/form");
        request.headers.push(Header::new(b"Content-Type", b"application/x-www-form-urlencoded"));
        Self { body, ..request }
    }

    fn head(&self) -> Head<'_> {
        let local: IpAddr = "192.0.2.7".parse().expect("an address");
        let (path, query) = self.target.split_once('?').unwrap_or((self.target, ""));
        Head {
            method: if self.body.is_empty() { b"GET" } else { b"POST" },
            target: self.target.as_bytes(),
            path: path.as_bytes(),
            query: query.as_bytes(),
            version: Version::Http11,
            host: b"example.com",
            headers: &self.headers,
            peer: local,
            peer_port: 1,
            client: local,
            server: local,
            server_port: 80,
            tls: None,
            received_ms: 0,
        }
    }
}

fn plan(policies: Vec<PolicySpec>) -> Plan {
    let apply: Vec<usize> = (0..policies.len()).collect();
    Plan::compile(&Specification { policies, ..Specification::default() }, &apply).expect("the policies compile")
}

/// Runs the request phase, and the body phase if the plan wants the body.
fn run(plan: &Plan, request: &Request, detect: bool) -> (Decision, Outcome<'static>) {
    // An outcome may refer to the request and the transaction's arena.
    let request: &Request = Box::leak(Box::new(request.clone()));
    let arena: &Bump = Box::leak(Box::default());
    let transaction = Transaction::new(request.head(), arena);
    let mut outcome = Outcome::default();
    let memory: Vec<AtomicU64> = (0..RateTable::bytes_for(100) / 8).map(|_| AtomicU64::new(0)).collect();
    let table = RateTable::new(&memory);
    let mut meter = NoMeter;
    let mut context =
        Context { detect, request_id: b"id", now_ms: 1_000, limits: Some(&table), ..Context::new(&mut meter) };
    let mut decision = plan.evaluate(Phase::Request, &transaction, &mut context, &mut outcome);
    if decision == Decision::Continue {
        transaction.set_body(if plan.wants_body(&transaction, &outcome).is_some() {
            request.body.as_bytes()
        } else {
            b""
        });
        decision = plan.evaluate(Phase::Body, &transaction, &mut context, &mut outcome);
    }
    (decision, outcome)
}

fn status(decision: &Decision) -> u16 {
    match decision {
        Decision::Continue | Decision::Verify | Decision::Inspect => 0,
        Decision::Respond(response) => response.status,
    }
}

#[test]
fn the_first_rule_that_stops_a_request_decides() {
    let not_found = Action::Block(Arc::new(Response { status: 404, ..Response::default() }));
    let plan = plan(vec![policy(
        "p",
        Mode::On,
        None,
        vec![
            ("http.request.uri.path contains \"nothing\"", vec![block()]),
            ("http.request.uri.args[\"q\"] matches \"(?i)union\\s+select\"", vec![not_found]),
            ("http.request.uri.path eq \"/a\"", vec![block()]),
        ],
        0,
    )]);
    let (decision, outcome) = run(&plan, &Request::get("/a?q=1+UNION+%20SELECT+2"), false);
    assert_eq!((status(&decision), outcome.verdict, outcome.decided_by), (404, Verdict::Block, Some(RuleIndex(1))));
    let finding = &outcome.findings[0];
    assert_eq!((finding.action, finding.matched.as_slice()), ("block", &b"UNION  SELECT"[..]));
    assert_eq!(status(&run(&plan, &Request::get("/a?q=union"), false).0), 403);
    let (decision, outcome) = run(&plan, &Request::get("/b"), false);
    assert_eq!((decision, outcome.verdict, outcome.score), (Decision::Continue, Verdict::Pass, 0));
    assert!(outcome.findings.is_empty());
}

#[test]
fn a_finding_names_the_item_that_matched() {
    let plan = plan(vec![policy(
        "p",
        Mode::On,
        None,
        vec![("any(http.request.uri.args.values[*] contains \"evil\")", vec![block()])],
        0,
    )]);
    let (_, outcome) = run(&plan, &Request::get("/?a=good&b=so+evil+indeed"), false);
    assert_eq!(outcome.findings[0].variable, "http.request.uri.args[\"b\"]");
    assert_eq!(outcome.findings[0].matched, b"evil");
}

#[test]
fn detection_says_what_would_have_been_done_and_goes_on() {
    for (mode, detect) in [(Mode::Detect, false), (Mode::On, true)] {
        let plan = plan(vec![policy(
            "p",
            mode,
            None,
            vec![
                ("http.request.uri.path eq \"/a\"", vec![block()]),
                ("http.request.uri.path contains \"a\"", vec![block(), Action::Tag("seen".into())]),
            ],
            0,
        )]);
        let (decision, outcome) = run(&plan, &Request::get("/a"), detect);
        assert_eq!((decision, outcome.verdict), (Decision::Continue, Verdict::Detect));
        assert_eq!(outcome.findings.len(), 2);
        assert!(outcome.findings.iter().all(|finding| finding.detected_only));
        assert_eq!(outcome.tags, ["seen"]);
    }
}

#[test]
fn allow_stops_its_policy_or_all() {
    let policies = |scope| {
        vec![
            policy(
                "first",
                Mode::On,
                None,
                vec![
                    ("ip.src in {192.0.2.0/24}", vec![Action::Allow(scope)]),
                    ("http.request.uri.path contains \"/\"", vec![block()]),
                ],
                0,
            ),
            policy("second", Mode::On, None, vec![("http.request.uri.path eq \"/a\"", vec![block()])], 2),
        ]
    };
    let (decision, outcome) = run(&plan(policies(AllowScope::All)), &Request::get("/a"), false);
    assert_eq!((decision, outcome.verdict), (Decision::Continue, Verdict::Allow));
    let (decision, outcome) = run(&plan(policies(AllowScope::Policy)), &Request::get("/a"), false);
    assert_eq!((status(&decision), outcome.decided_by), (403, Some(RuleIndex(2))));
    assert_eq!(status(&run(&plan(policies(AllowScope::Policy)), &Request::get("/b"), false).0), 0);
}

#[test]
fn the_body_is_wanted_only_where_a_rule_may_need_it() {
    let plan = plan(vec![policy(
        "p",
        Mode::On,
        Some("http.host eq \"example.com\""),
        vec![
            ("http.request.method eq \"POST\" and http.request.body.form[\"a\"] contains \"evil\"", vec![block()]),
            ("http.request.uri.path eq \"/json\" and http.request.body.json[\"a\"] eq \"evil\"", vec![block()]),
        ],
        0,
    )]);
    let wants = |request: &Request| {
        let arena = Bump::new();
        plan.wants_body(&Transaction::new(request.head(), &arena), &Outcome::default()).is_some()
    };
    assert!(wants(&Request::form("a=1")));
    assert!(!wants(&Request::get("/form")), "neither POST nor a form");
    let mut other = Request::form("a=1");
    other.headers[1] = Header::new(b"Content-Type", b"application/octet-stream");
    assert!(!wants(&other), "no field of such a body");
    assert_eq!(status(&run(&plan, &Request::form("b=2&a=so+evil"), false).0), 403);
    assert_eq!(status(&run(&plan, &Request::form("b=evil&a=1"), false).0), 0);
}

#[test]
fn policies_are_not_repeated_by_a_second_plan() {
    let spec = Specification {
        policies: vec![
            policy("first", Mode::Detect, None, vec![("http.request.uri.path eq \"/a\"", vec![block()])], 0),
            policy("second", Mode::Detect, None, vec![("http.request.uri.path eq \"/a\"", vec![block()])], 1),
        ],
        ..Specification::default()
    };
    let (one, both) = (Plan::compile(&spec, &[0]).unwrap(), Plan::compile(&spec, &[0, 1]).unwrap());
    let arena = Bump::new();
    let request = Request::get("/a");
    let transaction = Transaction::new(request.head(), &arena);
    let mut outcome = Outcome::default();
    let mut meter = NoMeter;
    let mut context = Context { detect: false, request_id: b"", now_ms: 0, ..Context::new(&mut meter) };
    for plan in [&one, &both, &one, &both] {
        let _ = plan.evaluate(Phase::Request, &transaction, &mut context, &mut outcome);
    }
    let rules: Vec<u32> = outcome.findings.iter().map(|finding| finding.rule.0).collect();
    assert_eq!(rules, [0, 1], "each policy once, the second when it first applies");
}

#[test]
fn what_a_policy_allowed_in_one_plan_holds_in_the_next_and_for_that_policy_alone() {
    let specification = |scope| {
        let log = |id, first| policy(id, Mode::On, None, vec![("http.host ne \"\"", vec![Action::Log])], first);
        let allows = vec![("http.host ne \"\"", vec![Action::Allow(scope)]), ("http.host ne \"\"", vec![block()])];
        let policies = vec![log("a", 0), policy("b", Mode::On, None, allows, 1), log("c", 3)];
        Specification { policies, ..Specification::default() }
    };
    for (scope, expected) in [(AllowScope::Policy, vec![0, 3]), (AllowScope::All, vec![])] {
        let specification = specification(scope);
        let request = Request::get("/");
        let arena = Bump::new();
        let transaction = Transaction::new(request.head(), &arena);
        let mut outcome = Outcome::default();
        let mut meter = NoMeter;
        let mut context = Context { detect: false, request_id: b"id", now_ms: 1_000, ..Context::new(&mut meter) };
        // In each plan policy b has another bit; in the third one its bit in the first is that of policy a.
        for apply in [&[1][..], &[0, 1], &[0, 2]] {
            let plan = Plan::compile(&specification, apply).expect("the policies compile");
            let decision = plan.evaluate(Phase::Request, &transaction, &mut context, &mut outcome);
            assert_eq!(status(&decision), 0);
        }
        let logged: Vec<u32> = outcome.findings.iter().map(|found| found.rule.0).filter(|rule| *rule != 1).collect();
        assert_eq!(logged, expected, "{scope:?}");
    }
}

#[test]
fn rate_limits_answer_429_with_its_header_fields() {
    let limit = RateLimit {
        limit: 0,
        key: weir_rules::parse_value("ip.src").unwrap(),
        requests: 60,
        period_ms: 60_000,
        burst: 1,
        ipv6_prefix: 64,
        response: Arc::new(Response { status: 429, ..Response::default() }),
    };
    let plan = plan(vec![policy(
        "p",
        Mode::On,
        None,
        vec![("http.request.uri.path eq \"/\"", vec![Action::RateLimit(limit)])],
        0,
    )]);
    let memory: Vec<AtomicU64> = (0..RateTable::bytes_for(100) / 8).map(|_| AtomicU64::new(0)).collect();
    let table = RateTable::new(&memory);
    let arena = Bump::new();
    let request = Request::get("/");
    let answer = |client: &str| {
        let head = Head { client: client.parse().unwrap(), ..request.head() };
        let transaction = Transaction::new(head, &arena);
        let mut meter = NoMeter;
        let mut context =
            Context { detect: false, request_id: b"", now_ms: 5_000, limits: Some(&table), ..Context::new(&mut meter) };
        plan.evaluate(Phase::Request, &transaction, &mut context, &mut Outcome::default())
    };
    let customer = ["2001:db8:0:1::1", "2001:db8:0:1:ffff::2", "2001:db8:0:1::1", "2001:db8:0:2::1"].map(answer);
    assert_eq!(customer.iter().map(status).collect::<Vec<_>>(), [0, 0, 429, 0], "IPv6 counts by /64");
    let answers = ["192.0.2.1"; 3].map(answer);
    assert_eq!(answers.iter().map(status).collect::<Vec<_>>(), [0, 0, 429]);
    let Decision::Respond(response) = &answers[2] else { panic!() };
    let headers: Vec<(&str, &str)> = response
        .headers
        .iter()
        .map(|(n, v)| (std::str::from_utf8(n).unwrap(), std::str::from_utf8(v).unwrap()))
        .collect();
    assert_eq!(
        headers,
        [("Retry-After", "1"), ("RateLimit-Policy", "\"p-0\";q=60;w=60"), ("RateLimit", "\"p-0\";r=0;t=1")]
    );
}

/// A limit of one request in an hour.
fn hourly(limit: u32, key: &str) -> RateLimit {
    RateLimit {
        limit,
        key: weir_rules::parse_value(key).unwrap_or_else(|errors| panic!("{key}: {errors:?}")),
        requests: 1,
        period_ms: 3_600_000,
        burst: 0,
        ipv6_prefix: 48,
        response: Arc::new(Response { status: 429, ..Response::default() }),
    }
}

#[test]
fn a_request_without_a_key_is_counted_by_client_and_the_log_shows_what_was_counted() {
    let limits = [
        "http.request.headers[\"x-tenant\"][0]",
        "http.request.headers[\"authorization\"][0]",
        "concat(ip.src, http.request.uri.args[\"q\"][0])",
        "ip.src",
    ];
    let memory: Vec<AtomicU64> = (0..RateTable::bytes_for(1000) / 8).map(|_| AtomicU64::new(0)).collect();
    let table = RateTable::new(&memory);
    let arena = Bump::new();
    let answer = |key: &str, client: &str, field: Option<(&'static str, &'static str)>| {
        let plan = plan(vec![policy(key, Mode::On, None, vec![("true", vec![Action::RateLimit(hourly(0, key))])], 0)]);
        let mut request = Request::get("/?q=a");
        request.headers.extend(field.map(|(name, value)| Header::new(name.as_bytes(), value.as_bytes())));
        let head = Head { client: client.parse().unwrap(), ..request.head() };
        let transaction = Transaction::new(head, &arena);
        let (mut outcome, mut meter) = (Outcome::default(), NoMeter);
        let mut context =
            Context { detect: false, request_id: b"", now_ms: 5_000, limits: Some(&table), ..Context::new(&mut meter) };
        plan.evaluate(Phase::Request, &transaction, &mut context, &mut outcome);
        let found = outcome.findings.iter().find(|finding| finding.action == "rate_limit");
        found.map(|finding| String::from_utf8(finding.key.clone()).unwrap())
    };
    let tenant = |value: &'static str| Some(("X-Tenant", value));
    type Case = (usize, &'static str, Option<(&'static str, &'static str)>, Option<&'static str>);
    let cases: [Case; 13] = [
        (0, "192.0.2.1", None, None),
        (0, "192.0.2.2", None, None),
        (0, "192.0.2.1", tenant(""), Some("none:192.0.2.1")),
        (0, "192.0.2.9", tenant("192.0.2.1"), None),
        (0, "192.0.2.8", tenant("192.0.2.1"), Some("text:192.0.2.1")),
        (0, "2001:db8:1:2::3", None, None),
        (0, "2001:db8:1:4::5", None, Some("none:2001:db8:1::/48")),
        (0, "192.0.2.9", tenant("Bearer x"), None),
        (0, "192.0.2.9", tenant("Bearer x"), Some("hash:")),
        (2, "192.0.2.1", None, None),
        (2, "192.0.2.1", None, Some("text:192.0.2.1a")),
        (3, "2001:db8::1", None, None),
        (3, "2001:db8::2", None, Some("ip:2001:db8::/48")),
    ];
    for (limit, client, field, expected) in cases {
        let key = answer(limits[limit], client, field);
        let shown = key.as_deref().map(|key| if key.starts_with("hash:") { "hash:" } else { key });
        assert_eq!(shown, expected, "{} from {client} with {field:?}", limits[limit]);
    }
    let mut hashes: Vec<Option<String>> = ["secret-1", "secret-2", "secret-1", "secret-2"]
        .map(|value| answer(limits[1], "192.0.2.1", Some(("Authorization", value))))
        .to_vec();
    assert_eq!(hashes.drain(..2).collect::<Vec<_>>(), [None, None]);
    assert_ne!(hashes[0], hashes[1]);
    for hash in hashes.iter().map(|hash| hash.as_deref().expect("is over the limit")) {
        assert!(hash.len() == 21 && hash.starts_with("hash:") && !hash.contains("secret"), "{hash}");
    }
}

#[test]
fn a_header_field_with_line_ends_is_left_out_and_redirects_lose_theirs() {
    let value = |text| weir_rules::parse_value(text).unwrap();
    let rules = vec![
        (
            "http.request.method eq \"GET\"",
            vec![
                Action::SetHeader(Side::Request, b"X-Query".to_vec(), value("url_decode(http.request.uri.query)")),
                Action::RemoveHeader(Side::Response, b"Server".to_vec()),
            ],
        ),
        (
            "http.request.uri.path eq \"/old\"",
            vec![Action::Redirect {
                status: 301,
                to: value("concat(\"https://\", http.host, \"/new?\", http.request.uri.query)"),
            }],
        ),
    ];
    let plan = plan(vec![policy("p", Mode::On, None, rules, 0)]);
    assert!(plan.touches_response());
    let (decision, outcome) = run(&plan, &Request::get("/old?a%0d%0aX: y"), false);
    assert_eq!(outcome.header_changes[0].value, None, "without its line end it would be another value");
    assert_eq!((outcome.header_changes[1].side, outcome.header_changes[1].value.as_ref()), (Side::Response, None));
    let Decision::Respond(response) = decision else { panic!() };
    assert_eq!(response.status, 301);
    assert_eq!(response.headers[0].1, b"https://example.com/new?a%0d%0aX: y");
}

#[test]
fn an_expression_that_is_never_true_and_one_that_always_is() {
    let plan = plan(vec![policy(
        "p",
        Mode::On,
        None,
        vec![
            ("not http.request.uri.path contains \"/\"", vec![block()]),
            ("all(http.request.uri.args.values[*] contains \"x\")", vec![Action::Tag("all-of-none".into())]),
            ("http.request.method ne \"POST\"", vec![Action::Log]),
        ],
        0,
    )]);
    let (decision, outcome) = run(&plan, &Request::get("/"), false);
    assert_eq!((decision, outcome.tags.as_slice()), (Decision::Continue, &["all-of-none".to_owned()][..]));
    assert_eq!(outcome.findings.last().unwrap().action, "log");
}
