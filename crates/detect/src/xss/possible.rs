//! A fast pre-filter for cross-site scripting: conditions that any attack must meet.
//!
//! The detector reacts only to four tokens: a tag name, a doctype, a comment, or the value of a dangerous attribute.
//!
//! - The first three begin with `<` followed by one of `! / ? %`, NUL or a letter.
//! - Without such a beginning, only a tag that was open before the input can hold an attribute. Its
//!   value is preceded by `=` and, apart from white space, its name. After its first byte, a name
//!   contains no white space, `/`, `=` and `>`, and it begins at the start of the input or after
//!   white space, `/` or a quote. So each stretch before a `=` is examined once.

use memchr::memchr_iter;

use super::black;
use super::class::is_white;
use crate::byte_set::{ByteSet, byte_set, has};

/// Whether [`super::xss`] might return true for `input`. If false, it certainly does not.
#[must_use]
pub fn xss_possible(input: &[u8]) -> bool {
    xss_possible_with(input, &byte_set(input))
}

/// The same, for a caller that knows the bytes that occur in `input` (see [`byte_set`]).
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

/// Whether the name, or its part after a quote, is one of a dangerous attribute.
fn may_be_black(mut name: &[u8]) -> bool {
    loop {
        if black::danger_of(name).is_some() {
            return true;
        }
        let Some(quote) = name.iter().position(|byte| matches!(byte, b'\'' | b'"' | b'`')) else { return false };
        name = &name[quote + 1..];
    }
}
