//! Sets of small numbers as machine words.

/// Bits that are set in `words`, from number `from` on.
pub(crate) fn next(words: &[u64], from: usize) -> Option<usize> {
    let mut word = from / 64;
    let mut bits = words.get(word)? & (u64::MAX << (from % 64));
    loop {
        if bits != 0 {
            return Some(word * 64 + bits.trailing_zeros() as usize);
        }
        word += 1;
        bits = *words.get(word)?;
    }
}

/// A set of numbers below a bound.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Bits(pub(crate) Box<[u64]>);

impl Bits {
    /// An empty set for numbers below `bound`.
    pub(crate) fn new(bound: usize) -> Self {
        Self(vec![0; bound.div_ceil(64)].into())
    }

    pub(crate) fn insert(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    pub(crate) fn contains(&self, number: usize) -> bool {
        self.0.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 != 0)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let found = next(&self.0, at)?;
            at = found + 1;
            Some(found)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_put_in() {
        let mut bits = Bits::new(200);
        for number in [0, 63, 64, 199] {
            bits.insert(number);
        }
        assert_eq!(bits.iter().collect::<Vec<_>>(), [0, 63, 64, 199]);
        assert!(bits.contains(64) && !bits.contains(1) && !bits.contains(1000));
        assert_eq!(next(&bits.0, 65), Some(199));
        assert_eq!(next(&bits.0, 200), None);
    }
}
