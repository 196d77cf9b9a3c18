//! `a=1&b=2`: query strings and urlencoded bodies (WHATWG URL standard, section 5.1).
//!
//! This is the hot path of the crate, because nearly every request has a query. Names and values are mostly too short
//! for a vectorised search to pay off, so one pass classifies each byte once; only stretches of 32 bytes without any
//! delimiter, as in large bodies, are skipped as a whole. Four searches (for separators, equal signs, escapes, and
//! bytes to check) took six times as many instructions for an ordinary form.

use bumpalo::Bump;
use bumpalo::collections::Vec;

use crate::bound::{Extent, MAX_ITEMS};
use crate::{Anomalies, Pair, text, uri};

/// Initial capacity in pairs; browsers' forms have about eight.
const USUAL_PAIRS: usize = 8;
/// Number of bytes examined together.
const STRIDE: usize = 32;

/// The role of a byte in parsing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ByteClass {
    Text,
    Separator,
    Equals,
    /// `%` and `+`
    Escape,
    /// NUL or non-ASCII: the text has to be checked.
    Suspect,
}

const CLASSES: [ByteClass; 256] = {
    let mut classes = [ByteClass::Text; 256];
    classes[b'&' as usize] = ByteClass::Separator;
    classes[b'=' as usize] = ByteClass::Equals;
    classes[b'%' as usize] = ByteClass::Escape;
    classes[b'+' as usize] = ByteClass::Escape;
    classes[0] = ByteClass::Suspect;
    let mut byte = 0x80;
    while byte < 256 {
        classes[byte] = ByteClass::Suspect;
        byte += 1;
    }
    classes
};

/// One name or value as it stands in the text.
#[derive(Clone, Copy, Default)]
struct RawText<'b> {
    /// The text up to the delimiter.
    raw: &'b [u8],
    /// Whether it contains a `%` or `+`.
    escaped: bool,
    /// Whether the text has to be checked.
    suspect: bool,
}

/// The decoded pairs of `bytes`, in order. Names without `=` have an empty value; empty pieces
/// (`a&&b`) are skipped. If the body was cut, its last piece raises no anomalies.
#[must_use]
pub fn parse<'a>(arena: &'a Bump, bytes: &'a [u8], extent: Extent, anomalies: &mut Anomalies) -> &'a [Pair<'a>] {
    parse_with(arena, bytes, b'&', MAX_ITEMS, extent, anomalies)
}

/// As [`parse`], with another separator (`SecArgumentSeparator`) and at most `items` pairs.
#[must_use]
pub(crate) fn parse_with<'a>(
    arena: &'a Bump,
    bytes: &'a [u8],
    separator: u8,
    items: usize,
    extent: Extent,
    anomalies: &mut Anomalies,
) -> &'a [Pair<'a>] {
    if bytes.is_empty() {
        return &[];
    }
    let mut pairs = Vec::with_capacity_in(USUAL_PAIRS, arena);
    let mut rest = bytes;
    while !rest.is_empty() {
        let (name, value, end) = if separator == b'&' { piece(rest) } else { plain_piece(rest, separator) };
        if end > 0 {
            if pairs.len() == items {
                *anomalies |= Anomalies::TOO_MANY_ITEMS;
                break;
            }
            let mut found = Anomalies::empty();
            let pair = Pair { name: decode(arena, &name, &mut found), value: decode(arena, &value, &mut found) };
            if end < rest.len() || extent == Extent::Whole {
                *anomalies |= found;
            }
            pairs.push(pair);
        }
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    pairs.into_bump_slice()
}

/// Name and value of the first piece of `rest`, and the piece's length.
#[inline]
fn piece(rest: &[u8]) -> (RawText<'_>, RawText<'_>, usize) {
    let (name, stopped_at) = scan_text(rest, false);
    let end = name.raw.len();
    if stopped_at != Some(b'=') {
        return (name, RawText::default(), end);
    }
    let (value, _) = scan_text(&rest[end + 1..], true);
    (name, value, end + 1 + value.raw.len())
}

/// As [`piece`], for any separator.
fn plain_piece(rest: &[u8], separator: u8) -> (RawText<'_>, RawText<'_>, usize) {
    let whole = &rest[..memchr::memchr(separator, rest).unwrap_or(rest.len())];
    let equals = memchr::memchr(b'=', whole);
    let part = |raw| RawText { raw, escaped: true, suspect: true };
    let name = part(&whole[..equals.unwrap_or(whole.len())]);
    (name, part(equals.map_or(&[], |at| &whole[at + 1..])), whole.len())
}

/// The name or value at the beginning of `bytes`, and the delimiter after it.
#[inline]
fn scan_text(bytes: &[u8], is_value: bool) -> (RawText<'_>, Option<u8>) {
    let mut text = RawText::default();
    let mut at = 0;
    loop {
        let near = &bytes[at..bytes.len().min(at + STRIDE)];
        match near.iter().position(|byte| CLASSES[usize::from(*byte)] != ByteClass::Text) {
            None if at + near.len() == bytes.len() => {
                text.raw = bytes;
                return (text, None);
            }
            None => at = skip_text(bytes, at + near.len()),
            Some(offset) => {
                at += offset;
                match CLASSES[usize::from(bytes[at])] {
                    ByteClass::Escape => text.escaped = true,
                    ByteClass::Suspect => text.suspect = true,
                    ByteClass::Equals if is_value => {}
                    _ => {
                        text.raw = &bytes[..at];
                        return (text, Some(bytes[at]));
                    }
                }
                at += 1;
            }
        }
    }
}

/// The next position that may not be text, or at most a stride before it.
#[inline]
fn skip_text(bytes: &[u8], mut at: usize) -> usize {
    while let Some(stride) = bytes.get(at..).and_then(<[u8]>::first_chunk::<STRIDE>) {
        // No early exit: the compiler turns this into a few vector instructions.
        let special = |byte: u8| matches!(byte, b'&' | b'=' | b'%' | b'+' | 0) | (byte >= 0x80);
        if stride.iter().fold(false, |any, byte| any | special(*byte)) {
            break;
        }
        at += STRIDE;
    }
    at
}

/// Decodes one name or value if necessary and checks the result.
#[inline]
fn decode<'a>(arena: &'a Bump, text: &RawText<'a>, found: &mut Anomalies) -> &'a [u8] {
    let decoded = if text.escaped { uri::decode(arena, text.raw, true, found) } else { text.raw };
    if text.suspect || !std::ptr::eq(decoded, text.raw) {
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
        fn separators_are_alike(text in "[a-c=&%+4]{0,60}") {
            let arena = Bump::new();
            let other = text.replace('&', ";");
            let (mut found, mut other_found) = (Anomalies::empty(), Anomalies::empty());
            let pairs = parse(&arena, text.as_bytes(), Extent::Whole, &mut found);
            let others = parse_with(&arena, other.as_bytes(), b';', MAX_ITEMS, Extent::Whole, &mut other_found);
            prop_assert_eq!((pairs, found), (others, other_found));
        }

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
