//! XML yields a bounded number of texts, which together are never longer than the body.
#![no_main]

use bumpalo::Bump;
use libfuzzer_sys::fuzz_target;
use weir_http::bound::{Extent, MAX_ITEMS};
use weir_http::{Anomalies, xml};

fuzz_target!(|bytes: &[u8]| {
    let arena = Bump::new();
    let mut anomalies = Anomalies::empty();
    let texts = xml::parse(&arena, bytes, Extent::Whole, &mut anomalies);
    assert!(texts.len() <= MAX_ITEMS);
    assert!(texts.iter().map(|text| text.len()).sum::<usize>() <= bytes.len(), "nothing is expanded");
    assert!(arena.allocated_bytes() <= 64 * 1024 + 64 * bytes.len(), "linear in the body");
    if !bytes.contains(&b'&') {
        let range = bytes.as_ptr_range();
        assert!(texts.iter().all(|text| text.is_empty() || range.contains(&text.as_ptr())), "borrowed");
    }

    let mut cut = Anomalies::empty();
    assert_eq!(xml::parse(&arena, bytes, Extent::Beginning, &mut cut), texts);
    assert!(anomalies.contains(cut), "a cut body is never more broken");
});
