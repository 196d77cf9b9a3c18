//! The plan against the naive evaluator: lanes, filters and shared scans may change what a
//! rule costs, never whether it matches.
//!
//! Cases are made from bytes, so that the fuzz target `engine` runs the very same check.

#[path = "against_naive/differential.rs"]
mod differential;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn plan_and_naive_evaluator_agree(seed in any::<u64>(), size in 16usize..600) {
        differential::check(&noise(seed, size));
    }

    #[test]
    fn plan_and_naive_evaluator_agree_on_small_cases(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
        differential::check(&bytes);
    }
}

#[test]
fn the_generator_makes_rules_that_match_and_rules_that_do_not() {
    let (mut hits, mut misses) = (0, 0);
    for seed in 0..300 {
        match differential::check(&noise(seed, 400)) {
            0 => misses += 1,
            _ => hits += 1,
        }
    }
    assert!(hits > 50 && misses > 20, "the generator is one-sided: {hits} cases with findings, {misses} without");
}

/// Bytes of a SplitMix64 sequence (Steele, Lea, Flood 2014).
fn noise(seed: u64, size: usize) -> Vec<u8> {
    let mut state = seed;
    let next = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) as u8
    };
    std::iter::repeat_with(next).take(size).collect()
}
