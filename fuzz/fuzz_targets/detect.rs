//! The detectors never panic, and find nothing in values that their early exits reject.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_detect::{byte_set, sqli, sqli_possible, sqli_possible_with, xss, xss_possible, xss_possible_with};

fuzz_target!(|bytes: &[u8]| {
    let set = byte_set(bytes);
    for byte in 0..=u8::MAX {
        assert_eq!(set[usize::from(byte >> 6)] >> (byte & 63) & 1 != 0, bytes.contains(&byte));
    }
    let found = sqli(bytes);
    assert_eq!(sqli_possible(bytes), sqli_possible_with(bytes, &set));
    assert!(found.is_none() || sqli_possible(bytes), "{found:?} where none is possible");
    assert!(found.is_none_or(|fingerprint| (1..=5).contains(&fingerprint.as_str().len())));
    assert_eq!(xss_possible(bytes), xss_possible_with(bytes, &set));
    assert!(!xss(bytes) || xss_possible(bytes), "found where none is possible");
});
