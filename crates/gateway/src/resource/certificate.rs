//! Certificates and their keys.

use serde::{Deserialize, Serialize};

/// A chain and its key. `Debug` does not show the key.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// Its id.
    pub id: String,
    /// PEM: the certificate, then its intermediates.
    pub chain: String,
    /// PEM: the private key.
    pub key: String,
    /// Lower-case DNS names of the certificate (subjectAltName), wildcards as written.
    pub names: Vec<String>,
    /// When it expires, in seconds since 1970.
    pub not_after: i64,
}

impl std::fmt::Debug for Certificate {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Certificate").field("id", &self.id).field("names", &self.names).finish_non_exhaustive()
    }
}
