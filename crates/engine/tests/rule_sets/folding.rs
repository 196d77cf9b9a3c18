//! What is worked out ahead of time changes no outcome: generated rule sets with much to fold,
//! run both ways. The fuzz target `rule_set_generated` runs the same check.

use proptest::prelude::*;

use crate::generated::{REQUESTS, check};

/// Fewer without optimisation.
const CASES: u32 = if cfg!(debug_assertions) { 3000 } else { 12_000 };

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, ..ProptestConfig::default() })]

    #[test]
    fn folding_and_filters_change_no_outcome(bytes in proptest::collection::vec(any::<u8>(), 0..320)) {
        if let Err(difference) = check(&bytes) {
            prop_assert!(false, "{difference}");
        }
    }
}

#[test]
fn the_generator_makes_rules_that_match() {
    let bytes: Vec<u8> = (0..6000u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let findings: usize = bytes.chunks(300).map(|bytes| check(bytes).unwrap()).sum();
    assert!(findings > 20 * REQUESTS, "{findings} findings");
}
