//! `htmlEntityDecode`: numeric entities, and the five names that ModSecurity supports.

use bumpalo::Bump;
use memchr::memchr;

use crate::byteset::ByteSet;
use crate::edit::{Edit, edit};

pub(crate) const AMPERSAND: ByteSet = ByteSet::from_list(b"&");

/// Entity names, in any case. A longer list would be closer to browsers but change verdicts.
const NAMES: [(&[u8], u8); 5] = [(b"quot", b'"'), (b"amp", b'&'), (b"lt", b'<'), (b"gt", b'>'), (b"nbsp", 0xa0)];

pub(crate) fn decode<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    edit(
        arena,
        input,
        |rest| memchr(b'&', rest),
        |rest| match rest {
            [_, b'#', b'x' | b'X', ..] => number(rest, 3, 16),
            [_, b'#', ..] => number(rest, 2, 10),
            _ => name(rest),
        },
    )
}

/// The low byte of the number whose digits begin at `start`; a number that is too long saturates
/// like C's `strtol`, so that its low byte is 255.
fn number(rest: &[u8], start: usize, radix: u32) -> Edit {
    let digits = rest[start..].iter().map_while(|&byte| char::from(byte).to_digit(radix));
    let (count, value) = digits.fold((0, 0_i64), |(count, value), digit| {
        (count + 1, value.saturating_mul(radix.into()).saturating_add(digit.into()))
    });
    if count == 0 { Edit::Keep(start) } else { Edit::Byte(value as u8, closed(rest, start + count)) }
}

fn name(rest: &[u8]) -> Edit {
    let end = 1 + rest[1..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    match NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(&rest[1..end])) {
        Some(&(_, byte)) => Edit::Byte(byte, closed(rest, end)),
        None => Edit::Keep(end),
    }
}

/// The length of an entity that ends at `end`, including a semicolon if there is one.
fn closed(rest: &[u8], end: usize) -> usize {
    end + usize::from(rest.get(end) == Some(&b';'))
}
