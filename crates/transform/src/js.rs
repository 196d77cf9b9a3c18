//! `jsDecode`: the escapes of JavaScript strings.

use bumpalo::Bump;
use memchr::memchr;

use crate::digits::{control, hex_digits, narrow, octal, pair};
use crate::edit::{Edit, edit};

pub(crate) fn decode<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    edit(arena, input, |rest| memchr(b'\\', rest), |rest| escape(&rest[1..]))
}

/// The escape at `text`, after its backslash. An unknown one loses its backslash.
fn escape(text: &[u8]) -> Edit {
    match *text {
        [] => Edit::Keep(1),
        [b'u', a, b, c, d, ..] if hex_digits(&text[1..], 4) == 4 => Edit::Byte(narrow([a, b, c, d]), 6),
        [b'x', high, low, ..] if hex_digits(&text[1..], 2) == 2 => Edit::Byte(pair(high, low), 4),
        // No third digit if the number would exceed a byte.
        [b'0'..=b'7', ..] => match octal(text) {
            (3, value @ 0o400..) => Edit::Byte((value >> 3) as u8, 3),
            (digits, value) => Edit::Byte(value as u8, 1 + digits),
        },
        [letter, ..] => Edit::Byte(control(letter).unwrap_or(letter), 2),
    }
}
