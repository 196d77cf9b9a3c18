//! Validity of percent escapes: ModSecurity's `validateUrlEncoding`.

use memchr::memchr_iter;

/// The reason why an escape is invalid; `at` is the offset of its percent sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlEncodingError {
    /// The two bytes after it are not both hexadecimal digits.
    NotHexadecimal {
        /// Offset of the percent sign.
        at: usize,
    },
    /// Fewer than two bytes follow it.
    Truncated {
        /// Offset of the percent sign.
        at: usize,
    },
}

/// Finds the first percent sign in `text` that does not begin an escape.
///
/// # Errors
/// The offset and the reason.
pub fn check_url_encoding(text: &[u8]) -> Result<(), UrlEncodingError> {
    // Digits are not percent signs, so those of a valid escape are never read again.
    for at in memchr_iter(b'%', text) {
        match text.get(at + 1..at + 3) {
            None => return Err(UrlEncodingError::Truncated { at }),
            Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => {}
            Some(_) => return Err(UrlEncodingError::NotHexadecimal { at }),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_first_broken_escape() {
        for (text, expected) in [
            ("", Ok(())),
            ("plain", Ok(())),
            ("Hello%20World%2f%2F", Ok(())),
            ("a%", Err(UrlEncodingError::Truncated { at: 1 })),
            ("a%2", Err(UrlEncodingError::Truncated { at: 1 })),
            ("%g", Err(UrlEncodingError::Truncated { at: 0 })),
            ("%20%2g%", Err(UrlEncodingError::NotHexadecimal { at: 3 })),
            ("%%20", Err(UrlEncodingError::NotHexadecimal { at: 0 })),
        ] {
            assert_eq!(check_url_encoding(text.as_bytes()), expected, "{text}");
        }
    }
}
