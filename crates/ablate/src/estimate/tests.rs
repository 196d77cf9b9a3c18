//! Known costs, disturbed as a busy machine disturbs them, must come out again.

use super::*;
use crate::design::{Design, Shape};

/// A generator whose values lie evenly between 0 and 1.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Rounds of a machine on which nothing costs `base`, any part `shared` once, each its own, and
/// pairs what they share less. Rounds differ by half, values by some percent, and some are spoilt.
struct Machine {
    base: f64,
    shared: f64,
    own: Vec<f64>,
    pairs: Vec<(usize, usize, f64)>,
    disturbed: bool,
    /// By how much its speed may change from one value to the next.
    drift: f64,
}

impl Machine {
    fn cost(&self, on: &[bool]) -> f64 {
        let own: f64 = self.own.iter().zip(on).filter(|(_, on)| **on).map(|(own, _)| own).sum();
        let pairs: f64 =
            self.pairs.iter().filter(|(one, other, _)| on[*one] && on[*other]).map(|(_, _, cost)| cost).sum();
        self.base + own + pairs + if on.contains(&true) { self.shared } else { 0.0 }
    }

    fn rounds(&self, design: &Design, turns: impl Fn(&mut Random) -> Vec<usize>, count: usize) -> Vec<Round> {
        let (mut noise, mut random) = (Noise(99), Random::new(5));
        (0..count)
            .map(|_| {
                let mut level = if self.disturbed { 1.0 + noise.next() / 2.0 } else { 1.0 };
                let mut value = |variant: usize| {
                    let cost = self.cost(&design.variants()[variant]);
                    let spoilt = self.disturbed && noise.next() < 0.05;
                    level *= 1.0 + self.drift * (noise.next() - 0.5);
                    let factor = if self.disturbed { 0.96 + noise.next() * 0.08 } else { 1.0 };
                    (variant, cost * level * factor * if spoilt { 2.0 } else { 1.0 })
                };
                turns(&mut random).into_iter().map(&mut value).collect()
            })
            .collect()
    }
}

fn close(have: f64, want: f64, within: f64) {
    assert!((have - want).abs() <= within, "{have} instead of {want}");
}

#[test]
fn without_noise_everything_is_exact() {
    let own = vec![5.0, 0.0, 1.0, 2.5];
    let machine = Machine { base: 20.0, shared: 3.0, own: own.clone(), pairs: vec![], disturbed: false, drift: 0.0 };
    let design = Design::new(4, Shape::Subsets);
    let rounds = machine.rounds(&design, |random| design.round(random), 4);
    let estimate = estimate(&design, &rounds, 1).unwrap();
    for (part, own) in estimate.parts.iter().zip(&own) {
        close(part.cost.value, *own, 1e-9);
        close(part.without.value, *own, 1e-9);
        close(part.alone.unwrap().value, own + 3.0, 1e-9);
    }
    close(estimate.shared.unwrap().value, 3.0, 1e-9);
    close(estimate.total.unwrap().value, 11.5, 1e-9);
    close(estimate.sum.value, 11.5, 1e-9);
}

#[test]
fn a_disturbed_machine_gives_the_costs_within_their_intervals_and_a_sum_that_agrees() {
    let own = vec![6.0, 0.2, 1.0, 2.5, 0.5, 1.5];
    let machine = Machine { base: 30.0, shared: 2.0, own: own.clone(), pairs: vec![], disturbed: true, drift: 0.0 };
    let design = Design::new(6, Shape::Subsets);
    let rounds = machine.rounds(&design, |random| design.round(random), 40);
    let estimate = estimate(&design, &rounds, 1).unwrap();
    // Rounds are 1 to 1.5 times as dear as the quiet machine; a usual one 1.25 times.
    let level = estimate.none.unwrap().value / 30.0;
    assert!((1.1..1.5).contains(&level), "{level}");
    let held = estimate.parts.iter().zip(&own).filter(|(part, own)| {
        let want = **own * level;
        (part.cost.low..=part.cost.high).contains(&want)
    });
    assert!(held.count() >= 5, "{:?}", estimate.parts);
    let dearest = (0..6).max_by(|&a, &b| estimate.parts[a].cost.value.total_cmp(&estimate.parts[b].cost.value));
    assert_eq!(dearest, Some(0));
    let agreement = estimate.sum.value / estimate.total.unwrap().value;
    assert!((0.85..1.15).contains(&agreement), "{agreement}");
    assert!(estimate.parts[0].cost.is_significant());
    assert!(estimate.told_apart.contains(&(0, 1)) && estimate.told_apart.contains(&(3, 1)));
    assert!(estimate.told_apart.iter().all(|&(dear, cheap)| own[dear] > own[cheap]), "{:?}", estimate.told_apart);
}

#[test]
fn halves_find_the_dearest_of_many_cheap_parts_while_the_machine_changes_its_speed() {
    let mut own = vec![0.0, 1.0, 0.5, 0.0, 0.0, 0.3, 0.0, 0.0];
    own[3] = 6.0;
    let machine = Machine { base: 90.0, shared: 1.0, own, pairs: vec![(1, 2, -0.3)], disturbed: true, drift: 0.2 };
    let width = |shape: Shape| {
        let design = Design::new(8, shape);
        let rounds = machine.rounds(&design, |random| design.round(random), 12);
        let cost = estimate(&design, &rounds, 1).unwrap().parts[3].cost;
        (cost.low > 0.0 && (4.0..12.0).contains(&cost.value), cost.high - cost.low)
    };
    let ((found, narrow), (_, wide)) = (width(Shape::Halves), width(Shape::Subsets));
    assert!(found, "{narrow}");
    assert!(narrow < wide / 2.0, "{narrow} {wide}");
}

#[test]
fn halves_are_exact_without_noise_and_of_one_part_is_alone_what_it_costs() {
    for own in [vec![5.0, 0.0, 1.0, 2.5, 4.0], vec![3.0]] {
        let shared = if own.len() > 1 { 3.0 } else { 0.0 };
        let machine = Machine { base: 20.0, shared, own: own.clone(), pairs: vec![], disturbed: false, drift: 0.0 };
        let design = Design::new(own.len(), Shape::Halves);
        let levels: Vec<f64> = design.variants().iter().map(|on| machine.cost(on)).collect();
        let found = figures(&design, &levels);
        found.parts.iter().zip(&own).for_each(|(part, own)| close(part[2], *own, 1e-9));
        close(found.shared, shared, 1e-9);
    }
}

#[test]
fn what_a_pair_shares_is_split_between_the_two_and_found_as_an_interaction() {
    let pairs = vec![(1, 3, -2.0)];
    let machine =
        Machine { base: 20.0, shared: 1.0, own: vec![1.0, 4.0, 2.0, 5.0, 1.0], pairs, disturbed: false, drift: 0.0 };
    let mut design = Design::new(5, Shape::Subsets);
    let rounds = machine.rounds(&design, |random| design.round(random), 3);
    let found = estimate(&design, &rounds, 1).unwrap();
    close(found.parts[1].cost.value, 3.0, 1e-9);
    close(found.parts[3].cost.value, 4.0, 1e-9);
    close(found.sum.value, found.total.unwrap().value, 1e-9);
    let pairs = [(1, 3), (0, 1)];
    for (one, other) in pairs {
        design.index(Set::Pair(one, other));
    }
    let rounds = machine.rounds(&design, |random| design.pair_round(&pairs, random), 3);
    let found = interactions(&design, &pairs, &rounds, 1);
    // What all parts share is one of the two, too.
    close(found[0].interaction.value, -3.0, 1e-9);
    close(found[1].interaction.value, -1.0, 1e-9);
}

#[test]
fn variants_that_only_lack_something_have_no_alone() {
    let machine = Machine { base: 20.0, shared: 0.0, own: vec![1.0, 4.0], pairs: vec![], disturbed: false, drift: 0.0 };
    let design = Design::new(2, Shape::Leaving);
    let rounds = machine.rounds(&design, |random| design.round(random), 3);
    let found = estimate(&design, &rounds, 1).unwrap();
    close(found.parts[1].cost.value, 4.0, 1e-9);
    assert!(found.parts[1].alone.is_none() && found.total.is_none());
    assert!(estimate(&design, &[], 1).is_none());
}
