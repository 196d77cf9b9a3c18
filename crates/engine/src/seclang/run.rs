//! One rule set at work on one transaction.

use std::sync::Arc;

use bumpalo::Bump;
use weir_http::Transaction;
use weir_http::seclang::View;
use weir_rules::seclang::ir::{AllowScope, Engine, Phase};

use super::Profile;
use super::bits;
use super::collections::Collections;
use super::operator::{Captured, Operator, OperatorMatch, Setting};
use super::program::{Link, RuleInfo, Test};
use super::scratch::Scratch;
use super::sift::{Event, Hit, Sifted};
use super::state::{Matched, State, is_set};
use super::values::Member;
use super::variable::{Availability, Source};
use crate::evaluate::{Context, Pass};
use crate::{Decision, Geo, Meter, Outcome, RuleIndex};

/// The state of a rule set within a transaction.
pub(crate) struct Run<'a> {
    pub(super) profile: Arc<Profile>,
    via: RuleIndex,
    /// Whether the policy or the place where it began wants disruptive actions only logged.
    detect: bool,
    /// Number of its first lane among the plan's.
    lanes_at: u32,
    /// One bit for each phase that has been.
    done: u8,
    /// Number of entries of [`Availability::ALL`] that the filter has looked at.
    sifted: usize,
    /// Rules before this position have had their turn.
    passed: u32,
    /// Whether the profile's settings have been applied.
    settled: bool,
    /// Whether a finding says that there was no work left.
    pub(super) is_reported: bool,
    pub(super) view: View<'a>,
    pub(super) state: State<'a>,
    /// For `@geoLookup`.
    pub(super) geo: Option<Arc<dyn Geo>>,
}

impl std::fmt::Debug for Run<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Run").field("via", &self.via).field("done", &self.done).finish_non_exhaustive()
    }
}

/// Inputs of a rule set from outside its transaction.
pub(super) struct Outside<'c> {
    pub(super) request_id: &'c [u8],
    pub(super) now_ms: u64,
    pub(super) received_ms: u64,
    pub(super) collections: Option<&'c dyn Collections>,
    /// Whether disruptive actions are only logged, whatever the rules say.
    pub(super) detect: bool,
}

/// A run while it evaluates a phase.
pub(super) struct Machine<'m, 'a, 'c> {
    pub(super) run: &'m mut Run<'a>,
    pub(super) profile: &'m Profile,
    pub(super) arena: &'a Bump,
    pub(super) outside: &'m Outside<'c>,
    /// The rule being run.
    pub(super) at: u32,
    /// The position after the last rule that matched: variables that matched are remembered
    /// until a rule fails.
    matched_until: u32,
}

/// Position at which evaluation goes on.
pub(super) enum Next {
    Rule(u32),
    Respond(Decision),
    /// The phase is over.
    End,
}

impl<'a> Run<'a> {
    /// A run that has not begun. `detect` is the policy's or the place's; `exclusions` says of each of
    /// the profile's whether it holds.
    pub(crate) fn new(
        profile: &Arc<Profile>,
        via: RuleIndex,
        detect: bool,
        lanes_at: u32,
        pass: &Pass<'_, 'a, '_>,
        exclusions: impl Iterator<Item = bool>,
    ) -> Self {
        let transaction = pass.reader.transaction;
        let mut run = Self {
            profile: Arc::clone(profile),
            via,
            detect,
            lanes_at,
            done: 0,
            sifted: 0,
            passed: 0,
            settled: false,
            is_reported: false,
            view: View::new(transaction, profile.limits()),
            state: State::new(transaction, profile),
            geo: pass.plan.geo.as_ref().filter(|_| profile.locates).map(Arc::clone),
        };
        for (excluded, holds) in profile.excluded.iter().zip(exclusions) {
            if !holds {
                continue;
            }
            match &excluded.pick {
                // Without a condition its rules have been left out for good.
                None => run.state.remove(profile, &excluded.rules.0, 0),
                Some(pick) => {
                    let rules = transaction.arena().alloc_slice_copy(&excluded.rules.0);
                    run.state.remove_target(profile, rules, pick, 0);
                }
            }
        }
        run
    }

    /// Whether both are the same rule's.
    pub(crate) fn is_of(&self, other: &Self) -> bool {
        self.via == other.via && Arc::ptr_eq(&self.profile, &other.profile)
    }

    /// The rule whose action it is.
    pub(crate) fn via(&self) -> RuleIndex {
        self.via
    }

    /// Whether it has to see the request's body.
    pub(crate) fn wants_body(&self) -> bool {
        let over = matches!(self.state.allowed, Some(AllowScope::All | AllowScope::Request));
        self.state.request_body && self.state.engine != Engine::Off && !over && self.profile.has(Phase::RequestBody)
    }

    /// Runs one phase, once.
    pub(crate) fn evaluate<M: Meter>(
        &mut self,
        phase: Phase,
        transaction: &Transaction<'a>,
        context: &mut Context<'_, M>,
        outcome: &mut Outcome<'a>,
    ) -> Decision {
        let bit = 1 << phase as u8;
        if self.done & bit != 0 || self.state.engine == Engine::Off {
            return Decision::Continue;
        }
        self.done |= bit;
        let known = match phase {
            Phase::RequestHeaders => Availability::Head,
            Phase::RequestBody => {
                if self.state.request_body {
                    self.view.set_body();
                }
                Availability::Body
            }
            Phase::ResponseHeaders => {
                if let Some(head) = transaction.response() {
                    self.view.set_response(head);
                }
                Availability::ResponseHead
            }
            Phase::ResponseBody | Phase::Logging => Availability::ResponseBody,
        };
        let profile = Arc::clone(&self.profile);
        let positions = profile.program.positions(phase);
        self.pass(&profile, positions.start);
        let is_allowed = match self.state.allowed {
            Some(AllowScope::All) => phase != Phase::Logging,
            Some(AllowScope::Request) => phase <= Phase::RequestBody,
            _ => false,
        };
        if is_allowed {
            self.pass(&profile, positions.end);
            return Decision::Continue;
        }
        self.state.allowed = None;
        // A phase that was passed over has left something to look at.
        while let Some(next) = Availability::ALL.get(self.sifted).filter(|next| **next <= known) {
            self.sifted += 1;
            self.sift(&profile, *next, context);
        }
        let outside = Outside {
            request_id: context.request_id,
            now_ms: context.now_ms,
            received_ms: transaction.head.received_ms,
            collections: context.collections,
            detect: context.detect || self.detect,
        };
        let arena = self.state.arena;
        let mut machine =
            Machine { run: self, profile: &profile, arena, outside: &outside, at: 0, matched_until: u32::MAX };
        let decision = machine.phase(phase, context.meter, outcome);
        machine.report_refused(transaction, outcome);
        decision
    }

    /// Rules up to a position that have not been run will not be.
    fn pass(&mut self, profile: &Profile, to: u32) {
        if self.passed < to {
            self.state.passed(profile, self.passed, to);
            self.passed = to;
            self.settle(profile, to);
        }
    }

    /// Before the rule at a position: applies the profile's settings if their place is passed.
    fn settle(&mut self, profile: &Profile, at: u32) {
        if !self.settled && at >= profile.program.settings_at {
            self.settled = true;
            self.state.settle(profile);
        }
    }

    /// Finds which rules what has become known may match.
    fn sift<M: Meter>(&mut self, profile: &Profile, known: Availability, context: &mut Context<'_, M>) {
        let sampled = context.meter.sampled();
        let lanes_at = self.lanes_at;
        // When the lane and the rule began, and what rules have taken of the lane's time.
        let (mut lane, mut rule, mut of_rules) = (0, 0, 0);
        let mut meter = |event: Event| {
            let now = if sampled { context.meter.now() } else { 0 };
            match event {
                Event::LaneBegins => (lane, of_rules) = (now, 0),
                Event::LaneEnds(number) => {
                    context.meter.lane(lanes_at + number, now.saturating_sub(lane).saturating_sub(of_rules));
                }
                Event::RuleBegins => rule = now,
                Event::RuleEnds(at) => {
                    let ticks = now.saturating_sub(rule);
                    of_rules += ticks;
                    context.meter.rule(profile.index(at), false, ticks);
                }
            }
        };
        let state = &mut self.state;
        let scratch = state.scratch();
        let mut out = Sifted {
            candidates: state.candidates,
            hits: &mut state.hits,
            whole: state.whole,
            refused: &mut state.refused,
        };
        scratch.work.hold();
        profile.sifter().sift(known, &self.view, scratch, &mut out, &mut meter);
        scratch.work.release();
        state.hits.sort_by_key(|hit| hit.rule);
    }
}

impl<'a> Machine<'_, 'a, '_> {
    fn phase<M: Meter>(&mut self, phase: Phase, meter: &mut M, outcome: &mut Outcome<'a>) -> Decision {
        let positions = self.profile.program.positions(phase);
        let sampled = meter.sampled();
        let mut at = positions.start;
        while let Some(next) = bits::next(self.run.state.candidates, at as usize) {
            if next as u32 >= positions.end {
                break;
            }
            self.run.settle(self.profile, next as u32);
            self.at = next as u32;
            at = self.at + 1;
            if self.run.state.is_removed(self.at) {
                continue;
            }
            let begun = if sampled { meter.now() } else { 0 };
            let next = self.rule(outcome);
            let ticks = if sampled { meter.now().saturating_sub(begun) } else { 0 };
            meter.rule(self.index(), next.is_some(), ticks);
            match next {
                None => {}
                Some(Next::Rule(position)) => at = position,
                Some(Next::Respond(decision)) => {
                    self.run.passed = at;
                    return decision;
                }
                Some(Next::End) => {
                    self.run.passed = at;
                    self.run.pass(self.profile, positions.end);
                    return Decision::Continue;
                }
            }
        }
        self.run.settle(self.profile, positions.end);
        self.run.passed = positions.end;
        Decision::Continue
    }

    pub(super) fn info(&self) -> &RuleInfo {
        let program = &self.profile.program;
        &program.infos[program.rules[self.at as usize].info as usize]
    }

    /// The rule's number in logs and the ledger.
    pub(super) fn index(&self) -> RuleIndex {
        self.profile.index(self.at)
    }

    pub(super) fn via(&self) -> RuleIndex {
        self.run.via
    }

    pub(super) fn scratch(&self) -> Scratch<'a> {
        self.run.state.scratch()
    }

    /// Runs a rule; where to go on if it matched.
    fn rule(&mut self, outcome: &mut Outcome<'a>) -> Option<Next> {
        let profile = self.profile;
        let rule = &profile.program.rules[self.at as usize];
        if self.matched_until != self.at {
            self.run.state.matched.clear();
        }
        self.run.state.scored = 0;
        let gated = profile.sifter().gated_link(self.at).filter(|_| !is_set(self.run.state.whole, self.at));
        let is_shut =
            !profile.is_naive && rule.collecting.as_ref().is_some_and(|one| !self.collects(&rule.links[0], one));
        for (number, link) in rule.links.iter().enumerate() {
            if is_shut || !self.link(link, gated == Some(number)) {
                self.run.state.matched.clear();
                if let Some(jump) = rule.jump {
                    self.run.state.stayed(profile, self.at, jump);
                }
                return None;
            }
        }
        self.matched_until = self.at + 1;
        Some(self.matched(rule, outcome))
    }

    /// Whether a link matches.
    fn link(&mut self, link: &Link, gated: bool) -> bool {
        let Some(test) = &link.test else {
            self.assign(link);
            return true;
        };
        let (mut any, work) = (false, self.run.state.work);
        for target in &test.targets {
            if gated {
                any |= work.reserved(|| self.hits(link, test, target));
                continue;
            }
            any |= match target.source {
                Source::Tx | Source::State(_) => work.reserved(|| self.all(link, test, target)),
                _ => self.all(link, test, target),
            };
        }
        any
    }

    /// Looks at all values of a target.
    fn all(&mut self, link: &Link, test: &Test, target: &super::program::Target) -> bool {
        let mut any = false;
        for member in self.members(target, &test.exclusions, self.at) {
            if !self.is_out(test, &target.source, member.name) {
                any |= self.value(link, test, target.name, member, false);
            }
        }
        any
    }

    /// Looks at the values that the filter found for this rule.
    fn hits(&mut self, link: &Link, test: &Test, target: &super::program::Target) -> bool {
        let Source::Origins(origins) = &target.source else { return false };
        let first = self.run.state.hits.partition_point(|hit| hit.rule < self.at);
        let mut any = false;
        for origin in origins {
            let mut number = first;
            while let Some(hit) = self.run.state.hits.get(number).copied().filter(|hit| hit.rule == self.at) {
                number += 1;
                if hit.origin == *origin {
                    any |= self.hit(link, test, target, &hit);
                }
            }
        }
        any
    }

    fn hit(&mut self, link: &Link, test: &Test, target: &super::program::Target, hit: &Hit<'a>) -> bool {
        let name = hit.name;
        let selected = super::values::selects(&target.selector, target.pattern.as_deref(), name, self.scratch());
        if !selected || self.is_out(test, &target.source, name) {
            return false;
        }
        self.value(link, test, target.name, Member { name, value: hit.value }, link.stages.is_empty())
    }

    /// Whether a value is excluded, by the rule or in the course of the request.
    fn is_out(&self, test: &Test, source: &Source, name: &[u8]) -> bool {
        let picks = |pick: &super::program::Pick| pick.picks(source, name, self.scratch());
        test.exclusions.iter().any(picks)
            || self
                .run
                .state
                .removed_targets
                .iter()
                .any(|removed| is_set(removed.rules, self.at) && picks(&removed.pick))
    }

    /// Tests one value, in all its forms under `multiMatch`.
    fn value(&mut self, link: &Link, test: &Test, name: &'static str, member: Member<'a>, is_final: bool) -> bool {
        if is_final {
            return self.form(link, test, name, member);
        }
        let pipelines = &self.profile.program.pipelines;
        if link.stages.is_empty() {
            let value = pipelines.apply_within(link.pipeline, self.scratch(), member.value);
            return self.form(link, test, name, Member { value, ..member });
        }
        let mut forms = bumpalo::collections::Vec::with_capacity_in(link.stages.len(), self.arena);
        pipelines.apply_stages(&link.stages, self.scratch(), member.value, |value| {
            if forms.last() != Some(&value) {
                forms.push(value);
            }
        });
        forms.into_iter().fold(false, |any, value| self.form(link, test, name, Member { value, ..member }) | any)
    }

    fn form(&mut self, link: &Link, test: &Test, variable: &'static str, member: Member<'a>) -> bool {
        let text = test.operator.text().map_or(&b""[..], |text| self.expand(text, self.at));
        let setting = Setting { scratch: self.scratch(), text, capture: link.capture, verdict_only: test.negated };
        let found = match &test.operator {
            Operator::GeoLookup => self.locate(member.value).then(OperatorMatch::default),
            operator => operator.find(member.value, &setting),
        };
        if self.run.state.is_refused(Some(self.at), variable, member.name, member.value) {
            return false;
        }
        if found.is_some() == test.negated {
            return false;
        }
        let found = found.unwrap_or_default();
        if link.capture {
            self.capture(&found, member.value);
        }
        let state = &mut self.run.state;
        if state.matched.len() < MAX_MATCHED {
            let matched = Matched { variable, member: member.name, value: member.value, range: found.range };
            state.matched.push(matched);
        }
        self.assign(link);
        true
    }

    fn capture(&mut self, found: &OperatorMatch<'a>, value: &'a [u8]) {
        let mut keep = |group: usize, text: &'a [u8]| {
            self.run.state.set_tx(self.profile, group as u16, Some(text), self.at + 1);
        };
        match &found.captured {
            Captured::Nothing => {}
            Captured::Text(text) => keep(0, text),
            Captured::Groups(groups) => {
                for (number, group) in groups.iter().enumerate() {
                    if let Some((start, end)) = group {
                        keep(number, &value[*start as usize..*end as usize]);
                    }
                }
            }
        }
    }
}

/// Values remembered in `MATCHED_VARS`.
const MAX_MATCHED: usize = 1024;
