//! `lowercase` and `uppercase`: ASCII letters only, as in the C locale.

use bumpalo::Bump;

use crate::byteset::ByteSet;

/// Number of bytes examined together: a loop without an early exit becomes vector code.
const CHUNK: usize = 64;

pub(crate) const UPPER: ByteSet = ByteSet::range(b'A', b'Z');
pub(crate) const LOWER: ByteSet = ByteSet::range(b'a', b'z');

pub(crate) fn lowercase<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    let Some(first) = first_chunk(input, u8::is_ascii_uppercase) else { return input };
    let out = arena.alloc_slice_copy(input);
    out[first..].make_ascii_lowercase();
    out
}

/// The bytes after [`lowercase`].
pub(crate) const fn lowered(occurring: &ByteSet) -> ByteSet {
    let [first, letters, third, fourth] = *occurring.words();
    // Capitals stand 32 places before their small letters.
    let capitals = letters & UPPER.words()[1];
    ByteSet::of_words([first, letters & !capitals | capitals << 32, third, fourth])
}

pub(crate) fn uppercase<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    let Some(first) = first_chunk(input, u8::is_ascii_lowercase) else { return input };
    let out = arena.alloc_slice_copy(input);
    out[first..].make_ascii_uppercase();
    out
}

/// Start of the first chunk that contains such a byte.
fn first_chunk(input: &[u8], wanted: impl Fn(&u8) -> bool) -> Option<usize> {
    let has = |chunk: &[u8]| chunk.iter().fold(false, |any, byte| any | wanted(byte));
    input.chunks(CHUNK).position(has).map(|index| index * CHUNK)
}
