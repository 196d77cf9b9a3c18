//! Digits and white space as ModSecurity reads them: ASCII, whatever the locale.

/// The byte for two hexadecimal digits. `hexDecode` does not validate; other characters give the
/// result of ModSecurity's arithmetic (`x2c` in `src/utils/string.cc`).
pub(crate) const fn pair(high: u8, low: u8) -> u8 {
    single(high).wrapping_mul(16).wrapping_add(single(low))
}

/// The value of one hexadecimal digit; of other characters as in [`pair`].
pub(crate) const fn single(digit: u8) -> u8 {
    if digit >= b'A' { (digit & 0xdf).wrapping_sub(b'A').wrapping_add(10) } else { digit.wrapping_sub(b'0') }
}

/// The number of leading hexadecimal digits, at most `most`.
pub(crate) fn hex_digits(text: &[u8], most: usize) -> usize {
    text.iter().take(most).take_while(|byte| byte.is_ascii_hexdigit()).count()
}

/// The number of leading octal digits, at most three, and their value (at most 0o777).
pub(crate) fn octal(text: &[u8]) -> (usize, u16) {
    let digits = text.iter().take(3).take_while(|byte| (b'0'..=b'7').contains(byte));
    digits.fold((0, 0), |(count, value), digit| (count + 1, value * 8 + u16::from(digit - b'0')))
}

/// The control character that a letter denotes after a backslash in C.
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

/// The low byte of a code of four hexadecimal digits, with full-width forms (U+FF01 to U+FF5E)
/// folded to ASCII: an attacker may write `<` as U+FF1C where the application folds it back.
pub(crate) const fn narrow(digits: [u8; 4]) -> u8 {
    let low = pair(digits[2], digits[3]);
    let full_width = low > 0 && low < 0x5f && digits[0] | 0x20 == b'f' && digits[1] | 0x20 == b'f';
    if full_width { low + 0x20 } else { low }
}
