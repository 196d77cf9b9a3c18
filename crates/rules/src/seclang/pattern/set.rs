//! Byte sets: what one item of a pattern matches.

/// A set of byte values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Set([u64; 4]);

impl Set {
    pub(super) const EMPTY: Self = Self([0; 4]);
    pub(super) const ALL: Self = Self([u64::MAX; 4]);

    pub(super) const fn of(bytes: &[u8]) -> Self {
        let mut set = Self::EMPTY;
        let mut at = 0;
        while at < bytes.len() {
            set.insert(bytes[at]);
            at += 1;
        }
        set
    }

    pub(super) fn range(first: u8, last: u8) -> Self {
        let mut set = Self::EMPTY;
        (first..=last).for_each(|byte| set.insert(byte));
        set
    }

    pub(super) const fn insert(&mut self, byte: u8) {
        self.0[(byte >> 6) as usize] |= 1 << (byte & 63);
    }

    /// Whether the byte is a member.
    #[must_use]
    pub const fn contains(&self, byte: u8) -> bool {
        self.0[(byte >> 6) as usize] >> (byte & 63) & 1 == 1
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }

    pub(super) fn not(self) -> Self {
        Self(self.0.map(|word| !word))
    }

    pub(super) fn minus(self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & !other.0[word]))
    }

    pub(super) fn is_within(self, other: Self) -> bool {
        self.minus(other) == Self::EMPTY
    }

    pub(super) fn is_disjoint(self, other: Self) -> bool {
        (0..4).all(|word| self.0[word] & other.0[word] == 0)
    }

    /// The set with the other case of each ASCII letter added.
    pub(super) fn caseless(mut self) -> Self {
        for lower in b'a'..=b'z' {
            let upper = lower.to_ascii_uppercase();
            if self.contains(lower) || self.contains(upper) {
                self.insert(lower);
                self.insert(upper);
            }
        }
        self
    }

    /// The only member of a singleton.
    pub(super) fn single(self) -> Option<u8> {
        let mut ranges = self.ranges();
        match (ranges.next(), ranges.next()) {
            (Some((first, last)), None) if first == last => Some(first),
            _ => None,
        }
    }

    /// The maximal ranges, in order.
    pub(super) fn ranges(self) -> impl Iterator<Item = (u8, u8)> {
        let mut next = 0_u16;
        std::iter::from_fn(move || {
            let first = (next..256).find(|&byte| self.contains(byte as u8))?;
            let last = (first..256).take_while(|&byte| self.contains(byte as u8)).last()?;
            next = last + 1;
            Some((first as u8, last as u8))
        })
    }
}
