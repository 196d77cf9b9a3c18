//! A policy and traffic generated from the bytes, evaluated by the plan and by the naive evaluator,
//! have the same verdict, findings, score, tags and header changes. The case is built and compared by
//! the code that `cargo test -p weir-engine --test against_naive` runs.
#![no_main]

#[path = "../../crates/engine/tests/against_naive/differential.rs"]
mod differential;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    differential::check(bytes);
});
