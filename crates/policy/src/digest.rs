//! The revision: a hash of everything that was loaded, the same on every machine.

use sha2::{Digest as _, Sha256};

/// Hashes what is loaded, piece by piece.
pub(crate) struct Digest(Sha256);

/// Changes when the same text begins to mean something else.
const FORMAT: &[u8] = b"weir policy 1";

impl Digest {
    /// Nothing loaded yet.
    pub fn new() -> Self {
        let mut digest = Self(Sha256::new());
        digest.add(FORMAT);
        digest
    }

    /// Adds the content of a file; its length keeps neighbours apart.
    pub fn add(&mut self, content: &[u8]) {
        self.0.update((content.len() as u64).to_le_bytes());
        self.0.update(content);
    }

    /// 12 hexadecimal digits: 48 bits, plenty to tell the revisions of one site apart.
    pub fn finish(self) -> String {
        self.0.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect()
    }
}
