//! The client's side: signs a request, for `weir sign` and for tests.

use crate::Secret;

/// A request that is to be signed.
#[derive(Clone, Debug)]
pub struct Unsigned<'a> {
    /// The method.
    pub method: &'a str,
    /// Whether it will be sent over TLS.
    pub is_tls: bool,
    /// Host and, unless it is the default one, port.
    pub authority: &'a str,
    /// Path, `?`, query, as they will be sent.
    pub target: &'a str,
    /// Header fields that will be sent, without `Host`.
    pub headers: &'a [(String, String)],
    /// The body.
    pub body: &'a [u8],
    /// When it is signed, in milliseconds since the Unix epoch.
    pub now_ms: u64,
    /// Bytes that have not been used before, for nonces.
    pub random: [u8; 16],
}

/// What a client signs with.
#[derive(Clone, Debug)]
pub enum SigningKey {
    /// A shared secret.
    Secret(Secret),
    /// A private key, as PKCS#8 in DER.
    Private(Secret),
}

/// What the signature adds to the request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signed {
    /// Header fields, to be added in this order; one that the request has already is replaced.
    pub headers: Vec<(String, String)>,
    /// The target with the signature, if that is where it goes.
    pub target: Option<String>,
}

/// A scheme's client.
pub trait Signer {
    /// Signs a request with the key of that id.
    ///
    /// # Errors
    /// Why it cannot be signed: a key of the wrong kind, a request that the scheme cannot express.
    fn sign(&self, request: &Unsigned<'_>, key_id: &str, key: &SigningKey) -> Result<Signed, String>;
}
