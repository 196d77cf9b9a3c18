//! The first line is the boundary, the rest the body. Parts are disjoint slices of it, in order.
#![no_main]

use bumpalo::Bump;
use libfuzzer_sys::fuzz_target;
use weir_http::bound::{Extent, MAX_ITEMS};
use weir_http::{Faults, multipart};

fuzz_target!(|bytes: &[u8]| {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let (boundary, body) = (&bytes[..end], &bytes[(end + 1).min(bytes.len())..]);
    let arena = Bump::new();
    let mut faults = Faults::default();
    let parts = multipart::parse(&arena, body, boundary, true, Extent::Whole, &mut faults).parts;
    let anomalies = faults.anomalies;
    assert!(parts.len() <= MAX_ITEMS);
    let mut last = body.as_ptr();
    for part in parts {
        let range = part.value.as_ptr_range();
        assert!(range.start >= last && range.end <= body.as_ptr_range().end, "in order, not overlapping");
        last = range.end;
        assert!(part.name.len() + part.content_type.len() <= body.len());
    }
    let delimiter = [b"--", boundary].concat();
    if anomalies.is_empty() {
        assert!(
            body.is_empty()
                || body.starts_with(&delimiter)
                || body.starts_with(b"\r")
                || body.starts_with(b"\n")
                || body.starts_with(b" ")
                || body.starts_with(b"\t")
        );
        let line = [b"\r\n", &delimiter[..]].concat();
        assert!(parts.iter().all(|part| !part.value.windows(line.len()).any(|window| {
            window == line && {
                let at = window.as_ptr() as usize - part.value.as_ptr() as usize + line.len();
                part.value[at..].starts_with(b"\r\n") || part.value[at..].starts_with(b"--")
            }
        })));
    }

    let mut cut = Faults::default();
    assert_eq!(multipart::parse(&arena, body, boundary, true, Extent::Beginning, &mut cut).parts, parts);
    assert!(anomalies.contains(cut.anomalies), "a cut body is never more broken");
});
