//! Cookies are slices of their headers (one header per line), in order, bounded in number.
#![no_main]

use bumpalo::Bump;
use libfuzzer_sys::fuzz_target;
use weir_http::bound::MAX_ITEMS;
use weir_http::{Anomalies, cookie};

fuzz_target!(|bytes: &[u8]| {
    let arena = Bump::new();
    let mut anomalies = Anomalies::empty();
    let pairs = cookie::parse(&arena, bytes.split(|byte| *byte == b'\n'), &mut anomalies);
    let pieces = bytes
        .split(|byte| matches!(byte, b'\n' | b';'))
        .filter(|piece| piece.iter().any(|byte| !matches!(byte, b' ' | b'\t' | b'\r')));
    let pieces: Vec<&[u8]> = pieces.collect();
    assert_eq!(pairs.len(), pieces.len().min(MAX_ITEMS));
    assert_eq!(anomalies.contains(Anomalies::TOO_MANY_ITEMS), pieces.len() > MAX_ITEMS);
    let mut nameless = false;
    for (pair, piece) in pairs.iter().zip(pieces) {
        for part in [pair.name, pair.value] {
            let range = piece.as_ptr_range();
            assert!(part.is_empty() || (range.contains(&part.as_ptr()) && part.len() <= piece.len()), "borrowed");
            assert!(!part.contains(&b';'));
        }
        nameless |= pair.name.is_empty();
    }
    assert_eq!(anomalies.contains(Anomalies::INVALID_COOKIE), nameless);
});
