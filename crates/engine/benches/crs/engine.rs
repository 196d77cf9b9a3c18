//! CRS in the engine, without nginx.

use std::hint::black_box;
use std::sync::Arc;

use bumpalo::Bump;
use weir_engine::seclang::{Profile, Program, Tuning};
use weir_engine::{Context, Meter, Outcome, Plan, RuleIndex, Specification};
use weir_http::{Anomalies, Head, Header, Transaction, Version};
use weir_rules::Phase;
use weir_rules::seclang::{Options, RuleSource, load};

use super::requests::Request;

const RULES: &str = "/usr/share/modsecurity-crs/rules/*.conf";
pub const SETUP: &str = "/etc/modsecurity/crs/crs-setup.conf";

/// CRS as it is installed, or as `WEIR_RULES` and `WEIR_SETUP` say.
pub fn program() -> Arc<Program> {
    let settings = RuleSource::Text { name: "settings".into(), text: "SecMarker WEIR-SETTINGS\n".into() };
    let rules = std::env::var("WEIR_RULES").unwrap_or_else(|_| RULES.into());
    let setup = std::env::var("WEIR_SETUP").unwrap_or_else(|_| SETUP.into());
    let roots = [RuleSource::File(setup.into()), settings, RuleSource::File(rules.into())];
    let loaded = load(&roots, &Options::default()).unwrap_or_else(|problems| panic!("{problems:?}"));
    Arc::new(Program::compile(&loaded.set).expect("the rules compile"))
}

/// A policy that runs it at a paranoia level and only detects.
pub fn plan(program: &Arc<Program>, level: &str) -> Plan {
    let levels = ["paranoia_level", "executing_paranoia_level", "blocking_paranoia_level", "detection_paranoia_level"];
    let tuning = Tuning {
        detect: true,
        settings: levels.map(|name| (name.as_bytes().to_vec(), level.as_bytes().to_vec())).to_vec(),
        request_body: Some(true),
        processors_by_content_type: true,
        ..Tuning::default()
    };
    let profile = Profile::new(Arc::clone(program), RuleIndex(1), tuning);
    Plan::compile(&Specification::of_rule_set(profile), &[0]).expect("the policy compiles")
}

/// Runs a request: its findings, its anomalies, and the units of work that it took.
#[inline(never)]
pub fn evaluate(plan: &Plan, request: &Request, arena: &Bump, meter: &mut impl Meter) -> (usize, Anomalies, u64) {
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
    let mut context = Context { detect: true, request_id: b"id", now_ms: 1_700_000_000_000, ..Context::new(meter) };
    black_box(plan.evaluate(Phase::Request, &transaction, &mut context, &mut outcome));
    if plan.wants_body(&transaction, &outcome).is_some() {
        transaction.set_body(&request.body);
    }
    black_box(plan.evaluate(Phase::Body, &transaction, &mut context, &mut outcome));
    outcome.run_rule_sets(weir_rules::seclang::ir::Phase::Logging, &transaction, &mut context);
    (outcome.findings.len(), transaction.anomalies(), transaction.work().spent())
}
