//! The signature algorithms of tokens by name (RFC 7518, section 3.1; RFC 8037, section 3.1; RFC 9864, section 2.2).
//!
//! The table does not contain `none`, so no code path can accept it, nor `ES512`, because `ring` does not implement
//! P-521.

use std::sync::LazyLock;

use crate::digest::MacHash;
use crate::encoding::from_hex;
use crate::key::{PublicAlgorithm, PublicKey};
use crate::{Key, Secret, rsa_key, secret};

/// A type of key: `kty` and `crv` of a JWK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyType {
    /// A shared secret.
    Oct,
    /// RSA.
    Rsa,
    /// A point of P-256.
    P256,
    /// A point of P-384.
    P384,
    /// A key of Ed25519.
    Ed25519,
}

/// How a signature is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// With an HMAC under a shared secret.
    Mac(MacHash),
    /// With a public key.
    Public(PublicAlgorithm),
}

/// A named algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Algorithm {
    /// The name in `alg`.
    pub name: &'static str,
    /// The type of its keys.
    pub key_type: KeyType,
    /// How its signatures are verified.
    pub method: Method,
}

const fn mac(name: &'static str, hash: MacHash) -> Algorithm {
    Algorithm { name, key_type: KeyType::Oct, method: Method::Mac(hash) }
}

const fn public(name: &'static str, key_type: KeyType, algorithm: PublicAlgorithm) -> Algorithm {
    Algorithm { name, key_type, method: Method::Public(algorithm) }
}

/// The supported algorithms. Rows with the same method are different names of the same algorithm.
pub static ALGORITHMS: [Algorithm; 13] = [
    mac("HS256", MacHash::Sha256),
    mac("HS384", MacHash::Sha384),
    mac("HS512", MacHash::Sha512),
    public("RS256", KeyType::Rsa, PublicAlgorithm::RsaPkcs1Sha256),
    public("RS384", KeyType::Rsa, PublicAlgorithm::RsaPkcs1Sha384),
    public("RS512", KeyType::Rsa, PublicAlgorithm::RsaPkcs1Sha512),
    public("PS256", KeyType::Rsa, PublicAlgorithm::RsaPssSha256),
    public("PS384", KeyType::Rsa, PublicAlgorithm::RsaPssSha384),
    public("PS512", KeyType::Rsa, PublicAlgorithm::RsaPssSha512),
    public("ES256", KeyType::P256, PublicAlgorithm::EcdsaP256),
    public("ES384", KeyType::P384, PublicAlgorithm::EcdsaP384),
    public("EdDSA", KeyType::Ed25519, PublicAlgorithm::Ed25519),
    public("Ed25519", KeyType::Ed25519, PublicAlgorithm::Ed25519),
];

impl Algorithm {
    /// The algorithm with exactly this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        ALGORITHMS.iter().find(|algorithm| algorithm.name == name)
    }

    /// The names of all algorithms, or of those for one type of key, separated by commas, for messages.
    #[must_use]
    pub fn names(key_type: Option<KeyType>) -> String {
        let rows = ALGORITHMS.iter().filter(|algorithm| key_type.is_none_or(|wanted| wanted == algorithm.key_type));
        rows.map(|algorithm| algorithm.name).collect::<Vec<_>>().join(", ")
    }

    /// A key of this algorithm that nobody has registered. A token with an unknown key id is verified with it, and so
    /// takes as long as one with a wrong signature.
    #[must_use]
    pub fn stand_in(&self) -> &'static Key {
        static STAND_INS: LazyLock<Vec<(Method, Key)>> = LazyLock::new(|| {
            let made = |row: &Algorithm| match row.method {
                Method::Mac(hash) => Key::Hmac(hash, Secret::new([0; STAND_IN_SECRET_BYTES])),
                Method::Public(algorithm) => Key::Public(PublicKey { algorithm, bytes: row.key_type.stand_in() }),
            };
            ALGORITHMS.iter().map(|row| (row.method, made(row))).collect()
        });
        let found = STAND_INS.iter().find(|(method, _)| *method == self.method);
        &found.expect("each algorithm has a row").1
    }
}

/// The length of the longest digest, and so of the longest secret that is needed.
const STAND_IN_SECRET_BYTES: usize = 64;

/// The base point of P-256, uncompressed (SEC 2, section 2.4.2).
const P256_BASE: &str = "046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296\
                         4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5";
/// The base point of P-384, uncompressed (SEC 2, section 2.5.1).
const P384_BASE: &str = "04aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a385502f25dbf55296c3a545e3872760ab7\
     3617de4a96262c6f5d9e98bf9292dc29f8f41dbd289a147ce9da3113b5f0b8c00a60b1ce1d7e819d7a431d7c90ea0e5f";
/// The base point of Ed25519 (RFC 8032, section 5.1).
const ED25519_BASE: &str = "5866666666666666666666666666666666666666666666666666666666666666";

impl KeyType {
    /// A public key of this type. The RSA key has 2048 bits, like most RSA keys.
    fn stand_in(self) -> Vec<u8> {
        let point = |digits: &str| from_hex(digits.as_bytes()).expect("the constants are hexadecimal");
        match self {
            Self::Oct => Vec::new(),
            Self::Rsa => rsa_key::der(&[0xff; 256], &[1, 0, 1]),
            Self::P256 => point(P256_BASE),
            Self::P384 => point(P384_BASE),
            Self::Ed25519 => point(ED25519_BASE),
        }
    }
}

impl Method {
    /// How a key verifies. A secret that is bound to no algorithm has `None`, and verifies no token.
    #[must_use]
    pub fn of(key: &Key) -> Option<Self> {
        match key {
            Key::Secret(_) => None,
            Key::Hmac(hash, _) => Some(Self::Mac(*hash)),
            Key::Public(key) => Some(Self::Public(key.algorithm)),
        }
    }
}

#[cfg(test)]
thread_local! {
    /// How this thread has verified signatures.
    pub static VERIFIED: std::cell::RefCell<Vec<Method>> = const { std::cell::RefCell::new(Vec::new()) };
}

/// Whether `signature` is a signature of `message` under the key and its only algorithm.
#[must_use]
pub fn verifies(key: &Key, message: &[u8], signature: &[u8]) -> bool {
    #[cfg(test)]
    VERIFIED.with_borrow_mut(|methods| methods.extend(Method::of(key)));
    match key {
        Key::Secret(_) => false,
        Key::Hmac(hash, secret) => secret::equal(hash.of(secret.bytes(), message).as_ref(), signature),
        Key::Public(key) => key.verifies(message, signature),
    }
}

/// Checks that a secret is at least as long as the digest (RFC 7518, section 3.2). Anyone who has one token can try
/// secrets against it.
///
/// # Errors
/// A sentence with both lengths.
pub fn check_secret(hash: MacHash, secret: &[u8]) -> Result<(), String> {
    let least = match hash {
        MacHash::Sha1 => 20,
        MacHash::Sha256 => 32,
        MacHash::Sha384 => 48,
        MacHash::Sha512 => 64,
    };
    if secret.len() < least {
        return Err(format!("a secret of {} bytes; this algorithm needs at least {least} bytes", secret.len()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_exact_and_none_is_not_among_them() {
        assert_eq!(Algorithm::names(Some(KeyType::Ed25519)), "EdDSA, Ed25519");
        for name in ["none", "None", "hs256", "ES512", "HS256 ", "", "RSA-OAEP"] {
            assert_eq!(Algorithm::named(name), None, "{name}");
        }
        for algorithm in &ALGORITHMS {
            assert_eq!(Algorithm::named(algorithm.name), Some(algorithm));
        }
    }

    #[test]
    fn stand_ins_are_keys_that_ring_accepts() {
        use ring::agreement;
        for algorithm in &ALGORITHMS {
            let key = algorithm.stand_in().clone();
            assert_eq!(Method::of(&key), Some(algorithm.method));
            assert!(!verifies(&key, b"message", &[1; 64]), "{}", algorithm.name);
            let Key::Public(key) = key else { continue };
            match algorithm.key_type {
                KeyType::Oct | KeyType::Ed25519 => {}
                KeyType::Rsa => assert_eq!(key.bytes.len(), 270),
                KeyType::P256 | KeyType::P384 => {
                    let curve =
                        if algorithm.key_type == KeyType::P256 { &agreement::ECDH_P256 } else { &agreement::ECDH_P384 };
                    let random = ring::rand::SystemRandom::new();
                    let own = agreement::EphemeralPrivateKey::generate(curve, &random).unwrap();
                    let point = agreement::UnparsedPublicKey::new(curve, &key.bytes);
                    assert!(agreement::agree_ephemeral(own, &point, |_| ()).is_ok(), "{}", algorithm.name);
                }
            }
        }
    }

    #[test]
    fn short_secrets_are_refused() {
        for (hash, least) in [(MacHash::Sha256, 32), (MacHash::Sha384, 48), (MacHash::Sha512, 64)] {
            assert!(check_secret(hash, &vec![0; least]).is_ok());
            assert!(check_secret(hash, &vec![0; least - 1]).unwrap_err().contains(&least.to_string()));
        }
    }
}
