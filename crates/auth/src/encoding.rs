//! Hexadecimal, Base64 and percent-encoding, as signatures and what they sign are written.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

/// Lower-case hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The bytes that hexadecimal digits of either case stand for.
#[must_use]
pub fn from_hex(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let (pairs, rest) = text.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect())?
}

/// Standard Base64 with padding.
#[must_use]
pub fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The bytes of standard, padded, canonical Base64.
#[must_use]
pub fn from_base64(text: &[u8]) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// URL-safe Base64 without padding (RFC 7515, section 2).
#[must_use]
pub fn base64_url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The bytes of URL-safe, unpadded, canonical Base64.
#[must_use]
pub fn from_base64_url(text: &[u8]) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

/// What percent-encoding stands for.
pub struct PercentDecoded<'a> {
    /// The bytes; a `%` that is not followed by two hexadecimal digits is kept.
    pub bytes: Cow<'a, [u8]>,
    /// Whether there was no such `%`.
    pub is_valid: bool,
}

/// Decodes `%41` and, as forms have it (`is_form`), `+`.
#[must_use]
pub fn from_percent(text: &[u8], is_form: bool) -> PercentDecoded<'_> {
    let is_special = |byte: &u8| *byte == b'%' || is_form && *byte == b'+';
    let Some(first) = text.iter().position(is_special) else {
        return PercentDecoded { bytes: Cow::Borrowed(text), is_valid: true };
    };
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let mut bytes = Vec::with_capacity(text.len());
    bytes.extend_from_slice(&text[..first]);
    let (mut rest, mut is_valid) = (&text[first..], true);
    while let [byte, after @ ..] = rest {
        let escape = match rest {
            [b'%', high, low, ..] => digit(*high).zip(digit(*low)),
            _ => None,
        };
        is_valid &= *byte != b'%' || escape.is_some();
        let plain = if is_form && *byte == b'+' { b' ' } else { *byte };
        bytes.push(escape.map_or(plain, |(high, low)| high << 4 | low));
        rest = if escape.is_some() { &after[2..] } else { after };
    }
    PercentDecoded { bytes: Cow::Owned(bytes), is_valid }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_encoding_is_decoded_and_what_is_broken_is_kept() {
        for (text, form, plain, is_valid) in [
            ("ab", "ab", "ab", true),
            ("a+b%2B%4a", "a b+J", "a+b+J", true),
            ("%4", "%4", "%4", false),
            ("%zz%41%", "%zzA%", "%zzA%", false),
        ] {
            let [as_form, as_is] = [true, false].map(|is_form| from_percent(text.as_bytes(), is_form));
            assert_eq!((&*as_form.bytes, &*as_is.bytes), (form.as_bytes(), plain.as_bytes()), "{text}");
            assert_eq!((as_form.is_valid, as_is.is_valid), (is_valid, is_valid), "{text}");
        }
    }
}
