//! Values that have been looked at before.
//!
//! Most of what a request carries was in the last one too: names of arguments and cookies, header
//! fields, tokens of sessions, choices in forms. The filter's answer depends on the collection, the
//! member's name and the value alone, so the rules that it opened, mostly none, can be remembered.
//! Whole values are kept and compared, not their hashes: an attacker cannot make a harmful value look like a
//! harmless one. Of fixed size, with two places for each value; what is not found costs a hash and two
//! looks. Only
//! the filter's part is remembered: rules that a value opens are run in every request.

use std::cell::RefCell;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

/// Longer values are not remembered.
pub(super) const MAX_BYTES: usize = 176;
/// Values remembered by each thread, 208 bytes each.
const SLOTS: usize = 4096;
/// Values remembered as seen once.
const SIGHTS: usize = 16_384;
/// Values that open more rules are not remembered.
pub(super) const MAX_RULES: usize = 6;

/// Key under which a value is looked up.
#[derive(Clone, Copy)]
pub(super) struct Key<'v> {
    /// The filter's own number, the collection's within it, and the member's if rules ask for it by
    /// name.
    pub(super) plan: u64,
    pub(super) value: &'v [u8],
}

#[derive(Clone, Copy)]
struct Slot {
    /// 0 if the slot is free.
    plan: u64,
    length: u8,
    count: u8,
    rules: [u16; MAX_RULES],
    bytes: [u8; MAX_BYTES],
}

struct Memory {
    slots: Box<[Slot]>,
    /// Part of the hash of each slot's value: of a value that is not known, no slot is looked at.
    tags: Box<[u16]>,
    /// The same of values that have been seen once: only what comes again is worth a slot.
    sights: Box<[u16]>,
    /// Which of the two slots the next new value takes.
    turn: usize,
    hasher: foldhash::fast::RandomState,
}

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::new(Memory {
        slots: vec![Slot { plan: 0, length: 0, count: 0, rules: [0; MAX_RULES], bytes: [0; MAX_BYTES] }; SLOTS].into(),
        tags: vec![0; SLOTS].into(),
        sights: vec![0; SIGHTS].into(),
        turn: 0,
        hasher: foldhash::fast::RandomState::default(),
    });
}

/// A number for a new filter: no two ever share one in a process.
pub(super) fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed) << 24
}

/// Where a value is: the first of its slots, its place among those seen once, and its tag.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Place {
    slot: usize,
    sight: usize,
    tag: u16,
}

impl Slot {
    fn is_of(&self, key: Key<'_>) -> bool {
        self.plan == key.plan && self.bytes.get(..usize::from(self.length)) == Some(key.value)
    }
}

impl Memory {
    /// Where a value is looked for.
    fn place(&self, key: Key<'_>) -> Place {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(key.value);
        hasher.write_u64(key.plan);
        let hash = hasher.finish();
        Place { slot: hash as usize % SLOTS, sight: (hash >> 16) as usize % SIGHTS, tag: (hash >> 48) as u16 | 1 }
    }
}

/// Calls `opens` for the rules that the value is known to open there; if it is not known, where it would be.
pub(super) fn recall(key: Key<'_>, mut opens: impl FnMut(u32)) -> Option<Place> {
    MEMORY.with_borrow(|memory| {
        let found @ Place { slot, tag, .. } = memory.place(key);
        let places = [slot, slot ^ 1].into_iter().filter(|slot| memory.tags[*slot] == tag);
        let known = places.map(|slot| &memory.slots[slot]).find(|slot| slot.is_of(key));
        if let Some(slot) = known {
            slot.rules[..usize::from(slot.count)].iter().for_each(|rule| opens(u32::from(*rule)));
        }
        known.is_none().then_some(found)
    })
}

/// Remembers the rules that a value opens as it is, without any transformation, when it is seen for the second time.
pub(super) fn remember(key: Key<'_>, place: Place, rules: impl ExactSizeIterator<Item = u32>) {
    if key.value.len() > MAX_BYTES || rules.len() > MAX_RULES {
        return;
    }
    let mut numbers = [0; MAX_RULES];
    let count = rules.len() as u8;
    for (number, rule) in numbers.iter_mut().zip(rules) {
        let Ok(rule) = u16::try_from(rule) else { return };
        *number = rule;
    }
    MEMORY.with_borrow_mut(|memory| {
        let Place { slot, sight, tag } = place;
        if std::mem::replace(&mut memory.sights[sight], tag) != tag {
            return;
        }
        memory.turn ^= 1;
        let slot = slot ^ memory.turn;
        memory.tags[slot] = tag;
        let slot = &mut memory.slots[slot];
        slot.plan = key.plan;
        slot.length = key.value.len() as u8;
        (slot.count, slot.rules) = (count, numbers);
        slot.bytes[..key.value.len()].copy_from_slice(key.value);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_what_it_was_told_and_nothing_else() {
        let plan = next_number();
        let known = |plan, value: &[u8]| {
            let mut rules = Vec::new();
            recall(Key { plan, value }, |rule| rules.push(rule)).is_none().then_some(rules)
        };
        let remember = |key: Key<'_>, rules: &[u32]| {
            if let Some(place) = recall(key, |_| {}) {
                remember(key, place, rules.iter().copied());
            }
        };
        assert_eq!(known(plan, b""), None, "nothing is known at first");
        for (value, rules) in [(&b""[..], vec![]), (b"a", vec![7, 9]), (&[b'x'; MAX_BYTES], vec![1])] {
            remember(Key { plan, value }, &rules);
            assert_eq!(known(plan, value), None, "seen once");
            remember(Key { plan, value }, &rules);
            assert_eq!(known(plan, value), Some(rules));
            assert_eq!(known(plan + 1, value), None, "another collection");
        }
        (0..2).for_each(|_| remember(Key { plan, value: b"ab" }, &[]));
        assert_eq!(known(plan, b"abc"), None, "a beginning is not the value");
        let long = [b'x'; MAX_BYTES + 1];
        (0..2).for_each(|_| remember(Key { plan, value: &long }, &[]));
        assert_eq!(known(plan, &long), None, "too long");
        (0..2).for_each(|_| remember(Key { plan, value: b"many" }, &[1; MAX_RULES + 1]));
        assert_eq!(known(plan, b"many"), None, "too many rules");
    }
}
