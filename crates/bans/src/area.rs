//! One table: a hash table with open addressing in a slice of atomics, as readers and the writer see it.

use std::net::IpAddr;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::fence;

use crate::entry::{self, EMPTY, Entry};
use crate::layout::{self, ATTEMPTS, BITS, LENGTHS, MAX_BITS, MIN_BITS, SEED, SLOT_WORDS, WINDOW};
use crate::network::Network;

/// A table of the file.
#[derive(Clone, Copy)]
pub(crate) struct Area<'m> {
    pub(crate) about: &'m [AtomicU64],
    slots: &'m [[AtomicU64; SLOT_WORDS]],
    seed: [u64; 2],
}

impl<'m> Area<'m> {
    /// A table in the words of a file.
    pub(crate) fn of(words: &'m [AtomicU64], table: u64) -> Self {
        let about = layout::about(words, table);
        // Whatever the file says, the slice ends within it.
        let bits = (about[BITS].load(Acquire) as u32).clamp(MIN_BITS, MAX_BITS);
        let at = layout::half(table);
        let (slots, _) = words[at..at + (SLOT_WORDS << bits)].as_chunks();
        Self { about, slots, seed: [0, 1].map(|n| words[SEED + n].load(Relaxed)) }
    }

    pub(crate) fn slots(&self) -> &'m [[AtomicU64; SLOT_WORDS]] {
        self.slots
    }

    /// The slots where a network may be, in the order in which they are tried.
    pub(crate) fn run(&self, network: Network) -> impl Iterator<Item = usize> + use<> {
        let mask = self.slots.len() - 1;
        let (high, low) = network.words();
        let mixed = fold(high ^ self.seed[0], low ^ self.seed[1]);
        let start = fold(mixed ^ u64::from(network.code()), self.seed[0] | 1) as usize;
        (0..WINDOW.min(mask + 1)).map(move |step| start.wrapping_add(step) & mask)
    }

    /// The word of a network's entry.
    fn find(&self, network: Network) -> Option<u64> {
        let (high, low) = network.words();
        for at in self.run(network) {
            let [slot_high, slot_low, word] = &self.slots[at];
            for _ in 0..ATTEMPTS {
                let before = word.load(Acquire);
                if before == EMPTY {
                    return None;
                }
                let is_other = entry::code_of(before) != network.code()
                    || slot_high.load(Relaxed) != high
                    || slot_low.load(Relaxed) != low;
                if is_other {
                    break;
                }
                // The address was this entry's if the word is still the same.
                fence(Acquire);
                if word.load(Relaxed) == before {
                    return Some(before);
                }
            }
        }
        None
    }

    /// The word of the entry that holds for an address: the most specific one that has not ended.
    pub(crate) fn lookup(&self, address: IpAddr, now_s: u64) -> Option<u64> {
        let address = address.to_canonical();
        // Lengths from this word on begin after so many bits.
        let parts: &[(usize, u8)] = if address.is_ipv4() { &[(0, 0)] } else { &[(2, 64), (1, 0)] };
        for (word, base) in parts {
            let mut lengths = self.about[LENGTHS + word].load(Acquire);
            while lengths != 0 {
                let bit = lengths.ilog2();
                lengths &= !(1 << bit);
                let network = Network::of(address, base + bit as u8 + 1);
                if let Some(found) = self.find(network).filter(|found| entry::expires_s_of(*found) > now_s) {
                    return Some(found);
                }
            }
        }
        None
    }

    /// All entries, for the writer.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry> + use<'m> {
        self.slots.iter().filter_map(|slot| {
            let [high, low, word] = [0, 1, 2].map(|n| slot[n].load(Relaxed));
            entry::entry_of(high, low, word)
        })
    }
}

/// The word among [`LENGTHS`] and the bit in it for a network's prefix length.
pub(crate) fn length_bit(code: u8) -> (usize, u64) {
    match code {
        129.. => (LENGTHS, 1 << (code - 129)),
        65.. => (LENGTHS + 2, 1 << (code - 65)),
        _ => (LENGTHS + 1, 1 << (code - 1)),
    }
}

/// A product folded in two, which mixes all bits of both.
fn fold(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    (product >> 64) as u64 ^ product as u64
}
