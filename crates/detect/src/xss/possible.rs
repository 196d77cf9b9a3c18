//! Refuses quickly what cannot be cross-site scripting, a few conditions that any must meet.
//!
//! The detector answers yes only to four tokens: a tag's name, a doctype, a comment, or the value
//! of a dangerous attribute.
//!
//! - The first three begin with `<` and one of `! / ? %`, NUL or a letter behind it.
//! - Without such a beginning nothing but a tag that was open before the input can hold an
//!   attribute. Its value has `=` before it and, before that, white space set aside, its name. A name
//!   has none of white space, `/`, `=` and `>` behind its first byte, and begins at the input's begin
//!   or behind white space, `/` or a quote. So each stretch before a `=` is looked at once.

use memchr::memchr_iter;

use super::black;
use super::class::is_white;
use crate::byte_set::{ByteSet, byte_set, has};

/// May [`super::xss`] say yes to `input`? If not, it surely says no.
#[must_use]
pub fn xss_possible(input: &[u8]) -> bool {
    xss_possible_with(input, &byte_set(input))
}

/// The same, for a caller who knows the bytes that occur in `input` (see [`byte_set`]).
#[must_use]
#[inline]
pub fn xss_possible_with(input: &[u8], occurring: &ByteSet) -> bool {
    (has(occurring, b'<') && opens_tag(input)) || (has(occurring, b'=') && sets_black_attribute(input))
}

fn opens_tag(input: &[u8]) -> bool {
    memchr_iter(b'<', input).any(|at| {
        let next = input.get(at + 1);
        next.is_some_and(|next| matches!(next, 0 | b'!' | b'/' | b'?' | b'%' | b'a'..=b'z' | b'A'..=b'Z'))
    })
}

fn sets_black_attribute(input: &[u8]) -> bool {
    let mut begin = 0;
    memchr_iter(b'=', input).any(|equals| {
        let stretch = &input[begin..equals];
        begin = equals + 1;
        let end = stretch.iter().rposition(|byte| !is_white(*byte)).map_or(0, |last| last + 1);
        let name = stretch[..end].iter().rposition(|byte| is_white(*byte) || matches!(byte, b'/' | b'>'));
        let name = &stretch[name.map_or(0, |before| before + 1)..end];
        may_be_black(name)
    })
}

/// Is the name one of a dangerous attribute, or what follows a quote in it?
fn may_be_black(mut name: &[u8]) -> bool {
    loop {
        if black::danger_of(name).is_some() {
            return true;
        }
        let Some(quote) = name.iter().position(|byte| matches!(byte, b'\'' | b'"' | b'`')) else { return false };
        name = &name[quote + 1..];
    }
}
