//! Gates: for each rule, a cheap condition without which it cannot match.
//!
//! A gate is worked out once, at load, from the rule's expression: of an *and* the best gate of
//! its parts, of an *or* all of them together; a *not* has none. A rule whose gate stays shut is
//! never looked at: not even its turn in a loop is spent on it.

use ipnet::IpNet;
use weir_rules::Field;
use weir_rules::ir::{Comparison, Expr, Predicate, Quantifier, Test, ValueExpr};

use crate::literal::{self, Literals};

/// When a rule has to be evaluated exactly.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Gate {
    /// In every transaction.
    Always,
    /// In none: the expression is never true.
    Never,
    /// When one of these opens.
    AnyOf(Vec<Opening>),
}

/// One way to open a gate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Opening {
    pub(crate) value: ValueExpr,
    pub(crate) condition: Condition,
}

/// What opens it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Condition {
    /// One of these literals occurs, folded, in one of the values.
    Contains(Literals),
    /// One of the values is one of these, exactly.
    Equals(Vec<Vec<u8>>),
    /// One of the addresses lies in one of these networks.
    Within(Vec<IpNet>),
}

/// More openings than this for one rule cost more than evaluating it.
const MAX_OPENINGS: usize = 64;
/// What an exact comparison lets through, set beside the likelihood of literals.
const EQUALS_LIKELIHOOD: f64 = 1e-5;

pub(crate) fn gate(expr: &Expr) -> Gate {
    match expr {
        Expr::Const(false) => Gate::Never,
        Expr::Const(true) | Expr::Not(_) | Expr::Xor(..) => Gate::Always,
        Expr::Test(test) => of_test(test)
            .map_or(Gate::Always, |condition| Gate::AnyOf(vec![Opening { value: test.value.clone(), condition }])),
        Expr::And(parts) => parts.iter().map(gate).fold(Gate::Always, best),
        Expr::Or(parts) => parts.iter().map(gate).fold(Gate::Never, union),
    }
}

/// The better of two gates that both have to open.
pub(crate) fn best(a: Gate, b: Gate) -> Gate {
    if likelihood(&b) < likelihood(&a) { b } else { a }
}

fn union(a: Gate, b: Gate) -> Gate {
    match (a, b) {
        (Gate::Never, other) | (other, Gate::Never) => other,
        (Gate::AnyOf(mut all), Gate::AnyOf(more)) if all.len() + more.len() <= MAX_OPENINGS => {
            all.extend(more);
            Gate::AnyOf(all)
        }
        _ => Gate::Always,
    }
}

fn likelihood(gate: &Gate) -> f64 {
    match gate {
        Gate::Always => f64::INFINITY,
        Gate::Never => 0.0,
        Gate::AnyOf(openings) => openings
            .iter()
            .map(|opening| match &opening.condition {
                Condition::Contains(set) => literal::likelihood(set),
                Condition::Equals(set) => set.len() as f64 * EQUALS_LIKELIHOOD,
                Condition::Within(networks) => networks.len() as f64 * EQUALS_LIKELIHOOD,
            })
            .sum(),
    }
}

/// What one of the test's values must meet for it to hold; `None` if nothing is known.
pub(crate) fn of_test(test: &Test) -> Option<Condition> {
    // *All* is true of no values at all, so nothing has to occur; tags change after the filters.
    if test.quantifier == Quantifier::All || value_reads(&test.value, Field::is_set_by_rules) {
        return None;
    }
    let contains = |bytes: &[u8]| (!bytes.is_empty()).then(|| Condition::Contains(vec![literal::fold(bytes)]));
    match &test.predicate {
        Predicate::Bytes(Comparison::Eq, bytes) => Some(Condition::Equals(vec![bytes.clone()])),
        Predicate::Ip(Comparison::Eq, address) => Some(Condition::Within(vec![IpNet::from(address.to_canonical())])),
        // IPv4-mapped networks match IPv4 addresses too; they are rare enough to do without a gate.
        Predicate::IpIn(networks) if !networks.iter().any(is_mapped) => Some(Condition::Within(networks.clone())),
        Predicate::BytesIn(set) => Some(Condition::Equals(set.clone())),
        Predicate::Contains(bytes) | Predicate::StartsWith(bytes) | Predicate::EndsWith(bytes) => contains(bytes),
        Predicate::Wildcard { pattern, strict } => {
            contains(crate::wildcard::Wildcard::new(pattern, *strict).longest_piece())
        }
        Predicate::Matches(pattern) => {
            let hir = weir_rules::regex_parser().parse(pattern).ok()?;
            literal::required(&hir).map(Condition::Contains)
        }
        _ => None,
    }
}

/// Whether an IPv6 network holds IPv4-mapped addresses.
fn is_mapped(network: &IpNet) -> bool {
    match network {
        IpNet::V4(_) => false,
        IpNet::V6(net) => {
            net.contains(&std::net::Ipv4Addr::UNSPECIFIED.to_ipv6_mapped()) || net.network().to_ipv4_mapped().is_some()
        }
    }
}

/// Whether an expression reads a field that is one of these.
pub(crate) fn reads(expr: &Expr, is_one: fn(Field) -> bool) -> bool {
    let mut found = false;
    expr.tests(&mut |test| found |= value_reads(&test.value, is_one));
    found
}

/// Whether a value reads a field that is one of these.
pub(crate) fn value_reads(value: &ValueExpr, is_one: fn(Field) -> bool) -> bool {
    let mut found = false;
    value.fields(&mut |access| found |= is_one(access.field));
    found
}
