//! `urlDecode` and `urlEncode`.

use bumpalo::Bump;
use bumpalo::collections::Vec;
use memchr::memchr2;

use crate::byteset::ByteSet;
use crate::digits::{hex_digits, pair};
use crate::edit::{Edit, edit};
use crate::hexadecimal::digits;

pub(crate) const ESCAPES: ByteSet = ByteSet::from_list(b"%+");

/// The bytes that `urlEncode` keeps.
const PLAIN: ByteSet =
    ByteSet::from_list(b"*").union(&ByteSet::range(b'0', b'9')).union(&crate::case::UPPER).union(&crate::case::LOWER);
pub(crate) const ENCODED: ByteSet = ByteSet::ALL.minus(&PLAIN);

/// Decodes `%HH` and `+`; invalid escapes are kept.
pub(crate) fn decode<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    edit(arena, input, |rest| memchr2(b'%', b'+', rest), percent_or_plus)
}

/// The escape at the beginning of `rest`, which is a `%` or a `+`.
pub(crate) fn percent_or_plus(rest: &[u8]) -> Edit {
    match *rest {
        [b'+', ..] => Edit::Byte(b' ', 1),
        [_, high, low, ..] if hex_digits(&rest[1..], 2) == 2 => Edit::Byte(pair(high, low), 3),
        _ => Edit::Keep(1),
    }
}

/// Encodes everything except letters, digits and `*`, with lower-case digits; a space becomes `+`.
pub(crate) fn encode<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    let Some(first) = input.iter().position(|&byte| ENCODED.contains(byte)) else { return input };
    let escapes = input[first..].iter().filter(|&&byte| ENCODED.contains(byte)).count();
    let mut out = Vec::with_capacity_in(input.len() + 2 * escapes, arena);
    out.extend_from_slice_copy(&input[..first]);
    for &byte in &input[first..] {
        match byte {
            b' ' => out.push(b'+'),
            _ if PLAIN.contains(byte) => out.push(byte),
            _ => {
                let [high, low] = digits(byte);
                out.extend_from_slice_copy(&[b'%', high, low]);
            }
        }
    }
    out.into_bump_slice()
}
