//! XML yields a bounded number of texts. Without entities they are at most four times as long as the
//! body: pieces of a text are there alone, as the text of their element and of the document.
#![no_main]

use bumpalo::Bump;
use libfuzzer_sys::fuzz_target;
use weir_http::bound::{Extent, MAX_ENTITY_BYTES, MAX_ITEMS};
use weir_http::{Faults, xml};

fuzz_target!(|bytes: &[u8]| {
    let arena = Bump::new();
    let mut faults = Faults::default();
    let document = xml::parse(&arena, bytes, Extent::Whole, &mut faults);
    let texts = document.items;
    assert!(texts.len() <= MAX_ITEMS && document.attributes.len() <= MAX_ITEMS);
    let declares = bytes.windows(2).any(|pair| pair == b"<!") || bytes.contains(&0);
    let entities = if declares { 4 * MAX_ENTITY_BYTES } else { 0 };
    // Single-byte encodings and UTF-16 may take twice the space in UTF-8.
    assert!(texts.iter().map(|text| text.len()).sum::<usize>() <= 8 * bytes.len() + entities);
    assert!(arena.allocated_bytes() <= 64 * 1024 + 128 * bytes.len() + 8 * entities, "linear in the body");

    let mut cut = Faults::default();
    assert_eq!(xml::parse(&arena, bytes, Extent::Beginning, &mut cut).items, texts);
    assert!(faults.anomalies.contains(cut.anomalies), "a cut body is never more broken");
});
