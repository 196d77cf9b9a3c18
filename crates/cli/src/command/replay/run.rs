//! One request through the plan, as a worker does it, and then again and again for its time.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bumpalo::Bump;
use weir_directives::DEFAULT_BODY_LIMIT;
use weir_engine::{Context, Decision, Finding, Meter, Outcome, Plan, RuleIndex, Verdict};
use weir_http::path::normalise;
use weir_http::{Anomalies, Head, Header, Transaction, Unreadable, uri};
use weir_ledger::Clock;
use weir_policy::{RuleLabel, Snapshot};
use weir_rules::Phase;
use weir_rules::seclang::ir::Phase as RuleSetPhase;

use super::policies::Policies;
use super::recorded::Recorded;
use super::stopwatch::{Stopwatch, Timed, median};
use crate::Failure;
use crate::arguments::{Bounds, Replay};
use crate::command::rules::Chosen;

/// Policies ready for requests.
pub(super) struct Replayer<'s> {
    pub chosen: &'s Chosen,
    /// Policies that the command line names.
    named: &'s [String],
    /// How many lanes and rules are shown.
    pub top: usize,
    client: IpAddr,
    repeat: u32,
    bounds: Bounds,
    clock: Clock,
}

/// The result of a request.
pub(super) struct Replayed {
    /// What it was run against.
    pub policies: Policies,
    pub verdict: Verdict,
    /// Status that Weir would answer with; `None` if the request goes on.
    pub status: Option<u16>,
    pub score: u32,
    pub decided_by: Option<RuleIndex>,
    pub findings: Vec<Finding>,
    pub tags: Vec<String>,
    /// What is broken in the request.
    pub anomalies: Vec<&'static str>,
    /// What rules could not read completely.
    pub unreadable: Option<Unreadable>,
    /// Whether nginx answers 400 before any rule runs.
    pub refused_by_nginx: bool,
    /// Nanoseconds of all phases; median.
    pub total_ns: u64,
    /// Lanes and rules, the dearest first.
    pub costs: Vec<Line>,
}

/// What a lane or rule has cost.
pub(super) struct Line {
    pub what: Timed,
    pub calls: u32,
    pub hits: u32,
    /// Nanoseconds; median.
    pub ns: u64,
}

impl<'s> Replayer<'s> {
    pub fn new(chosen: &'s Chosen, replay: &'s Replay) -> Self {
        let Replay { policy_id, client, repeat, top, bounds, .. } = replay;
        Self { repeat: *repeat, top: *top, ..Self::of(chosen, policy_id, *client, *bounds) }
    }

    /// For requests that run once.
    pub fn of(chosen: &'s Chosen, named: &'s [String], client: IpAddr, bounds: Bounds) -> Self {
        Self { chosen, named, top: 0, client, repeat: 0, bounds, clock: Clock::calibrate() }
    }

    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// The policies of a request, and the request as rules see it.
    pub fn place<'a>(&self, request: &'a Recorded, arena: &'a Bump) -> Result<(Policies, Transaction<'a>), Failure> {
        let transaction = Transaction::new(self.head(request, arena), arena);
        Ok((Policies::of(self.chosen, self.named, &transaction)?, transaction))
    }

    pub fn snapshot(&self) -> &Snapshot {
        &self.chosen.snapshot
    }

    /// A rule's name in logs.
    pub fn label(&self, rule: RuleIndex) -> Option<&RuleLabel> {
        self.snapshot().rules().get(rule.0 as usize)
    }

    /// Runs a request once for what it comes to, which also warms the caches, then for its time.
    pub fn replay(&self, request: &Recorded) -> Result<Replayed, Failure> {
        let mut arena = Bump::new();
        let policies = Policies::of(self.chosen, self.named, &Transaction::new(self.head(request, &arena), &arena))?;
        let plan = Arc::clone(&policies.plan);
        let mut replayed = self.once((request, &plan), &arena, &mut Stopwatch::new(self.clock, false), |evaluated| {
            let Evaluated { outcome, transaction, decision } = evaluated;
            let unreadable = transaction.unreadable();
            let is_answered = matches!(decision, Decision::Respond(_)) && !outcome.is_decided_by_rule_set();
            let refuses = self.bounds == Bounds::Closed && plan.may_refuse() && !is_answered;
            let refused = unreadable.filter(|_| refuses);
            Replayed {
                policies,
                verdict: if refused.is_some() { Verdict::Fail } else { outcome.verdict },
                status: match decision {
                    _ if refused.is_some() => refused.map(Unreadable::status),
                    Decision::Continue | Decision::Verify | Decision::Inspect => None,
                    Decision::Respond(response) => Some(response.status),
                },
                unreadable,
                score: outcome.score,
                decided_by: outcome.decided_by.filter(|_| refused.is_none()),
                findings: std::mem::take(&mut outcome.findings),
                tags: std::mem::take(&mut outcome.tags),
                anomalies: transaction.all_anomalies().names().collect(),
                refused_by_nginx: normalise(&request.target).refused,
                total_ns: 0,
                costs: Vec::new(),
            }
        });
        let mut totals = Vec::new();
        let mut parts: BTreeMap<Timed, Vec<(u32, u32, u64)>> = BTreeMap::new();
        for _ in 0..self.repeat {
            for is_timed in [false, true] {
                arena.reset();
                let mut watch = Stopwatch::new(self.clock, is_timed);
                let begun = self.clock.ticks();
                self.once((request, &plan), &arena, &mut watch, |_| ());
                let ticks = self.clock.ticks().saturating_sub(begun);
                if is_timed {
                    for (what, cost) in watch.costs() {
                        parts.entry(what).or_default().push((cost.calls, cost.hits, cost.ns));
                    }
                } else {
                    totals.push(self.clock.ns(ticks));
                }
            }
        }
        replayed.total_ns = median(totals);
        let line = |(what, costs): (Timed, Vec<(u32, u32, u64)>)| {
            let (calls, hits, _) = costs[0];
            Line { what, calls, hits, ns: median(costs.into_iter().map(|cost| cost.2).collect()) }
        };
        replayed.costs = parts.into_iter().map(line).collect();
        replayed.costs.sort_by_key(|line| std::cmp::Reverse(line.ns));
        Ok(replayed)
    }

    fn once<'a, M: Meter, T>(
        &self,
        (request, plan): (&'a Recorded, &'a Plan),
        arena: &'a Bump,
        meter: &mut M,
        then: impl FnOnce(&mut Evaluated<'a, '_>) -> T,
    ) -> T {
        let transaction = Transaction::new(self.head(request, arena), arena);
        if request.target.contains(&b'#') {
            transaction.flag(Anomalies::INVALID_TARGET);
        }
        transaction.flag(transaction.head.host_anomalies());
        let mut outcome = Outcome::default();
        let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_millis() as u64);
        let mut context = Context { detect: false, request_id: b"replay", now_ms, ..Context::new(meter) };
        let decision = request_phases((request, plan), &transaction, &mut context, &mut outcome);
        // Logged in nginx's log phase, answered or not.
        outcome.run_rule_sets(RuleSetPhase::Logging, &transaction, &mut context);
        then(&mut Evaluated { outcome: &mut outcome, transaction: &transaction, decision })
    }

    fn head<'a>(&self, request: &'a Recorded, arena: &'a Bump) -> Head<'a> {
        let fields = request.headers.iter().map(|(name, value)| Header::new(name, value));
        let headers: &'a [Header<'a>] = arena.alloc_slice_fill_iter(fields.collect::<Vec<_>>());
        let query = match request.target.iter().position(|byte| *byte == b'?') {
            Some(at) => &request.target[at + 1..],
            None => b"",
        };
        let peer = request.client.unwrap_or(self.client);
        let client = match request.client {
            Some(known) => known,
            None => self.snapshot().client_address().resolve(peer, headers, None, &mut Anomalies::empty()),
        };
        Head {
            method: &request.method,
            target: &request.target,
            path: arena.alloc_slice_copy(&normalise(&request.target).path),
            query,
            version: request.version,
            host: arena.alloc_slice_copy(&uri::host_name(&request.host).to_ascii_lowercase()),
            headers,
            peer,
            peer_port: 40_000,
            client,
            server: IpAddr::V4(Ipv4Addr::LOCALHOST),
            server_port: 80,
            tls: None,
            received_ms: 0,
        }
    }
}

/// The phases up to the body's, as `crates/nginx/src/phase.rs` runs them.
fn request_phases<'a, M: Meter>(
    (request, plan): (&'a Recorded, &'a Plan),
    transaction: &Transaction<'a>,
    context: &mut Context<'_, M>,
    outcome: &mut Outcome<'a>,
) -> Decision {
    let decision = plan.evaluate(Phase::Request, transaction, context, outcome);
    if decision != Decision::Continue || !plan.has(Phase::Body) {
        return decision;
    }
    if !request.body.is_empty() {
        if plan.wants_body(transaction, outcome).is_none() {
            return outcome.run_rule_sets(RuleSetPhase::RequestBody, transaction, context);
        }
        if plan.inflates() {
            transaction.set_body_inflated(&request.body, DEFAULT_BODY_LIMIT);
        } else {
            transaction.set_body(&request.body);
        }
    }
    plan.evaluate(Phase::Body, transaction, context, outcome)
}

struct Evaluated<'a, 'e> {
    outcome: &'e mut Outcome<'a>,
    transaction: &'e Transaction<'a>,
    decision: Decision,
}
