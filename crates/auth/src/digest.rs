//! Digests and message authentication codes over bytes that arrive in parts.

use md5::Digest as _;
use md5::Md5;
use ring::{digest, hmac};
use sha1::Sha1;

/// A hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hash {
    /// MD5 (RFC 1321), only where a scheme in use demands it.
    Md5,
    /// SHA-1 (FIPS 180-4), only where a scheme in use demands it.
    Sha1,
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

/// The longest digest: SHA-512's.
pub const MAX_DIGEST_BYTES: usize = 64;

/// A finished digest.
#[derive(Clone, Copy)]
pub struct Digest {
    bytes: [u8; MAX_DIGEST_BYTES],
    length: u8,
}

impl Digest {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut digest = Self { bytes: [0; MAX_DIGEST_BYTES], length: bytes.len() as u8 };
        digest.bytes[..bytes.len()].copy_from_slice(bytes);
        digest
    }
}

impl AsRef<[u8]> for Digest {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// A hash over bytes that arrive in parts.
#[derive(Clone)]
pub enum Hasher {
    /// MD5.
    Md5(Md5),
    /// SHA-1.
    Sha1(Sha1),
    /// SHA-2.
    Sha2(Box<digest::Context>),
}

impl Hash {
    /// Begins.
    #[must_use]
    pub fn begin(self) -> Hasher {
        let sha2 = |algorithm| Hasher::Sha2(Box::new(digest::Context::new(algorithm)));
        match self {
            Self::Md5 => Hasher::Md5(Md5::new()),
            Self::Sha1 => Hasher::Sha1(Sha1::new()),
            Self::Sha256 => sha2(&digest::SHA256),
            Self::Sha384 => sha2(&digest::SHA384),
            Self::Sha512 => sha2(&digest::SHA512),
        }
    }

    /// The digest of bytes that are all there.
    #[must_use]
    pub fn of(self, bytes: &[u8]) -> Digest {
        let mut hasher = self.begin();
        hasher.update(bytes);
        hasher.finish()
    }
}

impl Hasher {
    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Md5(hasher) => hasher.update(bytes),
            Self::Sha1(hasher) => hasher.update(bytes),
            Self::Sha2(hasher) => hasher.update(bytes),
        }
    }

    /// The digest of all bytes.
    #[must_use]
    pub fn finish(self) -> Digest {
        match self {
            Self::Md5(hasher) => Digest::of(&hasher.finalize()),
            Self::Sha1(hasher) => Digest::of(&hasher.finalize()),
            Self::Sha2(hasher) => Digest::of(hasher.finish().as_ref()),
        }
    }
}

/// A hash function for HMAC (RFC 2104).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MacHash {
    /// HMAC-SHA1, only where a scheme in use demands it.
    Sha1,
    /// HMAC-SHA256.
    Sha256,
    /// HMAC-SHA384.
    Sha384,
    /// HMAC-SHA512.
    Sha512,
}

/// An HMAC over bytes that arrive in parts.
#[derive(Clone)]
pub struct Mac(hmac::Context);

impl MacHash {
    /// Begins.
    #[must_use]
    pub fn begin(self, secret: &[u8]) -> Mac {
        let algorithm = match self {
            Self::Sha1 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
            Self::Sha256 => hmac::HMAC_SHA256,
            Self::Sha384 => hmac::HMAC_SHA384,
            Self::Sha512 => hmac::HMAC_SHA512,
        };
        Mac(hmac::Context::with_key(&hmac::Key::new(algorithm, secret)))
    }

    /// The code of bytes that are all there.
    #[must_use]
    pub fn of(self, secret: &[u8], bytes: &[u8]) -> Digest {
        let mut mac = self.begin(secret);
        mac.update(bytes);
        mac.finish()
    }
}

impl Mac {
    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The code of all bytes.
    #[must_use]
    pub fn finish(self) -> Digest {
        Digest::of(self.0.sign().as_ref())
    }
}
