//! A claim whose body is still arriving.

use super::lines::VERSION;
use crate::digest::{Hash, Hasher, MacHash};
use crate::encoding::from_base64;
use crate::excerpt::Excerpt;
use crate::secret::equal;
use crate::trial::Trial;
use crate::{Failure, Identity, Nonce, Pending, Reason};

/// The versions that a signed request line may have, all of three bytes. A client need not know which one its library
/// negotiates, and a proxy may speak another one to us; nothing depends on it, so the signature may be over any.
const VERSIONS: [&str; 4] = [VERSION, "2.0", "1.0", "3.0"];
/// The algorithms of `Digest` (RFC 3230, RFC 5843) that are checked.
const DIGESTS: [(&str, Hash, usize); 2] = [("SHA-256", Hash::Sha256, 32), ("SHA-512", Hash::Sha512, 64)];

/// The digest that a body must have.
pub(super) struct BodyDigest {
    hasher: Hasher,
    expected: Vec<u8>,
}

impl BodyDigest {
    /// Reads a `Digest`.
    pub(super) fn read(text: &[u8]) -> Result<Self, Failure> {
        let equals = memchr::memchr(b'=', text).unwrap_or(text.len());
        let (name, value) = (&text[..equals], text.get(equals + 1..).unwrap_or_default());
        let Some((_, hash, length)) = DIGESTS.iter().find(|(known, _, _)| name.eq_ignore_ascii_case(known.as_bytes()))
        else {
            let detail = format!("`Digest` is {}, expected SHA-256=… or SHA-512=…", Excerpt(text));
            return Err(Failure::new(Reason::Unsupported, detail));
        };
        let expected = from_base64(value).filter(|bytes| bytes.len() == *length);
        let malformed =
            || Failure::new(Reason::Malformed, format!("`Digest` is not one digest in Base64: {}", Excerpt(text)));
        Ok(Self { hasher: hash.begin(), expected: expected.ok_or_else(malformed)? })
    }

    /// Whether the bytes so far have it.
    pub(super) fn matches(self) -> bool {
        self.hasher.finish().as_ref() == self.expected
    }
}

/// A claim of an HMAC signature.
pub(super) struct HmacPending {
    /// Whose key it may be.
    pub(super) trial: Trial,
    /// The hash function of the HMAC.
    pub(super) hash: MacHash,
    /// The text that is signed.
    pub(super) text: Vec<u8>,
    /// Where the version of HTTP stands in it, if it does.
    pub(super) version: Option<usize>,
    /// The signature.
    pub(super) signature: Vec<u8>,
    /// The digest that the body must have.
    pub(super) digest: Option<BodyDigest>,
    /// Whether a body must have one.
    pub(super) needs_digest: bool,
    /// Whether a byte of the body has come.
    pub(super) has_body: bool,
    /// When the request was signed, in milliseconds since the Unix epoch, if that counts.
    pub(super) signed_ms: Option<u64>,
    /// When it expires, likewise; `u64::MAX`: never.
    pub(super) expires_ms: u64,
}

impl HmacPending {
    /// The position of the secret whose signature it is. The time does not depend on which version the text has.
    fn matched(&mut self) -> Option<usize> {
        let versions = if self.version.is_some() { &VERSIONS[..] } else { &VERSIONS[..1] };
        let mut matched = None;
        for version in versions {
            if let Some(at) = self.version {
                self.text[at..at + VERSION.len()].copy_from_slice(version.as_bytes());
            }
            let is_right = |secret: &[u8]| equal(self.hash.of(secret, &self.text).as_ref(), &self.signature);
            matched = self.trial.first(|_, secret| is_right(secret)).or(matched);
        }
        matched
    }
}

impl Pending for HmacPending {
    fn absorb(&mut self, bytes: &[u8]) {
        self.has_body |= !bytes.is_empty();
        if let Some(digest) = &mut self.digest {
            digest.hasher.update(bytes);
        }
    }

    fn finish(mut self: Box<Self>, _: &dyn crate::Keys) -> Result<Identity, Failure> {
        let matched = self.matched();
        let is_same_body = match self.digest {
            Some(digest) => Some(digest.matches()),
            None => (!self.has_body || !self.needs_digest).then_some(true),
        };
        let nonce = Nonce { value: self.signature, signed_ms: self.signed_ms, expires_ms: self.expires_ms };
        let identity = self.trial.decide(matched, Some(nonce))?;
        match is_same_body {
            Some(true) => Ok(identity),
            Some(false) => Err(Failure::new(Reason::BodyChanged, "the body does not have the stated digest")),
            None => Err(Failure::new(Reason::Incomplete, "the request has a body, and no `Digest` that counts")),
        }
    }

    fn canonical(&self) -> Vec<u8> {
        self.text.clone()
    }
}
