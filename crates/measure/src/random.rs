//! Random numbers that are the same on every machine for the same seed: SplitMix64 (Steele, Lea,
//! Flood: Fast splittable pseudorandom number generators, 2014).

/// A generator.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Begins at `seed`; different seeds give unrelated series.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 if that is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.bits() % (bound.max(1) as u64)).unwrap_or(0)
    }

    /// The numbers below `count` in an order drawn by Fisher and Yates.
    pub fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            order.swap(last, self.below(last + 1));
        }
        order
    }

    /// True in `percent` of a hundred cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of a slice that is not empty.
    pub fn pick<'s, T>(&mut self, from: &'s [T]) -> &'s T {
        &from[self.below(from.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_hold_everyone_once_and_differ() {
        let mut random = Random::new(7);
        let orders: Vec<Vec<usize>> = (0..20).map(|_| random.order(11)).collect();
        for order in &orders {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..11).collect::<Vec<_>>());
        }
        assert!(orders.iter().collect::<std::collections::HashSet<_>>().len() > 15);
    }

    #[test]
    fn a_seed_gives_one_series_that_reaches_everything() {
        let series = |seed| {
            let mut random = Random::new(seed);
            (0..200).map(|_| random.below(10)).collect::<Vec<_>>()
        };
        assert_eq!(series(1), series(1));
        assert_ne!(series(1), series(2));
        assert!((0..10).all(|wanted| series(3).contains(&wanted)));
        assert_eq!(Random::new(5).below(0), 0);
    }
}
