//! The filter: one pass over the values of a request, which finds the rules that may match.
//!
//! Values are visited once, whatever the number of rules. For each the transformations that any
//! live rule wants are applied (those whose trigger bytes do not occur change nothing and cost
//! nothing), and each distinct result is looked at once: which bytes occur, which literals. A rule
//! that finds what it needs there gets a *hit*: this value may match it. Rules without hits are
//! not run, and those with hits look at these values only.
//!
//! Collections with few literals have a search of their own, the others share one (`search.rs`): a
//! literal found for a rule that does not look here is dropped by one bit test. What a short value
//! opened is remembered for the next request (`memory.rs`).

mod decide;
mod factors;
mod memory;
mod plan;
mod positions;
mod search;
mod visit;

use std::sync::Arc;

use weir_http::seclang::View;
use weir_rules::seclang::ir::Selector;

use super::bits::Bits;
use super::gate::{Gate, gate};
use super::need::Need;
use super::program::Program;
use super::scratch::Scratch;
use super::state::{Matched, Refused};
use super::variable::{Availability, BASES, Origin, Source, pairs};
pub(crate) use factors::Factors;
use plan::Plan;
use search::{Literals, Search};
use visit::Visit;

/// The filter for a set of live rules.
#[derive(Debug)]
pub(crate) struct Sifter {
    /// Kept for the pipelines.
    program: Arc<Program>,
    /// Number of the filter, for its memory of values.
    number: u64,
    plans: Vec<Plan>,
    /// Each plan has the number of its own.
    searches: Vec<Search>,
    /// By rule.
    gates: Vec<Option<Gate>>,
    /// Live rules without a gate: run in every request.
    pub(crate) ungated: Bits,
    /// Rules with `multiMatch` in the gated link, whose hits carry the untransformed value.
    multi: Bits,
    factors: Arc<Factors>,
}

/// A value that may match a rule's gate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit<'a> {
    pub(crate) rule: u32,
    pub(crate) origin: Origin,
    /// The member's name.
    pub(crate) name: &'a [u8],
    /// The value after the rule's transformations; for `multiMatch` before them.
    pub(crate) value: &'a [u8],
}

/// Result of sifting.
pub(crate) struct Sifted<'a, 'e> {
    /// One bit for each rule.
    pub(crate) candidates: &'e mut [u64],
    pub(crate) hits: &'e mut Vec<Hit<'a>>,
    /// One bit for each rule that has to look at all values after all: there were too many hits.
    pub(crate) whole: &'e mut [u64],
    /// The first value that there was no work left for.
    pub(crate) refused: &'e mut Option<Refused<'a>>,
}

/// Costs reported to a meter.
pub(crate) enum Event {
    LaneBegins,
    /// The lane of that number.
    LaneEnds(u32),
    /// A rule is tested exactly.
    RuleBegins,
    /// That rule has been.
    RuleEnds(u32),
}

/// Hits kept for one request: a benign one has a few dozen.
const MAX_HITS: usize = 16_384;

impl Sifter {
    /// `factors` may know more rules.
    pub(crate) fn new(program: &Arc<Program>, live: &Bits, factors: Arc<Factors>) -> Self {
        let mut sifter = Self { factors, ..Self::without_gates(program, Bits::new(program.rules.len())) };
        for position in live.iter() {
            let rule = &program.rules[position];
            let gate = gate(rule, program.infos[rule.info as usize].phase);
            if !gate.is_some_and(|gate| sifter.add(position as u32, gate)) {
                sifter.ungated.insert(position);
            }
        }
        sifter.plans.iter_mut().for_each(|plan| plan.settle(program.rules.len()));
        sifter.make_searches();
        sifter.plans.sort_by_key(|plan| plan.origin);
        sifter
    }

    /// A filter that lets every live rule through.
    pub(crate) fn without_gates(program: &Arc<Program>, live: Bits) -> Self {
        let count = program.rules.len();
        Self {
            program: Arc::clone(program),
            number: memory::next_number(),
            plans: Vec::new(),
            searches: Vec::new(),
            gates: (0..count).map(|_| None).collect(),
            ungated: live,
            multi: Bits::new(count),
            factors: Arc::default(),
        }
    }

    /// Puts a rule behind its gate; `false` if there is no room for one more transformation.
    fn add(&mut self, rule: u32, gate: Gate) -> bool {
        let program = Arc::clone(&self.program);
        let link = &program.rules[rule as usize].links[gate.link];
        let Some(test) = &link.test else { return false };
        let origins = || {
            let sources = test.targets.iter().map(|target| (&target.selector, &target.source));
            sources.filter_map(|(selector, source)| match source {
                Source::Origins(origins) => Some((selector, origins)),
                _ => None,
            })
        };
        let length = program.pipelines.stages(link.pipeline).len();
        if !origins().flat_map(|(_, origins)| origins).all(|origin| self.plan(*origin).has_room(length)) {
            return false;
        }
        if gate.need == Need::Never {
            return true;
        }
        let stages = if link.stages.is_empty() { std::slice::from_ref(&link.pipeline) } else { &link.stages };
        for (selector, origins) in origins() {
            for origin in origins {
                let plan = self.plan(*origin);
                for stage in stages {
                    let node = plan.node(*stage, &program);
                    let name = match selector {
                        Selector::Name(name) => Some(name.as_slice()),
                        Selector::All | Selector::Pattern(_) => None,
                    };
                    plan.wanted(name).add(rule, node, &gate.need);
                }
            }
        }
        if !link.stages.is_empty() {
            self.multi.insert(rule as usize);
        }
        self.gates[rule as usize] = Some(gate);
        true
    }

    /// A search for each collection with few literals; the others share one, those of the request
    /// and those of the response.
    fn make_searches(&mut self) {
        let mut shared = [(Literals::new(), Vec::new()), (Literals::new(), Vec::new())];
        for (number, plan) in self.plans.iter_mut().enumerate() {
            let mut literals = Literals::new();
            for rule in plan.awaiting_literals() {
                let Some(Gate { need: Need::Literals(set, _), .. }) = &self.gates[rule as usize] else { continue };
                set.iter().for_each(|literal| literals.entry(literal.clone()).or_default().push(rule));
            }
            if literals.len() <= search::FEW {
                plan.search = self.searches.len();
                self.searches.push(Search::new(&literals));
                continue;
            }
            let (all, plans) = &mut shared[usize::from(plan.known >= Availability::ResponseHead)];
            plans.push(number);
            for (literal, rules) in literals {
                let known: &mut Vec<u32> = all.entry(literal).or_default();
                known.extend(rules);
                known.sort_unstable();
                known.dedup();
            }
        }
        for (literals, plans) in shared {
            plans.iter().for_each(|plan| self.plans[*plan].search = self.searches.len());
            self.searches.push(Search::new(&literals));
        }
    }

    fn plan(&mut self, origin: Origin) -> &mut Plan {
        let position = self.plans.iter().position(|plan| plan.origin == origin).unwrap_or_else(|| {
            self.plans.push(Plan::new(origin));
            self.plans.len() - 1
        });
        &mut self.plans[position]
    }

    /// The link of a rule that its hits are about.
    pub(crate) fn gated_link(&self, rule: u32) -> Option<usize> {
        self.gates[rule as usize].as_ref().map(|gate| gate.link)
    }

    /// The gate of a rule.
    pub(crate) fn gate(&self, rule: u32) -> Option<&Gate> {
        self.gates[rule as usize].as_ref()
    }

    /// Names of what is visited, and the rules that look there, as the ledger numbers lanes.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = (String, Vec<u32>)> {
        self.plans.iter().map(|plan| (plan.name(), plan.rules()))
    }

    /// Looks at everything that has just become known. `meter` is told what begins and ends.
    pub(crate) fn sift<'a>(
        &self,
        known: Availability,
        view: &View<'a>,
        scratch: Scratch<'a>,
        out: &mut Sifted<'a, '_>,
        meter: &mut impl FnMut(Event),
    ) {
        let arena = scratch.arena;
        let seen = arena.alloc_slice_fill_copy(self.ungated.0.len(), 0);
        for (number, plan) in self.plans.iter().enumerate().filter(|(_, plan)| plan.known == known) {
            meter(Event::LaneBegins);
            let all_is_empty = plan.all.is_empty();
            let search = &self.searches[plan.search];
            for pair in pairs(view, arena, plan.origin.base) {
                let named = plan.named(pair.name);
                if all_is_empty && named.is_none() {
                    continue;
                }
                let raw = if plan.origin.names { pair.name } else { pair.value };
                let of_name = named.map_or(0, |wanted| wanted.number);
                let key = memory::Key { plan: self.number | (number as u64) << 12 | u64::from(of_name), value: raw };
                let is_memorable = raw.len() <= memory::MAX_BYTES && out.hits.len() + memory::MAX_RULES < MAX_HITS;
                let before = out.hits.len();
                let hit = |rule| Hit { rule, origin: plan.origin, name: pair.name, value: raw };
                // Where the value would be remembered; `Some(None)` if it is.
                let place = is_memorable.then(|| memory::recall(key, |rule| out.hits.push(hit(rule))));
                if place != Some(None) {
                    Visit { sifter: self, search, plan, named, name: pair.name, raw }.value(scratch, seen, out);
                    // Rules past the bound are not among the hits: such an answer is not the whole one.
                    let is_whole = out.hits.len() < MAX_HITS;
                    let mut refused = scratch.work.take_refusal().then_some(None);
                    refused = refused.or(self.decide(before, scratch, out.hits, meter).map(Some));
                    if let Some(rule) = refused {
                        let variable = BASES[usize::from(plan.origin.base)].variable.name();
                        let matched = Matched { variable, member: pair.name, value: raw, range: None };
                        out.refused.get_or_insert(Refused { rule, matched });
                    } else if let Some(place) = place.flatten().filter(|_| is_whole) {
                        let found = &out.hits[before..];
                        if found.iter().all(|hit| std::ptr::eq(hit.value, raw)) {
                            memory::remember(key, place, found.iter().map(|hit| hit.rule));
                        }
                    }
                }
                out.hits[before..].iter().for_each(|hit| super::state::set(out.candidates, hit.rule));
            }
            meter(Event::LaneEnds(number as u32));
        }
    }
}
