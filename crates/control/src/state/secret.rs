//! What stands for private keys and secrets where the API shows documents.

use weir_gateway::resource::Sha256Hash;

/// The SHA-256 of a key in lower-case hex digits, of its text without spaces around it: what the API shows instead.
#[must_use]
pub fn key_hash(key: &str) -> String {
    Sha256Hash::of(key.trim().as_bytes()).to_string()
}
