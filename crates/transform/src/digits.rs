//! Digits and white space as ModSecurity reads them: ASCII, whatever the locale.

/// The byte that two hexadecimal digits stand for. Other characters give what ModSecurity's
/// arithmetic gives (`x2c` in `src/utils/string.cc`): `hexDecode` does not check.
pub(crate) const fn pair(high: u8, low: u8) -> u8 {
    single(high).wrapping_mul(16).wrapping_add(single(low))
}

/// The value of one hexadecimal digit; of other characters as in [`pair`].
pub(crate) const fn single(digit: u8) -> u8 {
    if digit >= b'A' { (digit & 0xdf).wrapping_sub(b'A').wrapping_add(10) } else { digit.wrapping_sub(b'0') }
}

/// How many of the first `most` bytes are hexadecimal digits, until the first that is not.
pub(crate) fn hex_digits(text: &[u8], most: usize) -> usize {
    text.iter().take(most).take_while(|byte| byte.is_ascii_hexdigit()).count()
}

/// How many of the first three bytes are octal digits, until the first that is not, and the
/// number that they write (at most 0o777).
pub(crate) fn octal(text: &[u8]) -> (usize, u16) {
    let digits = text.iter().take(3).take_while(|byte| (b'0'..=b'7').contains(byte));
    digits.fold((0, 0), |(count, value), digit| (count + 1, value * 8 + u16::from(digit - b'0')))
}

/// The control character that a letter stands for after a backslash in C.
pub(crate) const fn control(letter: u8) -> Option<u8> {
    Some(match letter {
        b'a' => 0x07,
        b'b' => 0x08,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 0x0b,
        b'f' => 0x0c,
        b'r' => b'\r',
        _ => return None,
    })
}

/// C's `isspace`: space and the five from tab to carriage return.
pub(crate) const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// The low byte of a code of four hexadecimal digits, full-width forms (U+FF01 to U+FF5E) made
/// plain: an attacker may write `<` as U+FF1C where the application folds it back.
pub(crate) const fn narrow(digits: [u8; 4]) -> u8 {
    let low = pair(digits[2], digits[3]);
    let full_width = low > 0 && low < 0x5f && digits[0] | 0x20 == b'f' && digits[1] | 0x20 == b'f';
    if full_width { low + 0x20 } else { low }
}
