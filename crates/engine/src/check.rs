//! Tests and expressions compiled for exact evaluation.
//!
//! Exact evaluation is the last tier: it sees only what the filters let through, so it favours
//! clarity over speed, except that it allocates nothing.

use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;

use memchr::memmem;
use regex_automata::meta::Regex;
use weir_http::BodyKind;
use weir_rules::ir::{Comparison, Predicate, Quantifier, ValueExpr};
use weir_rules::{Field, Phase};

use crate::gate::Condition;
use crate::value::Value;
use crate::wildcard::Wildcard;
use crate::{AddressSet, StringSet};

/// A boolean expression over compiled tests.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Const(bool),
    Not(Box<Node>),
    And(Vec<Node>),
    Or(Vec<Node>),
    Xor(Box<Node>, Box<Node>),
    Test(Test),
}

/// A compiled test.
#[derive(Clone, Debug)]
pub(crate) struct Test {
    /// Number of the lane whose values it looks at.
    pub(crate) lane: u32,
    pub(crate) quantifier: Quantifier,
    pub(crate) check: Check,
    /// The phase in which its value is known.
    pub(crate) phase: Phase,
    /// Bodies of which the value has anything at all.
    pub(crate) kinds: BodyKinds,
    /// The condition that a value must meet for the test to hold.
    pub(crate) condition: Option<Condition>,
    /// Whether the filter of its lane notices every value that meets the condition: then only the
    /// values that it noticed need the exact check.
    pub(crate) sifted: bool,
}

/// A set of body kinds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyKinds(u8);

impl BodyKinds {
    /// The kinds of bodies in which `value` may find something; all if it reads none.
    pub(crate) fn of(value: &ValueExpr) -> Self {
        let mut kinds = u8::MAX;
        value.fields(&mut |access| {
            kinds &= match access.field {
                Field::BodyForm | Field::BodyFormNames | Field::BodyFormValues => {
                    bit(BodyKind::Form) | bit(BodyKind::Multipart)
                }
                Field::BodyJson | Field::BodyJsonNames | Field::BodyJsonValues => bit(BodyKind::Json),
                Field::BodyXml => bit(BodyKind::Xml),
                Field::BodyMultipartNames
                | Field::BodyMultipartFilenames
                | Field::BodyMultipartTypes
                | Field::BodyMultipartValues
                | Field::BodyMultipartSizes => bit(BodyKind::Multipart),
                _ => u8::MAX,
            };
        });
        Self(kinds)
    }

    pub(crate) fn contains(self, kind: BodyKind) -> bool {
        self.0 & bit(kind) != 0
    }
}

const fn bit(kind: BodyKind) -> u8 {
    1 << kind as u8
}

/// A compiled predicate.
#[derive(Clone)]
pub(crate) enum Check {
    IsTrue,
    Bytes(Comparison, Vec<u8>),
    Contains(Box<memmem::Finder<'static>>),
    StartsWith(Vec<u8>),
    EndsWith(Vec<u8>),
    Wildcard(Wildcard),
    Matches(Arc<Regex>),
    BytesIn(Vec<Vec<u8>>),
    InStrings(Arc<StringSet>),
    Int(Comparison, i64),
    IntIn(Vec<(i64, i64)>),
    InIntegers(Arc<Vec<i64>>),
    Ip(Comparison, IpAddr),
    InAddresses(Arc<AddressSet>),
}

impl std::fmt::Debug for Check {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Check")
    }
}

impl Test {
    /// Whether it holds for the values of its lane.
    pub(crate) fn holds(&self, values: &[Value<'_>]) -> bool {
        match self.quantifier {
            Quantifier::Any => values.iter().any(|value| self.check.holds(value)),
            Quantifier::All => values.iter().all(|value| self.check.holds(value)),
        }
    }

    /// As [`Self::holds`], where `hits` has a bit for each value that the lane's filter noticed.
    pub(crate) fn holds_in(&self, values: &[Value<'_>], hits: &[u64]) -> bool {
        hits.iter().enumerate().any(|(word, bits)| {
            let mut bits = *bits;
            while bits != 0 {
                if self.check.holds(&values[word * 64 + bits.trailing_zeros() as usize]) {
                    return true;
                }
                bits &= bits - 1;
            }
            false
        })
    }

    /// The first value for which it holds with its position, and where in it.
    pub(crate) fn evidence<'v, 'a>(&self, values: &'v [Value<'a>]) -> Option<(usize, &'v Value<'a>, Range<usize>)> {
        let (position, value) = values.iter().enumerate().find(|(_, value)| self.check.holds(value))?;
        let range = match value {
            Value::Bytes(bytes) => self.check.place(bytes),
            _ => 0..usize::MAX,
        };
        Some((position, value, range))
    }
}

impl Check {
    pub(crate) fn holds(&self, value: &Value<'_>) -> bool {
        match (self, value) {
            (Self::IsTrue, Value::Bool(truth)) => *truth,
            (Self::Bytes(comparison, with), Value::Bytes(bytes)) => compare(*comparison, bytes.cmp(&with.as_slice())),
            (Self::Contains(finder), Value::Bytes(bytes)) => finder.find(bytes).is_some(),
            (Self::StartsWith(start), Value::Bytes(bytes)) => bytes.starts_with(start),
            (Self::EndsWith(end), Value::Bytes(bytes)) => bytes.ends_with(end),
            (Self::Wildcard(wildcard), Value::Bytes(bytes)) => wildcard.matches(bytes),
            (Self::Matches(regex), Value::Bytes(bytes)) => regex.is_match(bytes),
            (Self::BytesIn(set), Value::Bytes(bytes)) => set.binary_search_by(|one| one.as_slice().cmp(bytes)).is_ok(),
            (Self::InStrings(set), Value::Bytes(bytes)) => set.contains(bytes),
            (Self::Int(comparison, with), Value::Int(number)) => compare(*comparison, number.cmp(with)),
            (Self::IntIn(ranges), Value::Int(number)) => {
                let after = ranges.partition_point(|range| range.0 <= *number);
                after > 0 && *number <= ranges[after - 1].1
            }
            (Self::InIntegers(sorted), Value::Int(number)) => sorted.binary_search(number).is_ok(),
            (Self::Ip(comparison, with), Value::Ip(address)) => compare(*comparison, address.cmp(with)),
            (Self::InAddresses(set), Value::Ip(address)) => set.contains(*address),
            // The checker rules out any other pairing.
            _ => false,
        }
    }

    /// Whether it looks for something inside a value.
    pub(crate) fn searches(&self) -> bool {
        matches!(self, Self::Contains(_) | Self::Matches(_) | Self::Wildcard(_))
    }

    /// Where in `bytes` it holds; the whole unless it searches.
    fn place(&self, bytes: &[u8]) -> Range<usize> {
        match self {
            Self::Contains(finder) => finder.find(bytes).map(|at| at..at + finder.needle().len()),
            Self::StartsWith(start) => Some(0..start.len()),
            Self::EndsWith(end) => Some(bytes.len() - end.len()..bytes.len()),
            Self::Matches(regex) => regex.find(bytes).map(|found| found.range()),
            _ => None,
        }
        .unwrap_or(0..bytes.len())
    }
}

fn compare(comparison: Comparison, order: std::cmp::Ordering) -> bool {
    match comparison {
        Comparison::Eq => order.is_eq(),
        Comparison::Ne => order.is_ne(),
        Comparison::Lt => order.is_lt(),
        Comparison::Le => order.is_le(),
        Comparison::Gt => order.is_gt(),
        Comparison::Ge => order.is_ge(),
    }
}

impl Node {
    /// Calls `see` for every test.
    pub(crate) fn tests(&mut self, see: &mut impl FnMut(&mut Test)) {
        match self {
            Self::Const(_) => {}
            Self::Not(inner) => inner.tests(see),
            Self::And(parts) | Self::Or(parts) => parts.iter_mut().for_each(|part| part.tests(see)),
            Self::Xor(left, right) => {
                left.tests(see);
                right.tests(see);
            }
            Self::Test(test) => see(test),
        }
    }
}

/// What a compiled predicate needs from outside: named lists and compiled patterns.
pub(crate) trait Resolve {
    fn regex(&mut self, pattern: &str) -> Result<Arc<Regex>, String>;
    fn list(&self, name: &str) -> Option<crate::List>;
}

impl Check {
    pub(crate) fn new(predicate: &Predicate, resolve: &mut dyn Resolve) -> Result<Self, String> {
        Ok(match predicate {
            Predicate::IsTrue => Self::IsTrue,
            Predicate::Bytes(comparison, bytes) => Self::Bytes(*comparison, bytes.clone()),
            Predicate::Contains(bytes) => Self::Contains(Box::new(memmem::Finder::new(bytes).into_owned())),
            Predicate::StartsWith(bytes) => Self::StartsWith(bytes.clone()),
            Predicate::EndsWith(bytes) => Self::EndsWith(bytes.clone()),
            Predicate::Wildcard { pattern, strict } => Self::Wildcard(Wildcard::new(pattern, *strict)),
            Predicate::Matches(pattern) => Self::Matches(resolve.regex(pattern)?),
            Predicate::BytesIn(set) => {
                let mut sorted = set.clone();
                sorted.sort_unstable();
                Self::BytesIn(sorted)
            }
            Predicate::Int(comparison, number) => Self::Int(*comparison, *number),
            Predicate::IntIn(ranges) => Self::IntIn(ranges.clone()),
            Predicate::Ip(comparison, address) => Self::Ip(*comparison, *address),
            Predicate::IpIn(networks) => {
                Self::InAddresses(Arc::new(AddressSet::from_networks(networks.iter().copied())))
            }
            Predicate::InList(name) => match resolve.list(name) {
                Some(crate::List::Addresses(set)) => Self::InAddresses(set),
                Some(crate::List::Strings(set)) => Self::InStrings(set),
                Some(crate::List::Integers(sorted)) => Self::InIntegers(sorted),
                None => return Err(format!("there is no list `${name}`")),
            },
        })
    }
}
