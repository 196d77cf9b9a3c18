//! Sets of byte values: the bytes that occur in a value, or that a transformation or a pattern needs.
//!
//! 256 bits in four words: comparing two sets takes four `and`s, which decides most questions about
//! a value before its bytes are read again.

use std::fmt;

/// Minimum length at which marking a table beats collecting bits in registers: the table has a
/// fixed cost of clearing and packing 256 entries, and then one store per byte.
const LONG: usize = 12;

/// A set of byte values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ByteSet([u64; 4]);

impl ByteSet {
    /// No byte.
    pub const EMPTY: Self = Self([0; 4]);
    /// Every byte.
    pub const ALL: Self = Self([u64::MAX; 4]);

    /// The bytes whose bits are set in four words.
    pub(crate) const fn of_words(words: [u64; 4]) -> Self {
        Self(words)
    }

    /// The bytes in `list`, in any order, repeated or not. For constants; for values of requests,
    /// [`Self::of`] is faster.
    #[must_use]
    pub const fn from_list(list: &[u8]) -> Self {
        let mut set = Self::EMPTY;
        let mut at = 0;
        while at < list.len() {
            set = set.with(list[at]);
            at += 1;
        }
        set
    }

    /// The bytes from `first` to `last`, both included; none if `first > last`.
    #[must_use]
    pub const fn range(first: u8, last: u8) -> Self {
        let mut set = Self::EMPTY;
        let mut byte = first as u16;
        while byte <= last as u16 {
            set = set.with(byte as u8);
            byte += 1;
        }
        set
    }

    /// The bytes that a table of 256 replacements changes.
    #[must_use]
    pub const fn changed_by(map: &[u8; 256]) -> Self {
        let mut set = Self::EMPTY;
        let mut byte = 0;
        while byte < 256 {
            if map[byte] as usize != byte {
                set = set.with(byte as u8);
            }
            byte += 1;
        }
        set
    }

    /// The bytes that occur in `value`, in one pass.
    #[must_use]
    #[inline]
    pub fn of(value: &[u8]) -> Self {
        if value.len() < LONG { Self::of_short(value) } else { Self::of_long(value) }
    }

    /// Four words in registers: no byte waits for the previous byte's store.
    fn of_short(value: &[u8]) -> Self {
        let [mut a, mut b, mut c, mut d] = [0_u64; 4];
        for &byte in value {
            let bit = 1_u64 << (byte & 63);
            let word = byte >> 6;
            a |= if word == 0 { bit } else { 0 };
            b |= if word == 1 { bit } else { 0 };
            c |= if word == 2 { bit } else { 0 };
            d |= if word == 3 { bit } else { 0 };
        }
        Self([a, b, c, d])
    }

    /// One mark per byte, then marks are packed into bits.
    fn of_long(value: &[u8]) -> Self {
        let mut marks = [0_u8; 256];
        for &byte in value {
            marks[byte as usize] = 0x80;
        }
        Self::of_marks(&marks)
    }

    /// The marked bytes; a mark is a byte whose highest bit is set.
    #[cfg(target_arch = "x86_64")]
    fn of_marks(marks: &[u8; 256]) -> Self {
        use std::arch::x86_64::{_mm_loadu_si128, _mm_movemask_epi8};
        let mut set = Self::EMPTY;
        for (index, sixteen) in marks.as_chunks::<16>().0.iter().enumerate() {
            // SAFETY: SSE2 is part of x86-64, and sixteen bytes are read from sixteen.
            let bits = unsafe { _mm_movemask_epi8(_mm_loadu_si128(sixteen.as_ptr().cast())) };
            set.0[index / 4] |= u64::from(bits as u16) << (index % 4 * 16);
        }
        set
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn of_marks(marks: &[u8; 256]) -> Self {
        let mut set = Self::EMPTY;
        for (index, eight) in marks.chunks_exact(8).enumerate() {
            let eight = u64::from_le_bytes(eight.try_into().expect("chunks of eight"));
            let bits = (eight >> 7 & 0x0101_0101_0101_0101).wrapping_mul(0x0102_0408_1020_4080) >> 56;
            set.0[index / 8] |= bits << (index % 8 * 8);
        }
        set
    }

    /// Whether `byte` is in the set.
    #[must_use]
    #[inline]
    pub const fn contains(&self, byte: u8) -> bool {
        self.0[(byte >> 6) as usize] >> (byte & 63) & 1 == 1
    }

    /// Adds `byte`.
    pub const fn insert(&mut self, byte: u8) {
        self.0[(byte >> 6) as usize] |= 1 << (byte & 63);
    }

    /// This set and `byte`.
    #[must_use]
    pub const fn with(mut self, byte: u8) -> Self {
        self.insert(byte);
        self
    }

    /// The bytes of either set.
    #[must_use]
    pub const fn union(&self, other: &Self) -> Self {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        Self([a | e, b | f, c | g, d | h])
    }

    /// The bytes of this set that are not in `other`.
    #[must_use]
    pub const fn minus(&self, other: &Self) -> Self {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        Self([a & !e, b & !f, c & !g, d & !h])
    }

    /// The bytes in both.
    #[must_use]
    #[inline]
    pub const fn intersection(&self, other: &Self) -> Self {
        let (a, b) = (self.0, other.0);
        Self([a[0] & b[0], a[1] & b[1], a[2] & b[2], a[3] & b[3]])
    }

    /// Its bytes, in order.
    #[inline]
    pub fn bytes(self) -> impl Iterator<Item = u8> {
        self.0.into_iter().enumerate().flat_map(|(index, mut word)| {
            std::iter::from_fn(move || {
                let bit = (word != 0).then_some(word.trailing_zeros())?;
                word &= word - 1;
                Some((index as u32 * 64 + bit) as u8)
            })
        })
    }

    /// Whether the sets share a byte.
    #[must_use]
    #[inline]
    pub const fn intersects(&self, other: &Self) -> bool {
        !self.is_disjoint(other)
    }

    /// Whether the sets share no byte.
    #[must_use]
    #[inline]
    pub const fn is_disjoint(&self, other: &Self) -> bool {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        (a & e) | (b & f) | (c & g) | (d & h) == 0
    }

    /// Whether every byte of this set is in `other`.
    #[must_use]
    #[inline]
    pub const fn is_subset(&self, other: &Self) -> bool {
        let [a, b, c, d] = self.minus(other).0;
        a | b | c | d == 0
    }

    /// The set as words: bit `b % 64` of word `b / 64` is byte `b`.
    #[must_use]
    pub const fn words(&self) -> &[u64; 4] {
        &self.0
    }

    /// Whether the set has no byte.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.is_disjoint(&Self::ALL)
    }

    /// How many bytes the set has.
    #[must_use]
    pub const fn len(&self) -> u32 {
        let [a, b, c, d] = self.0;
        a.count_ones() + b.count_ones() + c.count_ones() + d.count_ones()
    }
}

impl fmt::Debug for ByteSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes: Vec<u8> = (0..=255).filter(|&byte| self.contains(byte)).collect();
        write!(f, "ByteSet(\"{}\")", bytes.escape_ascii())
    }
}
