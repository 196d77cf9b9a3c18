//! `escapeSeqDecode`: the escapes of ANSI C.

use bumpalo::Bump;
use memchr::memchr;

use crate::digits::{control, octal, pair};
use crate::edit::{Edit, edit};

pub(crate) fn decode<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    edit(arena, input, |rest| memchr(b'\\', rest), |rest| escape(&rest[1..]))
}

/// The escape at `text`, after its backslash. An unknown one loses its backslash.
fn escape(text: &[u8]) -> Edit {
    match *text {
        [] => Edit::Keep(1),
        [b'x' | b'X', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
            Edit::Byte(pair(high, low), 4)
        }
        // The low byte of a number up to \777.
        [b'0'..=b'7', ..] => {
            let (digits, value) = octal(text);
            Edit::Byte(value as u8, 1 + digits)
        }
        [letter, ..] => Edit::Byte(control(letter).unwrap_or(letter), 2),
    }
}
