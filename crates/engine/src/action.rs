//! Actions: what each of them is, what it asks of the plan around it, and how it is carried out.
//!
//! All that the engine and the crates above it know of an action is in this file, in three matches
//! without a wildcard arm: [`Action::info`], its text for people, and [`carry_out`]. An enum and
//! not a trait object, because `carry_out` is on the path of requests. The other place is the
//! reference evaluation in `naive.rs`, which is independent on purpose.

use std::fmt;
use std::sync::Arc;

use bumpalo::collections::Vec as ArenaVec;
use weir_auth::{Authentication, Failure, Identity, Reason, Request};
use weir_inspect::Inspector;
use weir_inspect::inspector::Mode;
use weir_rules::Phase;
use weir_rules::ir::ValueExpr;

use crate::authenticate::{absorb_all, changes, decide};
use crate::check::Node;
use crate::evaluate::{Context, Pass};
use crate::evidence::finding;
use crate::function::write_text;
use crate::outcome::Suspended;
use crate::plan::{PlannedAction, Rule};
use crate::rate::{KeyKind, Pace, RateKey, Take};
use crate::seclang::{Profile, Run};
use crate::value::Value;
use crate::{
    AllowScope, Decision, Finding, HeaderChange, Meter, Outcome, RateLimit, Response, ResponseSignature, Shadow, Side,
    TopicGrant, Verdict,
};

/// What a rule does when it matches.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Answer with this; nothing more is evaluated.
    Block(Arc<Response>),
    /// Stop evaluating.
    Allow(AllowScope),
    /// Write a finding to the attack log.
    Log,
    /// Answer with a redirect; nothing more is evaluated.
    Redirect {
        /// 301, 302, 303, 307 or 308.
        status: u16,
        /// Value of `Location`.
        to: ValueExpr,
    },
    /// Set a header field, replacing all of that name.
    SetHeader(Side, Vec<u8>, ValueExpr),
    /// Remove all header fields of that name.
    RemoveHeader(Side, Vec<u8>),
    /// Count the request; past the limit answer 429.
    RateLimit(RateLimit),
    /// Ask who sent the request; refuse what does not prove it.
    Authenticate(Arc<Authentication>),
    /// Ask for a signature over the response; without it, the client gets another one.
    VerifyResponse(Arc<ResponseSignature>),
    /// Ask a remote detector. The expression is the key under which its answer is remembered.
    Inspect(Arc<Inspector>, Option<ValueExpr>),
    /// Mark shadow traffic, or remove marks.
    Shadow(Shadow),
    /// Allow the client to use topics of messages. The expression stands in their filters.
    Topics(TopicGrant, Option<ValueExpr>),
    /// Remember a tag, for later rules and the logs.
    Tag(String),
    /// Run a SecLang rule set from here on: its rules of phase 1 now, of phase 2 after the rules
    /// that look at the body, of phases 3 to 5 as the response comes.
    RuleSet(Arc<Profile>),
}

/// What has to be known of an action before it is carried out.
#[derive(Clone, Copy, Debug, Default)]
pub struct ActionInfo<'a> {
    /// The expression among its parameters, evaluated when the action is carried out.
    pub parameter: Option<&'a ValueExpr>,
    /// The message whose header fields it changes.
    pub changes: Option<Side>,
    /// The rule set that it runs.
    pub rule_set: Option<&'a Arc<Profile>>,
    /// Whether it sets tags or the consumer, which later rules may read.
    pub sets_fields: bool,
    /// What it asks about the sender.
    pub authentication: Option<&'a Arc<Authentication>>,
    /// The remote detector that it asks.
    pub inspector: Option<&'a Arc<Inspector>>,
}

impl Action {
    /// The action's properties.
    #[must_use]
    pub fn info(&self) -> ActionInfo<'_> {
        let plain = ActionInfo::default();
        match self {
            Self::Block(_) | Self::Allow(_) | Self::Log | Self::VerifyResponse(_) => plain,
            Self::Redirect { to, .. } => ActionInfo { parameter: Some(to), ..plain },
            Self::SetHeader(side, _, value) => ActionInfo { parameter: Some(value), changes: Some(*side), ..plain },
            Self::RemoveHeader(side, _) => ActionInfo { changes: Some(*side), ..plain },
            Self::RateLimit(limit) => ActionInfo { parameter: Some(&limit.key), ..plain },
            Self::Authenticate(asked) => {
                ActionInfo { changes: Some(Side::Request), sets_fields: true, authentication: Some(asked), ..plain }
            }
            Self::Inspect(inspector, key) => ActionInfo {
                parameter: key.as_ref(),
                changes: Some(Side::Request),
                sets_fields: true,
                inspector: Some(inspector),
                ..plain
            },
            Self::Shadow(_) => ActionInfo { changes: Some(Side::Request), ..plain },
            Self::Topics(_, value) => ActionInfo { parameter: value.as_ref(), ..plain },
            Self::Tag(_) => ActionInfo { sets_fields: true, ..plain },
            Self::RuleSet(profile) => ActionInfo { rule_set: Some(profile), ..plain },
        }
    }

    /// Whether it may keep a request from its origin.
    #[must_use]
    pub fn may_refuse(&self) -> bool {
        match self {
            Self::Block(_) | Self::Redirect { .. } | Self::RateLimit(_) | Self::Authenticate(_) => true,
            Self::RuleSet(profile) => !profile.only_detects(),
            Self::Inspect(inspector, _) => inspector.mode == Mode::Enforce,
            Self::Allow(_) | Self::Log | Self::Tag(_) | Self::SetHeader(..) | Self::RemoveHeader(..) => false,
            Self::Shadow(_) => false,
            Self::Topics(..) => false, // it says what a client may do there, and lets all of them pass
            Self::VerifyResponse(_) => false, // the origin has answered by then
        }
    }

    /// Whether it changes nothing that anybody sees before the request is logged: no message, tag or score.
    #[must_use]
    pub fn only_detects(&self) -> bool {
        match self {
            Self::RuleSet(profile) => profile.only_detects(),
            Self::Inspect(inspector, _) => inspector.mode == Mode::Observe && inspector.sets.is_empty(),
            Self::Allow(_) => true,
            Self::Block(_) | Self::Redirect { .. } | Self::RateLimit(_) | Self::Log | Self::Tag(_) => false,
            Self::Topics(..) | Self::Shadow(_) => false,
            Self::SetHeader(..) | Self::RemoveHeader(..) | Self::Authenticate(_) | Self::VerifyResponse(_) => false,
        }
    }

    /// The first phase in which all that it reads is known.
    #[must_use]
    pub fn phase(&self) -> Phase {
        if matches!(self, Self::VerifyResponse(_)) {
            return Phase::Response;
        }
        let info = self.info();
        let of_parameter = info.parameter.map_or(Phase::Request, ValueExpr::phase);
        let signs_body = info.authentication.is_some_and(|asked| asked.reads_body());
        let sends_body = info.inspector.is_some_and(|inspector| inspector.body_bytes > 0);
        of_parameter.max(if signs_body || sends_body { Phase::Body } else { Phase::Request })
    }

    /// The last phase in which it still has an effect.
    #[must_use]
    pub fn last_phase(&self) -> Phase {
        match self.info() {
            ActionInfo { .. } if matches!(self, Self::Topics(..)) => Phase::Body, // then the client is connected
            ActionInfo { rule_set: Some(_), .. } => Phase::Request,               // it has rules of phase 1
            ActionInfo { changes: Some(Side::Request), .. } => Phase::Body,       // then the origin gets the request
            ActionInfo { .. } => Phase::Response,
        }
    }
}

impl fmt::Display for Action {
    /// What it does, for people.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = String::from_utf8_lossy;
        match self {
            Self::Block(response) => write!(out, "block with {}", response.status),
            Self::Allow(AllowScope::Policy) => out.write_str("allow (policy)"),
            Self::Allow(AllowScope::All) => out.write_str("allow (all)"),
            Self::Log => out.write_str("log"),
            Self::Redirect { status, to } => write!(out, "redirect ({status}) to {to}"),
            Self::SetHeader(side, name, value) => write!(out, "set {side:?} header {} to {value}", text(name)),
            Self::RemoveHeader(side, name) => write!(out, "remove {side:?} header {}", text(name)),
            Self::RateLimit(limit) => {
                write!(out, "limit to {} in {} s, counted by {}", limit.requests, limit.period_ms / 1000, limit.key)
            }
            Self::Authenticate(asked) => {
                let schemes: Vec<&str> = asked.schemes.iter().map(|scheme| scheme.challenge()).collect();
                write!(out, "authenticate by {}", schemes.join(" or "))
            }
            Self::VerifyResponse(_) => out.write_str("verify the signature of the response"),
            Self::Inspect(inspector, _) => write!(out, "ask the inspector {}", inspector.id),
            Self::Shadow(Shadow { per_10000: 0, .. }) => out.write_str("remove the mark of shadow traffic"),
            Self::Shadow(Shadow { per_10000, .. }) => {
                write!(out, "mark {} % as shadow traffic", f64::from(*per_10000) / 100.0)
            }
            Self::Topics(TopicGrant { subscribe, publish }, _) => {
                let filters = |filter: &Option<String>| filter.clone().unwrap_or_else(|| "nothing".to_owned());
                write!(out, "allow to subscribe to {} and to publish to {}", filters(subscribe), filters(publish))
            }
            Self::Tag(tag) => write!(out, "tag {tag}"),
            Self::RuleSet(profile) => {
                write!(out, "run {}", weir_rules::counted(profile.program().rules().len(), "rule"))
            }
        }
    }
}

/// Findings kept for one request: beyond it a log line says nothing new.
pub const MAX_FINDINGS: usize = 64;

/// Carries out the actions of `rule`, which has matched, in order. `resumed` is the action that has waited for a password:
/// what came before it is not counted again.
pub(crate) fn carry_out<'a, M: Meter>(
    pass: &Pass<'_, 'a, '_>,
    rule: &Rule,
    resumed: Option<usize>,
    context: &mut Context<'_, M>,
    outcome: &mut Outcome<'a>,
) -> Decision {
    if resumed.is_none() {
        outcome.score = outcome.score.saturating_add(rule.score);
    }
    let detect = context.detect || rule.detect;
    let mut limited_by = Vec::new();
    let mut reason = String::new();
    let mut said: Option<(&'static str, bool)> = (rule.score > 0).then_some(("score", false));
    let mut decision = Decision::Continue;
    for (place, planned) in rule.actions.iter().enumerate() {
        match &planned.action {
            Action::RateLimit(_) if resumed.is_some_and(|resumed| place < resumed) => {}
            Action::Topics(grant, _) => outcome.topics.add(grant, &text_of(pass, planned)),
            Action::Tag(tag) => pass.tag(tag),
            Action::Inspect(inspector, _) => {
                let key = if inspector.remember_ms > 0 { text_of(pass, planned) } else { Vec::new() };
                outcome.inspections.want(inspector, rule.index, detect, key);
            }
            Action::RuleSet(profile) => {
                let holds = |when: &Option<Node>| when.as_ref().is_none_or(|when| pass.holds(when));
                let exclusions = planned.exclusions.iter().map(holds);
                let run = Run::new(profile, rule.index, detect, planned.lanes_at, pass, exclusions);
                decision = outcome.begin_rule_set(run, pass.reader.transaction, context);
            }
            Action::Log => said = said.filter(|said| said.0 != "score").or(Some(("log", false))),
            Action::Shadow(shadow) if !detect => {
                let change =
                    |(name, value): (&[u8], _)| HeaderChange { side: Side::Request, name: name.to_vec(), value };
                outcome.header_changes.extend(shadow.changes(pass.reader.transaction).map(change));
            }
            Action::SetHeader(side, name, _) | Action::RemoveHeader(side, name) if !detect => {
                let value = planned.parameter.as_ref().map(|_| text_of(pass, planned));
                // Without its control characters a value may be another one's; no field at all is nobody's.
                let value = value.filter(|value| !value.iter().any(is_line_end));
                outcome.header_changes.push(HeaderChange { side: *side, name: name.clone(), value });
            }
            Action::SetHeader(..) | Action::RemoveHeader(..) | Action::Shadow(_) => {}
            Action::Allow(scope) => {
                outcome.allows_all |= *scope == AllowScope::All;
                outcome.allowed |= if *scope == AllowScope::All { u64::MAX } else { rule.policy };
                judge(outcome, Verdict::Allow, rule);
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
            Action::Authenticate(asked) => match authenticate(pass, asked, detect, context, outcome) {
                Ok(()) => {}
                Err((failure, _)) if failure.reason == Reason::Unavailable && outcome.attempt.is_some() => {
                    outcome.suspended = Some(Suspended { phase: Phase::Request, rule: 0, action: Some(place) });
                    return Decision::Verify;
                }
                Err((failure, text)) => {
                    said = Some(("authenticate", detect));
                    reason = text;
                    decision = stop(outcome, rule, detect, Verdict::Unauthenticated, || refusal(asked, &failure));
                }
            },
            Action::VerifyResponse(asked) => {
                let of = (rule.index, detect);
                match asked.begin(pass.reader.transaction, context.keys(), context.now_ms, of) {
                    Ok(claim) => outcome.response_claims.extend(claim),
                    Err(failure) => {
                        said = Some(("verify_response", detect));
                        reason = failure.to_string();
                        decision = stop(outcome, rule, detect, Verdict::Block, || asked.refusal());
                    }
                }
            }
            Action::RateLimit(limit) => {
                if let Some((key, retry_after_ms)) = refused(pass, planned, limit, context) {
                    limited_by = key;
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
        outcome.findings.push(Finding { key: limited_by, reason, ..finding(pass, rule, action, detected_only) });
    }
    decision
}

fn judge(outcome: &mut Outcome<'_>, verdict: Verdict, rule: &Rule) {
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
        judge(outcome, Verdict::Detect, rule);
        return Decision::Continue;
    }
    judge(outcome, verdict, rule);
    Decision::Respond(response())
}

/// Finds the consumer, and makes the changes to the request that go with it.
///
/// # Errors
/// The failure, and what the log says of it. If only a password is still to be verified, that is in the outcome.
fn authenticate<'a, M: Meter>(
    pass: &Pass<'_, 'a, '_>,
    asked: &Arc<Authentication>,
    detect: bool,
    context: &Context<'_, M>,
    outcome: &mut Outcome<'a>,
) -> Result<(), (Failure, String)> {
    let transaction = pass.reader.transaction;
    let request = Request::of(transaction);
    let change = |outcome: &mut Outcome<'a>, identity: Option<&Identity>| {
        let changes = changes(asked, identity, &request).into_iter().filter(|_| !detect);
        outcome.header_changes.extend(changes.map(|(name, value)| {
            let (name, value) = (name.into_bytes(), value.map(String::into_bytes).map(clean));
            HeaderChange { side: Side::Request, name, value }
        }));
    };
    if asked.passes_preflight(&request) {
        change(outcome, None);
        return Ok(());
    }
    let expected = outcome.claims.iter().position(|(of, _)| Arc::ptr_eq(of, asked));
    let claims = match expected {
        Some(place) => Ok(outcome.claims.swap_remove(place).1),
        None if !asked.reads_body() => Ok(asked.begin(&request, context.keys(), context.now_ms)),
        None if pass.plan.inflates && request.values(b"content-encoding").next().is_some() => {
            Err(Failure::new(Reason::Unsupported, "the body was decoded before the signature was verified"))
        }
        None => {
            let claims = asked.begin(&request, context.keys(), context.now_ms);
            absorb_all(asked, claims, transaction, !outcome.body_passed)
        }
    };
    let nonces = (&mut outcome.nonces, pass.plan.window_ms);
    let decided = decide(asked, claims, context.keys(), context.nonces, nonces, context.now_ms);
    outcome.attempt = None;
    match decided {
        Ok(identity) => {
            change(outcome, Some(&identity));
            pass.identify(identity);
            Ok(())
        }
        Err((failure, text)) => {
            if failure.reason == Reason::Unavailable && context.can_wait {
                outcome.attempt = asked.attempt(&request, context.keys());
            }
            Err((failure, text))
        }
    }
}

/// 401 with a challenge for each scheme; 403 for a known consumer that may not pass.
fn refusal(asked: &Authentication, failure: &Failure) -> Arc<Response> {
    let status = match failure.reason {
        Reason::NotAllowed => 403,
        Reason::Unavailable => 503,
        _ => 401,
    };
    if status != 401 {
        return Arc::new(Response { status, ..Response::default() });
    }
    // One field: a second one of that name would replace the first.
    let headers = vec![(b"WWW-Authenticate".to_vec(), asked.challenges().join(", ").into_bytes())];
    Arc::new(Response { status: 401, headers, ..Response::default() })
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
    value.retain(|byte| !is_line_end(byte));
    value
}

const fn is_line_end(byte: &u8) -> bool {
    matches!(byte, b'\r' | b'\n' | 0)
}

/// The key for the log and the milliseconds to wait, if the request is over the limit.
fn refused<M: Meter>(
    pass: &Pass<'_, '_, '_>,
    planned: &PlannedAction,
    limit: &RateLimit,
    context: &Context<'_, M>,
) -> Option<(Vec<u8>, u64)> {
    let table = context.limits?;
    let pace = Pace { requests: limit.requests, period_ms: limit.period_ms, burst: limit.burst };
    let key = rate_key(pass, planned, limit);
    let (counter, text) = key.counter(planned.limit);
    match table.take(counter, text, pace, context.now_ms) {
        Take::Allowed { .. } => None,
        Take::Refused { retry_after_ms } => {
            Some((key.shown(&limit.key, limit.ipv6_prefix, table.secret()), retry_after_ms))
        }
    }
}

/// What the request is counted by: the first value of the limit's key; if there is none, or it is empty, the client's
/// address.
fn rate_key<'a>(pass: &Pass<'_, 'a, '_>, planned: &PlannedAction, limit: &RateLimit) -> RateKey<'a> {
    let transaction = pass.reader.transaction;
    let value = planned.parameter.as_ref().and_then(|key| key.read(&pass.reader).as_slice().first().copied());
    let (kind, value) = match value {
        Some(Value::Ip(address)) => {
            let address = limit.counted(address);
            (KeyKind::Address(address), Value::Ip(address))
        }
        None | Some(Value::Bytes(b"")) => {
            let address = limit.counted(transaction.head.client);
            (KeyKind::Missing(address), Value::Ip(address))
        }
        Some(other) => (KeyKind::Text, other),
    };
    let mut text = ArenaVec::new_in(transaction.arena());
    write_text(&value, &mut text);
    RateKey { kind, text }
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
