//! Gates: for each live rule, the link of its chain that is least likely to match and that a
//! filter can judge. A rule whose gate stays shut is not run.
//!
//! A rule that stores everything it looks at in variables which only its next link reads, such as 920450 of CRS, has no such
//! gate. Whether that link would match is asked when its turn comes ([`Collecting`]).

use std::sync::Arc;

use regex_syntax::hir::Hir;
use weir_rules::seclang::ir::{Collection, Phase, Selector, Variable};

use super::expand::{Text, TextPiece};
use super::matcher::Matcher;
use super::names::CAPTURES;
use super::need::Need;
use super::operator::Operator;
use super::pipeline::IDENTITY;
use super::program::{Assignment, Change, Link, Name, Rule, Test};
use super::scratch::Scratch;
use super::variable::{BASES, Source};
use crate::scan::{Needle, Scanner};

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

/// A rule that stores each value of its first link, put between two texts, in a `TX` variable named after it, and whose
/// second link asks whether one of these is part of a list. Where none is, and no other rule sees the variables, the last
/// value in `TX:0` is all that it leaves behind.
#[derive(Debug)]
pub(crate) struct Collecting {
    prefix: Box<[u8]>,
    before: Box<[u8]>,
    after: Box<[u8]>,
    pub(crate) list: Text,
    /// Patterns by which other rules pick variables.
    others: Vec<Arc<Matcher>>,
    /// Literals of which they need one, unless a pattern needs none.
    literals: Option<Scanner>,
}

impl Collecting {
    /// Of each rule that is one.
    pub(crate) fn of(rules: &[Rule]) -> Vec<Option<Self>> {
        let found = |rule: &Rule| {
            let collecting = Self::shape(rule)?;
            let mut links = rules.iter().filter(|other| !std::ptr::eq(*other, rule)).flat_map(|other| &other.links);
            let mut collecting = links.try_fold(collecting, Self::beside)?;
            let needs = collecting.others.iter().map(|other| match &other.need {
                Need::Literals(literals, _) => Some(literals),
                _ => None,
            });
            let needle = |literal: &Vec<u8>| Needle { literal: literal.clone(), owner: 0 };
            let needs: Option<Vec<_>> = needs.collect();
            collecting.literals = needs.map(|needs| Scanner::new(needs.into_iter().flatten().map(needle).collect()));
            Some(collecting)
        };
        rules.iter().map(found).collect()
    }

    fn shape(rule: &Rule) -> Option<Self> {
        let [first, second, ..] = &*rule.links else { return None };
        let ([assignment], true, true) = (&*first.assignments, first.capture, first.stages.is_empty()) else {
            return None;
        };
        let (Name::Text(name), Change::Set(value)) = (&assignment.name, &assignment.change) else { return None };
        let [TextPiece::Plain(prefix), TextPiece::Tx(0)] = name.pieces() else { return None };
        let [TextPiece::Plain(before), TextPiece::Tx(0), TextPiece::Plain(after)] = value.pieces() else { return None };
        let (collects, compares) = (first.test.as_ref()?, second.test.as_ref()?);
        let are_origins = collects.targets.iter().all(|one| matches!(one.source, Source::Origins(_)) && !one.count);
        let is_whole = matches!(collects.operator, Operator::Whole) && !collects.negated && are_origins;
        let ([own], Operator::Within(list), false) = (&*compares.targets, &compares.operator, compares.negated) else {
            return None;
        };
        let is_compared = own.source == Source::Tx
            && !own.count
            // No variable that the program names is among them.
            && own.tx.is_empty()
            && own.pattern.as_ref().is_some_and(|pattern| pattern.beginning() == Some(prefix))
            && compares.exclusions.is_empty()
            && second.pipeline == IDENTITY
            && second.stages.is_empty();
        let is_constant = !list.reads_more_than_tx() && list.reads().all(|id| id >= CAPTURES);
        let is_one = assignment.collection == Collection::Tx && is_whole && is_compared && is_constant;
        let [prefix, before, after] = [prefix, before, after].map(Clone::clone);
        let (list, others, literals) = (list.clone(), Vec::new(), None);
        (is_one && !before.is_empty()).then(|| Self { prefix, before, after, list, others, literals })
    }

    /// With a link of another rule; `None` if that may see the variables, or sets such as these.
    fn beside(mut self, link: &Link) -> Option<Self> {
        let overlaps = |name: &[u8]| {
            let length = name.len().min(self.prefix.len());
            name[..length].eq_ignore_ascii_case(&self.prefix[..length])
        };
        let sets = |assignment: &Assignment| match &assignment.name {
            Name::Tx(_) => false,
            Name::Text(_) if assignment.collection != Collection::Tx => false,
            Name::Text(text) => match text.pieces() {
                [TextPiece::Plain(begins), ..] => overlaps(begins),
                _ => true,
            },
        };
        if link.assignments.iter().any(sets) {
            return None;
        }
        let targets = link.test.iter().flat_map(|test| &test.targets).filter(|target| target.source == Source::Tx);
        let mut others = Vec::new();
        for target in targets {
            match (&target.selector, &target.pattern) {
                (Selector::Name(_), _) => {}
                (Selector::Pattern(_), Some(pattern))
                    if pattern.beginning().is_some_and(|begins| !overlaps(begins)) => {}
                (Selector::Pattern(_), Some(pattern)) => others.push(Arc::clone(pattern)),
                _ => return None,
            }
        }
        self.others.extend(others);
        Some(self)
    }

    /// Whether what the rule does with a value, after its transformations, may be seen, given the list with its macros
    /// expanded.
    pub(crate) fn is_seen(&self, list: &[u8], value: &[u8], scratch: Scratch<'_>) -> bool {
        let is_there = |at: usize| {
            let from = at + self.before.len();
            list.get(from) == value.first()
                && list[at..].starts_with(&self.before)
                && list[from..].strip_prefix(value).is_some_and(|rest| rest.starts_with(&self.after))
        };
        if value.is_empty() || memchr::memchr_iter(self.before[0], list).any(is_there) {
            return true;
        }
        let mut name = bumpalo::collections::Vec::with_capacity_in(self.prefix.len() + value.len(), scratch.arena);
        name.extend_from_slice_copy(&self.prefix);
        name.extend_from_slice_copy(value);
        let mut may_match = self.literals.is_none();
        self.literals.iter().for_each(|literals| literals.scan(&name, |_| may_match = true));
        may_match && self.others.iter().any(|other| other.is_match(&name, scratch))
    }
}

#[cfg(test)]
mod tests {
    use weir_rules::seclang::{Options, RuleSource, load};

    use super::super::program::Program;

    /// Whether the first of the rules is recognised as one that collects values.
    fn collects(other: &str) -> bool {
        let text = format!(
            "SecRule REQUEST_HEADERS_NAMES \"@rx ^.*$\" \"id:1,phase:1,pass,capture,t:none,setvar:'tx.own_%{{tx.0}}=/%{{tx.0}}/',chain\"\n\
             SecRule TX:/^own_/ \"@within /a/ /b/\" \"t:none\"\n{other}\n"
        );
        let source = RuleSource::Text { name: "rules".into(), text };
        let set = load(&[source], &Options::default()).unwrap().set;
        Program::compile(&set).unwrap().rules[0].collecting.is_some()
    }

    #[test]
    fn a_rule_that_collects_values_is_recognised_where_no_other_sees_them() {
        assert!(collects("") && collects(r#"SecRule TX:/_x$/ "@rx ." "id:2,phase:1,pass""#));
        for other in [
            r#"SecRule TX "@rx ." "id:2,phase:1,pass""#,
            r#"SecRule TX:own_x "@rx ." "id:2,phase:1,pass""#,
            r#"SecAction "id:2,phase:1,pass,setvar:tx.%{args.a}=1""#,
            r#"SecAction "id:2,phase:1,pass,setvar:tx.own_%{args.a}=1""#,
        ] {
            assert!(!collects(other), "{other}");
        }
    }
}
