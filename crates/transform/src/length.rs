//! `length`: the number of bytes, in decimal.

use std::io::Write as _;

use bumpalo::Bump;
use bumpalo::collections::Vec;

use crate::edit::changed;

/// Number of digits of the largest length.
const MAX_DIGITS: usize = 20;

pub(crate) fn length<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    let mut out = Vec::with_capacity_in(MAX_DIGITS, arena);
    write!(out, "{}", input.len()).expect("writing to memory");
    changed(input, out.into_bump_slice())
}
