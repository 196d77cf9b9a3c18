//! Gates: for each live rule, the link of its chain that is least likely to match and that a
//! filter can judge. A rule whose gate stays shut is not run.

use regex_syntax::hir::Hir;
use weir_rules::seclang::ir::{Phase, Selector, Variable};

use super::need::Need;
use super::operator::Operator;
use super::program::{Link, Rule, Test};
use super::variable::{BASES, Source};

/// The gate of a rule.
#[derive(Debug)]
pub(crate) struct Gate {
    /// Position of the link in the chain.
    pub(crate) link: usize,
    /// What one of the link's values must contain.
    pub(crate) need: Need,
}

/// A gate that any value opens is not worth it if there is a value more often than this.
const MAX_LIKELIHOOD: f64 = 0.9;
/// Rules whose gates everyday values open less often need not look for parts of their patterns.
const MIN_LIKELIHOOD: f64 = 0.01;
/// How often a header field that rules ask for by name is there, unless it is one of [`USUAL`].
const OF_NAMED: f64 = 0.2;
/// Header fields that nearly every request has.
const USUAL: [&[u8]; 4] = [b"host", b"user-agent", b"accept", b"connection"];

/// The gate of a rule; `None` if it has to be run in every request.
pub(crate) fn gate(rule: &Rule, phase: Phase) -> Option<Gate> {
    // A link that sets variables does so whether those behind it match or not.
    // What does not match has no groups.
    let captures = |link: &Link| link.capture && link.test.as_ref().is_some_and(|test| !test.negated);
    let sets = |link: &Link| captures(link) || !link.assignments.is_empty();
    let first = rule.links.iter().position(sets).map_or(rule.links.len(), |first| first + 1);
    let links = rule.links[..first].iter().enumerate();
    let gates = links.filter_map(|(number, link)| {
        let (likelihood, need) = of_link(link, phase)?;
        (need != Need::Any || likelihood < MAX_LIKELIHOOD).then_some((likelihood, Gate { link: number, need }))
    });
    gates.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, gate)| gate)
}

/// The part of a rule's pattern that is looked for in the values that open its gate, if everyday ones do.
pub(crate) fn part(rule: &Rule, phase: Phase) -> Option<&Hir> {
    let Gate { link, need } = gate(rule, phase)?;
    let link = &rule.links[link];
    let test = link.test.as_ref().filter(|test| !test.negated && link.stages.is_empty())?;
    let is_of_fields = |target: &super::program::Target| matches!(target.selector, Selector::All);
    let Operator::Rx(matcher) = &test.operator else { return None };
    matcher.factor.as_ref().filter(|_| test.targets.iter().any(is_of_fields) && need.likelihood() >= MIN_LIKELIHOOD)
}

/// How likely a link's gate opens, and what it needs; `None` if no filter can judge it.
fn of_link(link: &Link, phase: Phase) -> Option<(f64, Need)> {
    let test = link.test.as_ref()?;
    let presence = presence(test, phase)?;
    let need = Need::of(&test.operator, test.negated);
    Some((presence * need.likelihood(), need))
}

/// How often the test has any value at all; `None` if it looks at more than the request.
fn presence(test: &Test, phase: Phase) -> Option<f64> {
    let mut all: f64 = 0.0;
    for target in &test.targets {
        let Source::Origins(origins) = &target.source else { return None };
        if target.count {
            return None;
        }
        for origin in origins {
            let base = &BASES[usize::from(origin.base)];
            // It is empty until then, which is a value too.
            if base.is_scalar() && base.known.phase() > phase {
                return None;
            }
            let of_name = match &target.selector {
                Selector::Name(name) if base.variable == Variable::RequestHeaders => {
                    if USUAL.contains(&name.as_slice()) { 1.0 } else { OF_NAMED }
                }
                Selector::Name(_) if base.variable == Variable::Xml => 1.0,
                Selector::Name(_) | Selector::Pattern(_) => OF_NAMED / 2.0,
                Selector::All => 1.0,
            };
            all += base.presence * of_name;
        }
    }
    Some(all.min(1.0))
}
