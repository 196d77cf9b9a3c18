//! What a credential verifies with: a shared secret, or a public key bound to its algorithm.

use std::fmt;

use ring::signature::{self, UnparsedPublicKey, VerificationAlgorithm};

use crate::Secret;
use crate::digest::MacHash;

/// The algorithm of a public key. A key verifies with this one and no other, whatever a request says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PublicAlgorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256: `RS256`, `rsa-v1_5-sha256`.
    RsaPkcs1Sha256,
    /// With SHA-384: `RS384`.
    RsaPkcs1Sha384,
    /// With SHA-512: `RS512`.
    RsaPkcs1Sha512,
    /// RSASSA-PSS with SHA-256: `PS256`.
    RsaPssSha256,
    /// With SHA-384: `PS384`.
    RsaPssSha384,
    /// With SHA-512: `PS512`, `rsa-pss-sha512`.
    RsaPssSha512,
    /// ECDSA on P-256 with SHA-256, signature as r and s of 32 bytes: `ES256`, `ecdsa-p256-sha256`.
    EcdsaP256,
    /// ECDSA on P-384 with SHA-384, r and s of 48 bytes: `ES384`.
    EcdsaP384,
    /// Ed25519: `EdDSA`, `ed25519`.
    Ed25519,
}

impl PublicAlgorithm {
    fn verifier(self) -> &'static dyn VerificationAlgorithm {
        match self {
            Self::RsaPkcs1Sha256 => &signature::RSA_PKCS1_2048_8192_SHA256,
            Self::RsaPkcs1Sha384 => &signature::RSA_PKCS1_2048_8192_SHA384,
            Self::RsaPkcs1Sha512 => &signature::RSA_PKCS1_2048_8192_SHA512,
            Self::RsaPssSha256 => &signature::RSA_PSS_2048_8192_SHA256,
            Self::RsaPssSha384 => &signature::RSA_PSS_2048_8192_SHA384,
            Self::RsaPssSha512 => &signature::RSA_PSS_2048_8192_SHA512,
            Self::EcdsaP256 => &signature::ECDSA_P256_SHA256_FIXED,
            Self::EcdsaP384 => &signature::ECDSA_P384_SHA384_FIXED,
            Self::Ed25519 => &signature::ED25519,
        }
    }
}

/// A public key in the form that `ring` takes: of RSA the DER of `RSAPublicKey` (RFC 8017, A.1.1), of ECDSA the
/// uncompressed point, of Ed25519 the 32 bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey {
    /// Its algorithm.
    pub algorithm: PublicAlgorithm,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl PublicKey {
    /// Whether `signature` is one of `message`.
    #[must_use]
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(self.algorithm.verifier(), &self.bytes).verify(message, signature).is_ok()
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "PublicKey({:?})", self.algorithm)
    }
}

/// What a credential verifies with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// A shared secret; the options of a scheme say how it is used.
    Secret(Secret),
    /// A shared secret bound to HMAC with one hash function: `HS256`, `HS384`, `HS512`.
    Hmac(MacHash, Secret),
    /// A public key.
    Public(PublicKey),
}
