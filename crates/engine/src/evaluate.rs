//! Evaluation: one filter pass per lane, then the candidates in order.
//!
//! The candidates are a bit set over the stage's rules. Filters set bits; a loop over the set
//! bits evaluates those rules exactly, in the order of the policy, with full semantics. Nothing
//! is allocated outside the transaction's arena unless a rule matches.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, LazyLock};

use weir_auth::{Consumers, Identity, Keys, Request};
use weir_http::{BodyKind, Transaction};
use weir_rules::Phase;
use weir_rules::seclang::ir::Phase as SecPhase;

use crate::action::carry_out;
use crate::check::Node;
use crate::inspection;
use crate::outcome::Suspended;
use crate::plan::{Plan, Rule, Stage};
use crate::rate::RateTable;
use crate::seclang::Collections;
use crate::value::{Reader, Values};
use crate::{Bans, Decision, Meter, NonceTable, Outcome, RuleIndex};

/// What evaluation needs from its caller.
pub struct Context<'c, M> {
    /// Whether actions are only logged, whatever the policies say.
    pub detect: bool,
    /// The request's id, for rules that read it.
    pub request_id: &'c [u8],
    /// Milliseconds on a clock that all workers share.
    pub now_ms: u64,
    /// Where rate limits are counted; without it they let everything pass.
    pub limits: Option<&'c RateTable<'c>>,
    /// Where credentials are found; without them nobody is known.
    pub keys: Option<&'c dyn Keys>,
    /// Whether the caller can wait for a password ([`Decision::Verify`]); if not, a rule that has to is refused.
    pub can_wait: bool,
    /// Where nonces are remembered; without it replays are refused as if it were full.
    pub nonces: Option<&'c NonceTable<'c>>,
    /// Where rule sets keep persistent collections; without it they are empty and stay so.
    pub collections: Option<&'c dyn Collections>,
    /// Who is banned; without it nobody is.
    pub bans: Option<&'c dyn Bans>,
    /// Receives the costs.
    pub meter: &'c mut M,
}

impl<'c, M> Context<'c, M> {
    /// A context of nothing but a meter: no id, no time, nothing shared with other requests.
    pub fn new(meter: &'c mut M) -> Self {
        let (limits, keys, nonces, collections, bans) = (None, None, None, None, None);
        let (detect, can_wait) = (false, false);
        Self { detect, request_id: b"", now_ms: 0, limits, keys, nonces, can_wait, collections, bans, meter }
    }

    /// Where credentials are found.
    pub(crate) fn keys(&self) -> &dyn Keys {
        static NOBODY: LazyLock<Consumers> = LazyLock::new(Consumers::default);
        self.keys.unwrap_or(&*NOBODY)
    }
}

/// Selectors are asked once: unknown, false, true.
#[derive(Clone, Copy, PartialEq)]
enum SelectorState {
    Unknown,
    False,
    True,
}

/// One pass over one stage.
pub(crate) struct Pass<'p, 'a, 'e> {
    pub(crate) plan: &'p Plan,
    pub(crate) reader: Reader<'a, 'e>,
    lanes: &'a [Cell<Option<Values<'a>>>],
    /// For lanes whose filter has run: the values that it noticed.
    hits: &'a [Cell<Option<&'a [u64]>>],
    selectors: &'a [Cell<SelectorState>],
}

impl Plan {
    /// Evaluates the rules of one phase. Call once per phase, in order, as its data becomes
    /// known; policies that this transaction has been through are not repeated, whichever plan
    /// they came in.
    pub fn evaluate<'a, M: Meter>(
        &self,
        phase: Phase,
        transaction: &Transaction<'a>,
        context: &mut Context<'_, M>,
        outcome: &mut Outcome<'a>,
    ) -> Decision {
        match outcome.apply_answers() {
            Decision::Continue => {}
            decision => return decision,
        }
        if phase == Phase::Request && !self.stripped.is_empty() && !context.detect {
            inspection::strip(&self.stripped, transaction, outcome);
        }
        let decision = match self.evaluate_rules(phase, transaction, context, outcome) {
            Decision::Continue => match phase {
                Phase::Request => Decision::Continue, // a rule set's first phase runs where its rule stands
                Phase::Body => outcome.run_rule_sets(SecPhase::RequestBody, transaction, context),
                Phase::Response => outcome.run_rule_sets(SecPhase::ResponseHeaders, transaction, context),
            },
            decision => decision,
        };
        match decision {
            Decision::Continue if context.can_wait && outcome.inspections.hold() => Decision::Inspect,
            Decision::Respond(response) => {
                outcome.inspections.spare();
                Decision::Respond(response)
            }
            decision => decision,
        }
    }

    fn evaluate_rules<'a, M: Meter>(
        &self,
        phase: Phase,
        transaction: &Transaction<'a>,
        context: &mut Context<'_, M>,
        outcome: &mut Outcome<'a>,
    ) -> Decision {
        let stage = &self.stages[phase as usize];
        outcome.enter(&self.policies, transaction);
        let done = outcome.done[phase as usize];
        let over = done | outcome.allowed;
        if self.all() & !over == 0 {
            return Decision::Continue;
        }
        let resumed = outcome.suspended.take().filter(|suspended| suspended.phase == phase);
        outcome.done[phase as usize] |= self.all();
        if stage.rules.is_empty() {
            return Decision::Continue;
        }
        let mut pass = Pass::new(
            self,
            transaction,
            context.request_id,
            std::mem::take(&mut outcome.tags),
            outcome.identity.take(),
        );
        pass.reader.bans = context.bans.map(|bans| (bans, context.now_ms));
        let candidates = transaction.arena().alloc_slice_copy(&stage.ungated);
        let sampled = context.meter.sampled();
        for filter in &stage.filters {
            let begun = if sampled { context.meter.now() } else { 0 };
            let values = pass.values(filter.lane);
            let hits = transaction.arena().alloc_slice_fill_copy(values.as_slice().len().div_ceil(64), 0);
            filter.open(values.as_slice(), candidates, hits);
            pass.hits[filter.lane as usize].set(Some(hits));
            let ticks = if sampled { context.meter.now().saturating_sub(begun) } else { 0 };
            context.meter.lane(filter.info, ticks);
        }
        let mut decision = Decision::Continue;
        'all: for (word, bits) in candidates.iter().enumerate() {
            let mut bits = *bits;
            while bits != 0 {
                let at = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let rule = &self.rules[stage.rules[at] as usize];
                if rule.policy & (over | outcome.allowed) != 0 || resumed.is_some_and(|resumed| at < resumed.rule) {
                    continue;
                }
                let resumed = resumed.filter(|resumed| at == resumed.rule).and_then(|resumed| resumed.action);
                if rule.reads_changing && context.can_wait && outcome.inspections.hold() {
                    // Answers may set what it reads.
                    outcome.suspended = Some(Suspended { phase, rule: at, action: None });
                    outcome.done[phase as usize] = done;
                    decision = Decision::Inspect;
                    break 'all;
                }
                let begun = if sampled { context.meter.now() } else { 0 };
                let hit = pass.selected(rule) && pass.holds(&rule.node);
                let ticks = if sampled { context.meter.now().saturating_sub(begun) } else { 0 };
                if resumed.is_none() {
                    context.meter.rule(rule.index, hit, ticks);
                }
                if hit {
                    decision = carry_out(&pass, rule, resumed, context, outcome);
                    if decision == Decision::Verify {
                        // The action has been noted; the phase is not done.
                        outcome.suspended = outcome.suspended.map(|noted| Suspended { phase, rule: at, ..noted });
                        outcome.done[phase as usize] = done;
                    }
                    if decision != Decision::Continue {
                        break 'all;
                    }
                }
            }
        }
        outcome.tags = pass.reader.tags.into_inner();
        outcome.identity = pass.reader.identity.into_inner();
        if phase == Phase::Body && !matches!(decision, Decision::Verify | Decision::Inspect) {
            outcome.forget_claims();
        }
        decision
    }

    /// Whether a rule that may still match has to see this request's body. Call it after
    /// [`Phase::Request`] has been evaluated; `false` means that the body need not be read.
    #[must_use]
    pub fn wants_body(&self, transaction: &Transaction<'_>, outcome: &Outcome<'_>) -> Option<RuleIndex> {
        if let Some(run) = outcome.runs.iter().find(|run| run.wants_body()) {
            return Some(run.via());
        }
        let stage = &self.stages[Phase::Body as usize];
        let over = outcome.done[Phase::Body as usize] | outcome.allowed;
        if stage.rules.is_empty() || self.all() & !over == 0 {
            return None;
        }
        let pass = Pass::new(self, transaction, b"", outcome.tags.clone(), outcome.identity.clone());
        let kind = transaction.body_kind();
        for (count, at) in self.foreseen(stage, &pass).enumerate() {
            let rule = &self.rules[stage.rules[at] as usize];
            if rule.policy & over == 0 && (count >= MAX_FORESEEN || pass.may_match(rule, kind)) {
                return Some(rule.index);
            }
        }
        None
    }

    /// The rules of the body phase, as positions in the stage, that the filters of what is known before the body do not
    /// rule out.
    fn foreseen(&self, stage: &Stage, pass: &Pass<'_, '_, '_>) -> impl Iterator<Item = usize> {
        let candidates = pass.reader.transaction.arena().alloc_slice_copy(&stage.ungated);
        for filter in &stage.filters {
            let lane = &self.lanes[filter.lane as usize];
            if lane.value.phase() > Phase::Request || self.unforeseen.contains(&filter.lane) {
                filter.rules().into_iter().for_each(|at| candidates[at as usize >> 6] |= 1 << (at & 63));
                continue;
            }
            let values = pass.values(filter.lane);
            let hits = pass.reader.transaction.arena().alloc_slice_fill_copy(values.as_slice().len().div_ceil(64), 0);
            filter.open(values.as_slice(), candidates, hits);
        }
        let words: &[u64] = candidates;
        (0..stage.rules.len()).filter(move |at| words[at >> 6] >> (at & 63) & 1 == 1)
    }

    /// Reads from the head what the request claims in rules that verify signatures over the body and may match: what
    /// arrives of the body then goes to [`Outcome::absorb`]. Call it when the body is about to be read.
    pub fn expect_body<'a, M: Meter>(
        &self,
        transaction: &Transaction<'a>,
        context: &Context<'_, M>,
        outcome: &mut Outcome<'a>,
    ) {
        if !self.verifies_body {
            return;
        }
        let stage = &self.stages[Phase::Body as usize];
        let over = outcome.done[Phase::Body as usize] | outcome.allowed;
        let pass = Pass::new(self, transaction, b"", outcome.tags.clone(), outcome.identity.clone());
        let kind = transaction.body_kind();
        let request = Request::of(transaction);
        for at in self.foreseen(stage, &pass) {
            let rule = &self.rules[stage.rules[at] as usize];
            if rule.policy & over == 0 && rule.verifies_body && pass.may_match(rule, kind) {
                let asked = rule.actions.iter().filter_map(|planned| planned.action.info().authentication);
                for asked in asked.filter(|asked| asked.reads_body() && !asked.passes_preflight(&request)) {
                    let claims = asked.begin(&request, context.keys(), context.now_ms);
                    outcome.claims.push((Arc::clone(asked), claims));
                }
            }
        }
    }
}

/// Tags kept for one request.
pub const MAX_TAGS: usize = 32;
/// Rules asked one by one whether they want the body; past it the answer is yes.
const MAX_FORESEEN: usize = 256;

impl<'p, 'a, 'e> Pass<'p, 'a, 'e> {
    fn new(
        plan: &'p Plan,
        transaction: &'e Transaction<'a>,
        request_id: &'e [u8],
        tags: Vec<String>,
        identity: Option<Identity>,
    ) -> Self
    where
        'p: 'e,
    {
        let arena = transaction.arena();
        Self {
            plan,
            reader: Reader {
                transaction,
                request_id,
                tags: RefCell::new(tags),
                identity: RefCell::new(identity),
                bans: None,
                geo: plan.geo.as_deref(),
                location: Cell::new(None),
            },
            lanes: arena.alloc_slice_fill_with(plan.lanes.len(), |_| Cell::new(None)),
            hits: arena.alloc_slice_fill_with(plan.lanes.len(), |_| Cell::new(None)),
            selectors: arena.alloc_slice_fill_with(plan.selectors.len(), |_| Cell::new(SelectorState::Unknown)),
        }
    }

    /// The values of a lane, read at most once.
    pub(crate) fn values(&self, lane: u32) -> Values<'a> {
        let read = &self.lanes[lane as usize];
        if let Some(values) = read.get() {
            return values;
        }
        let values = self.plan.lanes[lane as usize].source.read(&self.reader);
        read.set(Some(values));
        values
    }

    /// Sets a tag, which later rules see: what depends on tags is asked anew.
    pub(crate) fn tag(&self, tag: &str) {
        let mut tags = self.reader.tags.borrow_mut();
        if tags.len() >= MAX_TAGS || tags.iter().any(|known| known == tag) {
            return;
        }
        tags.push(tag.to_owned());
        drop(tags);
        self.forget_changing();
    }

    /// Sets the consumer, likewise.
    pub(crate) fn identify(&self, identity: Identity) {
        self.reader.identity.replace(Some(identity));
        self.forget_changing();
    }

    fn forget_changing(&self) {
        self.plan.changing_lanes.iter().for_each(|lane| self.lanes[*lane as usize].set(None));
        self.plan
            .changing_selectors
            .iter()
            .for_each(|selector| self.selectors[*selector as usize].set(SelectorState::Unknown));
    }

    fn selected(&self, rule: &Rule) -> bool {
        let Some(when) = &self.plan.selectors[rule.selector as usize].when else { return true };
        let asked = &self.selectors[rule.selector as usize];
        if asked.get() == SelectorState::Unknown {
            asked.set(if self.holds(when) { SelectorState::True } else { SelectorState::False });
        }
        asked.get() == SelectorState::True
    }

    pub(crate) fn holds(&self, node: &Node) -> bool {
        match node {
            Node::Const(truth) => *truth,
            Node::Not(inner) => !self.holds(inner),
            Node::And(parts) => parts.iter().all(|part| self.holds(part)),
            Node::Or(parts) => parts.iter().any(|part| self.holds(part)),
            Node::Xor(left, right) => self.holds(left) != self.holds(right),
            Node::Test(test) => match self.hits[test.lane as usize].get() {
                Some(hits) if test.sifted => test.holds_in(self.values(test.lane).as_slice(), hits),
                _ => test.holds(self.values(test.lane).as_slice()),
            },
        }
    }

    /// Whether a rule may match once the body is known.
    fn may_match(&self, rule: &Rule, kind: BodyKind) -> bool {
        let when = self.plan.selectors[rule.selector as usize].when.as_ref();
        when.map_or(Some(true), |when| self.foresee(when, kind)) != Some(false)
            && self.foresee(&rule.node, kind) != Some(false)
    }

    /// The truth of an expression as far as it is decided before the body is known.
    fn foresee(&self, node: &Node, kind: BodyKind) -> Option<bool> {
        match node {
            Node::Const(truth) => Some(*truth),
            Node::Not(inner) => self.foresee(inner, kind).map(|truth| !truth),
            Node::And(parts) => self.foresee_all(parts, kind, false),
            Node::Or(parts) => self.foresee_all(parts, kind, true),
            Node::Xor(left, right) => Some(self.foresee(left, kind)? != self.foresee(right, kind)?),
            Node::Test(test) if self.plan.unforeseen.contains(&test.lane) => None,
            Node::Test(test) if test.phase == Phase::Request => Some(self.holds(node)),
            // Of a body of another kind the field has no values, which decides the test too.
            Node::Test(test) if !test.kinds.contains(kind) => Some(test.holds(&[])),
            Node::Test(_) => None,
        }
    }

    /// The first part that is `decisive` decides; otherwise all have to be known.
    fn foresee_all(&self, parts: &[Node], kind: BodyKind, decisive: bool) -> Option<bool> {
        let mut all = Some(!decisive);
        for part in parts {
            match self.foresee(part, kind) {
                Some(truth) if truth == decisive => return Some(decisive),
                Some(_) => {}
                None => all = None,
            }
        }
        all
    }
}
