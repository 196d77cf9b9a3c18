//! Predicates, one by one.

use std::cmp::Ordering;
use std::collections::HashMap;

use regex_automata::meta::Regex;
use regex_automata::util::syntax;
use weir_rules::ir::{Comparison, Predicate};

use super::Value;
use crate::List;

/// Whether `predicate` holds for `value`.
pub(super) fn holds(predicate: &Predicate, value: &Value, lists: &HashMap<String, List>) -> bool {
    match (predicate, value) {
        (Predicate::IsTrue, Value::Bool(truth)) => *truth,
        (Predicate::Bytes(comparison, other), Value::Bytes(bytes)) => compares(*comparison, bytes.cmp(other)),
        (Predicate::Contains(part), Value::Bytes(bytes)) => {
            part.is_empty() || bytes.windows(part.len()).any(|window| window == part)
        }
        (Predicate::StartsWith(part), Value::Bytes(bytes)) => bytes.starts_with(part),
        (Predicate::EndsWith(part), Value::Bytes(bytes)) => bytes.ends_with(part),
        (Predicate::Wildcard { pattern, strict: true }, Value::Bytes(bytes)) => wildcard(&elements(pattern), bytes),
        (Predicate::Wildcard { pattern, strict: false }, Value::Bytes(bytes)) => {
            wildcard(&elements(&pattern.to_ascii_lowercase()), &bytes.to_ascii_lowercase())
        }
        (Predicate::Matches(pattern), Value::Bytes(bytes)) => regex(pattern).is_match(bytes.as_slice()),
        (Predicate::BytesIn(all), Value::Bytes(bytes)) => all.contains(bytes),
        (Predicate::Int(comparison, other), Value::Int(int)) => compares(*comparison, int.cmp(other)),
        (Predicate::IntIn(ranges), Value::Int(int)) => ranges.iter().any(|(low, high)| low <= int && int <= high),
        (Predicate::Ip(comparison, other), Value::Ip(ip)) => compares(*comparison, ip.cmp(other)),
        (Predicate::IpIn(networks), Value::Ip(ip)) => networks.iter().any(|network| network.contains(ip)),
        (Predicate::InList(name), value) => match (lists.get(name), value) {
            (Some(List::Addresses(set)), Value::Ip(ip)) => set.contains(*ip),
            (Some(List::Strings(set)), Value::Bytes(bytes)) => set.contains(bytes),
            (Some(List::Integers(all)), Value::Int(int)) => all.contains(int),
            (list, value) => panic!("the checker promises a fitting list {name}: {} for {value:?}", list.is_some()),
        },
        (predicate, value) => panic!("the checker promises a fitting type: {predicate:?} of {value:?}"),
    }
}

fn compares(comparison: Comparison, order: Ordering) -> bool {
    match comparison {
        Comparison::Eq => order.is_eq(),
        Comparison::Ne => order.is_ne(),
        Comparison::Lt => order.is_lt(),
        Comparison::Le => order.is_le(),
        Comparison::Gt => order.is_gt(),
        Comparison::Ge => order.is_ge(),
    }
}

fn regex(pattern: &str) -> Regex {
    let syntax = syntax::Config::new().utf8(false).unicode(false);
    let config = Regex::config().utf8_empty(false);
    Regex::builder().syntax(syntax).configure(config).build(pattern).expect("the checker accepted the regex")
}

/// A star is `None`, anything else a byte.
fn elements(pattern: &[u8]) -> Vec<Option<u8>> {
    let (mut elements, mut bytes) = (Vec::new(), pattern.iter().copied().peekable());
    while let Some(byte) = bytes.next() {
        match (byte, bytes.peek()) {
            (b'\\', Some(&escaped @ (b'*' | b'\\'))) => {
                elements.push(Some(escaped));
                bytes.next();
            }
            (b'*', _) => elements.push(None),
            _ => elements.push(Some(byte)),
        }
    }
    elements
}

/// Which prefixes of `bytes` the elements so far match, element by element.
fn wildcard(elements: &[Option<u8>], bytes: &[u8]) -> bool {
    let mut reached = vec![false; bytes.len() + 1];
    reached[0] = true;
    for element in elements {
        reached = match element {
            None => reached
                .iter()
                .scan(false, |seen, here| {
                    *seen |= here;
                    Some(*seen)
                })
                .collect(),
            Some(byte) => {
                let step = bytes.iter().zip(&reached).map(|(have, here)| *here && have == byte);
                std::iter::once(false).chain(step).collect()
            }
        };
    }
    reached[bytes.len()]
}
