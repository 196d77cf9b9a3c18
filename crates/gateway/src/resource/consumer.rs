//! Consumers as workers get them.

use serde::{Deserialize, Serialize};
use zeroize::Zeroize as _;

/// Who sends requests. `Debug` shows no secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consumer {
    /// Its id.
    pub id: String,
    /// Its groups.
    pub groups: Vec<String>,
    /// Its live credentials.
    pub credentials: Vec<Credential>,
}

/// What a consumer proves itself with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Credential {
    /// A key that a request carries, as the SHA-256 of its bytes in lower-case hex digits.
    KeyAuth {
        /// The hash.
        sha256: String,
    },
    /// For signatures over requests.
    Signature {
        /// What a request names it by.
        id: String,
        /// What signatures are verified with.
        key: CredentialKey,
    },
    /// For JSON Web Tokens.
    Jwt {
        /// The `kid`, or else the `iss`, of its tokens.
        id: String,
        /// What tokens are verified with.
        key: CredentialKey,
    },
    /// A user name and the hash of a password.
    BasicAuth {
        /// The user name.
        username: String,
        /// The hash, as `htpasswd -B` or argon2id tools write it.
        password_hash: HiddenText,
    },
    /// A client certificate.
    Mtls {
        /// What of it is named: `subject`, `dns`, `uri`, `email`, `sha256`.
        kind: String,
        /// The name.
        name: String,
    },
}

/// A key with its algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CredentialKey {
    /// The algorithm, by the name that the scheme has for it; of a shared secret for signatures there is none.
    pub algorithm: Option<String>,
    /// A shared secret.
    pub secret: Option<HiddenText>,
    /// A public key in PEM.
    pub public_key: Option<String>,
}

/// A text that `Debug` does not show, and that is overwritten when it is dropped.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HiddenText(pub String);

impl Drop for HiddenText {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl std::fmt::Debug for HiddenText {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("***")
    }
}
