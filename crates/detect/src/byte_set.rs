//! The set of bytes that occur in a value, which pre-filters test first and the engine has already computed.

/// The bytes that occur: bit `b % 64` of word `b / 64` is set if byte `b` does.
pub type ByteSet = [u64; 4];

/// The bytes that occur in `input`.
#[must_use]
pub fn byte_set(input: &[u8]) -> ByteSet {
    let mut set = [0; 4];
    for byte in input {
        set[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }
    set
}

/// Whether `byte` occurs.
#[inline]
pub(crate) const fn has(set: &ByteSet, byte: u8) -> bool {
    set[(byte >> 6) as usize] >> (byte & 63) & 1 != 0
}

/// Whether no bytes occur outside `allowed`.
#[inline]
pub(crate) const fn is_within(set: &ByteSet, allowed: &ByteSet) -> bool {
    (set[0] & !allowed[0]) | (set[1] & !allowed[1]) | (set[2] & !allowed[2]) | (set[3] & !allowed[3]) == 0
}

/// The set of the bytes in `class`, for use in constants.
macro_rules! set_of {
    ($($bytes:pat_param)|+) => {{
        let mut set: $crate::byte_set::ByteSet = [0; 4];
        let mut byte = 0;
        while byte < 256 {
            if matches!(byte as u8, $($bytes)|+) {
                set[byte >> 6] |= 1 << (byte & 63);
            }
            byte += 1;
        }
        set
    }};
}
pub(crate) use set_of;
