//! The engine as one would write it in an afternoon: no lanes, no filters, no sharing. Every
//! rule is evaluated from its tree, every value is computed anew, every regex is run.
//!
//! It exists to be obviously right, so that the plan, which is fast, can be held against it by
//! `tests/against_naive.rs` and the fuzz target `engine`. Nothing else uses it.

mod function;
mod predicate;
mod value;

use std::collections::HashMap;

use weir_http::Transaction;
use weir_rules::Phase;
use weir_rules::ir::{Expr, Quantifier, Test, ValueExpr};

use crate::{
    Action, AllowScope, Bans, Mode, PolicySpec, RateLimit, RuleIndex, RuleSpec, SelectorSpec, Side, Specification,
    Verdict,
};

pub use value::Value;

/// What one naive evaluation has found so far, phase after phase.
#[derive(Debug, Default)]
pub struct Found {
    /// Verdict so far.
    pub verdict: Verdict,
    /// Number of rules that have matched.
    pub hits: usize,
    /// Rules with something to say in the attack log, in order, each once.
    pub findings: Vec<RuleIndex>,
    /// Sum of the scores of the rules that matched.
    pub score: u32,
    /// Tags set, in order, each once.
    pub tags: Vec<String>,
    /// Side, name and new value of every header change, in order.
    pub header_changes: Vec<(Side, Vec<u8>, Option<Vec<u8>>)>,
    /// Status of the answer, if one was given: nothing is evaluated after it.
    pub answered: Option<u16>,
    /// `Location` of a redirect.
    pub location: Option<Vec<u8>>,
    /// Policies (by index) whose rest is skipped.
    allowed: Vec<usize>,
    /// Whether everything is.
    allowed_all: bool,
}

/// Buckets of all rate limits, by limit, whether the request has a key, and text: theoretical arrival time in
/// milliseconds times the request rate.
#[derive(Debug, Default)]
pub struct Buckets(HashMap<(u32, bool, Vec<u8>), u128>);

/// A naive evaluator of some policies of a specification.
pub struct Naive<'s> {
    /// The policies, lists and places.
    pub specification: &'s Specification,
    /// Indexes of the policies that apply.
    pub apply: &'s [usize],
    /// Whether nothing is carried out.
    pub detect: bool,
    /// Value of `weir.request_id`.
    pub request_id: &'s [u8],
    /// Who is banned.
    pub bans: Option<&'s dyn Bans>,
    /// The time.
    pub now_ms: u64,
}

impl Naive<'_> {
    /// Evaluates all rules of one phase.
    pub fn evaluate(&self, phase: Phase, transaction: &Transaction<'_>, buckets: &mut Buckets, found: &mut Found) {
        for (index, policy) in self.policies() {
            for (selector, rule) in policy.selectors.iter().flat_map(|s| s.rules.iter().map(move |rule| (s, rule))) {
                if found.answered.is_some() || found.allowed_all || found.allowed.contains(&index) {
                    break;
                }
                if phase_of(selector, rule) == phase
                    && selector.when.as_ref().is_none_or(|when| self.holds(when, transaction, found))
                    && self.holds(&rule.when, transaction, found)
                {
                    found.hits += 1;
                    found.score = found.score.saturating_add(rule.score);
                    if rule.score > 0 {
                        found.mention(rule);
                    }
                    self.act(index, policy, rule, transaction, buckets, found);
                }
            }
        }
    }

    fn policies(&self) -> impl Iterator<Item = (usize, &PolicySpec)> {
        self.apply.iter().map(|index| (*index, &self.specification.policies[*index]))
    }

    /// Whether `expr` is true.
    #[must_use]
    pub fn holds(&self, expr: &Expr, transaction: &Transaction<'_>, found: &Found) -> bool {
        match expr {
            Expr::Const(constant) => *constant,
            Expr::Not(inner) => !self.holds(inner, transaction, found),
            Expr::And(all) => all.iter().all(|one| self.holds(one, transaction, found)),
            Expr::Or(any) => any.iter().any(|one| self.holds(one, transaction, found)),
            Expr::Xor(left, right) => self.holds(left, transaction, found) != self.holds(right, transaction, found),
            Expr::Test(test) => self.test(test, transaction, found),
        }
    }

    fn test(&self, test: &Test, transaction: &Transaction<'_>, found: &Found) -> bool {
        let mut values = self.values(&test.value, transaction, found).into_iter();
        let mut asks = |value: Value| predicate::holds(&test.predicate, &value, &self.specification.lists);
        match test.quantifier {
            Quantifier::Any => values.any(&mut asks),
            Quantifier::All => values.all(&mut asks),
        }
    }

    fn act(
        &self,
        index: usize,
        policy: &PolicySpec,
        rule: &RuleSpec,
        transaction: &Transaction<'_>,
        buckets: &mut Buckets,
        found: &mut Found,
    ) {
        let detect = self.detect || policy.mode == Mode::Detect;
        for action in &rule.actions {
            if found.answered.is_some() {
                return;
            }
            match action {
                Action::Block(response) => found.answer(rule, Verdict::Block, response.status, detect),
                Action::Redirect { status, to } => {
                    if !detect {
                        let text = self.text(to, transaction, found);
                        found.location = Some(text.into_iter().filter(|byte| !b"\r\n\0".contains(byte)).collect());
                    }
                    found.answer(rule, Verdict::Redirect, *status, detect);
                }
                Action::RateLimit(limit) => {
                    let key = match self.values(&limit.key, transaction, found).into_iter().next() {
                        Some(Value::Ip(address)) => Some(Value::Ip(limit.counted(address)).text()),
                        value => value.as_ref().map(Value::text).filter(|text| !text.is_empty()),
                    };
                    let client = || Value::Ip(limit.counted(transaction.head.client)).text();
                    let key = (key.is_some(), key.unwrap_or_else(client));
                    if !buckets.take(limit, key, self.now_ms) {
                        found.answer(rule, Verdict::RateLimit, limit.response.status, detect);
                    }
                }
                // Rule sets have a naive evaluation of their own: `Profile::naive`.
                Action::RuleSet(_) => {}
                // Whoever authenticates has tests of their own: `tests/authentication.rs`.
                Action::Authenticate(_) | Action::VerifyResponse(_) => {}
                // So have these: `topics.rs`, `shadow.rs`.
                Action::Topics(..) | Action::Shadow(_) => {}
                // Nobody is there to answer.
                Action::Inspect(..) => {}
                Action::Log => found.mention(rule),
                Action::Tag(tag) => {
                    if !found.tags.contains(tag) {
                        found.tags.push(tag.clone());
                    }
                }
                Action::Allow(scope) => {
                    found.verdict = found.verdict.max(Verdict::Allow);
                    match scope {
                        AllowScope::Policy => found.allowed.push(index),
                        AllowScope::All => found.allowed_all = true,
                    }
                    return;
                }
                Action::SetHeader(side, name, value) if !detect => {
                    let value = self.header_value(value, transaction, found);
                    found.header_changes.push((*side, name.clone(), value));
                }
                Action::RemoveHeader(side, name) if !detect => found.header_changes.push((*side, name.clone(), None)),
                Action::SetHeader(..) | Action::RemoveHeader(..) => {}
            }
        }
    }

    /// The value as text; none if it has bytes that would end a header line.
    fn header_value(&self, value: &ValueExpr, transaction: &Transaction<'_>, found: &Found) -> Option<Vec<u8>> {
        let text = self.text(value, transaction, found);
        (!text.iter().any(|byte| b"\r\n\0".contains(byte))).then_some(text)
    }

    /// The first value of an action's parameter as text; empty if it has none.
    fn text(&self, value: &ValueExpr, transaction: &Transaction<'_>, found: &Found) -> Vec<u8> {
        self.values(value, transaction, found).first().map(Value::text).unwrap_or_default()
    }
}

/// When a rule runs: once everything is known that its selector, condition and actions read.
fn phase_of(selector: &SelectorSpec, rule: &RuleSpec) -> Phase {
    let conditions = [selector.when.as_ref().map_or(Phase::Request, Expr::phase), rule.when.phase()];
    rule.actions.iter().map(Action::phase).chain(conditions).max().unwrap_or(Phase::Request)
}

impl Found {
    fn mention(&mut self, rule: &RuleSpec) {
        if !self.findings.contains(&rule.index) {
            self.findings.push(rule.index);
        }
    }

    fn answer(&mut self, rule: &RuleSpec, verdict: Verdict, status: u16, detect: bool) {
        self.mention(rule);
        if detect {
            self.verdict = self.verdict.max(Verdict::Detect);
        } else {
            self.verdict = self.verdict.max(verdict);
            self.answered = Some(status);
        }
    }
}

impl Buckets {
    /// The generic cell rate algorithm (ITU-T I.371) in exact integers: times are in
    /// milliseconds times `requests`, so that one request costs `period_ms` exactly.
    fn take(&mut self, limit: &RateLimit, (has_key, key): (bool, Vec<u8>), now_ms: u64) -> bool {
        let now = u128::from(now_ms) * u128::from(limit.requests);
        let cost = u128::from(limit.period_ms);
        let arrival = self.0.entry((limit.limit, has_key, key)).or_insert(now);
        let due = (*arrival).max(now);
        if due - now > cost * u128::from(limit.burst) {
            return false;
        }
        *arrival = due + cost;
        true
    }
}
