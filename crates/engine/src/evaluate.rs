//! Evaluation: one filter pass per lane, then the candidates in order.
//!
//! The candidates are a bit set over the stage's rules. Filters set bits; a loop over the set
//! bits evaluates those rules exactly, in the order of the policy, with full semantics. Nothing
//! is allocated outside the transaction's arena unless a rule matches.

use std::cell::{Cell, RefCell};

use weir_http::{BodyKind, Transaction};
use weir_rules::Phase;
use weir_rules::seclang::ir::Phase as SecPhase;

use crate::action::carry_out;
use crate::check::Node;
use crate::plan::{Plan, Rule};
use crate::rate::RateTable;
use crate::seclang::Collections;
use crate::value::{Reader, Values};
use crate::{Decision, Meter, Outcome, RuleIndex};

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
    /// Where rule sets keep persistent collections; without it they are empty and stay so.
    pub collections: Option<&'c dyn Collections>,
    /// Receives the costs.
    pub meter: &'c mut M,
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
        match self.evaluate_rules(phase, transaction, context, outcome) {
            Decision::Continue => match phase {
                Phase::Request => Decision::Continue, // a rule set's first phase runs where its rule stands
                Phase::Body => outcome.run_rule_sets(SecPhase::RequestBody, transaction, context),
                Phase::Response => outcome.run_rule_sets(SecPhase::ResponseHeaders, transaction, context),
            },
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
        let over = outcome.done[phase as usize] | outcome.allowed;
        if self.all() & !over == 0 {
            return Decision::Continue;
        }
        outcome.done[phase as usize] |= self.all();
        if stage.rules.is_empty() {
            return Decision::Continue;
        }
        let pass = Pass::new(self, transaction, context.request_id, std::mem::take(&mut outcome.tags));
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
                if rule.policy & (over | outcome.allowed) != 0 {
                    continue;
                }
                let begun = if sampled { context.meter.now() } else { 0 };
                let hit = pass.selected(rule) && pass.holds(&rule.node);
                let ticks = if sampled { context.meter.now().saturating_sub(begun) } else { 0 };
                context.meter.rule(rule.index, hit, ticks);
                if hit {
                    decision = carry_out(&pass, rule, context, outcome);
                    if decision != Decision::Continue {
                        break 'all;
                    }
                }
            }
        }
        outcome.tags = pass.reader.tags.into_inner();
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
        let pass = Pass::new(self, transaction, b"", outcome.tags.clone());
        let kind = transaction.body_kind();
        let rules = stage.rules.iter().map(|rule| &self.rules[*rule as usize]).filter(|rule| rule.policy & over == 0);
        for (count, rule) in rules.enumerate() {
            let when = self.selectors[rule.selector as usize].when.as_ref();
            let selected = when.map_or(Some(true), |when| pass.foresee(when, kind));
            if count >= MAX_FORESEEN || (selected != Some(false) && pass.foresee(&rule.node, kind) != Some(false)) {
                return Some(rule.index);
            }
        }
        None
    }
}

/// Tags kept for one request.
pub const MAX_TAGS: usize = 32;
/// Rules asked one by one whether they want the body; past it the answer is yes.
const MAX_FORESEEN: usize = 256;

impl<'p, 'a, 'e> Pass<'p, 'a, 'e> {
    fn new(plan: &'p Plan, transaction: &'e Transaction<'a>, request_id: &'e [u8], tags: Vec<String>) -> Self
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
        self.plan.tag_lanes.iter().for_each(|lane| self.lanes[*lane as usize].set(None));
        self.plan
            .tag_selectors
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
