//! What a worker counts of one set of topics, in the control file.

use std::collections::BTreeMap;

use crate::Counter;
use crate::slot::{Owner, Slot};

/// Slots of all workers together: all sets in sixteen workers, and in those of another cycle.
pub const MAX_TOPICS_SLOTS: usize = 512;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum TopicsCount {
    /// Clients that are connected now.
    Subscribers,
    /// Messages that clients and plugins have published here.
    Published,
    /// Messages that were put before subscribers.
    Delivered,
    /// Gaps that subscribers were told of.
    Gaps,
    /// Subscribers that were disconnected because they read too slowly.
    Slow,
    /// Messages and subscriptions that were refused.
    Refused,
    /// Time spent on reading messages and writing them to subscribers, in ns.
    Nanoseconds,
}

impl TopicsCount {
    /// Each with its name and meaning; in the order of the slots' cells.
    pub const ALL: [(Self, &str, &str); 7] = [
        (Self::Subscribers, "subscribers", "Clients that are connected now."),
        (Self::Published, "published", "Messages that were published."),
        (Self::Delivered, "delivered", "Messages that were put before subscribers."),
        (Self::Gaps, "gaps", "Gaps that subscribers were told of."),
        (Self::Slow, "slow", "Subscribers that were disconnected because they read too slowly."),
        (Self::Refused, "refused", "Messages and subscriptions that were refused."),
        (Self::Nanoseconds, "nanoseconds", "Time spent on reading messages and writing them to subscribers."),
    ];
}

/// Counts by [`TopicsCount`].
pub type TopicsCounts = [u64; TopicsCount::ALL.len()];

/// One set of topics in one worker.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub struct TopicsSlot {
    owner: Owner,
    counts: [Counter; TopicsCount::ALL.len()],
}

impl TopicsSlot {
    /// Writes what the worker has counted.
    pub fn set(&self, counts: &TopicsCounts) {
        self.counts.iter().zip(counts).for_each(|(cell, count)| cell.set(*count));
    }
}

impl Slot for TopicsSlot {
    fn owner(&self) -> &Owner {
        &self.owner
    }

    fn reset(&self) {
        self.set(&TopicsCounts::default());
    }
}

/// Adds up the slots of living workers, by name.
pub(crate) fn report(slots: &[TopicsSlot]) -> BTreeMap<String, TopicsCounts> {
    let mut all = BTreeMap::<String, TopicsCounts>::new();
    for (slot, name) in slots.iter().filter_map(|slot| Some((slot, slot.owner.living()?))) {
        let sums = all.entry(name).or_default();
        sums.iter_mut().zip(&slot.counts).for_each(|(sum, cell)| *sum += cell.get());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slot::claim;

    #[test]
    fn slots_of_one_name_are_added_up() {
        for (n, (count, ..)) in TopicsCount::ALL.iter().enumerate() {
            assert_eq!(*count as usize, n);
        }
        let slots: Vec<TopicsSlot> = (0..2).map(|_| TopicsSlot::default()).collect();
        let me = std::process::id();
        claim(&slots, me, "orders").unwrap().set(&[1, 2, 3, 4, 5, 6, 7]);
        claim(&slots, 1, "orders").unwrap().set(&[1; 7]);
        assert!(claim(&slots, me, "news").is_none(), "all are taken");
        assert_eq!(report(&slots)["orders"], [2, 3, 4, 5, 6, 7, 8]);
    }
}
