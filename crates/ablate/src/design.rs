//! Which variants there are, and in which order a round measures them.
//!
//! For `n` parts: everything, nothing, everything but each part, each part alone. Everything and
//! nothing stand in every comparison: measuring them `sqrt(n)` times as often makes the single
//! differences surest for a given time (Dunnett, A multiple comparison procedure for comparing
//! several treatments with a control, JASA 50, 1955). Their errors are in all `n` costs alike,
//! though, and add up in the sum, so it is `n` times, up to a bound. All subsets, or chains of them drawn
//! at random, would give exact Shapley values; they need a variant of their own for each turn, and
//! what a part costs alone and what leaving it out saves are what people ask for.
//!
//! Where the load is there anyway and the machine is not ours, single differences drown. There the references' turns go
//! to halves instead: a Hadamard matrix and its complement, in which each part is on in half of the turns, and each two
//! are on together in a quarter. So each turn tells something about all parts (Hotelling, Some improvements in weighing,
//! Annals of Mathematical Statistics 15, 1944), and what pairs share does not bias the costs.

use weir_measure::random::Random;

/// Most repetitions of a reference in a round.
const MAX_REFERENCES: usize = 8;

/// A set of parts that are switched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Set {
    /// All.
    All,
    /// None.
    None,
    /// All but one.
    Without(usize),
    /// Only one.
    Alone(usize),
    /// Only two.
    Pair(usize, usize),
    /// Those with a one in this row of the Hadamard matrix, or the others.
    Half(usize, bool),
}

impl Set {
    /// For each of `count` parts whether it is on.
    #[must_use]
    pub fn on(self, count: usize) -> Vec<bool> {
        let is_on = |index: usize| match self {
            Self::All => true,
            Self::None => false,
            Self::Without(one) => index != one,
            Self::Alone(one) => index == one,
            Self::Pair(one, other) => index == one || index == other,
            Self::Half(row, others) => (row & index).count_ones().is_multiple_of(2) != others,
        };
        (0..count).map(is_on).collect()
    }
}

/// The variants of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Parts can be on alone: everything, nothing, without each, each alone.
    Subsets,
    /// The same, with halves instead of repeated references.
    Halves,
    /// Variants that lack something: only everything, and everything but each.
    Leaving,
}

/// The variants of a run, each once: of two parts, what is without the one is the other alone.
#[derive(Clone, Debug)]
pub struct Design {
    /// Number of parts.
    pub parts: usize,
    /// The variants of the comparison.
    pub shape: Shape,
    variants: Vec<Vec<bool>>,
}

impl Design {
    /// For so many parts.
    #[must_use]
    pub fn new(parts: usize, shape: Shape) -> Self {
        let mut design = Self { parts, shape, variants: Vec::new() };
        for set in design.sets() {
            design.index(set);
        }
        design
    }

    fn sets(&self) -> Vec<Set> {
        let without = (0..self.parts).map(Set::Without);
        match self.shape {
            Shape::Leaving => std::iter::once(Set::All).chain(without).collect(),
            Shape::Subsets | Shape::Halves => {
                let alone = (0..self.parts).map(Set::Alone);
                let rows = if self.shape == Shape::Halves { 1..self.parts.next_power_of_two() } else { 0..0 };
                let halves = rows.flat_map(|row| [Set::Half(row, false), Set::Half(row, true)]);
                [Set::All, Set::None].into_iter().chain(without).chain(alone).chain(halves).collect()
            }
        }
    }

    /// Number of the variant with these parts on; a new one if there is none yet.
    pub fn index(&mut self, set: Set) -> usize {
        let on = set.on(self.parts);
        self.variants.iter().position(|known| *known == on).unwrap_or_else(|| {
            self.variants.push(on);
            self.variants.len() - 1
        })
    }

    /// Number of the variant with these parts on, if there is one.
    #[must_use]
    pub fn find(&self, set: Set) -> Option<usize> {
        let on = set.on(self.parts);
        self.variants.iter().position(|known| *known == on)
    }

    /// Which parts each variant has on.
    #[must_use]
    pub fn variants(&self) -> &[Vec<bool>] {
        &self.variants
    }

    /// Name of a variant, for progress.
    #[must_use]
    pub fn name(&self, variant: usize, parts: &[super::part::Part]) -> String {
        let on = &self.variants[variant];
        let names = |state: bool| -> Vec<&str> {
            parts.iter().zip(on).filter(|(_, on)| **on == state).map(|(part, _)| part.name.as_str()).collect()
        };
        match (names(true), names(false)) {
            (_, off) if off.is_empty() => "all".into(),
            (on, _) if on.is_empty() => "none".into(),
            (on, _) if on.len() <= 2 && self.shape != Shape::Leaving => on.join(" and "),
            (_, off) => format!("without {}", off.join(", ")),
        }
    }

    /// The variants of a round, in an order drawn anew.
    #[must_use]
    pub fn round(&self, random: &mut Random) -> Vec<usize> {
        let mut turns: Vec<usize> = self.sets().into_iter().filter_map(|set| self.find(set)).collect();
        turns.sort_unstable();
        turns.dedup();
        let more = if self.shape == Shape::Halves { 0 } else { references(self.parts).saturating_sub(1) };
        for set in [Set::All, Set::None] {
            if self.shape == Shape::Subsets || set == Set::All {
                turns.extend(self.find(set).into_iter().flat_map(|variant| std::iter::repeat_n(variant, more)));
            }
        }
        ordered(&turns, random)
    }

    /// The variants that say whether two parts cost less or more together, in an order drawn anew.
    #[must_use]
    pub fn pair_round(&self, pairs: &[(usize, usize)], random: &mut Random) -> Vec<usize> {
        let sets = pairs.iter().flat_map(|&(one, other)| [Set::Alone(one), Set::Alone(other), Set::Pair(one, other)]);
        let mut turns: Vec<usize> = sets.chain([Set::None]).filter_map(|set| self.find(set)).collect();
        turns.sort_unstable();
        turns.dedup();
        let none = self.find(Set::None);
        turns.extend(none.into_iter().flat_map(|none| std::iter::repeat_n(none, references(pairs.len()) - 1)));
        ordered(&turns, random)
    }
}

/// How often a reference is measured in a round.
fn references(parts: usize) -> usize {
    parts.clamp(1, MAX_REFERENCES)
}

fn ordered(turns: &[usize], random: &mut Random) -> Vec<usize> {
    random.order(turns.len()).into_iter().map(|place| turns[place]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::Part;

    #[test]
    fn every_variant_is_in_a_round_and_references_more_often() {
        let design = Design::new(9, Shape::Subsets);
        assert_eq!(design.variants().len(), 20);
        let mut random = Random::new(7);
        let round = design.round(&mut random);
        let count = |set: Set| round.iter().filter(|&&variant| Some(variant) == design.find(set)).count();
        assert_eq!((count(Set::All), count(Set::None), count(Set::Alone(3)), count(Set::Without(8))), (8, 8, 1, 1));
        assert_eq!(round.len(), 34);
        assert_ne!(round, design.round(&mut random));
    }

    #[test]
    fn variants_that_are_the_same_are_measured_once() {
        for (parts, variants) in [(1, 2), (2, 4), (3, 8)] {
            let design = Design::new(parts, Shape::Subsets);
            assert_eq!(design.variants().len(), variants, "{parts}");
        }
        let two = Design::new(2, Shape::Subsets);
        assert_eq!(two.find(Set::Without(0)), two.find(Set::Alone(1)));
        assert_eq!(Design::new(3, Shape::Leaving).variants().len(), 4);
    }

    #[test]
    fn in_halves_each_part_is_on_half_of_the_time_and_each_two_together_a_quarter() {
        for parts in [3_usize, 8, 11] {
            let halves = (0..parts.next_power_of_two())
                .flat_map(|row| [Set::Half(row, false).on(parts), Set::Half(row, true).on(parts)]);
            let halves: Vec<Vec<bool>> = halves.collect();
            let together = |one: usize, other: usize| halves.iter().filter(|on| on[one] && on[other]).count();
            for one in 0..parts {
                assert_eq!(together(one, one) * 2, halves.len());
                assert!((0..one).all(|other| together(one, other) * 4 == halves.len()));
            }
            let design = Design::new(parts, Shape::Halves);
            assert!(halves.iter().all(|half| design.variants().contains(half)));
            assert_eq!(design.round(&mut Random::new(7)).len(), design.variants().len());
        }
    }

    #[test]
    fn variants_have_names_for_people() {
        let parts = [Part::named("a"), Part::named("b"), Part::named("c")];
        let mut design = Design::new(3, Shape::Subsets);
        let pair = design.index(Set::Pair(0, 2));
        let names: Vec<String> = (0..design.variants().len()).map(|variant| design.name(variant, &parts)).collect();
        assert_eq!(names[..3], ["all", "none", "b and c"]);
        assert_eq!(design.name(pair, &parts), "a and c");
        assert_eq!(Design::new(3, Shape::Leaving).name(1, &parts), "without a");
    }
}
