//! Numbers as SecLang reads them from text: what the C library's `stoi` and `atoll` make of it.

/// The number at the beginning of `text`, after white space: digits with an optional sign; 0 if
/// there is none. Saturates.
pub(crate) fn parse(text: &[u8]) -> i64 {
    let start = text.iter().position(|byte| !matches!(byte, b' ' | 9..=13)).unwrap_or(text.len());
    let (negative, digits) = match &text[start..] {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let number = digits.fold(0i64, |number, digit| number.saturating_mul(10).saturating_add(i64::from(digit - b'0')));
    if negative { -number } else { number }
}

/// Decimal text of a number.
pub(crate) fn format(number: i64, arena: &bumpalo::Bump) -> &[u8] {
    arena.alloc_slice_copy(itoa::Buffer::new().format(number).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_c_reads() {
        for (text, number) in [
            ("", 0),
            ("5", 5),
            (" \t12abc", 12),
            ("-3", -3),
            ("+7", 7),
            ("abc", 0),
            ("- 3", 0),
            ("99999999999999999999", i64::MAX),
        ] {
            assert_eq!(parse(text.as_bytes()), number, "{text}");
        }
        let arena = bumpalo::Bump::new();
        assert_eq!(format(i64::MIN, &arena), i64::MIN.to_string().as_bytes());
        assert_eq!(format(0, &arena), b"0");
    }
}
