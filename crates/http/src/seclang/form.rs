//! Arguments of query strings and urlencoded bodies, as `Transaction::extractArguments` reads them.
//!
//! Unlike in [`crate::form`], an empty piece (`a&&b`) is an argument without name and value, except
//! after the last separator; and non-text bytes raise nothing. Both share the scan for delimiters,
//! which dominates the cost. Separators other than `&`, which are rare, take a simple path.

use bumpalo::Bump;
use bumpalo::collections::Vec;

use crate::form::{RawText, scan_text};
use crate::{Anomalies, Pair, uri};

/// Initial capacity in arguments; browsers' forms have about eight.
const USUAL_PAIRS: usize = 8;

/// The arguments of `bytes` and their anomalies: [`Anomalies::INVALID_PERCENT`] is
/// `URLENCODED_ERROR`, [`Anomalies::TOO_MANY_ITEMS`] means that arguments past `most` were dropped.
pub(super) fn parse<'a>(arena: &'a Bump, bytes: &'a [u8], separator: u8, most: usize) -> (&'a [Pair<'a>], Anomalies) {
    let mut found = Anomalies::empty();
    if bytes.is_empty() {
        return (&[], found);
    }
    let mut pairs = Vec::with_capacity_in(USUAL_PAIRS, arena);
    let mut rest = bytes;
    while !rest.is_empty() {
        let (name, value, length) = if separator == b'&' { piece(rest) } else { plain_piece(rest, separator) };
        if pairs.len() == most {
            found |= Anomalies::TOO_MANY_ITEMS;
            break;
        }
        pairs.push(Pair { name: decode(arena, &name, &mut found), value: decode(arena, &value, &mut found) });
        rest = rest.get(length + 1..).unwrap_or_default();
    }
    (pairs.into_bump_slice(), found)
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
    let part = |raw| RawText { raw, escaped: true, ..RawText::default() };
    let name = part(&whole[..equals.unwrap_or(whole.len())]);
    (name, part(equals.map_or(&[], |at| &whole[at + 1..])), whole.len())
}

#[inline]
fn decode<'a>(arena: &'a Bump, text: &RawText<'a>, found: &mut Anomalies) -> &'a [u8] {
    if text.escaped { uri::decode(arena, text.raw, true, found) } else { text.raw }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::seclang::shown;

    #[test]
    fn parses() {
        const GOOD: Anomalies = Anomalies::empty();
        const BAD: Anomalies = Anomalies::INVALID_PERCENT;
        let cases: [(&[u8], &str, Anomalies); 13] = [
            (b"", "", GOOD),
            (b"&", "=", GOOD),
            (b"&&", "=|=", GOOD),
            (b"a=1&&b", "a=1|=|b=", GOOD),
            (b"a=1&", "a=1", GOOD),
            (b"=1&=&=a=b", "=1|=|=a=b", GOOD),
            (b"a=b=c", "a=b=c", GOOD),
            (b"a+%2B%3d=%26+", "a +==& ", GOOD),
            (b"a=1;b=2", "a=1;b=2", GOOD),
            (b"%", "%=", BAD),
            (b"a=%4&b=%4g%41", "a=%4|b=%4gA", BAD),
            (b"a=%00\0", "a=\\x00\\x00", GOOD),
            (b"a=\xff\n", "a=\\xff\\n", GOOD),
        ];
        let arena = Bump::new();
        for (input, expected, anomalies) in cases {
            let (pairs, found) = parse(&arena, input, b'&', 100);
            assert_eq!((shown(pairs), found), (expected.to_owned(), anomalies), "{}", input.escape_ascii());
        }
        assert_eq!(shown(parse(&arena, b"a=1;b=2&c;", b';', 100).0), "a=1|b=2&c");
        assert_eq!(parse(&arena, b"a&b&c", b'&', 2).1, Anomalies::TOO_MANY_ITEMS);
        assert_eq!(parse(&arena, b"a&b&", b'&', 2).1, GOOD);
    }

    proptest! {
        #[test]
        fn both_ways_agree(text in "[a-c=&%+4]{0,60}") {
            let arena = Bump::new();
            let other = text.replace('&', ";");
            let (pairs, found) = parse(&arena, text.as_bytes(), b'&', 1000);
            let (plain, plain_found) = parse(&arena, other.as_bytes(), b';', 1000);
            prop_assert_eq!(pairs, plain);
            prop_assert_eq!(found, plain_found);
        }
    }
}
