//! The filter pass: which of many literals occur in a value, in one pass whose cost hardly
//! depends on how many there are.
//!
//! Each literal is represented by its rarest window of four bytes (shorter ones by all they
//! have). The pass folds the value eight bytes at a time, hashes the window at every position
//! and tests a table that stays in the first-level cache (in the second for thousands of
//! literals), with one branch for four positions; the few that pass are looked up and the whole
//! literal is verified there. That is Wu and Manber's idea (1994) with windows chosen by rarity
//! and no shifts, since the literals of attack patterns are too short for shifts to skip much.
//!
//! Up to 128 literals, a first look by shuffles (`shuffle.rs`) at all positions spares most of them
//! the hashing. What lost is in `docs/adr/006-filter.md`, measured with `benches/tiers.rs`.

use crate::literal::rarest_window;
#[cfg(target_arch = "x86_64")]
use crate::shuffle::Shuffle;

/// Number of whatever a literal stands for; a rule in this crate.
pub(crate) type Owner = u32;

/// Literals of all widths over one lane.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scanner {
    tiers: Vec<Tier>,
    /// The first look, for few literals on processors that have it.
    #[cfg(target_arch = "x86_64")]
    shuffle: Option<Shuffle>,
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
            debug_assert!(!needle.literal.is_empty(), "an empty literal cannot be a filter");
            by_width[needle.literal.len().min(4) - 1].push(needle);
        }
        // A pass more costs more than the selectivity of a fourth byte is worth to a few literals.
        if !by_width[2].is_empty() && by_width[2].len() + by_width[3].len() <= SMALL {
            let wider = std::mem::take(&mut by_width[3]);
            by_width[2].extend(wider);
        }
        let tiers = by_width.into_iter().enumerate().rev().filter(|(_, needles)| !needles.is_empty());
        let tiers: Vec<Tier> = tiers.map(|(width, needles)| Tier::new(width + 1, needles)).collect();
        Self {
            #[cfg(target_arch = "x86_64")]
            shuffle: Self::shuffle(&tiers),
            tiers,
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn shuffle(tiers: &[Tier]) -> Option<Shuffle> {
        let literals: usize = tiers.iter().map(|tier| tier.entries.len()).sum();
        if literals == 0 || literals > SMALL {
            return None;
        }
        // The look takes four bytes where the literal has them: more than the tier's own width.
        let windows = tiers.iter().flat_map(|tier| tier.entries.iter().map(|entry| tier.window(entry)));
        Shuffle::new(windows)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tiers.is_empty()
    }

    /// Calls `found` for the owner of every literal that occurs in `value` (folded), perhaps
    /// more than once. Linear in the value: where an attacker repeats what many literals have in
    /// common, the scan gives up and reports every owner, which a filter may.
    #[inline]
    pub(crate) fn scan(&self, value: &[u8], mut found: impl FnMut(Owner)) {
        #[cfg(target_arch = "x86_64")]
        if let Some(shuffle) = &self.shuffle {
            let mut budget = value.len() * CHECKS_PER_BYTE + MIN_CHECKS;
            let within_budget =
                shuffle.scan(value, |at| self.tiers.iter().all(|tier| tier.at(value, at, &mut budget, &mut found)));
            if !within_budget {
                self.tiers.iter().flat_map(|tier| &tier.entries).for_each(|entry| found(entry.owner));
            }
            return;
        }
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
/// As above, for values of any length; a benign value of a kilobyte needs a few dozen.
const MIN_CHECKS: usize = 1024;
/// Up to this many literals use the small table.
const SMALL: usize = 128;
/// Entries of the small table, a byte each: an eighth of the first-level cache, and at most one
/// entry in 32 set.
const SMALL_BITS: u32 = 12;
/// Entries of the large table, a bit each: 128 KiB, within the second-level cache; one in a
/// hundred set by 10,000 literals.
const LARGE_BITS: u32 = 20;

/// Which windows may begin a literal, by hash.
#[derive(Clone)]
enum Table {
    Small(Box<[u8; 1 << SMALL_BITS]>),
    Large(Box<[u8; 1 << (LARGE_BITS - 3)]>),
}

/// All literals whose window has the same width.
#[derive(Clone)]
struct Tier {
    /// Window width in bytes, 1 to 4.
    width: usize,
    /// Keeps the window's bytes of a 4-byte load.
    mask: u32,
    /// Hashes a 4-byte load by multiplication; its low zero bytes drop those beyond the window.
    multiplier: u32,
    table: Table,
    /// `slots[h]..slots[h + 1]` of `entries` have hash `h`.
    slots: Vec<u32>,
    slot_shift: u32,
    entries: Vec<LiteralWindow>,
    /// The literals, end to end.
    bytes: Vec<u8>,
}

impl std::fmt::Debug for Tier {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Tier")
            .field("width", &self.width)
            .field("literals", &self.entries.len())
            .finish_non_exhaustive()
    }
}

#[derive(Clone, Copy, Debug)]
struct LiteralWindow {
    key: u32,
    owner: Owner,
    start: u32,
    len: u16,
    /// Where the window begins in the literal.
    offset: u16,
}

const FOLD8: u64 = 0x2020_2020_2020_2020;
/// 2^32 divided by the golden ratio: spreads neighbouring keys (Knuth, 6.4).
const GOLDEN: u32 = 0x9E37_79B1;

impl Tier {
    fn new(width: usize, needles: Vec<Needle>) -> Self {
        let unused = 8 * (4 - width as u32);
        let slot_bits = (needles.len() * 2).next_power_of_two().ilog2().max(1);
        let mut tier = Self {
            width,
            mask: u32::MAX >> unused,
            multiplier: GOLDEN << unused,
            table: if needles.len() <= SMALL {
                Table::Small(Box::new([0; 1 << SMALL_BITS]))
            } else {
                Table::Large(Box::new([0; 1 << (LARGE_BITS - 3)]))
            },
            slots: vec![0; (1 << slot_bits) + 1],
            slot_shift: 32 - slot_bits,
            entries: Vec::with_capacity(needles.len()),
            bytes: Vec::new(),
        };
        for needle in &needles {
            let literal = &needle.literal[..needle.literal.len().min(u16::MAX as usize)];
            let offset = rarest_window(literal, width);
            let mut window = [0; 4];
            window[..width].copy_from_slice(&literal[offset..offset + width]);
            tier.entries.push(LiteralWindow {
                key: u32::from_le_bytes(window),
                owner: needle.owner,
                start: tier.bytes.len() as u32,
                len: literal.len() as u16,
                offset: offset as u16,
            });
            tier.bytes.extend_from_slice(literal);
        }
        let (slot_shift, multiplier) = (tier.slot_shift, tier.multiplier);
        let hash = |key: u32| key.wrapping_mul(multiplier);
        tier.entries.sort_by_key(|entry| (hash(entry.key) >> slot_shift, entry.key));
        for entry in &tier.entries {
            let hash = hash(entry.key);
            match &mut tier.table {
                Table::Small(table) => table[(hash >> (32 - SMALL_BITS)) as usize] = 1,
                Table::Large(table) => {
                    table[(hash >> (35 - LARGE_BITS)) as usize] |= 1 << (hash >> (32 - LARGE_BITS) & 7)
                }
            }
            tier.slots[(hash >> slot_shift) as usize + 1] += 1;
        }
        for slot in 1..tier.slots.len() {
            tier.slots[slot] += tier.slots[slot - 1];
        }
        tier
    }

    /// The bytes from an entry's window on, at most four.
    #[cfg(target_arch = "x86_64")]
    fn window(&self, entry: &LiteralWindow) -> &[u8] {
        let (start, end) = (entry.start as usize + entry.offset as usize, entry.start as usize + entry.len as usize);
        &self.bytes[start..end.min(start + 4)]
    }

    /// Looks at one position; whether the budget lasted.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    fn at(&self, value: &[u8], at: usize, budget: &mut usize, found: &mut impl FnMut(Owner)) -> bool {
        let rest = &value[at..];
        if rest.len() < self.width {
            return true;
        }
        let key = match rest.first_chunk::<4>() {
            Some(four) => u32::from_le_bytes(*four),
            None => rest.iter().rev().fold(0, |key, byte| key << 8 | u32::from(*byte)),
        } | FOLD8 as u32;
        match &self.table {
            Table::Small(table) if table[(key.wrapping_mul(self.multiplier) >> (32 - SMALL_BITS)) as usize] == 0 => {
                true
            }
            _ => self.look_up(value, at, key, budget, found),
        }
    }

    /// Whether the whole value was scanned within the budget.
    fn scan(&self, value: &[u8], budget: &mut usize, found: &mut impl FnMut(Owner)) -> bool {
        // The index is below the table's length by construction, so no bounds are checked.
        match &self.table {
            Table::Small(table) => self.pass(value, |hash| table[(hash >> (32 - SMALL_BITS)) as usize], budget, found),
            Table::Large(table) => {
                let bit =
                    |hash: u32| table[(hash >> (35 - LARGE_BITS)) as usize] >> (hash >> (32 - LARGE_BITS) & 7) & 1;
                self.pass(value, bit, budget, found)
            }
        }
    }

    #[inline(always)]
    fn pass(&self, value: &[u8], table: impl Fn(u32) -> u8, budget: &mut usize, found: &mut impl FnMut(Owner)) -> bool {
        let len = value.len();
        if len < self.width {
            return true;
        }
        let multiplier = self.multiplier;
        // Looks at the windows that begin at the given bytes of `eight`, which stands at `at`.
        let mut windows = |eight: u64, at: usize, steps: std::ops::Range<usize>| {
            for step in steps {
                let key = (eight >> (8 * step)) as u32;
                if table(key.wrapping_mul(multiplier)) != 0 && !self.look_up(value, at + step, key, budget, found) {
                    return false;
                }
            }
            true
        };
        let Some(last) = value.last_chunk::<8>() else {
            let mut padded = [0; 8];
            padded[..len].copy_from_slice(value);
            return windows(u64::from_le_bytes(padded) | FOLD8, 0, 0..len + 1 - self.width);
        };
        let mut at = 0;
        // Four windows from one load of eight bytes (they span seven), and one branch for them.
        while let Some(eight) = value.get(at..at + 8).and_then(<[u8]>::first_chunk::<8>) {
            let eight = u64::from_le_bytes(*eight) | FOLD8;
            let may = |step: u32| table(((eight >> (8 * step)) as u32).wrapping_mul(multiplier));
            if may(0) | may(1) | may(2) | may(3) != 0 && !windows(eight, at, 0..4) {
                return false;
            }
            at += 4;
        }
        // The windows that are left, from the last eight bytes.
        windows(u64::from_le_bytes(*last) | FOLD8, len - 8, at + 8 - len..9 - self.width)
    }

    /// Whether the budget lasted.
    #[inline(never)]
    fn look_up(&self, value: &[u8], at: usize, key: u32, budget: &mut usize, found: &mut impl FnMut(Owner)) -> bool {
        let slot = (key.wrapping_mul(self.multiplier) >> self.slot_shift) as usize;
        let key = key & self.mask;
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

    /// What the scanner finds, with and without shuffles.
    fn scanned(literals: &[Vec<u8>], value: &[u8]) -> BTreeSet<Owner> {
        let needles = literals
            .iter()
            .enumerate()
            .map(|(owner, literal)| Needle { literal: fold(literal), owner: owner as Owner });
        let mut scanner = Scanner::new(needles.collect());
        let find = |scanner: &Scanner| {
            let mut found = BTreeSet::new();
            scanner.scan(value, |owner| {
                found.insert(owner);
            });
            found
        };
        let found = find(&scanner);
        #[cfg(target_arch = "x86_64")]
        {
            scanner.shuffle = None;
            assert_eq!(find(&scanner), found, "with and without shuffles");
        }
        found
    }

    #[test]
    fn finds_literals_of_every_width_at_every_edge() {
        let literals: Vec<Vec<u8>> = ["x", "<%", "../", "etc/passwd", "passwd", "PASSWD", "union select", "\0"]
            .iter()
            .map(|s| s.as_bytes().to_vec())
            .collect();
        for value in [
            "",
            "x",
            "../",
            "a../etc/passwd",
            "/etc/PassWd",
            "UNION SELECT",
            "union selec",
            "<%",
            "aaaaaaaaaa\0",
            "12345678x",
        ] {
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
