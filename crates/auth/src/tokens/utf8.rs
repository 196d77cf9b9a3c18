//! UTF-8 (RFC 3629, section 4), one character at a time.

/// What bytes begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Character {
    /// A character of this many bytes.
    Whole(usize),
    /// A part of a character: more bytes have to come.
    Cut,
    /// Nothing that is UTF-8.
    Invalid,
}

/// U+4E00.
const FIRST_CJK: u32 = 0xE4_B8_80;
/// U+9FA5, the last ideograph of Unicode 1.1, which GBK and many checks of "Chinese" stop at.
const LAST_CJK: u32 = 0xE9_BE_A5;

/// The longest character, in bytes.
pub const MAX_BYTES: usize = 4;

/// The character from U+4E00 to U+9FA5 that bytes begin with, if they do.
#[inline]
#[must_use]
pub fn cjk(bytes: &[u8]) -> Option<&[u8; 3]> {
    let character @ [a, b, c] = bytes.first_chunk::<3>()?;
    let three = u32::from_be_bytes([0, *a, *b, *c]);
    (three & 0x00_C0_C0 == 0x00_80_80 && (FIRST_CJK..=LAST_CJK).contains(&three)).then_some(character)
}

/// The character that bytes begin with. There is at least one.
#[must_use]
pub fn character(bytes: &[u8]) -> Character {
    // The number of bytes, and the range of the second.
    let (width, second) = match bytes[0] {
        0x00..=0x7F => return Character::Whole(1),
        0xC2..=0xDF => (2, 0x80..=0xBF),
        0xE0 => (3, 0xA0..=0xBF),
        0xE1..=0xEC | 0xEE..=0xEF => (3, 0x80..=0xBF),
        0xED => (3, 0x80..=0x9F),
        0xF0 => (4, 0x90..=0xBF),
        0xF1..=0xF3 => (4, 0x80..=0xBF),
        0xF4 => (4, 0x80..=0x8F),
        0x80..=0xC1 | 0xF5..=0xFF => return Character::Invalid,
    };
    let there = &bytes[1..width.min(bytes.len())];
    let is_valid = there.first().is_none_or(|byte| second.contains(byte))
        && there.iter().skip(1).all(|byte| (0x80..=0xBF).contains(byte));
    match is_valid {
        true if there.len() + 1 == width => Character::Whole(width),
        true => Character::Cut,
        false => Character::Invalid,
    }
}

/// The bytes of a character that was cut.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sequence {
    bytes: [u8; MAX_BYTES],
    length: usize,
}

impl Sequence {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Adds a byte.
    pub fn push(&mut self, byte: u8) {
        self.bytes[self.length] = byte;
        self.length += 1;
    }

    /// Whether it is a character or invalid: no byte is missing.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        character(self.bytes()) != Character::Cut
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_is_recognised_and_its_beginnings_are_cut() {
        for character in ('\u{80}'..=char::MAX).step_by(3).chain(['\u{4e00}', '\u{9fa5}', '\u{4dff}', '\u{9fa6}']) {
            let mut buffer = [0; MAX_BYTES];
            let bytes = character.encode_utf8(&mut buffer).as_bytes();
            assert_eq!(super::character(bytes), Character::Whole(bytes.len()), "{character}");
            assert_eq!(cjk(bytes).is_some(), ('\u{4e00}'..='\u{9fa5}').contains(&character), "{character}");
            (1..bytes.len()).for_each(|end| assert_eq!(super::character(&bytes[..end]), Character::Cut));
        }
    }

    #[test]
    fn three_bytes_are_valid_if_the_standard_library_says_so() {
        for first in 0x80..=255u8 {
            for second in 0..=255u8 {
                for third in [0x00, 0x7F, 0x80, 0xA5, 0xA6, 0xBF, 0xC0, 0xFF] {
                    let bytes = [first, second, third, 0x80];
                    let expected = match str::from_utf8(&bytes) {
                        Ok(_) => true,
                        Err(error) => error.valid_up_to() > 0,
                    };
                    let found = character(&bytes);
                    assert_eq!(!matches!(found, Character::Invalid), expected, "{bytes:x?}");
                    assert_ne!(found, Character::Cut);
                }
            }
        }
    }
}
