//! `cmdLine`: normalises different ways to write the same shell command.
//!
//! Quotes, backslashes and carets are removed; commas, semicolons and white space become one space, which is dropped
//! before `/` and `(`; letters become lower case. The idea and the choice are Marc Stern's, by way of ModSecurity.

use bumpalo::Bump;
use bumpalo::collections::Vec;

use crate::byteset::ByteSet;
use crate::case::lowered;
use crate::edit::changed;

/// `/` and `(` are not included: they change something only after a space.
pub(crate) const TRIGGERS: ByteSet = ByteSet::from_list(b"\"'\\^ ,;\t\r\n").union(&crate::case::UPPER);

/// Without any of these, it does to a value what `lowercase` does.
pub(crate) const BESIDES_CASE: ByteSet = TRIGGERS.minus(&crate::case::UPPER);
/// Those that change something wherever they stand: all but the space.
const CHANGING: ByteSet = TRIGGERS.minus(&ByteSet::from_list(b" "));

/// Those that become spaces.
const SEPARATING: ByteSet = ByteSet::from_list(b" ,;\t\r\n");

pub(crate) fn command_line<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    let Some(first) = first_change(input) else { return input };
    let mut out = Vec::with_capacity_in(input.len(), arena);
    out.extend_from_slice_copy(&input[..first]);
    // The last byte of `out` is a space that stands for a separator.
    let mut after_space = out.last() == Some(&b' ');
    for &byte in &input[first..] {
        match byte {
            b'"' | b'\'' | b'\\' | b'^' => {}
            b' ' | b',' | b';' | b'\t' | b'\r' | b'\n' => {
                if !after_space {
                    out.push(b' ');
                    after_space = true;
                }
            }
            b'/' | b'(' => {
                if after_space {
                    out.pop();
                }
                out.push(byte);
                after_space = false;
            }
            _ => {
                out.push(byte.to_ascii_lowercase());
                after_space = false;
            }
        }
    }
    changed(input, out.into_bump_slice())
}

/// The bytes that may be left: all but a space are.
pub(crate) const fn bytes_after(occurring: &ByteSet) -> ByteSet {
    let left = lowered(&occurring.minus(&CHANGING.minus(&crate::case::UPPER)));
    if SEPARATING.intersects(occurring) { left.with(b' ') } else { left }
}

/// Where the first byte stands that may become another or go: of spaces only the one before a byte that it goes with.
fn first_change(input: &[u8]) -> Option<usize> {
    let mut after_space = false;
    input.iter().position(|&byte| {
        let follows = after_space && matches!(byte, b' ' | b'/' | b'(');
        after_space = byte == b' ';
        follows || CHANGING.contains(byte)
    })
}
