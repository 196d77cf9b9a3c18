//! The first byte is the size of the parts in which the rest, a body, arrives: its sorted text is that of the obvious
//! version.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_auth::tokens::{naive, sorted::SortedTokens};

fuzz_target!(|bytes: &[u8]| {
    let Some((part, body)) = bytes.split_first() else { return };
    let mut tokens = SortedTokens::default();
    body.chunks(usize::from(*part).max(1)).for_each(|part| tokens.absorb(part));
    let text = tokens.finish().map(|text| {
        let mut given = Vec::new();
        text.give(|part| given.extend_from_slice(part));
        String::from_utf8(given).expect("Base64 is ASCII")
    });
    assert_eq!(text, naive::sorted_text(body));
});
