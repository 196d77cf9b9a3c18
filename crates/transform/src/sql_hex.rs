//! `sqlHexDecode`: the hexadecimal literals of SQL, `0x414243`.
//!
//! Quirks kept from ModSecurity, whose vectors agree: the byte after a literal is copied unexamined, the last byte of
//! a value is lost unless a literal ends there, and the result ends before the first zero byte.

use bumpalo::Bump;
use bumpalo::collections::Vec;
use memchr::memchr;

use crate::digits::{hex_digits, pair};

pub(crate) fn decode<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    let Some(first) = (0..input.len()).find(|&at| is_literal(&input[at..])) else {
        return before_zero(&input[..input.len().saturating_sub(1)]);
    };
    let mut out = Vec::with_capacity_in(input.len(), arena);
    out.extend_from_slice_copy(&input[..first]);
    let mut at = first;
    while at + 1 < input.len() && input[at] != 0 {
        if is_literal(&input[at..]) {
            at += 2;
            while hex_digits(&input[at..], 2) == 2 {
                out.push(pair(input[at], input[at + 1]));
                at += 2;
            }
        }
        out.extend(input.get(at).copied());
        at += 1;
    }
    before_zero(out.into_bump_slice())
}

fn is_literal(rest: &[u8]) -> bool {
    matches!(rest, [b'0', b'x' | b'X', digits @ ..] if hex_digits(digits, 2) == 2)
}

fn before_zero(text: &[u8]) -> &[u8] {
    &text[..memchr(0, text).unwrap_or(text.len())]
}
