//! Findings that wait to be published: the last one of each member and kind, in the order in which they came up.

use std::collections::{HashMap, VecDeque};

use weir_gateway::op::Op;

use super::targets::Key;

/// The subject of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Finding {
    Health,
    Addresses,
}

/// At most two findings for each member.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    order: VecDeque<(Key, Finding)>,
    waiting: HashMap<(Key, Finding), Op>,
}

impl Outbox {
    /// Adds a finding in place of an older one on the same subject.
    pub fn put(&mut self, key: &Key, finding: Finding, op: Op) {
        let place = (key.clone(), finding);
        if self.waiting.insert(place.clone(), op).is_none() {
            self.order.push_back(place);
        }
    }

    /// Drops the findings of a member.
    pub fn forget(&mut self, key: &Key) {
        let waiting = |finding| self.waiting.remove(&(key.clone(), finding)).is_some();
        // Nothing waits, as a rule; then a thousand members are forgotten without a look at the order.
        if [Finding::Health, Finding::Addresses].map(waiting).contains(&true) {
            self.order.retain(|(other, _)| other != key);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Removes and returns the oldest finding.
    pub fn pop(&mut self) -> Option<Op> {
        let place = self.order.pop_front()?;
        self.waiting.remove(&place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_findings_replace_older_ones_and_the_forgotten_are_gone() {
        let key = |member: &str| Key { upstream: "u".into(), member: member.into() };
        let health = |member: &str, healthy| Op::Health { upstream: "u".into(), member: member.into(), healthy };
        let mut outbox = Outbox::default();
        outbox.put(&key("a"), Finding::Health, health("a", false));
        outbox.put(&key("b"), Finding::Health, health("b", false));
        outbox.put(&key("c"), Finding::Health, health("c", false));
        outbox.put(&key("a"), Finding::Health, health("a", true));
        outbox.forget(&key("b"));
        assert_eq!(outbox.pop(), Some(health("a", true)));
        assert_eq!(outbox.pop(), Some(health("c", false)));
        assert!(outbox.is_empty() && outbox.pop().is_none());
    }
}
