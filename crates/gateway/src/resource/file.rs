//! Files that documents name, as captured when a revision was accepted: a path stands for one content, by its hash.
//!
//! The content lies beside the journal as an *object*, a file named after the hash. A path that ends in `/` is a folder;
//! its content is the listing that patterns such as `*.conf` are matched with: a line for each entry, sorted, files as
//! they are, folders with `/` behind.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest as _, Sha256};

use super::Document;

/// A whole SHA-256.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sha256Hash(pub [u8; 32]);

impl Sha256Hash {
    /// The hash of a content.
    #[must_use]
    pub fn of(content: &[u8]) -> Self {
        Self(Sha256::digest(content).into())
    }
}

/// 64 hexadecimal digits in lower case.
impl fmt::Display for Sha256Hash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl FromStr for Sha256Hash {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digit = |byte: u8| char::from(byte).to_digit(16).filter(|_| !byte.is_ascii_uppercase());
        let mut hash = [0; 32];
        let bad = || format!("expected 64 hexadecimal digits, found {text:?}");
        let pairs = text.as_bytes().chunks_exact(2);
        if text.len() != 64 {
            return Err(bad());
        }
        for (byte, pair) in hash.iter_mut().zip(pairs) {
            let value = digit(pair[0]).zip(digit(pair[1])).map(|(high, low)| high * 16 + low);
            *byte = u8::try_from(value.ok_or_else(bad)?).map_err(|_| bad())?;
        }
        Ok(Self(hash))
    }
}

impl Serialize for Sha256Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Sha256Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// A captured file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapturedFile {
    /// The absolute path, with `/` behind for a folder.
    pub path: String,
    /// The hash of the content.
    pub sha256: Sha256Hash,
    /// The length of the content in bytes.
    pub size: u64,
}

impl CapturedFile {
    /// Its id as a resource: the path without the first `/`, percent-encoded where needed.
    #[must_use]
    pub fn id(&self) -> String {
        Self::id_of(&self.path)
    }

    /// The id of a path.
    #[must_use]
    pub fn id_of(path: &str) -> String {
        let mut id = String::with_capacity(path.len());
        for byte in path.strip_prefix('/').unwrap_or(path).bytes() {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b'/' => id.push(char::from(byte)),
                _ => id.push_str(&format!("%{byte:02X}")),
            }
        }
        id
    }

    /// It as a document.
    #[must_use]
    pub fn document(&self) -> Document {
        Document::new(self.id(), serde_json::to_string(self).expect("texts and numbers can be written as JSON"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_read_as_written_and_nothing_else_is_one() {
        let hash = Sha256Hash::of(b"abc");
        assert_eq!(hash.to_string().parse(), Ok(hash));
        let text = hash.to_string();
        for wrong in [text.to_uppercase(), text[1..].to_owned(), format!("+{}", &text[1..]), format!("{text}0")] {
            assert!(wrong.parse::<Sha256Hash>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn ids_show_the_path() {
        assert_eq!(CapturedFile::id_of("/etc/weir/office.txt"), "etc/weir/office.txt");
        assert_eq!(CapturedFile::id_of("/a b/\"ä/"), "a%20b/%22%C3%A4/");
    }
}
