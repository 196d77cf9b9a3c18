//! What is counted of topics, for `weir status` and the metrics: written once a second.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::time::Instant;

use weir_ledger::{TopicsCounts, TopicsSlot};
use weir_messages::hub::Counts;

use crate::worker;

/// What this worker knows of one set.
#[derive(Default)]
struct Known {
    slot: Option<&'static TopicsSlot>,
    refused: u64,
    nanoseconds: u64,
    written: Counts,
}

thread_local! {
    static KNOWN: RefCell<HashMap<String, Known>> = RefCell::default();
    /// Time that is not yet divided among sets.
    static SPENT_NS: Cell<u64> = const { Cell::new(0) };
}

/// Runs what delivers messages, and counts how long it takes.
pub fn timed<R>(work: impl FnOnce() -> R) -> R {
    let start = Instant::now();
    let result = work();
    SPENT_NS.set(SPENT_NS.get() + start.elapsed().as_nanos() as u64);
    result
}

/// Something was refused to a client of this set.
pub fn refused(set: &str) {
    KNOWN.with_borrow_mut(|known| {
        if let Some(known) = known.get_mut(set) {
            known.refused += 1;
        } else {
            known.insert(set.to_owned(), Known { refused: 1, ..Known::default() });
        }
    });
}

/// Writes what was counted. The time since the last call is divided by deliveries: messages of all sets are read and written
/// together.
pub fn write(counts: Vec<(String, Counts)>) {
    KNOWN.with_borrow_mut(|known| {
        let more = |known: &Known, counts: &Counts| counts.delivered.saturating_sub(known.written.delivered);
        for (id, _) in &counts {
            known.entry(id.clone()).or_default();
        }
        // What is counted of a set that is gone has no subscribers any more.
        known.retain(|id, known| {
            let is_there = counts.iter().any(|(there, _)| there == id);
            if !is_there && let Some(slot) = known.slot {
                slot.set(&TopicsCounts::default());
            }
            is_there
        });
        let total: u64 = counts.iter().map(|(id, counts)| more(&known[id], counts)).sum();
        let spent_ns = if total > 0 { SPENT_NS.take() } else { 0 };
        for (id, counts) in counts {
            let Some(known) = known.get_mut(&id) else { continue };
            let share = u128::from(spent_ns) * u128::from(more(known, &counts)) / u128::from(total.max(1));
            known.nanoseconds += share as u64;
            known.written = counts;
            if known.slot.is_none() {
                known.slot = worker::control().and_then(|control| control.claim_topics(std::process::id(), &id));
            }
            let Counts { subscribers, published, delivered, gaps, slow } = counts;
            if let Some(slot) = known.slot {
                slot.set(&[subscribers, published, delivered, gaps, slow, known.refused, known.nanoseconds]);
            }
        }
    });
}
