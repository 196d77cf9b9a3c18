//! The interface of signature schemes.
//!
//! [`Scheme::begin`] reads a request's head and takes the claim: key id, times, signature. The body then passes through
//! [`Pending::absorb`] in parts of any size, as it arrives. [`Pending::finish`] decides. An unknown key goes the same way
//! to the end, with a key that nobody has, so that the time says nothing about which ids exist.

use std::fmt::Debug;
use std::sync::Arc;

use crate::password_hash::PasswordHash;
use crate::{Candidate, Consumer, Failure, Keys, Request};

/// A signature scheme with its options.
pub trait Scheme: Debug + Send + Sync {
    /// Reads the claim of a request. `now_ms` is milliseconds since the Unix epoch.
    ///
    /// # Errors
    /// What is missing or wrong in the request's head.
    fn begin<'a>(&self, request: &Request<'a>, keys: &dyn Keys, now_ms: u64) -> Result<Box<dyn Pending + 'a>, Failure>;

    /// Whether it looks at the body at all; if not, `absorb` need not be called.
    fn reads_body(&self) -> bool;

    /// The value of `WWW-Authenticate`, without a realm: the name of the scheme.
    fn challenge(&self) -> &'static str;

    /// The hash that stands in for that of an unknown user, if it asks for a password.
    fn stand_in(&self) -> Option<&PasswordHash> {
        None
    }

    /// Lower-case names of the header fields, and names of the query parameters, that carry credentials, which
    /// `hide_credentials` removes from the request to the upstream.
    fn credential_fields(&self) -> Vec<&str>;
}

/// A claim whose body is still arriving.
pub trait Pending {
    /// Takes the next bytes of the body.
    fn absorb(&mut self, bytes: &[u8]);

    /// Decides, after the last byte of the body.
    ///
    /// # Errors
    /// What does not hold.
    fn finish(self: Box<Self>, keys: &dyn Keys) -> Result<Identity, Failure>;

    /// What was canonicalised, for people who compare it with what their client signed. Without anything secret. Call
    /// it after the last byte of the body.
    fn canonical(&self) -> Vec<u8>;
}

/// A request's proven sender.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The consumer.
    pub consumer: Arc<Consumer>,
    /// The position of the credential in [`Consumer::credentials`]; `None` if the request has none.
    pub credential: Option<usize>,
    /// What must not come again.
    pub nonce: Option<Nonce>,
    /// The claims of a token.
    pub claims: Option<Arc<serde_json::Map<String, serde_json::Value>>>,
}

impl Identity {
    /// A sender that has proven a credential.
    #[must_use]
    pub fn of(candidate: Candidate) -> Self {
        Self { consumer: candidate.consumer, credential: Some(candidate.credential), nonce: None, claims: None }
    }
}

/// What makes a signed request unique.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nonce {
    /// Bytes that no other valid request with the same credential has: the client's nonce, or the signature. It is
    /// hashed together with the credential before it is stored.
    pub value: Vec<u8>,
    /// Milliseconds since the Unix epoch at which the request was signed, if it says so.
    pub signed_ms: Option<u64>,
    /// Milliseconds since the Unix epoch after which the request is refused as expired anyway.
    pub expires_ms: u64,
}
