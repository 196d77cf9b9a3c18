//! The algorithms of HTTP Message Signatures (RFC 9421, section 3.3), as the key decides them.
//!
//! A signature that does not verify takes the same time whether its key is wrong, unfit or unknown; see [`verifies`].

use ring::rand::SystemRandom;
use ring::rsa;
use ring::signature::{
    self, ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
};

use crate::digest::MacHash;
use crate::encoding::from_hex;
use crate::key::{PublicAlgorithm, PublicKey};
use crate::secret::equal;
use crate::{Key, SigningKey};

/// An algorithm of the registry of RFC 9421, section 6.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// `hmac-sha256`, with a shared secret.
    HmacSha256,
    /// `ed25519`
    Ed25519,
    /// `ecdsa-p256-sha256`
    EcdsaP256Sha256,
    /// `ecdsa-p384-sha384`
    EcdsaP384Sha384,
    /// `rsa-pss-sha512`
    RsaPssSha512,
    /// `rsa-v1_5-sha256`
    RsaV15Sha256,
}

struct Row {
    algorithm: Algorithm,
    name: &'static str,
    /// Of the key; `None` for a shared secret.
    public: Option<PublicAlgorithm>,
    /// The shortest and the longest signature in bytes.
    bytes: (usize, usize),
}

/// RSA keys have 2048 to 8192 bits.
const RSA_BYTES: (usize, usize) = (256, 1024);

static ROWS: [Row; 6] = [
    Row { algorithm: Algorithm::HmacSha256, name: "hmac-sha256", public: None, bytes: (32, 32) },
    Row { algorithm: Algorithm::Ed25519, name: "ed25519", public: Some(PublicAlgorithm::Ed25519), bytes: (64, 64) },
    Row {
        algorithm: Algorithm::EcdsaP256Sha256,
        name: "ecdsa-p256-sha256",
        public: Some(PublicAlgorithm::EcdsaP256),
        bytes: (64, 64),
    },
    Row {
        algorithm: Algorithm::EcdsaP384Sha384,
        name: "ecdsa-p384-sha384",
        public: Some(PublicAlgorithm::EcdsaP384),
        bytes: (96, 96),
    },
    Row {
        algorithm: Algorithm::RsaPssSha512,
        name: "rsa-pss-sha512",
        public: Some(PublicAlgorithm::RsaPssSha512),
        bytes: RSA_BYTES,
    },
    Row {
        algorithm: Algorithm::RsaV15Sha256,
        name: "rsa-v1_5-sha256",
        public: Some(PublicAlgorithm::RsaPkcs1Sha256),
        bytes: RSA_BYTES,
    },
];

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::HmacSha256,
        Self::Ed25519,
        Self::EcdsaP256Sha256,
        Self::EcdsaP384Sha384,
        Self::RsaPssSha512,
        Self::RsaV15Sha256,
    ];

    fn row(self) -> &'static Row {
        ROWS.iter().find(|row| row.algorithm == self).expect("each algorithm has a row")
    }

    /// As in the parameter `alg`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The algorithm of its public keys; `None` for a shared secret.
    #[must_use]
    pub fn public(self) -> Option<PublicAlgorithm> {
        self.row().public
    }

    /// The algorithm of that name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        ROWS.iter().find(|row| row.name == name).map(|row| row.algorithm)
    }

    /// What a key verifies; `None` for the algorithms of other schemes.
    #[must_use]
    pub fn of_key(key: &Key) -> Option<Self> {
        let public = match key {
            Key::Secret(_) => None,
            Key::Hmac(..) => return None,
            Key::Public(key) => Some(key.algorithm),
        };
        ROWS.iter().find(|row| row.public == public).map(|row| row.algorithm)
    }

    fn fits(self, signature: &[u8]) -> bool {
        let (least, most) = self.row().bytes;
        (least..=most).contains(&signature.len())
    }

    /// The bytes of a signature that whoever has it cannot change without the key. Of ECDSA it is the first half: with
    /// (r, s) also (r, -s) is valid.
    #[must_use]
    pub fn unalterable(self, signature: &[u8]) -> &[u8] {
        match self {
            Self::EcdsaP256Sha256 | Self::EcdsaP384Sha384 => &signature[..signature.len() / 2],
            Self::HmacSha256 | Self::Ed25519 | Self::RsaPssSha512 | Self::RsaV15Sha256 => signature,
        }
    }

    /// Signs.
    ///
    /// # Errors
    /// Keys that are of another kind.
    pub fn sign(self, key: &SigningKey, message: &[u8]) -> Result<Vec<u8>, String> {
        let wrong = || format!("the key does not fit {}: expected {}", self.name(), self.expected_key());
        let der = match (self, key) {
            (Self::HmacSha256, SigningKey::Secret(secret)) => {
                return Ok(MacHash::Sha256.of(secret.bytes(), message).as_ref().to_vec());
            }
            (Self::HmacSha256, SigningKey::Private(_)) | (_, SigningKey::Secret(_)) => return Err(wrong()),
            (_, SigningKey::Private(der)) => der.bytes(),
        };
        let random = SystemRandom::new();
        let failed = |_| format!("signing with {} failed", self.name());
        let ecdsa = |algorithm| {
            let key = EcdsaKeyPair::from_pkcs8(algorithm, der, &random).map_err(|_| wrong())?;
            key.sign(&random, message).map(|signature| signature.as_ref().to_vec()).map_err(failed)
        };
        let rsa = |padding: &'static dyn signature::RsaEncoding| {
            let key = rsa::KeyPair::from_pkcs8(der).map_err(|_| wrong())?;
            let mut signature = vec![0; key.public().modulus_len()];
            key.sign(padding, &random, message, &mut signature).map_err(failed)?;
            Ok(signature)
        };
        match self {
            Self::HmacSha256 => Err(wrong()),
            Self::Ed25519 => {
                let key = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).map_err(|_| wrong())?;
                Ok(key.sign(message).as_ref().to_vec())
            }
            Self::EcdsaP256Sha256 => ecdsa(&ECDSA_P256_SHA256_FIXED_SIGNING),
            Self::EcdsaP384Sha384 => ecdsa(&ECDSA_P384_SHA384_FIXED_SIGNING),
            Self::RsaPssSha512 => rsa(&signature::RSA_PSS_SHA512),
            Self::RsaV15Sha256 => rsa(&signature::RSA_PKCS1_SHA256),
        }
    }

    fn expected_key(self) -> &'static str {
        match self {
            Self::HmacSha256 => "a shared secret",
            Self::Ed25519 => "an Ed25519 key in PKCS#8",
            Self::EcdsaP256Sha256 => "a P-256 key in PKCS#8 with its public key",
            Self::EcdsaP384Sha384 => "a P-384 key in PKCS#8 with its public key",
            Self::RsaPssSha512 | Self::RsaV15Sha256 => "an RSA key of at least 2048 bits in PKCS#8",
        }
    }
}

/// Whether the signature is that of the key, with the algorithm that the request states, if it states one.
///
/// If not, it is also verified with keys that no consumer has: with the stated algorithm or, without one, each whose
/// signatures may be that long. The time is thus the same with a wrong key, an unfit one and none.
#[must_use]
pub fn verifies(key: Option<&Key>, stated: Option<Algorithm>, message: &[u8], signature: &[u8]) -> bool {
    let is_possible = |algorithm: Algorithm| match stated {
        Some(stated) => stated == algorithm,
        None => algorithm.fits(signature),
    };
    let own = key.and_then(Algorithm::of_key).filter(|own| is_possible(*own) && own.fits(signature));
    let verified = match key.filter(|_| own.is_some()) {
        Some(Key::Secret(secret)) => equal(MacHash::Sha256.of(secret.bytes(), message).as_ref(), signature),
        Some(Key::Public(key)) => key.verifies(message, signature),
        Some(Key::Hmac(..)) | None => false,
    };
    if !verified {
        let others = Algorithm::ALL.into_iter().filter(|other| is_possible(*other) && Some(*other) != own);
        others.for_each(|other| {
            std::hint::black_box(verify_with_nobodys_key(other, message, signature));
        });
    }
    verified
}

/// The generators of the curves as public keys (RFC 8032, section 5.1; SEC 2, sections 2.4.2 and 2.5.1).
const ED25519_GENERATOR: &str = "5866666666666666666666666666666666666666666666666666666666666666";
const P256_GENERATOR: &str = "046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296\
                              4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5";
const P384_GENERATOR: &str = "04aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a385502f25dbf55296c3a54\
                              5e3872760ab73617de4a96262c6f5d9e98bf9292dc29f8f41dbd289a147ce9da3113b5f0b8c00a60b1ce1d\
                              7e819d7a431d7c90ea0e5f";

/// Verifies with a key that no consumer has. The answer counts for nothing, only the time that it takes.
fn verify_with_nobodys_key(algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
    let Some(public) = algorithm.row().public else {
        return equal(MacHash::Sha256.of(&[0; 32], message).as_ref(), signature);
    };
    let bytes = |digits: &str| from_hex(digits.as_bytes()).expect("the constants are hexadecimal");
    let bytes = match public {
        PublicAlgorithm::Ed25519 => bytes(ED25519_GENERATOR),
        PublicAlgorithm::EcdsaP256 => bytes(P256_GENERATOR),
        PublicAlgorithm::EcdsaP384 => bytes(P384_GENERATOR),
        PublicAlgorithm::RsaPkcs1Sha256
        | PublicAlgorithm::RsaPkcs1Sha384
        | PublicAlgorithm::RsaPkcs1Sha512
        | PublicAlgorithm::RsaPssSha256
        | PublicAlgorithm::RsaPssSha384
        | PublicAlgorithm::RsaPssSha512 => rsa_of_ones(signature.len().clamp(RSA_BYTES.0, RSA_BYTES.1)),
    };
    PublicKey { algorithm: public, bytes }.verifies(message, signature)
}

/// An RSA public key (RFC 8017, A.1.1) whose modulus has that many bytes, all bits set, and whose exponent is 65537.
fn rsa_of_ones(modulus_bytes: usize) -> Vec<u8> {
    let length = |length: usize| [0x82, (length >> 8) as u8, length as u8];
    let mut der = vec![0x30];
    der.extend(length(modulus_bytes + 10));
    der.push(0x02);
    der.extend(length(modulus_bytes + 1));
    der.push(0);
    der.resize(der.len() + modulus_bytes, 0xff);
    der.extend([0x02, 3, 1, 0, 1]);
    der
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Secret;

    #[test]
    fn each_algorithm_has_a_row_and_a_name_of_its_own() {
        for algorithm in Algorithm::ALL {
            assert_eq!(Algorithm::of_name(algorithm.name()), Some(algorithm));
        }
        assert_eq!(Algorithm::of_name("none"), None);
        let other = PublicKey { algorithm: PublicAlgorithm::RsaPkcs1Sha512, bytes: Vec::new() };
        assert_eq!(Algorithm::of_key(&Key::Public(other)), None);
    }

    #[test]
    fn the_keys_that_nobody_has_are_keys() {
        let scalar = |bytes: usize| [vec![0; bytes - 1], vec![1]].concat();
        for (algorithm, point, bytes) in [
            (&ECDSA_P256_SHA256_FIXED_SIGNING, P256_GENERATOR, 32),
            (&ECDSA_P384_SHA384_FIXED_SIGNING, P384_GENERATOR, 48),
        ] {
            let point = from_hex(point.as_bytes()).unwrap();
            EcdsaKeyPair::from_private_key_and_public_key(algorithm, &scalar(bytes), &point, &SystemRandom::new())
                .unwrap();
        }
        for algorithm in Algorithm::ALL {
            for length in [0, 31, 32, 33, 64, 96, 256, 384, 512, 1024, 1025] {
                assert!(!verify_with_nobodys_key(algorithm, b"message", &vec![1; length]));
            }
        }
        assert_eq!(rsa_of_ones(256).len(), 270);
        assert_eq!(&rsa_of_ones(256)[..9], [0x30, 0x82, 1, 10, 2, 0x82, 1, 1, 0]);
    }

    #[test]
    fn a_signature_is_verified_with_the_algorithm_of_the_key_alone() {
        let secret = SigningKey::Secret(Secret::new("secret"));
        let signature = Algorithm::HmacSha256.sign(&secret, b"message").unwrap();
        let key = Key::Secret(Secret::new("secret"));
        assert!(verifies(Some(&key), None, b"message", &signature));
        assert!(verifies(Some(&key), Some(Algorithm::HmacSha256), b"message", &signature));
        assert!(!verifies(Some(&key), Some(Algorithm::Ed25519), b"message", &signature));
        assert!(!verifies(None, None, b"message", &signature));
        assert!(!verifies(Some(&key), None, b"message", &signature[..31]));
        for algorithm in Algorithm::ALL.into_iter().skip(1) {
            algorithm.sign(&secret, b"message").unwrap_err();
            let nonsense = SigningKey::Private(Secret::new("nonsense"));
            assert!(algorithm.sign(&nonsense, b"message").unwrap_err().contains("expected"));
        }
    }
}
