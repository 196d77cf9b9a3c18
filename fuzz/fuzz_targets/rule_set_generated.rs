//! A small rule set and requests generated from the bytes: folding changes no outcome. The check is
//! that of `cargo test -p weir-engine --test rule_sets folding`.
#![no_main]
#![allow(dead_code)]

#[path = "../../crates/engine/tests/rule_sets/generated.rs"]
mod generated;
#[path = "../../crates/engine/tests/rule_sets/site.rs"]
mod site;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Err(difference) = generated::check(bytes) {
        panic!("{difference}");
    }
});
