//! A compressed trie over disjoint ranges of addresses: which range holds this one?
//!
//! Each node skips the prefix that all its ranges share and branches on as many bits at once as
//! it has ranges for (level and path compression, Nilsson and Karlsson 1999); under 16 ranges a
//! binary search within two cache lines ends it. A million random IPv4 addresses take 8 MB and
//! two or three cache misses. A poptrie with its fixed stride of 6 bits would take 53 MB (2.2
//! million nodes of 24 bytes) and six dependent loads; one root table over 16 bits, as tried
//! first, was as quick for IPv4, but 570 ns for a million IPv6 prefixes, which differ late.

use std::fmt::Debug;

/// Unsigned integers as wide as an address.
pub(crate) trait Bits: Copy + Ord + Debug {
    const WIDTH: u32;
    /// The `count` bits (at most 16) that follow the first `skip`.
    fn chunk(self, skip: u32, count: u32) -> usize;
    fn common_prefix(self, other: Self) -> u32;
    fn next(self) -> Option<Self>;
}

macro_rules! bits {
    ($type:ty) => {
        impl Bits for $type {
            const WIDTH: u32 = <$type>::BITS;
            fn chunk(self, skip: u32, count: u32) -> usize {
                (self << skip >> (<$type>::BITS - count)) as usize
            }
            fn common_prefix(self, other: Self) -> u32 {
                (self ^ other).leading_zeros()
            }
            fn next(self) -> Option<Self> {
                self.checked_add(1)
            }
        }
    };
}

bits!(u32);
bits!(u128);

/// Up to this many ranges are searched by bisection.
const LEAF: usize = 16;
/// A node branches on at most this many bits: 65,536 entries of 4 bytes.
const MAX_BITS: u32 = 16;

/// Disjoint inclusive ranges, sorted, under a trie.
#[derive(Clone, Debug)]
pub(crate) struct RangeTrie<B> {
    ranges: Vec<(B, B)>,
    nodes: Vec<Node<B>>,
    /// The nodes' tables, end to end; each has one entry more than it has branches: the first
    /// range of each branch, and where the last ends.
    firsts: Vec<u32>,
    /// Beside `firsts`: the node that continues a branch of more than `LEAF` ranges.
    children: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Node<B> {
    /// First and last start of its ranges; an address between them shares their prefix.
    starts: (B, B),
    skip: u32,
    bits: u32,
    table: u32,
    begin: u32,
    end: u32,
}

impl<B> Default for RangeTrie<B> {
    fn default() -> Self {
        Self { ranges: Vec::new(), nodes: Vec::new(), firsts: Vec::new(), children: Vec::new() }
    }
}

impl<B: Bits> RangeTrie<B> {
    /// Merges the ranges, in any order, and builds the trie over them.
    pub(crate) fn new(mut ranges: Vec<(B, B)>) -> Self {
        ranges.sort_unstable();
        let mut merged: Vec<(B, B)> = Vec::with_capacity(ranges.len());
        for (start, end) in ranges {
            match merged.last_mut() {
                Some(last) if last.1.next().is_none_or(|next| start <= next) => last.1 = last.1.max(end),
                _ => merged.push((start, end)),
            }
        }
        merged.shrink_to_fit();
        let mut trie = Self { ranges: merged, ..Self::default() };
        if !trie.ranges.is_empty() {
            trie.grow(0, trie.ranges.len());
        }
        trie
    }

    /// Whether one of the ranges holds `address`.
    pub(crate) fn contains(&self, address: B) -> bool {
        let Some(mut node) = self.nodes.first() else { return false };
        loop {
            let (begin, end) = (node.begin as usize, node.end as usize);
            if address < node.starts.0 {
                // The range that starts before the branch may reach in from the left.
                return begin > 0 && self.holds(begin - 1, address);
            }
            if address >= node.starts.1 {
                return self.holds(end - 1, address);
            }
            if end - begin <= LEAF {
                return self.search(begin, end, address);
            }
            let slot = node.table as usize + address.chunk(node.skip, node.bits);
            let (begin, end) = (self.firsts[slot] as usize, self.firsts[slot + 1] as usize);
            if end - begin <= LEAF {
                return self.search(begin, end, address);
            }
            node = &self.nodes[self.children[slot] as usize];
        }
    }

    /// Looks among the ranges `begin..end`, which start in the address's branch, and at the one
    /// before them, which may end in it.
    fn search(&self, begin: usize, end: usize, address: B) -> bool {
        let after = begin + self.ranges[begin..end].partition_point(|range| range.0 <= address);
        after > 0 && self.holds(after - 1, address)
    }

    fn holds(&self, range: usize, address: B) -> bool {
        let (start, end) = self.ranges[range];
        start <= address && address <= end
    }

    /// Adds a node over the ranges `begin..end` and returns its number. Depth is bounded by the
    /// width of an address: each level branches on at least one bit.
    fn grow(&mut self, begin: usize, end: usize) -> u32 {
        let number = self.nodes.len() as u32;
        let starts = (self.ranges[begin].0, self.ranges[end - 1].0);
        let skip = starts.0.common_prefix(starts.1).min(B::WIDTH - 1);
        let bits = (end - begin).ilog2().clamp(1, MAX_BITS).min(B::WIDTH - skip);
        let table = self.firsts.len() as u32;
        self.nodes.push(Node { starts, skip, bits, table, begin: begin as u32, end: end as u32 });
        if end - begin <= LEAF {
            return number;
        }
        debug_assert!(starts.0 < starts.1, "disjoint ranges differ in their starts, so every branch is smaller");
        let branches = 1usize << bits;
        self.firsts.resize(table as usize + branches + 1, end as u32);
        self.children.resize(table as usize + branches + 1, 0);
        let mut next = 0;
        for index in begin..end {
            let branch = self.ranges[index].0.chunk(skip, bits);
            while next <= branch {
                self.firsts[table as usize + next] = index as u32;
                next += 1;
            }
        }
        for branch in 0..branches {
            let slot = table as usize + branch;
            let (from, to) = (self.firsts[slot] as usize, self.firsts[slot + 1] as usize);
            if to - from > LEAF {
                self.children[slot] = self.grow(from, to);
            }
        }
        number
    }
}
