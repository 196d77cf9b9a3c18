//! Documents that workers compile: policies, lists, rule sets, and the compiled part of the settings.
//!
//! Control sends them as they were accepted; only the compiler interprets them. Each has the hash of its content, so
//! that a change shows which of thousands are new, and workers compile exactly what the sandbox approved.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

/// The first 128 bits of a content's SHA-256, so that no two documents can be made to look the same to the sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash([u8; 16]);

impl ContentHash {
    /// The hash of a content.
    #[must_use]
    pub fn of(content: &[u8]) -> Self {
        let mut first = [0; 16];
        first.copy_from_slice(&Sha256::digest(content)[..16]);
        Self(first)
    }
}

/// 32 hexadecimal digits.
impl fmt::Display for ContentHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl FromStr for ContentHash {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = u128::from_str_radix(text, 16).ok().filter(|_| text.len() == 32 && !text.starts_with('+'));
        let number = number.ok_or_else(|| format!("expected 32 hexadecimal digits, found {text:?}"))?;
        Ok(Self(number.to_be_bytes()))
    }
}

impl Serialize for ContentHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ContentHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// A document that is compiled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// Its id; empty for the part of the settings.
    pub id: String,
    /// The hash of `json`.
    pub hash: ContentHash,
    /// The document, byte for byte as control keeps it. Shared, since it may be megabytes.
    #[serde(with = "verbatim")]
    pub json: Arc<str>,
}

impl Document {
    /// A document and the hash of its content.
    #[must_use]
    pub fn new(id: impl Into<String>, json: impl Into<Arc<str>>) -> Self {
        let json = json.into();
        Self { id: id.into(), hash: ContentHash::of(json.as_bytes()), json }
    }
}

/// JSON within JSON, not escaped.
mod verbatim {
    use super::{Arc, Deserialize, Deserializer, RawValue, Serialize, Serializer, de};

    pub fn serialize<S: Serializer>(json: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(json).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<str>, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer).map_err(de::Error::custom)?;
        Ok(raw.get().into())
    }
}
