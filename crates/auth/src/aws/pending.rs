//! A claim whose body is still arriving.

use super::UNSIGNED;
use super::canonical::{signature, string_to_sign};
use crate::digest::Hasher;
use crate::encoding::hex;
use crate::secret::equal;
use crate::trial::Trial;
use crate::{Failure, Identity, Nonce, Pending, Reason};

/// What stands for the body in the canonical request.
pub(super) enum Payload {
    /// Its digest, which the request does not state.
    Body(Hasher),
    /// Its digest as the request states it, in hexadecimal, which must be the body's.
    Stated(Vec<u8>, Hasher),
    /// Nothing: it is not signed.
    Unsigned,
}

/// A claim of Signature Version 4.
pub(super) struct AwsPending {
    /// Whose key it may be.
    pub(super) trial: Trial,
    /// Date, region and service.
    pub(super) scope: [Vec<u8>; 3],
    /// The time of the request as it is signed.
    pub(super) time: Vec<u8>,
    /// The canonical request without its last line.
    pub(super) head: Vec<u8>,
    /// Its last line.
    pub(super) payload: Payload,
    /// The 32 bytes of the signature.
    pub(super) signature: Vec<u8>,
    /// The time of the request in milliseconds since the Unix epoch.
    pub(super) signed_ms: u64,
    /// When it expires, likewise.
    pub(super) expires_ms: u64,
}

impl AwsPending {
    fn canonical_request(&self) -> Vec<u8> {
        let mut out = self.head.clone();
        match &self.payload {
            Payload::Body(hasher) => out.extend_from_slice(hex(hasher.clone().finish().as_ref()).as_bytes()),
            Payload::Stated(stated, _) => out.extend_from_slice(stated),
            Payload::Unsigned => out.extend_from_slice(UNSIGNED),
        }
        out
    }
}

impl Pending for AwsPending {
    fn absorb(&mut self, bytes: &[u8]) {
        match &mut self.payload {
            Payload::Body(hasher) | Payload::Stated(_, hasher) => hasher.update(bytes),
            Payload::Unsigned => {}
        }
    }

    fn finish(self: Box<Self>, _: &dyn crate::Keys) -> Result<Identity, Failure> {
        let string = string_to_sign(&self.time, &self.scope, &self.canonical_request());
        let is_right = |secret: &[u8]| equal(signature(secret, &self.scope, &string).as_ref(), &self.signature);
        let matched = self.trial.first(|_, secret| is_right(secret));
        let is_same_body = match self.payload {
            Payload::Stated(stated, hasher) => stated.eq_ignore_ascii_case(hex(hasher.finish().as_ref()).as_bytes()),
            Payload::Body(_) | Payload::Unsigned => true,
        };
        let nonce = Nonce { value: self.signature, signed_ms: Some(self.signed_ms), expires_ms: self.expires_ms };
        let identity = self.trial.decide(matched, Some(nonce))?;
        if !is_same_body {
            return Err(Failure::new(Reason::BodyChanged, "the body does not have the signed digest"));
        }
        Ok(identity)
    }

    /// The canonical request and, after an empty line, the string to sign.
    fn canonical(&self) -> Vec<u8> {
        let request = self.canonical_request();
        let string = string_to_sign(&self.time, &self.scope, &request);
        [request, string].join(&b"\n\n"[..])
    }
}
