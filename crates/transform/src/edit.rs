//! The rewriting loop of most transformations: find the next byte of interest, decide on an edit,
//! continue after it. Nothing is copied before the first change.

use bumpalo::Bump;
use bumpalo::collections::Vec;

/// An edit of the next bytes. Each count is at least 1, which makes the whole linear.
pub(crate) enum Edit {
    /// Keeps this many bytes.
    Keep(usize),
    /// Drops this many bytes.
    Drop(usize),
    /// Replaces this many bytes with one byte.
    Byte(u8, usize),
}

/// Applies `step` at each position that `next` finds. `next` gets the rest of the input and returns
/// an offset into it; `step` gets the rest from there, never empty.
pub(crate) fn edit<'a>(
    arena: &'a Bump,
    input: &'a [u8],
    next: impl Fn(&[u8]) -> Option<usize>,
    step: impl Fn(&[u8]) -> Edit,
) -> &'a [u8] {
    let mut out: Option<Vec<'a, u8>> = None;
    let mut copied = 0; // `out` has what becomes of the input up to here.
    let mut at = 0;
    while let Some(offset) = next(&input[at..]) {
        at += offset;
        let (byte, length) = match step(&input[at..]) {
            Edit::Keep(length) => {
                at += length;
                continue;
            }
            Edit::Byte(byte, 1) if byte == input[at] => {
                at += 1;
                continue;
            }
            Edit::Drop(length) => (None, length),
            Edit::Byte(byte, length) => (Some(byte), length),
        };
        if out.is_none() && byte.is_none() && at + length == input.len() {
            return &input[..at];
        }
        let out = out.get_or_insert_with(|| Vec::with_capacity_in(input.len(), arena));
        out.extend_from_slice_copy(&input[copied..at]);
        out.extend(byte);
        at += length;
        copied = at;
    }
    match out {
        None => input,
        Some(mut out) => {
            out.extend_from_slice_copy(&input[copied..]);
            out.into_bump_slice()
        }
    }
}

/// Replaces each byte with its entry in `map`.
pub(crate) fn replace<'a>(arena: &'a Bump, input: &'a [u8], map: &[u8; 256]) -> &'a [u8] {
    let Some(first) = input.iter().position(|&byte| map[byte as usize] != byte) else { return input };
    let out = arena.alloc_slice_copy(input);
    for byte in &mut out[first..] {
        *byte = map[*byte as usize];
    }
    out
}

/// A table of 256 replacements.
macro_rules! byte_map {
    (|$byte:ident| $replacement:expr) => {{
        let mut map = [0; 256];
        let mut index = 0;
        while index < 256 {
            let $byte = index as u8;
            map[index] = $replacement;
            index += 1;
        }
        map
    }};
}
pub(crate) use byte_map;

/// The output if it differs from the input, otherwise the input itself.
pub(crate) fn changed<'a>(input: &'a [u8], output: &'a [u8]) -> &'a [u8] {
    if input == output { input } else { output }
}
