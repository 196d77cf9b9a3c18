//! UTF-8 validity: ModSecurity's `validateUtf8Encoding`, with its names for errors.
//!
//! It allows what RFC 3629 does and, in addition, the four-byte forms of U+110000 to U+13FFFF. The standard library's
//! vectorised check therefore runs first, and only text that fails it is read again.

/// The reason why a text is not UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Utf8Error {
    /// The text ends inside a character.
    BytesMissing,
    /// A byte that cannot begin or continue a character.
    InvalidByte,
    /// A character in more bytes than necessary.
    Overlong,
    /// A surrogate (U+D800 to U+DFFF), or a byte that only begins characters past U+13FFFF.
    Restricted,
}

/// Finds the first character of `text` that is not UTF-8.
///
/// # Errors
/// The offset of its first byte, and the reason.
pub fn check_utf8(text: &[u8]) -> Result<(), (usize, Utf8Error)> {
    let mut at = match std::str::from_utf8(text) {
        Ok(_) => return Ok(()),
        Err(error) => error.valid_up_to(),
    };
    while at < text.len() {
        at += character(&text[at..]).map_err(|error| (at, error))?;
    }
    Ok(())
}

/// The length in bytes of the character at the start of `text`, which is not empty.
fn character(text: &[u8]) -> Result<usize, Utf8Error> {
    let (length, first_bits, least) = match text[0] {
        0..=0x7f => return Ok(1),
        0xc0..=0xdf => (2, text[0] & 0x1f, 0x80),
        0xe0..=0xef => (3, text[0] & 0x0f, 0x800),
        0xf0..=0xf4 => (4, text[0] & 0x07, 0x1_0000),
        0xf5..=0xf7 => return Err(Utf8Error::Restricted),
        _ => return Err(Utf8Error::InvalidByte),
    };
    let mut code = u32::from(first_bits);
    for byte in text.get(1..length).ok_or(Utf8Error::BytesMissing)? {
        if byte & 0xc0 != 0x80 {
            return Err(Utf8Error::InvalidByte);
        }
        code = code << 6 | u32::from(byte & 0x3f);
    }
    match code {
        0xd800..=0xdfff => Err(Utf8Error::Restricted),
        _ if code < least => Err(Utf8Error::Overlong),
        _ => Ok(length),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_what_is_wrong() {
        type Checked = Result<(), (usize, Utf8Error)>;
        let cases: [(&[u8], Checked); 14] = [
            (b"", Ok(())),
            ("plain, größe, \u{1f980}".as_bytes(), Ok(())),
            (b"\xf4\x90\x80\x80", Ok(())),
            (b"a\xc3", Err((1, Utf8Error::BytesMissing))),
            (b"\xe2a", Err((0, Utf8Error::BytesMissing))),
            (b"\xe2aa", Err((0, Utf8Error::InvalidByte))),
            (b"ab\x80", Err((2, Utf8Error::InvalidByte))),
            (b"\xf8\x80\x80\x80\x80", Err((0, Utf8Error::InvalidByte))),
            (b"\xc0\x80", Err((0, Utf8Error::Overlong))),
            (b"\xe0\x80\xaf", Err((0, Utf8Error::Overlong))),
            (b"\xf0\x80\x80\xaf", Err((0, Utf8Error::Overlong))),
            (b"\xed\xa0\x80", Err((0, Utf8Error::Restricted))),
            (b"\xf5\x80\x80\x80", Err((0, Utf8Error::Restricted))),
            (b"\xf4\x90\x80\x80\xff", Err((4, Utf8Error::InvalidByte))),
        ];
        for (text, expected) in cases {
            assert_eq!(check_utf8(text), expected, "{text:x?}");
        }
    }
}
