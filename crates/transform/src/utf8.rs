//! `utf8toUnicode`: each UTF-8 sequence as `%uHHHH`, which other transformations decode.
//!
//! Quirks kept from ModSecurity: zero bytes are dropped; a lead byte without its continuation is
//! dropped, and the bytes after it are read again; a stray continuation byte is kept. Surrogates,
//! overlong forms and lead bytes from F5 on are written in addition to their first byte.

use bumpalo::Bump;
use bumpalo::collections::Vec;

use crate::byteset::ByteSet;
use crate::hexadecimal::digits;

/// Maximum output bytes per input byte: an overlong form of two bytes gives seven.
const GROWTH: usize = 4;

pub(crate) const TRIGGERS: ByteSet = ByteSet::range(0x80, 0xff).with(0);

pub(crate) fn to_unicode<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    let Some(first) = input.iter().position(|&byte| TRIGGERS.contains(byte)) else { return input };
    let mut out = Vec::with_capacity_in(first + (input.len() - first) * GROWTH, arena);
    out.extend_from_slice_copy(&input[..first]);
    let mut at = first;
    while let Some(&lead) = input.get(at) {
        let (length, bits) = match lead {
            0xc0..=0xdf => (2, 0x1f),
            0xe0..=0xef => (3, 0x0f),
            0xf0..=0xf7 => (4, 0x07),
            _ => {
                out.extend((lead != 0).then_some(lead));
                at += 1;
                continue;
            }
        };
        out.extend((lead >= 0xf5).then_some(lead));
        match code(&input[at..], length, bits) {
            None => at += 1,
            Some(code) => {
                write(&mut out, code);
                out.extend((0xd800..=0xdfff).contains(&code).then_some(lead));
                out.extend(is_overlong(code, length).then_some(lead));
                at += length;
            }
        }
    }
    crate::edit::changed(input, out.into_bump_slice())
}

/// The code point of a sequence of `length` bytes if its continuation is valid.
fn code(rest: &[u8], length: usize, lead_bits: u8) -> Option<u32> {
    let (&lead, tail) = rest.get(..length)?.split_first()?;
    let start = u32::from(lead & lead_bits);
    tail.iter().try_fold(start, |code, &byte| (byte & 0xc0 == 0x80).then_some(code << 6 | u32::from(byte & 0x3f)))
}

/// `%u` and at least four digits; five or six beyond the basic plane.
fn write(out: &mut Vec<'_, u8>, code: u32) {
    out.extend_from_slice_copy(b"%u");
    let [_, plane, high, low] = code.to_be_bytes();
    let plane = digits(plane);
    let leading = plane.iter().position(|&digit| digit != b'0').unwrap_or(2);
    out.extend_from_slice_copy(&plane[leading..]);
    out.extend_from_slice_copy(&digits(high));
    out.extend_from_slice_copy(&digits(low));
}

const fn is_overlong(code: u32, length: usize) -> bool {
    match length {
        2 => code < 0x80,
        3 => code < 0x800,
        _ => code < 0x1_0000,
    }
}
