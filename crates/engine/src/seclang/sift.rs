//! The filter: one pass over the values of a request, which finds the rules that may match.
//!
//! Values are visited once, whatever the number of rules. For each the transformations that any
//! live rule wants are applied (those whose trigger bytes do not occur change nothing and cost
//! nothing), and each distinct result is looked at once: which bytes occur, which literals. A rule
//! that finds what it needs there gets a *hit*: this value may match it. Rules without hits are
//! not run, and those with hits look at these values only.
//!
//! One scanner serves all collections and transformations, since most values pass through the
//! transformations unchanged; a literal found for a rule that does not look here is dropped by one
//! bit test.

mod plan;
mod visit;

use std::collections::HashMap;
use std::sync::Arc;

use bumpalo::Bump;
use weir_http::seclang::View;
use weir_rules::seclang::ir::Selector;

use super::bits::Bits;
use super::gate::{Gate, gate};
use super::need::Need;
use super::program::Program;
use super::variable::{Known, Origin, Source, pairs};
use crate::scan::{Needle, Scanner};
use plan::Plan;
use visit::Visit;

/// The filter for a set of live rules.
#[derive(Debug)]
pub(crate) struct Sifter {
    /// Kept for the pipelines.
    program: Arc<Program>,
    plans: Vec<Plan>,
    /// For what the request has, and for what the response has.
    scanners: [Scanner; 2],
    /// Rules by the scanners' owner.
    owners: Vec<Vec<u32>>,
    /// By rule.
    gates: Vec<Option<Gate>>,
    /// Live rules without a gate: run in every request.
    pub(crate) ungated: Bits,
    /// Rules with `multiMatch` in the gated link, whose hits carry the untransformed value.
    multi: Bits,
    /// Bytes of the shortest literal.
    shortest: usize,
}

/// A value that may match a rule's gate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit<'a> {
    pub(crate) rule: u32,
    pub(crate) origin: Origin,
    /// Its number in the collection.
    pub(crate) item: u32,
    /// The value after the rule's transformations; for `multiMatch` before them.
    pub(crate) value: &'a [u8],
}

/// What sifting yields.
pub(crate) struct Sifted<'a, 'e> {
    /// One bit for each rule.
    pub(crate) candidates: &'e mut [u64],
    pub(crate) hits: &'e mut Vec<Hit<'a>>,
    /// One bit for each rule that has to look at all values after all: there were too many hits.
    pub(crate) whole: &'e mut [u64],
}

/// Hits kept for one request: a benign one has a few dozen.
const MAX_HITS: usize = 4096;

/// Rules by the literals that they wait for; of the request and of the response.
type Literals = [HashMap<Vec<u8>, Vec<u32>>; 2];

impl Sifter {
    pub(crate) fn new(program: &Arc<Program>, live: &Bits) -> Self {
        let mut literals = Literals::default();
        let mut sifter = Self::without_gates(program, Bits::new(program.rules.len()));
        for position in live.iter() {
            let rule = &program.rules[position];
            let gate = gate(rule, program.infos[rule.info as usize].phase);
            if !gate.is_some_and(|gate| sifter.add(position as u32, gate, &mut literals)) {
                sifter.ungated.insert(position);
            }
        }
        sifter.scanners = literals.map(|literals| {
            let mut literals: Vec<_> = literals.into_iter().collect();
            literals.sort_unstable();
            let mut needles = Vec::with_capacity(literals.len());
            for (literal, mut rules) in literals {
                rules.dedup();
                sifter.shortest = sifter.shortest.min(literal.len());
                needles.push(Needle { literal, owner: sifter.owners.len() as u32 });
                sifter.owners.push(rules);
            }
            Scanner::new(needles)
        });
        sifter.plans.iter_mut().for_each(|plan| plan.settle(program.rules.len()));
        sifter.plans.sort_by_key(|plan| plan.origin);
        sifter
    }

    /// A filter that lets every live rule through.
    pub(crate) fn without_gates(program: &Arc<Program>, live: Bits) -> Self {
        let count = program.rules.len();
        Self {
            program: Arc::clone(program),
            plans: Vec::new(),
            scanners: Default::default(),
            owners: Vec::new(),
            gates: (0..count).map(|_| None).collect(),
            ungated: live,
            multi: Bits::new(count),
            shortest: usize::MAX,
        }
    }

    /// Puts a rule behind its gate; `false` if there is no room for one more transformation.
    fn add(&mut self, rule: u32, gate: Gate, literals: &mut Literals) -> bool {
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
                if let Need::Literals(set, _) = &gate.need {
                    let literals = &mut literals[usize::from(plan.known >= Known::ResponseHead)];
                    set.iter().for_each(|literal| literals.entry(literal.clone()).or_default().push(rule));
                }
            }
        }
        if !link.stages.is_empty() {
            self.multi.insert(rule as usize);
        }
        self.gates[rule as usize] = Some(gate);
        true
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

    /// Looks at everything that has just become known. `meter` is told each collection's lane
    /// before and after.
    pub(crate) fn sift<'a>(
        &self,
        known: Known,
        view: &View<'a>,
        arena: &'a Bump,
        out: &mut Sifted<'a, '_>,
        meter: &mut impl FnMut(usize, bool),
    ) {
        let seen = arena.alloc_slice_fill_copy(self.ungated.0.len(), 0);
        let scanner = &self.scanners[usize::from(known >= Known::ResponseHead)];
        for (number, plan) in self.plans.iter().enumerate().filter(|(_, plan)| plan.known == known) {
            meter(number, true);
            let all_is_empty = plan.all.is_empty();
            for (item, pair) in pairs(view, arena, plan.origin.base).iter().enumerate() {
                let named = plan.named(pair.name);
                if all_is_empty && named.is_none() {
                    continue;
                }
                let raw = if plan.origin.names { pair.name } else { pair.value };
                Visit { sifter: self, scanner, plan, named, item: item as u32, raw }.value(arena, seen, out);
            }
            meter(number, false);
        }
    }
}
