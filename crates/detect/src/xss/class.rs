//! The bytes that end a name or a value in HTML.

/// Bit of [`ENDS`]: white space in a tag.
pub(super) const WHITE: u8 = 1;
/// Bit of [`ENDS`]: the byte ends a tag's name.
pub(super) const TAG: u8 = 2;
/// Bit of [`ENDS`]: the byte ends an attribute's name.
pub(super) const NAME: u8 = 4;
/// Bit of [`ENDS`]: the byte ends a value without quotes.
pub(super) const VALUE: u8 = 8;

/// The tokens that each byte ends.
static ENDS: [u8; 256] = {
    let mut ends = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        ends[byte] = match byte as u8 {
            // Old browsers ignore NUL bytes in tag names.
            0 => WHITE | NAME | VALUE,
            b'\t'..=b'\r' | b' ' => WHITE | TAG | NAME | VALUE,
            b'/' => TAG | NAME,
            b'=' => NAME,
            b'>' => TAG | NAME | VALUE,
            _ => 0,
        };
        byte += 1;
    }
    ends
};

/// Whether `byte` ends `what` (bits of [`ENDS`]).
#[inline]
pub(super) fn ends(byte: u8, what: u8) -> bool {
    ENDS[usize::from(byte)] & what != 0
}

/// White space in a tag.
#[inline]
pub(super) fn is_white(byte: u8) -> bool {
    ends(byte, WHITE)
}
