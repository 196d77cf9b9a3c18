//! `REQUEST_COOKIES`, as `Transaction::addRequestHeader` reads them.
//!
//! This differs from browsers and from [`crate::cookie`]: white space is removed only before names and after the last
//! cookie of a header field, and text without `=` is a name. Unlike in ModSecurity, cookies without a name are shown.

use bumpalo::Bump;
use bumpalo::collections::Vec;

use super::is_space;
use crate::bound::MAX_ITEMS;
use crate::{Anomalies, Pair};

/// The cookies of all `Cookie` header fields, in order, borrowed.
pub(super) fn parse<'a>(
    arena: &'a Bump,
    headers: impl Iterator<Item = &'a [u8]> + Clone,
) -> (&'a [Pair<'a>], Anomalies) {
    let mut found = Anomalies::empty();
    let expected: usize = headers.clone().map(|header| memchr::memchr_iter(b';', header).count() + 1).sum();
    if expected == 0 {
        return (&[], found);
    }
    let mut pairs = Vec::with_capacity_in(expected.min(MAX_ITEMS), arena);
    for header in headers {
        let mut rest = header;
        while !rest.is_empty() {
            let end = memchr::memchr(b';', rest);
            let mut piece = &rest[..end.unwrap_or(rest.len())];
            rest = end.map_or(&[], |end| &rest[end + 1..]);
            if rest.is_empty() {
                piece = trim_end(piece);
            }
            let equals = memchr::memchr(b'=', piece);
            let name = trim_start(&piece[..equals.unwrap_or(piece.len())]);
            if name.is_empty() {
                if equals.is_none() {
                    continue;
                }
                found |= Anomalies::INVALID_COOKIE;
            }
            if pairs.len() == MAX_ITEMS {
                return (pairs.into_bump_slice(), found | Anomalies::TOO_MANY_ITEMS);
            }
            pairs.push(Pair { name, value: equals.map_or(&[], |at| &piece[at + 1..]) });
        }
    }
    (pairs.into_bump_slice(), found)
}

fn trim_start(mut text: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = text
        && is_space(*first)
    {
        text = rest;
    }
    text
}

fn trim_end(mut text: &[u8]) -> &[u8] {
    while let [rest @ .., last] = text
        && is_space(*last)
    {
        text = rest;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seclang::shown;

    #[test]
    fn parses() {
        let cases: [(&[&[u8]], &str); 10] = [
            (&[], ""),
            (&[b""], ""),
            (&[b"a=1; b=2"], "a=1|b=2"),
            (&[b"a=1 ;\tb =2 ; \t"], "a=1 |b =2 "),
            (&[b"a=1 "], "a=1"),
            (&[b";;a=1;;"], "a=1"),
            (&[b"a; b=c=d"], "a=|b=c=d"),
            (&[b" =x; =;a"], "=x|=|a="),
            (&[b"a=%41+\"q\"", b"a=2"], "a=%41+\\\"q\\\"|a=2"),
            (&[b"a=\x0b\x0c"], "a="),
        ];
        let arena = Bump::new();
        for (headers, expected) in cases {
            let (pairs, found) = parse(&arena, headers.iter().copied());
            assert_eq!(shown(pairs), expected, "{headers:?}");
            let nameless = headers.iter().any(|header| header.starts_with(b" ="));
            assert_eq!(found.contains(Anomalies::INVALID_COOKIE), nameless);
        }
    }
}
