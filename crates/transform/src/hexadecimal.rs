//! `hexDecode` and `hexEncode`.

use bumpalo::Bump;

use crate::digits::pair;
use crate::edit::changed;

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Two characters make a byte, whether or not they are digits; an odd one at the end is dropped.
pub(crate) fn decode<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    let pairs = input.chunks_exact(2);
    changed(input, arena.alloc_slice_fill_iter(pairs.map(|two| pair(two[0], two[1]))))
}

pub(crate) fn encode<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    changed(input, arena.alloc_slice_fill_with(input.len() * 2, |at| digits(input[at / 2])[at % 2]))
}

/// A byte as two lower-case digits.
pub(crate) const fn digits(byte: u8) -> [u8; 2] {
    [DIGITS[(byte >> 4) as usize], DIGITS[(byte & 15) as usize]]
}
