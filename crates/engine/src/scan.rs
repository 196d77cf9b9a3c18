//! The filter pass: which of many literals occur in a value, in one pass whose cost hardly
//! depends on how many there are.
//!
//! Each literal is represented by its rarest window of four bytes (shorter ones by all they
//! have). The pass folds the value eight bytes at a time, hashes the window at every position
//! and tests one bit of a table that stays in the first-level cache; the few positions that pass
//! are looked up and the whole literal is verified there. That is Wu and Manber's idea (1994)
//! with windows chosen by rarity and no shifts, since the literals of attack patterns are too
//! short for shifts to skip much.
//!
//! What lost, measured with `benches/tiers.rs` (see `docs/adr/006-filter.md`): an Aho-Corasick
//! automaton (its DFA outgrows the caches at 10,000 literals, its NFA is slower from the start).

use crate::literal::window_likelihood;

/// Number of whatever a literal stands for; a rule in this crate.
pub(crate) type Owner = u32;

/// Literals of all widths over one lane.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scanner {
    tiers: Vec<Tier>,
}

/// A literal to find: folded, not empty.
pub(crate) struct Needle {
    pub(crate) literal: Vec<u8>,
    pub(crate) owner: Owner,
}

impl Scanner {
    pub(crate) fn new(needles: Vec<Needle>) -> Self {
        let mut by_width: [Vec<Needle>; 4] = Default::default();
        for needle in needles {
            debug_assert!(!needle.literal.is_empty(), "an empty literal is no filter");
            by_width[needle.literal.len().min(4) - 1].push(needle);
        }
        let tiers = by_width.into_iter().enumerate().rev().filter(|(_, needles)| !needles.is_empty());
        Self { tiers: tiers.map(|(width, needles)| Tier::new(width + 1, needles)).collect() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tiers.is_empty()
    }

    /// Calls `found` for the owner of every literal that occurs in `value` (folded), perhaps
    /// more than once. Linear in the value: where an attacker repeats what many literals have in
    /// common, the scan gives up and reports every owner, which a filter may.
    #[inline]
    pub(crate) fn scan(&self, value: &[u8], mut found: impl FnMut(Owner)) {
        for tier in &self.tiers {
            let mut budget = value.len() * CHECKS_PER_BYTE + MIN_CHECKS;
            if !tier.scan(value, &mut budget, &mut found) {
                tier.entries.iter().for_each(|entry| found(entry.owner));
            }
        }
    }
}

/// Literals compared in one pass before it gives up, for each byte of the value.
const CHECKS_PER_BYTE: usize = 2;
/// The same for values of any length; a benign value of a kilobyte needs a few dozen.
const MIN_CHECKS: usize = 1024;
/// Bits of the filter table per literal: one in 64 is set, so one position in 64 of random text
/// goes on to the look-up.
const BITS_PER_NEEDLE: usize = 64;
/// 8 KiB of bits: a fourth of the first-level cache, for all but the largest rule sets.
const MIN_FILTER_BITS: u32 = 12;
/// 256 KiB of bits, within the second-level cache.
const MAX_FILTER_BITS: u32 = 21;

/// All literals whose window has the same width.
#[derive(Clone, Debug)]
struct Tier {
    /// Window width in bytes, 1 to 4.
    width: usize,
    /// Keeps the window's bytes of a 4-byte load.
    mask: u32,
    /// One bit per hash value.
    filter: Vec<u64>,
    filter_shift: u32,
    /// `slots[h]..slots[h + 1]` of `entries` have hash `h`.
    slots: Vec<u32>,
    slot_shift: u32,
    entries: Vec<Entry>,
    /// The literals, end to end.
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: u32,
    owner: Owner,
    start: u32,
    len: u16,
    /// Where the window begins in the literal.
    offset: u16,
}

const FOLD: u32 = 0x2020_2020;
const FOLD8: u64 = 0x2020_2020_2020_2020;

#[inline(always)]
fn hash(key: u32) -> u32 {
    key.wrapping_mul(0x9E37_79B1)
}

impl Tier {
    fn new(width: usize, needles: Vec<Needle>) -> Self {
        let mask = if width == 4 { u32::MAX } else { (1u32 << (8 * width)) - 1 };
        let filter_bits = (needles.len() * BITS_PER_NEEDLE).next_power_of_two().ilog2().clamp(MIN_FILTER_BITS, MAX_FILTER_BITS);
        let slot_bits = (needles.len() * 2).next_power_of_two().ilog2().max(1);
        let mut tier = Self {
            width,
            mask,
            filter: vec![0; 1 << (filter_bits - 6)],
            filter_shift: 32 - filter_bits,
            slots: vec![0; (1 << slot_bits) + 1],
            slot_shift: 32 - slot_bits,
            entries: Vec::with_capacity(needles.len()),
            bytes: Vec::new(),
        };
        for needle in &needles {
            let literal = &needle.literal[..needle.literal.len().min(u16::MAX as usize)];
            let offset = window_likelihood(literal).0.min(literal.len() - width);
            let mut window = [0; 4];
            window[..width].copy_from_slice(&literal[offset..offset + width]);
            tier.entries.push(Entry {
                key: u32::from_le_bytes(window) & mask,
                owner: needle.owner,
                start: tier.bytes.len() as u32,
                len: literal.len() as u16,
                offset: offset as u16,
            });
            tier.bytes.extend_from_slice(literal);
        }
        let slot_shift = tier.slot_shift;
        tier.entries.sort_by_key(|entry| (hash(entry.key) >> slot_shift, entry.key));
        for entry in &tier.entries {
            let hashed = hash(entry.key);
            let bit = (hashed >> tier.filter_shift) as usize;
            tier.filter[bit >> 6] |= 1 << (bit & 63);
            tier.slots[(hashed >> slot_shift) as usize + 1] += 1;
        }
        for slot in 1..tier.slots.len() {
            tier.slots[slot] += tier.slots[slot - 1];
        }
        tier
    }

    /// Whether the whole value was scanned within the budget.
    #[inline]
    fn scan(&self, value: &[u8], budget: &mut usize, found: &mut impl FnMut(Owner)) -> bool {
        if value.len() < self.width {
            return true;
        }
        let positions = value.len() - self.width + 1;
        let mut at = 0;
        // Four windows from one load of eight bytes (they span seven).
        while at + 8 <= value.len() && at + 4 <= positions {
            let eight = u64::from_le_bytes(value[at..at + 8].try_into().expect("eight bytes")) | FOLD8;
            for step in 0..4 {
                let key = (eight >> (8 * step)) as u32 & self.mask;
                if self.may_begin(key) && !self.look_up(value, at + step, key, budget, found) {
                    return false;
                }
            }
            at += 4;
        }
        while at < positions {
            let mut window = [0; 4];
            let taken = (value.len() - at).min(4);
            window[..taken].copy_from_slice(&value[at..at + taken]);
            let key = (u32::from_le_bytes(window) | FOLD) & self.mask;
            if self.may_begin(key) && !self.look_up(value, at, key, budget, found) {
                return false;
            }
            at += 1;
        }
        true
    }

    #[inline(always)]
    fn may_begin(&self, key: u32) -> bool {
        let bit = (hash(key) >> self.filter_shift) as usize;
        // The shift keeps `bit` below the filter's length; the bounds check is a compare that
        // never fails and is predicted.
        self.filter[bit >> 6] >> (bit & 63) & 1 != 0
    }

    /// Whether the budget lasted.
    #[inline(never)]
    fn look_up(&self, value: &[u8], at: usize, key: u32, budget: &mut usize, found: &mut impl FnMut(Owner)) -> bool {
        let slot = (hash(key) >> self.slot_shift) as usize;
        let entries = &self.entries[self.slots[slot] as usize..self.slots[slot + 1] as usize];
        if *budget < entries.len() {
            return false;
        }
        *budget -= entries.len();
        for entry in entries {
            let (offset, len) = (entry.offset as usize, entry.len as usize);
            if entry.key != key || at < offset || at - offset + len > value.len() {
                continue;
            }
            let literal = &self.bytes[entry.start as usize..entry.start as usize + len];
            let candidate = &value[at - offset..at - offset + len];
            if candidate.iter().zip(literal).all(|(byte, folded)| byte | 0x20 == *folded) {
                found(entry.owner);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::literal::fold;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn naive(literals: &[Vec<u8>], value: &[u8]) -> BTreeSet<Owner> {
        let value = fold(value);
        let found = |literal: &Vec<u8>| memchr::memmem::find(&value, &fold(literal)).is_some();
        literals.iter().enumerate().filter(|(_, literal)| found(literal)).map(|(owner, _)| owner as Owner).collect()
    }

    fn scanned(literals: &[Vec<u8>], value: &[u8]) -> BTreeSet<Owner> {
        let needles = literals.iter().enumerate().map(|(owner, literal)| Needle { literal: fold(literal), owner: owner as Owner });
        let mut found = BTreeSet::new();
        Scanner::new(needles.collect()).scan(value, |owner| {
            found.insert(owner);
        });
        found
    }

    #[test]
    fn finds_literals_of_every_width_at_every_edge() {
        let literals: Vec<Vec<u8>> = ["x", "<%", "../", "etc/passwd", "passwd", "PASSWD", "union select", "\0"].iter().map(|s| s.as_bytes().to_vec()).collect();
        for value in ["", "x", "../", "a../etc/passwd", "/etc/PassWd", "UNION SELECT", "union selec", "<%", "aaaaaaaaaa\0", "12345678x"] {
            assert_eq!(scanned(&literals, value.as_bytes()), naive(&literals, value.as_bytes()), "{value:?}");
        }
    }

    proptest! {
        #[test]
        fn agrees_with_a_search_for_each(
            literals in prop::collection::vec(prop::collection::vec(prop::sample::select(b"abAB./<\0\xff".to_vec()), 1..7), 1..40),
            value in prop::collection::vec(prop::sample::select(b"abAB./<\0\xff".to_vec()), 0..80),
        ) {
            prop_assert_eq!(scanned(&literals, &value), naive(&literals, &value));
        }
    }
}
