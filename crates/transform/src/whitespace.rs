//! `compressWhitespace`, `removeWhitespace`, `trim`, `trimLeft`, `trimRight`.

use bumpalo::Bump;

use crate::byteset::ByteSet;
use crate::digits::is_space;
use crate::edit::{Edit, edit};

pub(crate) const SPACE: ByteSet = ByteSet::from_list(b" \t\n\x0b\x0c\r");

/// White space according to `removeWhitespace`: includes both bytes of a UTF-8 no-break space, each by itself.
pub(crate) const SPACE_OR_NBSP: ByteSet = SPACE.with(0xa0).with(0xc2);

/// Replaces each run of white space with one space.
pub(crate) fn compress<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    let run = |rest: &[u8]| rest.iter().take_while(|&&byte| is_space(byte)).count();
    let next = |rest: &[u8]| rest.iter().position(|&byte| is_space(byte));
    edit(arena, input, next, |rest| Edit::Byte(b' ', run(rest)))
}

pub(crate) fn remove<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    let run = |rest: &[u8]| rest.iter().take_while(|&&byte| SPACE_OR_NBSP.contains(byte)).count();
    let next = |rest: &[u8]| rest.iter().position(|&byte| SPACE_OR_NBSP.contains(byte));
    edit(arena, input, next, |rest| Edit::Drop(run(rest)))
}

pub(crate) fn trim<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    trim_left(arena, trim_right(arena, input))
}

pub(crate) fn trim_left<'a>(_: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    let first = input.iter().position(|&byte| !is_space(byte));
    &input[first.unwrap_or(input.len())..]
}

pub(crate) fn trim_right<'a>(_: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    let last = input.iter().rposition(|&byte| !is_space(byte));
    &input[..last.map_or(0, |at| at + 1)]
}
