//! `urlDecodeUni`: `urlDecode` plus Microsoft's `%uHHHH`.
//!
//! With a map (`SecUnicodeMapFile ... 20127`, as in ModSecurity's recommended configuration)
//! `%u00e9` becomes `e`, as on the servers that the map describes; codes that the map lacks, and
//! all codes without a map, become their low byte.

use bumpalo::Bump;
use memchr::memchr2;

use crate::digits::{hex_digits, narrow, pair};
use crate::edit::{Edit, edit};
use crate::unicode_map::us_ascii;
use crate::url::percent_or_plus;

/// Without a map.
pub(crate) fn decode<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    edit(arena, input, |rest| memchr2(b'%', b'+', rest), |rest| escape(rest, |_| None))
}

/// With the map of code page 20127.
pub(crate) fn decode_us_ascii<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    edit(arena, input, |rest| memchr2(b'%', b'+', rest), |rest| escape(rest, us_ascii))
}

fn escape(rest: &[u8], map: impl Fn(u16) -> Option<u8>) -> Edit {
    match *rest {
        [b'%', b'u' | b'U', a, b, c, d, ..] if hex_digits(&rest[2..], 4) == 4 => {
            let code = u16::from_be_bytes([pair(a, b), pair(c, d)]);
            Edit::Byte(map(code).unwrap_or(narrow([a, b, c, d])), 6)
        }
        [b'%', b'u' | b'U', ..] => Edit::Keep(2),
        _ => percent_or_plus(rest),
    }
}
