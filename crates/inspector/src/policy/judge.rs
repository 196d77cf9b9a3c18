//! One question through the plan, and what it comes to as an answer.

use std::sync::Arc;

use bumpalo::Bump;
use weir_auth::{Consumer, Identity};
use weir_engine::{Context, Decision, NoMeter, Outcome, Plan, Response, Side, Verdict};
use weir_http::{Counter, Transaction, Unreadable};
use weir_inspect::own::ReceivedQuestion;
use weir_inspect::{Advice, Answer};
use weir_rules::Phase;
use weir_rules::seclang::ir::Phase as RuleSetPhase;

use super::{Loaded, Policy};
use crate::{arena, request};

/// Longest content of a compressed body that rules read, as `weir_body_limit` in nginx.
const INFLATED_BYTES: usize = 1 << 20;
/// A body from which on a question may keep a thread for milliseconds: the engine's budget grows with the body.
const LONG_BODY_BYTES: usize = 16 << 10;
/// Rules that the reason of an answer names.
const NAMED_RULES: usize = 8;

impl Policy {
    /// Evaluates a question; nothing if it has no client's address.
    pub fn judge(&self, question: &ReceivedQuestion, counters: &[(&str, i64)]) -> Option<Answer> {
        let loaded = self.current();
        let judge = || arena::with(|arena| self.judge_in(&loaded, question, counters, arena));
        // Of a long body, the other tasks of the thread go on elsewhere; a short one is not worth the change of threads.
        if question.body.len() > LONG_BODY_BYTES { tokio::task::block_in_place(judge) } else { judge() }
    }

    fn judge_in<'a>(
        &self,
        loaded: &'a Loaded,
        question: &'a ReceivedQuestion,
        counters: &[(&'a str, i64)],
        arena: &'a Bump,
    ) -> Option<Answer> {
        let now_ms = request::now_ms();
        let transaction = request::transaction(question, now_ms, arena)?;
        let counters = counters.iter().map(|(id, value)| Counter { id, value: *value });
        transaction.set_counters(arena.alloc_slice_fill_iter(counters.collect::<Vec<_>>()));
        let mut outcome = Outcome::default();
        outcome.tags.clone_from(&question.tags);
        outcome.identity = identity(question);
        let mut meter = NoMeter;
        let mut context = Context {
            request_id: &question.request_id,
            now_ms,
            limits: Some(&self.tables.limits),
            keys: Some(loaded.snapshot.consumers()),
            nonces: self.tables.nonces.as_ref(),
            collections: self.tables.collections.as_ref().map(|table| table as _),
            ..Context::new(&mut meter)
        };
        let decision = phases(&loaded.plan, question, &transaction, &mut context, &mut outcome);
        outcome.run_rule_sets(RuleSetPhase::Logging, &transaction, &mut context);
        let is_answered = matches!(decision, Decision::Respond(_)) && !outcome.is_decided_by_rule_set();
        let refuses = self.config.refuses_unreadable && loaded.plan.may_refuse() && !is_answered;
        let refused = transaction.unreadable().filter(|_| refuses);
        Some(conclude(loaded, question, refused, decision, outcome))
    }
}

/// The phases up to the body's, as in nginx.
fn phases<'a>(
    plan: &Plan,
    question: &'a ReceivedQuestion,
    transaction: &Transaction<'a>,
    context: &mut Context<'_, NoMeter>,
    outcome: &mut Outcome<'a>,
) -> Decision {
    let decision = plan.evaluate(Phase::Request, transaction, context, outcome);
    if decision != Decision::Continue || !plan.has(Phase::Body) {
        return decision;
    }
    if question.body_bytes > 0 || !question.body.is_empty() {
        if plan.wants_body(transaction, outcome).is_none() {
            return outcome.run_rule_sets(RuleSetPhase::RequestBody, transaction, context);
        }
        request::give_body(question, plan.inflates().then_some(INFLATED_BYTES), transaction);
    }
    plan.evaluate(Phase::Body, transaction, context, outcome)
}

/// The consumer whom the gateway has authenticated.
fn identity(question: &ReceivedQuestion) -> Option<Identity> {
    let id = Some(question.consumer.clone()).filter(|id| !id.is_empty())?;
    let consumer = Arc::new(Consumer { id, groups: Vec::new(), credentials: Vec::new() });
    Some(Identity { consumer, credential: None, nonce: None, claims: None })
}

fn conclude(
    loaded: &Loaded,
    question: &ReceivedQuestion,
    refused: Option<Unreadable>,
    decision: Decision,
    outcome: Outcome<'_>,
) -> Answer {
    let mut answer = Answer { score: outcome.score, reason: reason(loaded, &outcome), ..Answer::default() };
    answer.tags = outcome.tags.into_iter().filter(|tag| !question.tags.contains(tag)).collect();
    for change in outcome.header_changes.into_iter().filter(|change| change.side == Side::Request) {
        match change.value {
            Some(value) => answer.set_headers.push((change.name, value)),
            None => answer.remove_headers.push(change.name),
        }
    }
    match (refused, decision) {
        (Some(unreadable), _) => {
            answer.advice = Advice::Refuse;
            answer.status = unreadable.status();
            answer.reason = format!("rules cannot read the request completely: {unreadable}");
            if question.body_bytes > question.body.len() as u64 {
                let sent = question.body.len();
                answer.reason.push_str(&format!("; `body:` of the gateway's inspector let {sent} bytes through"));
            }
        }
        (None, Decision::Respond(response)) => refuse(&mut answer, &response),
        (None, Decision::Continue | Decision::Verify | Decision::Inspect) if outcome.verdict == Verdict::Detect => {
            answer.advice = Advice::Detect;
        }
        (None, Decision::Continue | Decision::Verify | Decision::Inspect) => {}
    }
    answer
}

fn refuse(answer: &mut Answer, response: &Response) {
    answer.advice = Advice::Refuse;
    answer.status = response.status;
    answer.response_headers = response.headers.clone();
    if !response.body.is_empty() && !response.content_type.is_empty() {
        answer.response_headers.push((b"Content-Type".to_vec(), response.content_type.clone()));
    }
    answer.body = response.body.clone();
}

/// The rules that have matched, with the one that has decided first.
fn reason(loaded: &Loaded, outcome: &Outcome<'_>) -> String {
    let label = |rule: weir_engine::RuleIndex| loaded.snapshot.rules().get(rule.0 as usize);
    let decided = outcome.decided_by.into_iter();
    let mut rules: Vec<_> = decided.chain(outcome.findings.iter().map(|finding| finding.rule)).collect();
    let mut seen = std::collections::HashSet::new();
    rules.retain(|rule| seen.insert(*rule));
    let more = rules.len().saturating_sub(NAMED_RULES);
    let named = rules.iter().take(NAMED_RULES).filter_map(|rule| label(*rule));
    let mut text = named.map(|label| label.id.as_str()).collect::<Vec<_>>().join(", ");
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}
