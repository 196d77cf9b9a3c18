//! A form has the pairs that splitting finds, each decoded, bounded in number.
#![no_main]

use bumpalo::Bump;
use libfuzzer_sys::fuzz_target;
use weir_http::bound::{Extent, MAX_ITEMS};
use weir_http::{Anomalies, form, text, uri};

fuzz_target!(|bytes: &[u8]| {
    let arena = Bump::new();
    let mut anomalies = Anomalies::empty();
    let pairs = form::parse(&arena, bytes, Extent::Whole, &mut anomalies);
    let pieces: Vec<&[u8]> = bytes.split(|byte| *byte == b'&').filter(|piece| !piece.is_empty()).collect();
    assert_eq!(pairs.len(), pieces.len().min(MAX_ITEMS));
    let mut expected = Anomalies::empty();
    for (pair, piece) in pairs.iter().zip(&pieces) {
        let at = piece.iter().position(|byte| *byte == b'=');
        let (name, value) = at.map_or((*piece, &b""[..]), |at| (&piece[..at], &piece[at + 1..]));
        for (got, sent) in [(pair.name, name), (pair.value, value)] {
            assert_eq!(got, uri::decode(&arena, sent, true, &mut expected));
            assert!(got != sent || got.is_empty() || std::ptr::eq(got, sent), "borrowed if unchanged");
            expected |= text::check(got);
        }
    }
    if pieces.len() > MAX_ITEMS {
        expected |= Anomalies::TOO_MANY_ITEMS;
    }
    assert_eq!(anomalies, expected);

    let mut cut = Anomalies::empty();
    assert_eq!(form::parse(&arena, bytes, Extent::Beginning, &mut cut), pairs);
    assert!(anomalies.contains(cut), "a cut body is never more broken");
});
