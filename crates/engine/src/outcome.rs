//! What evaluation yields: a decision for the caller to carry out, and what to log.

use std::sync::Arc;

use weir_auth::password::Attempt;
use weir_auth::{Authentication, Claims, Identity, Nonce};
use weir_http::Transaction;
use weir_rules::seclang::ir::Phase;

use crate::evaluate::Context;
use crate::inspection::Inspections;
use crate::response_signature::ResponseClaim;
use crate::seclang::Run;
use crate::topics::TopicGrants;
use crate::{Meter, Response, RuleIndex, Side};

/// What the caller has to do now.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Nothing; the request goes on.
    Continue,
    /// Answer with this.
    Respond(Arc<Response>),
    /// Have the password of [`Outcome::attempt`] verified, and evaluate the same phase again, which then goes on where it
    /// stopped. Only where [`Keys::password`](weir_auth::Keys::password) has not known the answer.
    Verify,
    /// Send the questions of [`Outcome::inspections`], and evaluate the same phase again when they are answered.
    Inspect,
}

/// Where an evaluation waits for a password, or for inspectors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Suspended {
    pub(crate) phase: weir_rules::Phase,
    /// Position of the rule in the stage.
    pub(crate) rule: usize,
    /// Position of the action in the rule, if it waits within one that has matched.
    pub(crate) action: Option<usize>,
}

/// What has been decided about a transaction so far. Orders by severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// No rule has decided.
    #[default]
    Pass,
    /// A rule allowed it.
    Allow,
    /// A rule would have stopped it, but only detection is on.
    Detect,
    /// Redirected.
    Redirect,
    /// Over a rate limit.
    RateLimit,
    /// Refused because it does not prove who sent it.
    Unauthenticated,
    /// Blocked.
    Block,
    /// Refused after a fault in Weir, or because rules cannot read it completely.
    Fail,
}

impl Verdict {
    /// All of them in order, which is also the order of a worker's counters in the ledger.
    pub const ALL: [Self; 8] = [
        Self::Pass,
        Self::Allow,
        Self::Detect,
        Self::Redirect,
        Self::RateLimit,
        Self::Unauthenticated,
        Self::Block,
        Self::Fail,
    ];

    /// As in `$weir_verdict` and the logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Allow => "allow",
            Self::Detect => "detect",
            Self::Redirect => "redirect",
            Self::RateLimit => "rate_limit",
            Self::Unauthenticated => "unauthenticated",
            Self::Block => "block",
            Self::Fail => "fail",
        }
    }
}

/// One rule that matched and has something to say in the attack log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Finding {
    /// The rule.
    pub rule: RuleIndex,
    /// For a rule in a rule set: the policy's rule that ran the set.
    pub via: Option<RuleIndex>,
    /// Name of the action, e.g. `block`; see [`Verdict`] for whether it was carried out.
    pub action: &'static str,
    /// Whether it was only detected.
    pub detected_only: bool,
    /// The value that matched, as an expression would name it.
    pub variable: String,
    /// The bytes that matched, at most [`MATCHED_BYTES`] of them, not escaped.
    pub matched: Vec<u8>,
    /// What it added to the score.
    pub score: u32,
    /// The message with macros expanded, if it has macros; otherwise the rule's own message applies.
    pub message: Option<String>,
    /// Of a failed authentication: the step that failed, and why.
    pub reason: String,
    /// `logdata` of a SecLang rule, expanded, at most [`MATCHED_BYTES`] times four; not escaped.
    pub log_data: Vec<u8>,
    /// Of an exceeded rate limit: its key for people, with the first 128 bytes of the value; not escaped.
    pub key: Vec<u8>,
}

/// Matched bytes that a finding keeps: enough to recognise an attack, and a bound for the log.
pub const MATCHED_BYTES: usize = 128;

/// A change to header fields, to be made by the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderChange {
    /// The message whose field it changes.
    pub side: Side,
    /// Field name as written in the policy.
    pub name: Vec<u8>,
    /// New value, or `None` to remove the field.
    pub value: Option<Vec<u8>>,
}

/// A transaction's evaluation: carried through the phases, empty and unallocated for benign traffic.
#[derive(Default)]
pub struct Outcome<'a> {
    /// Verdict so far.
    pub verdict: Verdict,
    /// The rule that made it so.
    pub decided_by: Option<RuleIndex>,
    /// Findings for the attack log, in the order of evaluation.
    pub findings: Vec<Finding>,
    /// Sum of the scores of the rules that matched.
    pub score: u32,
    /// Tags set.
    pub tags: Vec<String>,
    /// What rules have allowed the client to do with topics.
    pub topics: TopicGrants,
    /// The consumer that was authenticated.
    pub identity: Option<Identity>,
    /// Header changes to make; the caller takes them out.
    pub header_changes: Vec<HeaderChange>,
    /// Policies of the plan that was evaluated last, whose n-th has bit n in `done` and `allowed`.
    policies: &'a [u32],
    /// Policies that have been evaluated per phase: a later location that applies them again
    /// does not repeat them.
    pub(crate) done: [u64; 3],
    /// Policies whose rest is skipped by `allow`; all of them for [`crate::AllowScope::All`].
    pub(crate) allowed: u64,
    /// Whether that is so for policies of other plans, too.
    pub(crate) allows_all: bool,
    /// The same of policies that earlier plans had: where a request was redirected to, others may apply.
    elsewhere: Vec<(u32, [bool; 4])>,
    /// Claims of the request whose body is arriving, each with what asks for them.
    pub(crate) claims: Vec<(Arc<Authentication>, Claims<'a>)>,
    /// Claims of the response whose body is to come.
    pub(crate) response_claims: Vec<ResponseClaim>,
    /// What inspectors are asked.
    pub inspections: Inspections,
    /// Length of the whole request body, of which the transaction may have less.
    pub body_bytes: u64,
    /// The password that is to be verified.
    pub attempt: Option<Attempt>,
    /// Where the evaluation goes on.
    pub(crate) suspended: Option<Suspended>,
    /// Nonces that this request has left in the table.
    pub(crate) nonces: Vec<Nonce>,
    /// Whether a body has passed by that the transaction does not have.
    pub body_passed: bool,
    /// Rule sets at work on the transaction.
    pub(crate) runs: Vec<Run<'a>>,
}

impl std::fmt::Debug for Outcome<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = out.debug_struct("Outcome");
        out.field("verdict", &self.verdict).field("decided_by", &self.decided_by).field("findings", &self.findings);
        out.field("score", &self.score).field("tags", &self.tags).finish_non_exhaustive()
    }
}

impl<'a> Outcome<'a> {
    /// Whether the verdict is that of a rule in a rule set.
    #[must_use]
    pub fn is_decided_by_rule_set(&self) -> bool {
        let by = |finding: &Finding| Some(finding.rule) == self.decided_by && finding.via.is_some();
        self.findings.iter().any(by)
    }

    /// Makes the bits those of a plan with these policies. Nearly always they are.
    #[inline]
    pub(crate) fn enter(&mut self, policies: &[u32], transaction: &Transaction<'a>) {
        if self.policies != policies {
            self.carry_over();
            self.policies = transaction.arena().alloc_slice_copy(policies);
            self.find_again();
        }
    }

    /// Keeps the bits by policy.
    #[cold]
    fn carry_over(&mut self) {
        for (bit, policy) in self.policies.iter().enumerate() {
            let of = |word: u64| word >> bit & 1 == 1;
            let [request, body, response] = self.done.map(of);
            self.elsewhere.retain(|(known, _)| known != policy);
            self.elsewhere.push((*policy, [request, body, response, of(self.allowed)]));
        }
        (self.done, self.allowed) = ([0; 3], if self.allows_all { u64::MAX } else { 0 });
    }

    fn find_again(&mut self) {
        for (bit, policy) in self.policies.iter().enumerate() {
            let known = self.elsewhere.iter().find(|(known, _)| known == policy);
            let Some((_, [done @ .., allowed])) = known else { continue };
            self.allowed |= u64::from(*allowed) << bit;
            self.done.iter_mut().zip(done).for_each(|(word, done)| *word |= u64::from(*done) << bit);
        }
    }

    /// Puts a rule set to work: runs its first phase.
    pub(crate) fn begin_rule_set<M: Meter>(
        &mut self,
        mut run: Run<'a>,
        transaction: &Transaction<'a>,
        context: &mut Context<'_, M>,
    ) -> Decision {
        if self.runs.iter().any(|other| other.is_of(&run)) {
            return Decision::Continue; // a later location applies the same policy again
        }
        let decision = run.evaluate(Phase::RequestHeaders, transaction, context, self);
        self.runs.push(run);
        decision
    }

    /// Runs a phase of the rule sets at work, those that have not had it. The caller asks for
    /// phases 4 (response body) and 5 (logging); [`crate::Plan::evaluate`] runs the others.
    pub fn run_rule_sets<M: Meter>(
        &mut self,
        phase: Phase,
        transaction: &Transaction<'a>,
        context: &mut Context<'_, M>,
    ) -> Decision {
        if self.runs.is_empty() {
            return Decision::Continue;
        }
        let mut runs = std::mem::take(&mut self.runs);
        let mut decision = Decision::Continue;
        for run in &mut runs {
            decision = run.evaluate(phase, transaction, context, self);
            if decision != Decision::Continue {
                break;
            }
        }
        self.runs = runs;
        decision
    }

    /// Takes the next bytes of the request body, for the signatures that [`crate::Plan::expect_body`] has found.
    pub fn absorb(&mut self, bytes: &[u8]) {
        for claim in self.claims.iter_mut().flat_map(|(_, claims)| claims).flatten() {
            claim.absorb(bytes);
        }
    }

    /// Whether every claim has failed already, so that the body need not be read.
    #[must_use]
    pub fn is_hopeless(&self) -> bool {
        !self.claims.is_empty() && self.claims.iter().flat_map(|(_, claims)| claims).all(Result::is_err)
    }

    /// Forgets claims: another location may ask other questions.
    pub fn forget_claims(&mut self) {
        self.claims.clear();
    }

    /// Whether a signature needs the bytes of the body.
    #[must_use]
    pub fn absorbs(&self) -> bool {
        !self.claims.is_empty()
    }

    /// Whether a rule set has to see the body of a response of that media type: how many bytes of it at most, and the
    /// rule that runs it.
    #[must_use]
    pub fn wants_response_body(&self, content_type: &[u8]) -> Option<(usize, RuleIndex)> {
        let wanted = |run: &Run<'_>| Some((run.wants_response_body(content_type)?, run.via()));
        self.runs.iter().filter_map(wanted).max_by_key(|(limit, _)| *limit)
    }

    /// Gives the response's body to rule sets; then phase 4 may be run. A byte after those that
    /// [`Self::wants_response_body`] asks for tells that the body goes on.
    pub fn set_response_body(&mut self, body: &'a [u8]) {
        self.runs.iter_mut().for_each(|run| run.set_response_body(body));
    }
}
