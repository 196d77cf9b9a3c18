//! What is worked out ahead of time changes no outcome: generated rule sets with much to fold,
//! run both ways.

use std::sync::Arc;

use proptest::prelude::*;

use crate::generated::{Choices, request, rules, tuning};
use crate::site::{Site, program};

/// Requests to each generated rule set.
const REQUESTS: usize = 4;

/// Runs the case that the bytes describe; how many findings it had.
fn check(bytes: &[u8]) -> Result<usize, String> {
    let mut choices = Choices(bytes);
    let text = rules(&mut choices);
    let program = program(&text).map_err(|errors| format!("{errors}\n{text}"))?;
    let tuning = tuning(&mut choices);
    let site = Site::of(Arc::clone(&program), tuning.clone());
    let mut findings = 0;
    for _ in 0..REQUESTS {
        let request = request(&mut choices);
        let (quick, naive) = site.both(&request);
        if quick != naive {
            return Err(format!("{text}\n{tuning:?}\n{request:?}\nquick {quick:#?}\nnaive {naive:#?}"));
        }
        findings += quick.findings.len();
    }
    Ok(findings)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

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

#[test]
#[ignore = "exploration"]
fn explore() {
    std::panic::set_hook(Box::new(|_| {}));
    let fails = |bytes: &[u8]| match std::panic::catch_unwind(|| check(bytes)) { Ok(Err(text)) => Some(text), Ok(Ok(_)) => None, Err(_) => Some("panic".into()) };
    let mut state: u64 = std::env::var("SEED").map_or(1, |s| s.parse().unwrap());
    let mut next = move || { state = state.wrapping_add(0x9E37_79B9_7F4A_7C15); let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9); let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB); z ^ (z >> 31) };
    let mut found: Vec<String> = Vec::new();
    let mut tried = 0;
    let cases: usize = std::env::var("CASES").map_or(400, |s| s.parse().unwrap());
    let mut bad = 0;
    while tried < cases {
        tried += 1;
        let size = 30 + (next() % 500) as usize;
        let mut bytes: Vec<u8> = (0..size).map(|_| next() as u8).collect();
        if fails(&bytes).is_none() { continue; }
        bad += 1;
        if bad > 12 { continue; }
        // shrink: cut, zero
        let mut progress = true;
        while progress {
            progress = false;
            for width in [32usize, 8, 4, 2, 1] {
                let mut at = 0;
                while at + width <= bytes.len() {
                    let mut other = bytes.clone();
                    other.drain(at..at + width);
                    if fails(&other).is_some() { bytes = other; progress = true; } else { at += width; }
                }
            }
            for at in 0..bytes.len() {
                for to in [0u8, bytes[at] / 2, bytes[at].saturating_sub(1)] {
                    if to < bytes[at] { let mut other = bytes.clone(); other[at] = to; if fails(&other).is_some() { bytes = other; progress = true; } }
                }
            }
        }
        found.push(fails(&bytes).unwrap());
    }
    found.sort_by_key(|text| text.len());
    for text in &found {
        let mut lines: Vec<&str> = text.lines().collect();
        let quick = lines.iter().position(|l| l.starts_with("quick ")).unwrap_or(lines.len());
        let naive = lines.iter().position(|l| l.starts_with("naive ")).unwrap_or(lines.len());
        for l in &lines[..quick] { if !l.contains("id:9") { println!("{l}"); } }
        let (q, n): (Vec<&str>, Vec<&str>) = (lines[quick..naive].to_vec(), lines[naive..].to_vec());
        for (a, b) in q.iter().zip(&n).skip(1).filter(|(a, b)| a != b).take(6) { println!("   quick {}\n   naive {}", a.trim(), b.trim()); }
        println!("-----------------");
        lines.clear();
    }
    println!("{bad} of {tried} differ");
}
