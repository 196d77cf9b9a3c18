//! A secret in memory: wiped when it is dropped, never shown, compared in constant time.

use std::fmt;

use serde_json::Value;
use zeroize::Zeroizing;

/// The bytes of a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// A secret of these bytes.
    #[must_use]
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(Zeroizing::new(bytes.into()))
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The secret that a JSON text stands for.
    #[must_use]
    pub fn from_json(value: &Value) -> Option<Self> {
        value.as_str().map(Self::new)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret(***)")
    }
}

/// Whether two byte strings are equal, in a time that depends on their lengths alone.
#[must_use]
pub fn equal(left: &[u8], right: &[u8]) -> bool {
    let differing = left.iter().zip(right).fold(0, |differing, (a, b)| differing | (a ^ b));
    left.len() == right.len() && std::hint::black_box(differing) == 0
}
