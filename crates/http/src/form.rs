//! `a=1&b=2`: query strings and urlencoded bodies (WHATWG URL standard, section 5.1).
//!
//! The hot path of the crate: nearly every request has a query. One vectorised pass counts the
//! separators so that the list is allocated once, at its size; one looks for `%` and `+`, and
//! without any the pairs are borrowed and nothing is looked at again; one finds out that all of
//! it is plain ASCII, so that no single value has to be checked.

use bumpalo::Bump;
use bumpalo::collections::Vec;

use crate::bound::{Extent, MAX_ITEMS};
use crate::{Anomalies, Pair, text, uri};

/// The pairs of `bytes`, decoded, in order. Names without `=` have an empty value; empty
/// pieces (`a&&b`) are none. Of a body that was cut, the last piece raises no anomalies.
#[must_use]
pub fn parse<'a>(arena: &'a Bump, bytes: &'a [u8], extent: Extent, anomalies: &mut Anomalies) -> &'a [Pair<'a>] {
    if bytes.is_empty() {
        return &[];
    }
    let separators = memchr::memchr_iter(b'&', bytes).count();
    let mut pairs = Vec::with_capacity_in((separators + 1).min(MAX_ITEMS), arena);
    let escaped = memchr::memchr2(b'%', b'+', bytes).is_some();
    let plain = text::is_plain(bytes);
    let mut rest = bytes;
    loop {
        let end = find(b'&', rest);
        let piece = &rest[..end.unwrap_or(rest.len())];
        if !piece.is_empty() {
            if pairs.len() == MAX_ITEMS {
                *anomalies |= Anomalies::TOO_MANY_ITEMS;
                break;
            }
            let mut found = Anomalies::empty();
            let mut pair = split(piece);
            if escaped {
                pair.name = decode(arena, pair.name, plain, &mut found);
                pair.value = decode(arena, pair.value, plain, &mut found);
            } else if !plain {
                found |= text::check(piece);
            }
            if end.is_some() || extent == Extent::Whole {
                *anomalies |= found;
            }
            pairs.push(pair);
        }
        match end {
            Some(end) => rest = &rest[end + 1..],
            None => break,
        }
    }
    pairs.into_bump_slice()
}

/// Names and values are mostly shorter than this, and then a loop is done before a vectorised
/// search has begun: it halved the instructions of ordinary forms.
const SHORT: usize = 16;

/// Where the first `byte` is.
#[inline]
fn find(byte: u8, bytes: &[u8]) -> Option<usize> {
    let (near, far) = bytes.split_at(bytes.len().min(SHORT));
    match near.iter().position(|one| *one == byte) {
        Some(at) => Some(at),
        None if far.is_empty() => None,
        None => memchr::memchr(byte, far).map(|at| near.len() + at),
    }
}

/// Whether there is anything to decode.
#[inline]
fn is_escaped(bytes: &[u8]) -> bool {
    if bytes.len() <= SHORT {
        return bytes.iter().any(|byte| matches!(byte, b'%' | b'+'));
    }
    memchr::memchr2(b'%', b'+', bytes).is_some()
}

/// Name and value of `name=value`.
#[inline]
fn split(piece: &[u8]) -> Pair<'_> {
    match find(b'=', piece) {
        Some(at) => Pair { name: &piece[..at], value: &piece[at + 1..] },
        None => Pair { name: piece, value: b"" },
    }
}

/// Decodes one name or value and checks what came out, unless it is known to be plain.
#[inline]
fn decode<'a>(arena: &'a Bump, bytes: &'a [u8], plain: bool, found: &mut Anomalies) -> &'a [u8] {
    let decoded = if is_escaped(bytes) { uri::decode(arena, bytes, true, found) } else { bytes };
    if !plain || !std::ptr::eq(decoded, bytes) {
        *found |= text::check(decoded);
    }
    decoded
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(bytes: &[u8], extent: Extent) -> (String, Anomalies) {
        let arena = Bump::new();
        let mut anomalies = Anomalies::empty();
        let pairs = parse(&arena, bytes, extent, &mut anomalies);
        let shown: std::vec::Vec<String> =
            pairs.iter().map(|pair| format!("{}={}", pair.name.escape_ascii(), pair.value.escape_ascii())).collect();
        (shown.join("|"), anomalies)
    }

    #[test]
    fn parses() {
        const GOOD: Anomalies = Anomalies::empty();
        let cases: [(&[u8], &str, Anomalies); 14] = [
            (b"", "", GOOD),
            (b"&", "", GOOD),
            (b"a=1&b=2&c", "a=1|b=2|c=", GOOD),
            (b"a&&b&", "a=|b=", GOOD),
            (b"=1&=", "=1|=", GOOD),
            (b"a=b=c", "a=b=c", GOOD),
            (b"a=1;b=2", "a=1;b=2", GOOD),
            (b"a%3Db=%26+%2B", "a=b=& +", GOOD),
            (b"a=1&a=2", "a=1|a=2", GOOD),
            (b"a=%zz", "a=%zz", Anomalies::INVALID_PERCENT),
            (b"a=%00", "a=\\x00", Anomalies::NUL_BYTE),
            (b"a=\0", "a=\\x00", Anomalies::NUL_BYTE),
            (b"a=%ff&b", "a=\\xff|b=", Anomalies::INVALID_UTF8),
            (b"a=\xff&b=+", "a=\\xff|b= ", Anomalies::INVALID_UTF8),
        ];
        for (input, expected, anomalies) in cases {
            assert_eq!(parsed(input, Extent::Whole), (expected.to_owned(), anomalies), "{}", input.escape_ascii());
        }
        assert_eq!(parsed("n=größe&m=%C3%A9".as_bytes(), Extent::Whole).1, GOOD);
        assert_eq!(parsed(b"n=\xc3%A9", Extent::Whole).1, GOOD, "the decoded text counts");
    }

    #[test]
    fn a_cut_body_is_not_broken_at_its_end() {
        for cut in [&b"a=1&b=%4"[..], b"a=1&b=%C3", b"a=1&b=\xc3"] {
            assert_eq!(parsed(cut, Extent::Beginning).1, Anomalies::empty());
            assert_ne!(parsed(cut, Extent::Whole).1, Anomalies::empty());
        }
        assert_eq!(parsed(b"a=%4&b", Extent::Beginning).1, Anomalies::INVALID_PERCENT);
    }

    #[test]
    fn bounds_the_number_of_pairs() {
        let arena = Bump::new();
        let many = b"a=1&".repeat(100_000);
        let mut anomalies = Anomalies::empty();
        assert_eq!(parse(&arena, &many, Extent::Whole, &mut anomalies).len(), MAX_ITEMS);
        assert_eq!(anomalies, Anomalies::TOO_MANY_ITEMS);

        anomalies = Anomalies::empty();
        let exact = &many[..4 * MAX_ITEMS];
        assert_eq!(parse(&arena, exact, Extent::Whole, &mut anomalies).len(), MAX_ITEMS);
        assert_eq!(anomalies, Anomalies::empty());
    }

    proptest! {
        #[test]
        fn agrees_with_splitting(text in "[a-c=&%+4]{0,60}") {
            let arena = Bump::new();
            let pairs = parse(&arena, text.as_bytes(), Extent::Whole, &mut Anomalies::empty());
            let pieces: std::vec::Vec<&str> = text.split('&').filter(|piece| !piece.is_empty()).collect();
            prop_assert_eq!(pairs.len(), pieces.len());
            for (pair, piece) in pairs.iter().zip(pieces) {
                let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
                prop_assert_eq!(pair.name, uri::decode(&arena, arena.alloc_str(name).as_bytes(), true, &mut Anomalies::empty()));
                prop_assert_eq!(pair.value, uri::decode(&arena, arena.alloc_str(value).as_bytes(), true, &mut Anomalies::empty()));
            }
        }

        #[test]
        fn takes_any_bytes(bytes: std::vec::Vec<u8>) {
            let arena = Bump::new();
            let pairs = parse(&arena, &bytes, Extent::Whole, &mut Anomalies::empty());
            let total: usize = pairs.iter().map(|pair| pair.name.len() + pair.value.len()).sum();
            prop_assert!(total <= bytes.len());
        }
    }
}
