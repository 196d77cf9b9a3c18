//! `parityEven7bit`, `parityOdd7bit`, `parityZero7bit`: the eighth bit as a parity bit.
//!
//! As in ModSecurity, the parity is that of all eight input bits, not of the low seven.

use bumpalo::Bump;

use crate::byteset::ByteSet;
use crate::edit::{byte_map, replace};

static EVEN: [u8; 256] = byte_map!(|byte| if byte.count_ones() % 2 == 1 { byte | 0x80 } else { byte & 0x7f });
static ODD: [u8; 256] = byte_map!(|byte| if byte.count_ones() % 2 == 1 { byte & 0x7f } else { byte | 0x80 });
static ZERO: [u8; 256] = byte_map!(|byte| byte & 0x7f);

pub(crate) const UNEVEN: ByteSet = ByteSet::changed_by(&EVEN);
pub(crate) const UNODD: ByteSet = ByteSet::changed_by(&ODD);
pub(crate) const HIGH: ByteSet = ByteSet::range(0x80, 0xff);

pub(crate) fn even<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    replace(arena, input, &EVEN)
}

pub(crate) fn odd<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    replace(arena, input, &ODD)
}

pub(crate) fn zero<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    replace(arena, input, &ZERO)
}
