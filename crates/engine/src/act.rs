//! Carrying out the actions of a rule that matched.

use std::sync::Arc;

use bumpalo::collections::Vec as ArenaVec;
use weir_rules::Field;
use weir_rules::ir::ValueExpr;

use crate::check::{Node, Test};
use crate::evaluate::{Context, Pass};
use crate::function::write_text;
use crate::outcome::MATCHED_BYTES;
use crate::plan::{PlannedAction, Rule};
use crate::rate::{Pace, Take};
use crate::seclang::Run;
use crate::value::Value;
use crate::{Action, AllowScope, Decision, Finding, HeaderChange, Meter, Outcome, RateLimit, Response, Verdict};

/// Findings kept for one request: beyond it a log line says nothing new.
pub const MAX_FINDINGS: usize = 64;

/// Carries out `rule`'s actions in order.
pub(crate) fn act<'a, M: Meter>(
    pass: &Pass<'_, 'a, '_>,
    rule: &Rule,
    context: &mut Context<'_, M>,
    outcome: &mut Outcome<'a>,
) -> Decision {
    outcome.score = outcome.score.saturating_add(rule.score);
    let detect = context.detect || rule.detect;
    let mut said: Option<(&'static str, bool)> = (rule.score > 0).then_some(("score", false));
    let mut decision = Decision::Continue;
    for planned in &rule.actions {
        match &planned.action {
            Action::Tag(tag) => pass.tag(tag),
            Action::RuleSet(profile) => {
                let holds = |when: &Option<Node>| when.as_ref().is_none_or(|when| pass.holds(when));
                let exclusions = planned.exclusions.iter().map(holds);
                let run = Run::new(profile, rule.index, detect, planned.lanes_at, pass, exclusions);
                decision = outcome.begin_rule_set(run, pass.reader.transaction, context);
            }
            Action::Log => said = said.filter(|said| said.0 != "score").or(Some(("log", false))),
            Action::SetHeader(side, name, _) | Action::RemoveHeader(side, name) if !detect => {
                let value = planned.parameter.as_ref().map(|_| clean(text_of(pass, planned)));
                outcome.header_changes.push(HeaderChange { side: *side, name: name.clone(), value });
            }
            Action::SetHeader(..) | Action::RemoveHeader(..) => {}
            Action::Allow(scope) => {
                outcome.allowed |= if *scope == AllowScope::All { u64::MAX } else { rule.policy };
                decide(outcome, Verdict::Allow, rule);
                break;
            }
            Action::Block(response) => {
                said = Some(("block", detect));
                decision = stop(outcome, rule, detect, Verdict::Block, || Arc::clone(response));
            }
            Action::Redirect { status, .. } => {
                said = Some(("redirect", detect));
                decision = stop(outcome, rule, detect, Verdict::Redirect, || {
                    let location = (b"Location".to_vec(), clean(text_of(pass, planned)));
                    Arc::new(Response { status: *status, headers: vec![location], ..Response::default() })
                });
            }
            Action::RateLimit(limit) => {
                if let Some(retry_after_ms) = refused(pass, planned, limit, context) {
                    said = Some(("rate_limit", detect));
                    decision =
                        stop(outcome, rule, detect, Verdict::RateLimit, || too_many(rule, limit, retry_after_ms));
                }
            }
        }
        if decision != Decision::Continue {
            break;
        }
    }
    if let Some((action, detected_only)) = said
        && outcome.findings.len() < MAX_FINDINGS
    {
        outcome.findings.push(finding(pass, rule, action, detected_only));
    }
    decision
}

fn decide(outcome: &mut Outcome<'_>, verdict: Verdict, rule: &Rule) {
    if verdict > outcome.verdict {
        outcome.verdict = verdict;
        outcome.decided_by = Some(rule.index);
    }
}

fn stop(
    outcome: &mut Outcome<'_>,
    rule: &Rule,
    detect: bool,
    verdict: Verdict,
    response: impl FnOnce() -> Arc<Response>,
) -> Decision {
    if detect {
        decide(outcome, Verdict::Detect, rule);
        return Decision::Continue;
    }
    decide(outcome, verdict, rule);
    Decision::Respond(response())
}

/// The action's parameter as text; several values give the first, none gives nothing.
fn text_of(pass: &Pass<'_, '_, '_>, planned: &PlannedAction) -> Vec<u8> {
    let mut text = ArenaVec::new_in(pass.reader.transaction.arena());
    if let Some(parameter) = &planned.parameter
        && let Some(value) = parameter.read(&pass.reader).as_slice().first()
    {
        write_text(value, &mut text);
    }
    text.to_vec()
}

/// Header values carry no line ends or NUL: what a client sends must not split a response.
fn clean(mut value: Vec<u8>) -> Vec<u8> {
    value.retain(|byte| !matches!(byte, b'\r' | b'\n' | 0));
    value
}

/// Milliseconds to wait, if the request is over the limit.
fn refused<M: Meter>(
    pass: &Pass<'_, '_, '_>,
    planned: &PlannedAction,
    limit: &RateLimit,
    context: &Context<'_, M>,
) -> Option<u64> {
    let table = context.limits?;
    let pace = Pace { requests: limit.requests, period_ms: limit.period_ms, burst: limit.burst };
    match table.take(planned.limit, &text_of(pass, planned), pace, context.now_ms) {
        Take::Allowed { .. } => None,
        Take::Refused { retry_after_ms } => Some(retry_after_ms),
    }
}

/// The limit's answer with `Retry-After` (RFC 9110, 10.2.3) and the `RateLimit` fields of
/// draft-ietf-httpapi-ratelimit-headers.
fn too_many(rule: &Rule, limit: &RateLimit, retry_after_ms: u64) -> Arc<Response> {
    let mut response = (*limit.response).clone();
    let seconds = retry_after_ms.div_ceil(1000);
    let (name, quota, window) = (&rule.id, limit.requests, limit.period_ms.div_ceil(1000));
    for (field, value) in [
        ("Retry-After", seconds.to_string()),
        ("RateLimit-Policy", format!("\"{name}\";q={quota};w={window}")),
        ("RateLimit", format!("\"{name}\";r=0;t={seconds}")),
    ] {
        response.headers.push((field.into(), value.into_bytes()));
    }
    Arc::new(response)
}

fn finding(pass: &Pass<'_, '_, '_>, rule: &Rule, action: &'static str, detected_only: bool) -> Finding {
    let mut finding = Finding { rule: rule.index, action, detected_only, score: rule.score, ..Finding::default() };
    let selector = pass.plan.selectors[rule.selector as usize].when.as_ref();
    let Some(test) = evidence(pass, &rule.node).or_else(|| selector.and_then(|when| evidence(pass, when))) else {
        return finding;
    };
    let lane = &pass.plan.lanes[test.lane as usize];
    let values = pass.values(test.lane);
    let values = values.as_slice();
    finding.variable = lane.value.to_string();
    if let Some((position, value, range)) = test.evidence(values) {
        if let Some(name) = name_of(pass, &lane.value, position) {
            finding.variable = name;
        }
        match value {
            Value::Bytes(bytes) => {
                let end = range.end.min(bytes.len()).min(range.start + MATCHED_BYTES);
                finding.matched = bytes.get(range.start..end).unwrap_or_default().to_vec();
            }
            other => {
                let mut text = ArenaVec::new_in(pass.reader.transaction.arena());
                write_text(other, &mut text);
                finding.matched = text.to_vec();
            }
        }
    }
    finding
}

/// The first test that made the expression true, left to right; none inside a *not*.
fn evidence<'n>(pass: &Pass<'_, '_, '_>, node: &'n Node) -> Option<&'n Test> {
    match node {
        Node::Const(_) | Node::Not(_) => None,
        Node::And(parts) => {
            // A pattern tells more than a condition such as `method eq "POST"`.
            let found: Vec<&Test> = parts.iter().filter_map(|part| evidence(pass, part)).collect();
            found.iter().find(|test| test.check.searches()).or(found.first()).copied()
        }
        Node::Or(parts) => parts.iter().filter(|part| pass.holds(part)).find_map(|part| evidence(pass, part)),
        Node::Xor(left, right) => {
            if pass.holds(left) {
                evidence(pass, left)
            } else {
                evidence(pass, right)
            }
        }
        Node::Test(test) => test.holds(pass.values(test.lane).as_slice()).then_some(test),
    }
}

/// The item behind the n-th value of all items, e.g. `http.request.uri.args["id"]`.
fn name_of(pass: &Pass<'_, '_, '_>, value: &ValueExpr, position: usize) -> Option<String> {
    let transaction = pass.reader.transaction;
    let ValueExpr::Field(access) = value else { return None };
    if access.key.is_some() || access.index.is_some() {
        return None;
    }
    let (map, pairs) = match access.field {
        Field::UriArgs | Field::UriArgsValues => (Field::UriArgs, transaction.arguments()),
        Field::Cookies | Field::CookiesValues => (Field::Cookies, transaction.cookies()),
        Field::BodyForm | Field::BodyFormValues => (Field::BodyForm, transaction.form()),
        Field::BodyJson | Field::BodyJsonValues => (Field::BodyJson, transaction.json()),
        Field::Headers | Field::HeadersValues => {
            let header = transaction.head.headers.get(position)?;
            return Some(named(Field::Headers, header.name));
        }
        _ => return None,
    };
    Some(named(map, pairs.get(position)?.name))
}

fn named(map: Field, name: &[u8]) -> String {
    let shown = &name[..name.len().min(MATCHED_BYTES)];
    format!("{}[\"{}\"]", map.info().name, String::from_utf8_lossy(shown))
}
