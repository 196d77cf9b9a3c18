//! A site with one rule set, and requests to it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use bumpalo::Bump;
use weir_engine::seclang::{Collections, Profile, Program, Tuning};
use weir_engine::{
    Context, Decision, Finding, Geo, GeoLocation, Meter, Outcome, Plan, RuleIndex, Specification, Verdict,
};
use weir_http::{Anomalies, Head, Header, ResponseHead, Transaction, Version};
use weir_rules::Phase;
use weir_rules::seclang::ir::Phase as SecPhase;
use weir_rules::seclang::{Memory, Options, RuleSource, load_from};

/// A request and the answer to it.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: &'static str,
    pub target: Vec<u8>,
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Vec<u8>,
    /// Whether the body is only the beginning of what was sent.
    pub truncated: bool,
    /// Whether it may not take more work than its size justifies, which the naive run would.
    pub bounded: bool,
    pub answer: Option<Answer>,
}

/// What the upstream answers.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn get(target: &str) -> Self {
        let headers = vec![("Host".to_owned(), b"localhost".to_vec())];
        Self {
            method: "GET",
            target: target.into(),
            headers,
            body: Vec::new(),
            truncated: false,
            bounded: false,
            answer: None,
        }
    }

    pub fn post(target: &str, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        let length = body.len().to_string();
        Self { method: "POST", body, ..Self::get(target) }
            .header("Content-Type", content_type)
            .header("Content-Length", length)
    }

    pub fn form(target: &str, body: &str) -> Self {
        Self::post(target, "application/x-www-form-urlencoded", body)
    }

    pub fn header(mut self, name: &str, value: impl Into<Vec<u8>>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub fn truncated(mut self) -> Self {
        self.truncated = true;
        self
    }

    pub fn answer(mut self, status: u16, content_type: &str, body: &str) -> Self {
        let headers = vec![("Content-Type".to_owned(), content_type.into())];
        self.answer = Some(Answer { status, headers, body: body.into() });
        self
    }
}

/// What one request has come to.
#[derive(Debug, Default, PartialEq)]
pub struct Seen {
    /// Ids of the rules that were logged, in order.
    pub ids: Vec<u64>,
    pub findings: Vec<Finding>,
    pub verdict: Verdict,
    pub score: u32,
    /// Status and `Location` of the first answer that Weir gave.
    pub answered: Option<(u16, Option<Vec<u8>>)>,
}

impl Seen {
    /// The ids, separated by spaces.
    pub fn ids(&self) -> String {
        self.ids.iter().map(u64::to_string).collect::<Vec<_>>().join(" ")
    }
}

/// A rule set twice: as it is used, and naively.
pub struct Site {
    pub program: Arc<Program>,
    quick: Plan,
    naive: Plan,
    /// Units of work of the last request, and its anomalies.
    work: Mutex<(u64, Anomalies)>,
    /// Rules that the last request was tested against.
    tested: Mutex<usize>,
}

/// Counts rules that are tested.
#[derive(Default)]
struct Counting(usize);

impl Meter for Counting {
    fn sampled(&self) -> bool {
        false
    }
    fn now(&self) -> u64 {
        0
    }
    fn rule(&mut self, rule: RuleIndex, _: bool, _: u64) {
        self.0 += usize::from(rule.0 > 0);
    }
    fn lane(&mut self, _: u32, _: u64) {}
}

impl Site {
    pub fn new(rules: &str) -> Self {
        Self::tuned(rules, Tuning { request_body: Some(true), ..Tuning::default() })
    }

    pub fn tuned(rules: &str, tuning: Tuning) -> Self {
        Self::of(program(rules).unwrap_or_else(|errors| panic!("{errors}\n{rules}")), tuning)
    }

    pub fn of(program: Arc<Program>, tuning: Tuning) -> Self {
        let quick = Profile::new(Arc::clone(&program), RuleIndex(1), tuning.clone());
        let naive = Profile::naive(Arc::clone(&program), RuleIndex(1), tuning);
        Self { quick: plan(quick), naive: plan(naive), program, work: Mutex::default(), tested: Mutex::default() }
    }

    /// What a request comes to.
    pub fn see(&self, request: &Request) -> Seen {
        let (quick, naive) = self.both(request);
        assert_eq!(quick, naive, "filters or folding changed the outcome of {request:?}");
        quick
    }

    /// What a request comes to as rule sets are used, and naively.
    pub fn both(&self, request: &Request) -> (Seen, Seen) {
        (self.evaluate(&self.quick, request, None), self.evaluate(&self.naive, request, None))
    }

    /// What a request comes to that may not take more work than its size justifies; the naive run would.
    pub fn see_bounded(&self, request: &Request) -> Seen {
        self.evaluate(&self.quick, &Request { bounded: true, ..request.clone() }, None)
    }

    /// Rules that a request is tested against exactly.
    pub fn tested(&self, request: &Request) -> usize {
        self.evaluate(&self.quick, request, None);
        *self.tested.lock().unwrap()
    }

    /// Units of work of the last request, and its anomalies.
    pub fn work(&self) -> (u64, Anomalies) {
        *self.work.lock().unwrap()
    }

    /// With memory: `quick` has one, the naive run another.
    pub fn see_with(&self, request: &Request, memories: [&dyn Collections; 2], now_s: u64) -> Seen {
        let quick = self.evaluate(&self.quick, request, Some((memories[0], now_s)));
        let naive = self.evaluate(&self.naive, request, Some((memories[1], now_s)));
        assert_eq!(quick, naive, "filters or folding changed the outcome of {request:?}");
        quick
    }

    fn evaluate(&self, plan: &Plan, request: &Request, memory: Option<(&dyn Collections, u64)>) -> Seen {
        let arena = Bump::new();
        let borrowed = |headers: &[(String, Vec<u8>)]| -> &[Header<'_>] {
            let copied = headers.iter().map(|(name, value)| {
                Header::new(arena.alloc_slice_copy(name.as_bytes()), arena.alloc_slice_copy(value))
            });
            arena.alloc_slice_fill_iter(copied.collect::<Vec<_>>())
        };
        let transaction = Transaction::new(head(request, borrowed(&request.headers)), &arena);
        if !request.bounded {
            transaction.work().unbind();
        }
        let (mut outcome, mut meter) = (Outcome::default(), Counting::default());
        let mut context = Context {
            detect: false,
            request_id: b"id",
            now_ms: memory.map_or(1_700_000_000_000, |(_, now_s)| now_s * 1000),
            collections: memory.map(|(collections, _)| collections),
            ..Context::new(&mut meter)
        };
        let mut answered = None;
        let mut step = |decision: Decision| match decision {
            Decision::Continue | Decision::Verify | Decision::Inspect => true,
            Decision::Respond(response) => {
                let location = response.headers.iter().find(|(name, _)| name == b"Location");
                answered.get_or_insert((response.status, location.map(|(_, value)| value.clone())));
                false
            }
        };
        let mut goes_on = step(plan.evaluate(Phase::Request, &transaction, &mut context, &mut outcome));
        if goes_on {
            if plan.wants_body(&transaction, &outcome).is_some() {
                transaction.set_body(arena.alloc_slice_copy(&request.body));
                if request.truncated {
                    transaction.set_body_truncated();
                }
            }
            goes_on = step(plan.evaluate(Phase::Body, &transaction, &mut context, &mut outcome));
        }
        if let Some(answer) = request.answer.as_ref().filter(|_| goes_on) {
            transaction.set_response(ResponseHead { status: answer.status, headers: borrowed(&answer.headers) });
            goes_on = step(plan.evaluate(Phase::Response, &transaction, &mut context, &mut outcome));
            let kind = answer.headers.iter().find(|(name, _)| name == "Content-Type");
            let kind = kind.map_or(&b""[..], |(_, value)| value);
            if goes_on {
                if outcome.wants_response_body(kind).is_some() {
                    outcome.set_response_body(arena.alloc_slice_copy(&answer.body));
                }
                step(outcome.run_rule_sets(SecPhase::ResponseBody, &transaction, &mut context));
            }
        }
        outcome.run_rule_sets(SecPhase::Logging, &transaction, &mut context);
        *self.tested.lock().unwrap() = meter.0;
        *self.work.lock().unwrap() = (transaction.work().spent(), transaction.anomalies());
        // 0 for the rule that ran the set.
        let id = |finding: &Finding| finding.rule.0.checked_sub(1).map_or(0, |at| self.program.rules()[at as usize].id);
        Seen {
            ids: outcome.findings.iter().map(id).collect(),
            verdict: outcome.verdict,
            score: outcome.score,
            findings: std::mem::take(&mut outcome.findings),
            answered,
        }
    }
}

fn head<'a>(request: &'a Request, headers: &'a [Header<'a>]) -> Head<'a> {
    let query = request.target.iter().position(|byte| *byte == b'?');
    let (path, query) =
        query.map_or((&request.target[..], &b""[..]), |at| (&request.target[..at], &request.target[at + 1..]));
    let address = "127.0.0.1".parse().unwrap();
    Head {
        method: request.method.as_bytes(),
        target: &request.target,
        path,
        query,
        version: Version::Http11,
        host: b"localhost",
        headers,
        peer: address,
        peer_port: 1234,
        client: address,
        server: address,
        server_port: 80,
        tls: None,
        received_ms: 1_700_000_000_000,
    }
}

/// Checks which rules each request matches: rules, a request, ids.
pub fn check(cases: impl IntoIterator<Item = (&'static str, Request, &'static str)>) {
    for (rules, request, ids) in cases {
        assert_eq!(Site::new(rules).see(&request).ids(), ids, "{rules}\n{request:?}");
    }
}

/// The program of a text.
pub fn program(rules: &str) -> Result<Arc<Program>, String> {
    let files = Memory(BTreeMap::from([(PathBuf::from("words.data"), b"alpha\n# beta\nGamma ray\n".to_vec())]));
    let roots = [RuleSource::Text { name: "rules".to_owned(), text: rules.to_owned() }];
    let loaded = load_from(&roots, &Options::default(), &files)
        .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    Program::compile(&loaded.set).map(Arc::new).map_err(|errors| format!("{errors:?}"))
}

/// A database of two countries.
struct Countries;

impl Geo for Countries {
    fn locate(&self, address: IpAddr) -> GeoLocation {
        match address.to_string().as_str() {
            "192.0.2.1" => GeoLocation { country: "DE".into(), continent: "EU".into(), asnum: 0 },
            "2001:db8::1" => GeoLocation { country: "NZ".into(), continent: "OC".into(), asnum: 0 },
            _ => GeoLocation::default(),
        }
    }
}

fn plan(profile: Profile) -> Plan {
    let geo: Option<Arc<dyn Geo>> = Some(Arc::new(Countries));
    Plan::compile(&Specification { geo, ..Specification::of_rule_set(profile) }, &[0]).unwrap()
}
