use proptest::prelude::*;

use super::*;
use crate::testing;

fn member(id: &str, weight: u32) -> Rc<Member> {
    Rc::new(Member::new(testing::member(id, weight), None))
}

fn rings(weights: &[(String, u32)]) -> Rings {
    let mut rings = Rings::new();
    for (id, weight) in weights {
        rings.insert(*weight, &member(id, *weight));
    }
    rings
}

fn owner(rings: &Rings, key: u64) -> Option<String> {
    rings.get(crate::digest::pair(7, key), &|_| true).map(|member| member.spec().id.clone())
}

fn shares(rings: &Rings, keys: u64) -> std::collections::HashMap<String, f64> {
    let mut shares = std::collections::HashMap::new();
    for key in 0..keys {
        *shares.entry(owner(rings, key).unwrap()).or_default() += 1.0 / keys as f64;
    }
    shares
}

fn members() -> impl Strategy<Value = Vec<(String, u32)>> {
    prop::collection::btree_map(0..60u32, prop_oneof![Just(1), 1..=MAX_WEIGHT], 1..40)
        .prop_map(|all| all.into_iter().map(|(id, weight)| (format!("m{id}"), weight)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn only_keys_of_who_changes_move(all in members(), n in any::<usize>(), weight in 1..=MAX_WEIGHT) {
        let before = rings(&all);
        let (id, old) = all[n % all.len()].clone();
        let mut without = before.clone();
        without.remove(old, &member(&id, old));
        let mut reweighted = without.clone();
        reweighted.insert(weight, &member(&id, weight));
        for key in 0..300 {
            let was = owner(&before, key).unwrap();
            if was != id {
                prop_assert_eq!(owner(&without, key), Some(was.clone()), "another went");
                let now = owner(&reweighted, key).unwrap();
                prop_assert!(now == was || now == id, "{} to {}", was, now);
            }
        }
    }

    #[test]
    fn history_does_not_matter(all in members(), gone in members()) {
        let mut long = rings(&gone);
        for (id, weight) in all.iter().rev() {
            if let Some((_, old)) = gone.iter().find(|(known, _)| known == id) {
                long.remove(*old, &member(id, *old));
            }
            long.insert(*weight, &member(id, *weight));
        }
        for (id, weight) in &gone {
            if !all.iter().any(|(known, _)| known == id) {
                long.remove(*weight, &member(id, *weight));
            }
        }
        let short = rings(&all);
        for key in 0..200 {
            prop_assert_eq!(owner(&long, key), owner(&short, key));
        }
    }
}

#[test]
fn shares_go_by_weight() {
    let cases: [(&str, Vec<u32>); 6] = [
        ("two", vec![1, 1]),
        ("equal", vec![1; 100]),
        ("a few", vec![1, 2, 3, 4, 5, 6]),
        ("canary", vec![95, 5]),
        ("one heavy", [vec![1; 99], vec![99]].concat()),
        ("mixed", (1..=100).collect()),
    ];
    for (what, weights) in cases {
        let all: Vec<_> = weights.iter().enumerate().map(|(n, weight)| (format!("m{n}"), *weight)).collect();
        let total: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
        let shares = shares(&rings(&all), 200_000);
        for (id, weight) in &all {
            let (is, should) = (shares.get(id).copied().unwrap_or_default(), f64::from(*weight) / total);
            // A third off, and what chance does to the few keys of light members (four deviations).
            let slack = should * 0.33 + 4.0 * (should / 200_000.0).sqrt();
            assert!((is - should).abs() < slack, "{what}: {id} has {is}, not {should}");
        }
    }
}

#[test]
fn an_empty_ring_has_nobody_and_tried_ones_are_skipped() {
    assert_eq!(owner(&Rings::new(), 1), None);
    let rings = rings(&[("a".into(), 1), ("b".into(), 1), ("c".into(), 7)]);
    for key in 0..100 {
        let first = owner(&rings, key).unwrap();
        let other = rings.get(crate::digest::pair(7, key), &|member| member.spec().id != first).unwrap();
        assert_ne!(other.spec().id, first);
    }
}
