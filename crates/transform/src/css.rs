//! `cssDecode`: escapes of CSS 2, `\` and up to six hexadecimal digits.
//!
//! ModSecurity v3.0.9 loses everything after the first zero byte. This is an oversight: its published vectors expect
//! the rest to be kept, and `%00` would blind every rule after this transformation. So it is kept here.

use bumpalo::Bump;
use memchr::memchr;

use crate::byteset::ByteSet;
use crate::digits::{hex_digits, is_space, narrow, pair, single};
use crate::edit::{Edit, edit};

pub(crate) const BACKSLASH: ByteSet = ByteSet::from_list(b"\\");

pub(crate) fn decode<'a>(arena: &'a Bump, input: &'a [u8]) -> &'a [u8] {
    edit(arena, input, |rest| memchr(b'\\', rest), |rest| escape(&rest[1..]))
}

/// The escape at `text`, after its backslash.
fn escape(text: &[u8]) -> Edit {
    let digits = hex_digits(text, 6);
    if digits == 0 {
        return match text {
            [] => Edit::Drop(1),
            [b'\n', ..] => Edit::Drop(2),
            [byte, ..] => Edit::Byte(*byte, 2),
        };
    }
    // One white-space character after the digits belongs to the escape.
    let space = usize::from(text.get(digits).is_some_and(|&byte| is_space(byte)));
    Edit::Byte(byte(&text[..digits]), 1 + digits + space)
}

/// The byte for one to six digits: the last two, with full-width forms folded to ASCII if the
/// number has four significant digits.
fn byte(digits: &[u8]) -> u8 {
    match *digits {
        [digit] => single(digit),
        [a, b, c, d] | [b'0', a, b, c, d] | [b'0', b'0', a, b, c, d] => narrow([a, b, c, d]),
        [.., high, low] => pair(high, low),
        [] => 0,
    }
}
