//! Percent-decoding agrees with a simple decoder, and borrows what it does not change.
#![no_main]

use bumpalo::Bump;
use libfuzzer_sys::fuzz_target;
use weir_http::{Anomalies, uri};

/// A simple decoder; also returns whether every escape was valid.
fn naive(bytes: &[u8], plus_as_space: bool) -> (Vec<u8>, bool) {
    let digit = |byte: Option<&u8>| byte.and_then(|byte| (*byte as char).to_digit(16));
    let (mut out, mut valid, mut at) = (Vec::new(), true, 0);
    while at < bytes.len() {
        match (bytes[at], digit(bytes.get(at + 1)), digit(bytes.get(at + 2))) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 2;
            }
            (b'+', ..) if plus_as_space => out.push(b' '),
            (byte, ..) => {
                valid &= byte != b'%';
                out.push(byte);
            }
        }
        at += 1;
    }
    (out, valid)
}

fuzz_target!(|bytes: &[u8]| {
    let arena = Bump::new();
    for plus_as_space in [false, true] {
        let mut anomalies = Anomalies::empty();
        let decoded = uri::decode(&arena, bytes, plus_as_space, &mut anomalies);
        let (expected, valid) = naive(bytes, plus_as_space);
        assert_eq!(decoded, expected);
        assert_eq!(anomalies.is_empty(), valid);
        assert_eq!(uri::percent_is_valid(bytes), valid);
        assert_eq!(decoded == bytes, std::ptr::eq(decoded, bytes), "borrowed if unchanged");
    }
    let path = uri::raw_path(bytes);
    assert!(!path.contains(&b'?'));
    assert!(bytes.is_empty() || bytes[0] != b'/' || bytes.starts_with(path));
    let extension = uri::extension(&arena, bytes);
    assert!(!extension.iter().any(|byte| byte.is_ascii_uppercase() || matches!(byte, b'/' | b'.')));
});
