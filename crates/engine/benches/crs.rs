//! What the Core Rule Set costs in the engine alone: ordinary requests whose values never repeat, and requests made to
//! be dear.
//!
//! `cargo bench -p weir-engine --bench crs [-- NAME...]` prints microseconds per request at each paranoia level. With
//! `WEIR_TIMES=n` it runs one request of the name n times and exits, for `scripts/callgrind.sh` and profilers.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use bumpalo::Bump;
use weir_engine::seclang::{Profile, Program, Tuning};
use weir_engine::{
    Action, Context, Meter, Mode, NoMeter, Outcome, Plan, PolicySpec, RuleIndex, RuleSpec, SelectorSpec, Specification,
};
use weir_http::{Head, Header, Transaction, Version};
use weir_rules::Phase;
use weir_rules::ir::Expr;
use weir_rules::seclang::{Options, RuleSource, load};

#[path = "crs/requests.rs"]
mod requests;

use requests::{REQUESTS, Request};

const RULES: &str = "/usr/share/modsecurity-crs/rules/*.conf";
const SETUP: &str = "/etc/modsecurity/crs/crs-setup.conf";

fn program() -> Arc<Program> {
    let settings = RuleSource::Text { name: "settings".into(), text: "SecMarker WEIR-SETTINGS\n".into() };
    let rules = std::env::var("WEIR_RULES").unwrap_or_else(|_| RULES.into());
    let setup = std::env::var("WEIR_SETUP").unwrap_or_else(|_| SETUP.into());
    let roots = [RuleSource::File(setup.into()), settings, RuleSource::File(rules.into())];
    let loaded = load(&roots, &Options::default()).unwrap_or_else(|problems| panic!("{problems:?}"));
    Arc::new(Program::compile(&loaded.set).expect("the rules compile"))
}

fn plan(program: &Arc<Program>, level: &str) -> Plan {
    let levels = ["paranoia_level", "executing_paranoia_level", "blocking_paranoia_level", "detection_paranoia_level"];
    let tuning = Tuning {
        detect: true,
        settings: levels.map(|name| (name.as_bytes().to_vec(), level.as_bytes().to_vec())).to_vec(),
        request_body: Some(true),
        processors_by_content_type: true,
        ..Tuning::default()
    };
    let rule = RuleSpec {
        index: RuleIndex(0),
        id: "set".into(),
        message: String::new(),
        score: 0,
        when: Expr::Const(true),
        actions: vec![Action::RuleSet(Arc::new(Profile::new(Arc::clone(program), RuleIndex(1), tuning)))],
    };
    let selectors = vec![SelectorSpec { id: "all".into(), when: None, rules: vec![rule] }];
    let policies = vec![PolicySpec { id: "site".into(), mode: Mode::On, inflate: false, selectors }];
    Plan::compile(&Specification { policies, ..Specification::default() }, &[0]).expect("the policy compiles")
}

/// Calls, matches and time of each rule and lane.
#[derive(Default)]
struct Costs {
    rules: BTreeMap<u32, (u64, u64, u64)>,
    lanes: BTreeMap<u32, (u64, u64)>,
}

impl Meter for Costs {
    fn sampled(&self) -> bool {
        true
    }
    fn now(&self) -> u64 {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every x86-64 processor has the instruction.
        return unsafe { core::arch::x86_64::_rdtsc() };
        #[cfg(not(target_arch = "x86_64"))]
        0
    }
    fn rule(&mut self, rule: RuleIndex, hit: bool, ticks: u64) {
        let cost = self.rules.entry(rule.0).or_default();
        *cost = (cost.0 + 1, cost.1 + u64::from(hit), cost.2 + ticks);
    }
    fn lane(&mut self, lane: u32, ticks: u64) {
        let cost = self.lanes.entry(lane).or_default();
        *cost = (cost.0 + 1, cost.1 + ticks);
    }
}

impl Costs {
    fn print(&self, program: &Program, times: u64) {
        let mut lines: Vec<(u64, String)> = Vec::new();
        for (rule, (calls, hits, ticks)) in &self.rules {
            let id = rule.checked_sub(1).map_or(0, |at| program.rules()[at as usize].id);
            lines.push((
                *ticks,
                format!(
                    "rule {id:<8} {:>8.2} calls {:>8.2} hits",
                    *calls as f64 / times as f64,
                    *hits as f64 / times as f64
                ),
            ));
        }
        for (lane, (calls, ticks)) in &self.lanes {
            lines.push((*ticks, format!("lane {lane:<8} {:>8.2} calls {:>13}", *calls as f64 / times as f64, "")));
        }
        lines.sort_by_key(|line| std::cmp::Reverse(line.0));
        lines.iter().take(60).for_each(|(ticks, line)| println!("{line} {:>8} ticks", ticks / times));
    }
}

#[inline(never)]
fn evaluate(
    plan: &Plan,
    request: &Request,
    arena: &Bump,
    meter: &mut impl Meter,
) -> (usize, weir_http::Anomalies, u64) {
    let headers: Vec<Header<'_>> =
        request.headers.iter().map(|(name, value)| Header::new(name.as_bytes(), value.as_bytes())).collect();
    let target = request.target.as_bytes();
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let local = "127.0.0.1".parse().expect("an address");
    let head = Head {
        method: if request.body.is_empty() { b"GET" } else { b"POST" },
        target,
        path: path.as_bytes(),
        query: query.as_bytes(),
        version: Version::Http11,
        host: b"www.example.com",
        headers: &headers,
        peer: local,
        peer_port: 40000,
        client: local,
        server: local,
        server_port: 80,
        tls: None,
        received_ms: 1_700_000_000_000,
    };
    let transaction = Transaction::new(head, arena);
    let mut outcome = Outcome::default();
    let mut context =
        Context { detect: true, request_id: b"id", now_ms: 1_700_000_000_000, limits: None, collections: None, meter };
    black_box(plan.evaluate(Phase::Request, &transaction, &mut context, &mut outcome));
    if plan.wants_body(&transaction, &outcome).is_some() {
        transaction.set_body(&request.body);
    }
    black_box(plan.evaluate(Phase::Body, &transaction, &mut context, &mut outcome));
    outcome.run_rule_sets(weir_rules::seclang::ir::Phase::Logging, &transaction, &mut context);
    (outcome.findings.len(), transaction.anomalies(), transaction.work().spent())
}

fn main() {
    if !Path::new(SETUP).is_file() {
        return println!("skipped: {SETUP} is not there");
    }
    let chosen: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let requests = || {
        let is_chosen = |name: &&str| chosen.is_empty() || chosen.iter().any(|one| name == one);
        REQUESTS.iter().filter(move |(name, _)| is_chosen(name))
    };
    let program = program();
    let level = std::env::var("WEIR_LEVEL").unwrap_or_default();
    if let Some(times) = std::env::var("WEIR_TIMES").ok().and_then(|times| times.parse::<u64>().ok()) {
        let (plan, mut arena) = (plan(&program, if level.is_empty() { "1" } else { &level }), Bump::new());
        for (_, make) in requests() {
            let mut costs = std::env::var_os("WEIR_COSTS").map(|_| Costs::default());
            for number in 0..times {
                arena.reset();
                match &mut costs {
                    Some(costs) => evaluate(&plan, &make(number), &arena, costs),
                    None => evaluate(&plan, &make(number), &arena, &mut NoMeter),
                };
            }
            if let Some(costs) = costs {
                costs.print(&program, times);
            }
        }
        return;
    }
    println!("{:<18} {:>9} {:>10} {:>10} {:>10}", "request", "bytes", "level 1", "level 2", "level 4");
    let plans = ["1", "2", "4"].map(|level| plan(&program, level));
    for (name, make) in requests() {
        let bytes = make(0).bytes();
        let mut line = format!("{name:<18} {bytes:>9}");
        let mut notes = String::new();
        for plan in &plans {
            let mut arena = Bump::new();
            let (mut times, mut number, begun) = (Vec::new(), 0, Instant::now());
            while begun.elapsed().as_millis() < 400 || times.len() < 5 {
                let request = make(number);
                arena.reset();
                let started = Instant::now();
                let (findings, anomalies, spent) = evaluate(plan, &request, &arena, &mut NoMeter);
                times.push(started.elapsed().as_nanos() as f64 / 1e3);
                if number == 0 {
                    let names: Vec<_> = anomalies.names().collect();
                    notes += &format!(" {findings}{} ({} units)", names.join("+"), spent / 1000);
                }
                number += 1;
            }
            times.sort_by(f64::total_cmp);
            line += &format!(" {:>10.1}", times[times.len() / 2]);
        }
        println!("{line}   findings{notes}");
    }
}
