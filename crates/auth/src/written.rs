//! How a signature is written.

use crate::encoding;
use crate::{Failure, Reason};

/// A way to write bytes as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Written {
    /// Hexadecimal digits; read in either case, written in lower case.
    Hex,
    /// Hexadecimal digits in lower case alone.
    LowerHex,
    /// Hexadecimal digits in upper case alone.
    UpperHex,
    /// Standard Base64 with padding.
    Base64,
}

impl Written {
    /// All of them with their names as options.
    pub const NAMES: &'static [(&'static str, Self)] =
        &[("hex", Self::Hex), ("lower_hex", Self::LowerHex), ("upper_hex", Self::UpperHex), ("base64", Self::Base64)];

    /// The bytes that a text stands for.
    ///
    /// # Errors
    /// [`Reason::Malformed`] if it is none of this kind.
    pub fn read(self, text: &[u8]) -> Result<Vec<u8>, Failure> {
        let (bytes, expected) = match self {
            Self::Hex => (encoding::from_hex(text), "hexadecimal digits"),
            Self::LowerHex => (
                if text.iter().any(u8::is_ascii_uppercase) { None } else { encoding::from_hex(text) },
                "lower-case hexadecimal digits",
            ),
            Self::UpperHex => (
                if text.iter().any(u8::is_ascii_lowercase) { None } else { encoding::from_hex(text) },
                "upper-case hexadecimal digits",
            ),
            Self::Base64 => (encoding::from_base64(text), "Base64 with padding"),
        };
        bytes.ok_or_else(|| Failure::new(Reason::Malformed, format!("the signature is not written in {expected}")))
    }

    /// The text of bytes.
    #[must_use]
    pub fn write(self, bytes: &[u8]) -> String {
        match self {
            Self::Hex | Self::LowerHex => encoding::hex(bytes),
            Self::UpperHex => encoding::hex(bytes).to_ascii_uppercase(),
            Self::Base64 => encoding::base64(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_in_its_own_writing_alone() {
        let texts = ["0aff", "0AFF", "Cv8=", "0aFF"];
        let read = [
            (Written::Hex, "ttft"),
            (Written::LowerHex, "tfff"),
            (Written::UpperHex, "ftff"),
            (Written::Base64, "--t-"),
        ];
        for (written, expected) in read {
            assert_eq!(written.read(written.write(&[10, 255]).as_bytes()).as_deref(), Ok(&[10, 255][..]));
            for (text, expected) in texts.iter().zip(expected.chars()) {
                // `0aff` is Base64 of other bytes.
                let is_read = written.read(text.as_bytes()).is_ok_and(|bytes| bytes == [10, 255]);
                assert_eq!(is_read, expected == 't', "{written:?} {text}");
            }
        }
        for text in ["0af", "0ag~", "é0", "+a", "Cv8", "Cv9="] {
            assert!(Written::NAMES.iter().all(|(_, written)| written.read(text.as_bytes()).is_err()), "{text}");
        }
    }
}
