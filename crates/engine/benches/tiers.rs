//! What each tier of matching costs on one ordinary form POST, beside the ways that lost.
//!
//! `cargo bench -p weir-engine` for times, `scripts/callgrind.sh` for instruction counts (it runs
//! this file with `WEIR_TIER=name`, which does one way a thousand times and exits).

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};

use bumpalo::Bump;
use criterion::Criterion;
use regex_automata::meta::Regex;
use regex_automata::util::syntax;
use weir_engine::{
    Action, Context, Mode, NoMeter, Outcome, Plan, PolicySpec, Response, RuleIndex, RuleSpec, SelectorSpec,
    Specification,
};
use weir_http::{Head, Header, Transaction, Version};
use weir_rules::Phase;

#[path = "tiers/patterns.rs"]
mod patterns;

const LANES: [&str; 6] = [
    "http.request.uri.path",
    "http.request.uri.args.values",
    "http.user_agent",
    "http.cookie",
    "http.referer",
    "http.request.body.form.values",
];
const BODY: &[u8] =
    b"name=Ada+Lovelace&email=ada%40example.com&city=London&comment=Looking+forward+to+the+next+meeting&agree=yes";

struct NoLists;

impl weir_rules::ListKinds for NoLists {
    fn kind(&self, _: &str) -> Option<weir_rules::ListKind> {
        None
    }
    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// `count` rules over the six lanes: the hand-written patterns, then variations of them.
fn plan(count: usize) -> Plan {
    let rules = (0..count).map(|number| {
        let pattern = patterns::pattern(number);
        let lane = LANES[number % LANES.len()];
        let text = format!("{lane} matches r#\"{pattern}\"#");
        RuleSpec {
            index: RuleIndex(number as u32),
            id: format!("rule-{number}"),
            message: String::new(),
            score: 0,
            when: weir_rules::parse(&text, &NoLists).unwrap_or_else(|errors| panic!("{}", errors[0].render(&text))),
            actions: vec![Action::Block(Response { status: 403, ..Response::default() }.into())],
        }
    });
    let selector = SelectorSpec { id: "all".into(), when: None, rules: rules.collect() };
    let policy = PolicySpec { id: "bench".into(), mode: Mode::On, inflate: false, selectors: vec![selector] };
    let spec = Specification { policies: vec![policy], ..Specification::default() };
    Plan::compile(&spec, &[0]).expect("the benchmark's rules compile")
}

fn headers() -> Vec<Header<'static>> {
    [
        ("Host", "shop.example.com"),
        (
            "User-Agent",
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/129.0.0.0 Safari/537.36",
        ),
        ("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"),
        ("Accept-Language", "en-GB,en;q=0.7,de;q=0.3"),
        ("Accept-Encoding", "gzip, deflate, br"),
        ("Referer", "https://shop.example.com/catalogue/garden?page=2&sort=price"),
        ("Cookie", "session=8f14e45fceea167a5a36dedd4bea2543; theme=dark; consent=1; _ga=GA1.2.1234567890.1700000000"),
        ("Content-Type", "application/x-www-form-urlencoded"),
        ("Content-Length", "109"),
    ]
    .map(|(name, value)| Header::new(name.as_bytes(), value.as_bytes()))
    .to_vec()
}

fn head<'a>(headers: &'a [Header<'a>]) -> Head<'a> {
    let local = IpAddr::V4(Ipv4Addr::LOCALHOST);
    Head {
        method: b"POST",
        target: b"/catalogue/garden/order?item=4711&colour=green&ref=newsletter-2024-05",
        path: b"/catalogue/garden/order",
        query: b"item=4711&colour=green&ref=newsletter-2024-05",
        version: Version::Http11,
        host: b"shop.example.com",
        headers,
        peer: local,
        peer_port: 40000,
        client: local,
        server: local,
        server_port: 80,
        tls: None,
        received_ms: 1_700_000_000_000,
    }
}

#[inline(never)]
fn evaluate(plan: &Plan, headers: &[Header<'_>], arena: &mut Bump) {
    arena.reset();
    let transaction = Transaction::new(head(headers), arena);
    let mut outcome = Outcome::default();
    let mut meter = NoMeter;
    let mut context = Context { detect: false, request_id: b"", now_ms: 0, ..Context::new(&mut meter) };
    let first = plan.evaluate(Phase::Request, &transaction, &mut context, &mut outcome);
    transaction.set_body(BODY);
    let second = plan.evaluate(Phase::Body, &transaction, &mut context, &mut outcome);
    black_box((first, second));
    assert!(outcome.findings.is_empty(), "the benchmark's request is benign");
}

/// The values that the lanes look at.
fn values(headers: &[Header<'_>], arena: &Bump) -> Vec<Vec<Vec<u8>>> {
    let transaction = Transaction::new(head(headers), arena);
    transaction.set_body(BODY);
    let owned = |slice: &[u8]| slice.to_vec();
    let header = |name: &[u8]| vec![owned(transaction.header(name, weir_http::header_hash(name)).unwrap_or_default())];
    vec![
        vec![owned(transaction.head.path)],
        transaction.arguments().iter().map(|pair| owned(pair.value)).collect(),
        header(b"user-agent"),
        header(b"cookie"),
        header(b"referer"),
        transaction.form().iter().map(|pair| owned(pair.value)).collect(),
    ]
}

type Way = (&'static str, Box<dyn FnMut()>);

fn ways() -> Vec<Way> {
    let mut ways: Vec<Way> = Vec::new();
    for (name, count) in [("plan-10", 10), ("plan-40", 40), ("plan-1000", 1000), ("plan-10000", 10_000)] {
        let wanted = std::env::var("WEIR_TIER").ok();
        if wanted.is_some_and(|wanted| wanted != name) {
            continue;
        }
        let (plan, mut arena) = (plan(count), Bump::new());
        ways.push((name, Box::new(move || evaluate(&plan, &headers(), &mut arena))));
    }
    let arena = Bump::new();
    let lanes = values(&headers(), &arena);
    let regex = |pattern: &str| {
        Regex::builder()
            .syntax(syntax::Config::new().utf8(false).unicode(false))
            .build(pattern)
            .expect("patterns compile")
    };
    let each: Vec<(usize, Regex)> =
        (0..40).map(|number| (number % LANES.len(), regex(&patterns::pattern(number)))).collect();
    let of = lanes.clone();
    ways.push((
        "every-regex-40",
        Box::new(move || {
            for (lane, regex) in &each {
                for value in &of[*lane] {
                    assert!(!black_box(regex.is_match(value)));
                }
            }
        }),
    ));
    for (name, count) in [("aho-corasick-40", 40), ("aho-corasick-10000", 10_000)] {
        let automata: Vec<aho_corasick::AhoCorasick> = (0..LANES.len())
            .map(|lane| {
                let of_lane = (0..count).filter(|number| number % LANES.len() == lane).flat_map(patterns::literals);
                aho_corasick::AhoCorasick::builder()
                    .ascii_case_insensitive(true)
                    .build(of_lane)
                    .expect("literals compile")
            })
            .collect();
        let of = lanes.clone();
        ways.push((
            name,
            Box::new(move || {
                for (automaton, values) in automata.iter().zip(&of) {
                    for value in values {
                        black_box(automaton.find_overlapping_iter(value).count());
                    }
                }
            }),
        ));
    }
    ways
}

fn main() {
    if let Ok(wanted) = std::env::var("WEIR_TIER") {
        let mut ways = ways();
        let way = ways.iter_mut().find(|way| way.0 == wanted).unwrap_or_else(|| panic!("no way is called {wanted}"));
        let times = std::env::var("WEIR_TIMES").ok().and_then(|times| times.parse().ok()).unwrap_or(1000);
        (0..times).for_each(|_| (way.1)());
        return;
    }
    let mut criterion = Criterion::default().configure_from_args();
    for (name, mut way) in ways() {
        criterion.bench_function(name, |bencher| bencher.iter(&mut way));
    }
    criterion.final_summary();
}
