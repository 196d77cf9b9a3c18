//! The set of bytes allowed in a value: ModSecurity's `validateByteRange`.
//!
//! ModSecurity 3.0.9 silently drops the parts of the argument that it cannot parse and writes past
//! its table for a single number above 255. Here both are errors, reported when rules are loaded.

use std::fmt;
use std::ops::RangeInclusive;

use crate::byte_set::ByteSet;

/// The allowed bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange {
    allowed: ByteSet,
}

/// The reason why the argument is not a list of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ByteRangeError {
    /// The part is not a number from 0 to 255.
    NotAByte(String),
    /// The range's first byte is above its last.
    Backwards(u8, u8),
}

impl fmt::Display for ByteRangeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAByte(text) => write!(formatter, "{text:?} is not a byte: expected a number from 0 to 255"),
            Self::Backwards(first, last) => write!(formatter, "{first}-{last} is empty: write {last}-{first}"),
        }
    }
}

impl std::error::Error for ByteRangeError {}

impl ByteRange {
    /// Parses bytes and ranges of bytes, in decimal, separated by commas: `9,10,13,32-126`. White
    /// space around a number is ignored; an empty argument allows no byte.
    ///
    /// # Errors
    /// The first part that cannot be parsed.
    pub fn parse(text: &str) -> Result<Self, ByteRangeError> {
        let (range, error) = Self::parse_leniently(text);
        error.map_or(Ok(range), Err)
    }

    /// The same, but parts that cannot be parsed are dropped, as in ModSecurity; the first of their
    /// errors is returned too.
    #[must_use]
    pub fn parse_leniently(text: &str) -> (Self, Option<ByteRangeError>) {
        let (mut allowed, mut error) = ([0; 4], None);
        for part in text.split(',').filter(|_| !text.is_empty()) {
            match parse_part(part) {
                Ok(bytes) => bytes.for_each(|byte| allowed[usize::from(byte >> 6)] |= 1 << (byte & 63)),
                Err(why) => error = error.or(Some(why)),
            }
        }
        (ByteRange { allowed }, error)
    }

    /// Whether every byte of `value` is allowed. (The operator matches if this is false.)
    #[must_use]
    pub fn allows(&self, value: &[u8]) -> bool {
        value.iter().all(|byte| self.allowed[usize::from(byte >> 6)] >> (byte & 63) & 1 != 0)
    }
}

fn parse_part(part: &str) -> Result<RangeInclusive<u8>, ByteRangeError> {
    let number = |text: &str| text.trim().parse().map_err(|_| ByteRangeError::NotAByte(text.to_owned()));
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let (first, last) = (number(first)?, number(last)?);
    if first > last { Err(ByteRangeError::Backwards(first, last)) } else { Ok(first..=last) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allows_what_is_listed() {
        for (argument, value, allowed) in [
            ("1-255", "a\u{0}", false),
            ("1-255", "größe", true),
            ("9,10,13,32-126", "a\tb\r\n", true),
            ("9, 10 ,13 , 32 - 126", "a\tb\r\n", true),
            ("32-126", "größe", false),
            ("0-255", "", true),
            ("", "", true),
            ("", "a", false),
            ("97", "aaa", true),
            ("97", "ab", false),
        ] {
            let range = ByteRange::parse(argument).unwrap();
            assert_eq!(range.allows(value.as_bytes()), allowed, "{argument} {value}");
        }
    }

    #[test]
    fn says_what_it_cannot_read() {
        for (argument, expected) in [
            ("1-256", ByteRangeError::NotAByte("256".into())),
            ("-1", ByteRangeError::NotAByte(String::new())),
            ("1,,2", ByteRangeError::NotAByte(String::new())),
            ("1-2-3", ByteRangeError::NotAByte("2-3".into())),
            ("a", ByteRangeError::NotAByte("a".into())),
            ("9-1", ByteRangeError::Backwards(9, 1)),
        ] {
            assert_eq!(ByteRange::parse(argument), Err(expected), "{argument}");
        }
    }

    #[test]
    fn leaves_out_what_it_cannot_read() {
        let (range, error) = ByteRange::parse_leniently("97,x,99-98,100-101");
        assert_eq!(error, Some(ByteRangeError::NotAByte("x".into())));
        assert_eq!(range, ByteRange::parse("97,100-101").unwrap());
    }
}
