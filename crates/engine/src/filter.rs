//! The filter of one lane: from its values to the rules that may match.

use hashbrown::HashMap;
use ipnet::IpNet;

use crate::address_gate::AddressGate;
use crate::gate::Condition;
use crate::literal::Literals;
use crate::scan::{Needle, Scanner};
use crate::value::Value;

/// What opens gates on one lane.
#[derive(Debug)]
pub(crate) struct Filter {
    pub(crate) lane: u32,
    /// Number of the filter's lane in the plan, for the meter.
    pub(crate) info: u32,
    scanner: Scanner,
    equals: HashMap<Vec<u8>, Vec<u32>, foldhash::fast::RandomState>,
    /// Longest key of `equals`: longer values are not hashed.
    longest_equal: usize,
    addresses: AddressGate,
    /// Rules per literal, by the scanner's owner number.
    owners: Vec<Vec<u32>>,
}

/// Collects the conditions of a lane.
#[derive(Default)]
pub(crate) struct FilterBuilder {
    literals: HashMap<Vec<u8>, Vec<u32>>,
    equals: HashMap<Vec<u8>, Vec<u32>, foldhash::fast::RandomState>,
    addresses: AddressGate,
}

impl FilterBuilder {
    /// Opens `rule` where one of `literals` (folded) occurs.
    pub(crate) fn contains(&mut self, literals: &Literals, rule: u32) {
        for literal in literals {
            push(self.literals.entry(literal.clone()).or_default(), rule);
        }
    }

    /// Opens `rule` where a value is one of `strings`.
    pub(crate) fn equals(&mut self, strings: &[Vec<u8>], rule: u32) {
        for string in strings {
            push(self.equals.entry(string.clone()).or_default(), rule);
        }
    }

    /// Opens `rule` for addresses in one of `networks`.
    pub(crate) fn within(&mut self, networks: &[IpNet], rule: u32) {
        networks.iter().for_each(|network| self.addresses.add(*network, rule));
    }

    /// Whether a value that meets `condition` surely opens something.
    pub(crate) fn notices(&self, condition: &Condition) -> bool {
        match condition {
            Condition::Contains(literals) => literals.iter().all(|literal| self.literals.contains_key(literal)),
            Condition::Equals(strings) => strings.iter().all(|string| self.equals.contains_key(string)),
            Condition::Within(_) => false,
        }
    }

    pub(crate) fn build(self, lane: u32, info: u32) -> Filter {
        let mut owners = Vec::with_capacity(self.literals.len());
        let mut needles = Vec::with_capacity(self.literals.len());
        let mut literals: Vec<_> = self.literals.into_iter().collect();
        literals.sort_unstable();
        for (literal, rules) in literals {
            needles.push(Needle { literal, owner: owners.len() as u32 });
            owners.push(rules);
        }
        let longest_equal = self.equals.keys().map(Vec::len).max().unwrap_or(0);
        Filter {
            lane,
            info,
            scanner: Scanner::new(needles),
            equals: self.equals,
            longest_equal,
            addresses: self.addresses,
            owners,
        }
    }
}

/// Gates come rule by rule, so duplicates are neighbours.
fn push(rules: &mut Vec<u32>, rule: u32) {
    if rules.last() != Some(&rule) {
        rules.push(rule);
    }
}

impl Filter {
    /// Sets the bit of every rule whose gate these values open.
    /// In `hits`, one bit for each value, it notes the values that opened any.
    pub(crate) fn open(&self, values: &[Value<'_>], candidates: &mut [u64], hits: &mut [u64]) {
        let mut mark = |rules: &[u32]| {
            for rule in rules {
                candidates[*rule as usize >> 6] |= 1 << (rule & 63);
            }
        };
        for (index, value) in values.iter().enumerate() {
            let mut hit = false;
            let bytes = match value {
                Value::Bytes(bytes) => bytes,
                Value::Ip(address) if !self.addresses.is_empty() => {
                    self.addresses.look_up(*address, &mut mark);
                    continue;
                }
                _ => continue,
            };
            if !self.scanner.is_empty() {
                let mut last = u32::MAX;
                self.scanner.scan(bytes, |owner| {
                    hit = true;
                    // A literal repeated through a value is marked once, as far as it repeats in a row.
                    if owner != last {
                        last = owner;
                        mark(&self.owners[owner as usize]);
                    }
                });
            }
            if !self.equals.is_empty()
                && bytes.len() <= self.longest_equal
                && let Some(rules) = self.equals.get(*bytes)
            {
                hit = true;
                mark(rules);
            }
            hits[index / 64] |= u64::from(hit) << (index % 64);
        }
    }

    /// All rules that it can open.
    pub(crate) fn rules(&self) -> Vec<u32> {
        let mut rules: Vec<u32> =
            self.owners.iter().chain(self.equals.values()).chain(self.addresses.rules()).flatten().copied().collect();
        rules.sort_unstable();
        rules.dedup();
        rules
    }
}
