//! Keys as people keep them: PEM (RFC 7468) with `SubjectPublicKeyInfo` (RFC 5280), `RSAPublicKey` (RFC 8017) or, for
//! clients, PKCS#8 (RFC 5958).
//!
//! A mistake in a key shows here, when a credential is stored, not as a signature that never fits: a key of another
//! kind than the algorithm's, several keys of which only one would count, or a private key that nobody should have sent.

use x509_parser::oid_registry::{
    OID_EC_P256, OID_KEY_TYPE_EC_PUBLIC_KEY, OID_NIST_EC_P384, OID_PKCS1_RSAENCRYPTION, OID_PKCS1_RSASSAPSS,
    OID_SIG_ED25519, Oid,
};
use x509_parser::prelude::FromDer;
use x509_parser::public_key::RSAPublicKey;
use x509_parser::x509::SubjectPublicKeyInfo;

use crate::key::{PublicAlgorithm, PublicKey};
use crate::{Secret, SigningKey};

/// The longest text: an RSA key of 8192 bits has about 1500 bytes, a private one about 6500.
const MAX_TEXT_BYTES: usize = 16 * 1024;
/// The sizes of RSA keys that `ring` verifies with, in bits. Shorter ones are not safe (NIST SP 800-131A).
const RSA_BITS: std::ops::RangeInclusive<usize> = 2048..=8192;

/// The kinds of public keys.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Rsa,
    RsaPss,
    P256,
    P384,
    Ed25519,
}

/// The algorithm identifiers of `SubjectPublicKeyInfo` with the curve, if it is a parameter (RFC 3279, 4055, 5480, 8410).
static KINDS: [(Oid<'static>, Option<Oid<'static>>, Kind); 5] = [
    (OID_PKCS1_RSAENCRYPTION, None, Kind::Rsa),
    (OID_PKCS1_RSASSAPSS, None, Kind::RsaPss),
    (OID_KEY_TYPE_EC_PUBLIC_KEY, Some(OID_EC_P256), Kind::P256),
    (OID_KEY_TYPE_EC_PUBLIC_KEY, Some(OID_NIST_EC_P384), Kind::P384),
    (OID_SIG_ED25519, None, Kind::Ed25519),
];

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Rsa => "an RSA key",
            Self::RsaPss => "an RSA key for PSS alone",
            Self::P256 => "a P-256 key",
            Self::P384 => "a P-384 key",
            Self::Ed25519 => "an Ed25519 key",
        }
    }

    /// The kinds that an algorithm takes, the usual one first.
    fn of(algorithm: PublicAlgorithm) -> &'static [Self] {
        match algorithm {
            PublicAlgorithm::RsaPkcs1Sha256 | PublicAlgorithm::RsaPkcs1Sha384 | PublicAlgorithm::RsaPkcs1Sha512 => {
                &[Self::Rsa]
            }
            PublicAlgorithm::RsaPssSha256 | PublicAlgorithm::RsaPssSha384 | PublicAlgorithm::RsaPssSha512 => {
                &[Self::Rsa, Self::RsaPss]
            }
            PublicAlgorithm::EcdsaP256 => &[Self::P256],
            PublicAlgorithm::EcdsaP384 => &[Self::P384],
            PublicAlgorithm::Ed25519 => &[Self::Ed25519],
        }
    }
}

/// Reads a public key for an algorithm from PEM: `PUBLIC KEY`, or `RSA PUBLIC KEY`.
///
/// # Errors
/// What is wrong with it, for the person who sent it.
pub fn public_key(text: &str, algorithm: PublicAlgorithm) -> Result<PublicKey, String> {
    let (tag, der) = only_section(text)?;
    let (kind, bytes) = match tag.as_str() {
        "PUBLIC KEY" => of_subject_public_key_info(&der)?,
        "RSA PUBLIC KEY" => (Kind::Rsa, der),
        _ if tag.ends_with("PRIVATE KEY") => {
            return Err(
                "this is a private key: expected the public key (`openssl pkey -pubout`); consider the private \
                        key known and make a new one"
                    .to_owned(),
            );
        }
        "CERTIFICATE" => {
            return Err("this is a certificate: expected its public key (`openssl x509 -pubkey -noout`)".to_owned());
        }
        _ => return Err("expected `-----BEGIN PUBLIC KEY-----`".to_owned()),
    };
    let accepted = Kind::of(algorithm);
    if !accepted.contains(&kind) {
        return Err(format!("this is {}: expected {}", kind.name(), accepted[0].name()));
    }
    match kind {
        Kind::Rsa | Kind::RsaPss => check_rsa(&bytes)?,
        Kind::P256 => check_point(&bytes, 65)?,
        Kind::P384 => check_point(&bytes, 97)?,
        Kind::Ed25519 if bytes.len() != 32 => return Err("an Ed25519 key has 32 bytes".to_owned()),
        Kind::Ed25519 => {}
    }
    Ok(PublicKey { algorithm, bytes })
}

/// Reads a private key to sign with from PEM: `PRIVATE KEY`, which is PKCS#8 without encryption.
///
/// # Errors
/// What is wrong with it. Whether it fits an algorithm shows when it signs.
pub fn private_key(text: &str) -> Result<SigningKey, String> {
    let (tag, der) = only_section(text)?;
    match tag.as_str() {
        "PRIVATE KEY" => Ok(SigningKey::Private(Secret::new(der))),
        "ENCRYPTED PRIVATE KEY" => Err("the key is encrypted: decrypt it with `openssl pkey`".to_owned()),
        "RSA PRIVATE KEY" | "EC PRIVATE KEY" => {
            Err("this is not PKCS#8: convert it with `openssl pkcs8 -topk8 -nocrypt`".to_owned())
        }
        _ => Err("expected `-----BEGIN PRIVATE KEY-----`".to_owned()),
    }
}

/// The label and contents of the only section; parameters of a curve that OpenSSL writes before the key do not count.
fn only_section(text: &str) -> Result<(String, Vec<u8>), String> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(format!("the text has {} bytes: expected at most {MAX_TEXT_BYTES}", text.len()));
    }
    let all = pem::parse_many(text).map_err(|_| "this is not PEM: its frame or its Base64 is damaged".to_owned())?;
    if all.len() != text.matches("-----BEGIN ").count() {
        return Err("this is not PEM: a section has no end".to_owned());
    }
    let mut keys = all.into_iter().filter(|section| section.tag() != "EC PARAMETERS");
    match (keys.next(), keys.next()) {
        (Some(section), None) => Ok((section.tag().to_owned(), section.into_contents())),
        (None, _) => Err("there is no key: expected text from `-----BEGIN` to `-----END`".to_owned()),
        (Some(_), Some(_)) => Err("there are several keys or certificates: expected one".to_owned()),
    }
}

fn of_subject_public_key_info(der: &[u8]) -> Result<(Kind, Vec<u8>), String> {
    let Ok((&[], info)) = SubjectPublicKeyInfo::from_der(der) else {
        return Err("the key is damaged: its contents are not a `SubjectPublicKeyInfo`".to_owned());
    };
    let curve = info.algorithm.parameters.as_ref().and_then(|parameters| parameters.as_oid().ok());
    let is_kind = |row: &&(Oid<'_>, Option<Oid<'_>>, Kind)| {
        row.0 == info.algorithm.algorithm && row.1.as_ref().is_none_or(|expected| Some(expected) == curve.as_ref())
    };
    let Some((.., kind)) = KINDS.iter().find(is_kind) else {
        return Err("this kind of key is not supported: expected RSA, P-256, P-384 or Ed25519".to_owned());
    };
    if info.subject_public_key.unused_bits != 0 {
        return Err("the key is damaged: it is not whole bytes".to_owned());
    }
    Ok((*kind, info.subject_public_key.data.to_vec()))
}

fn check_rsa(der: &[u8]) -> Result<(), String> {
    let Ok((&[], key)) = RSAPublicKey::from_der(der) else {
        return Err("the key is damaged: its contents are not an `RSAPublicKey`".to_owned());
    };
    let zeros = key.modulus.iter().take_while(|byte| **byte == 0).count();
    let modulus = &key.modulus[zeros..];
    let bits = modulus.first().map_or(0, |first| modulus.len() * 8 - first.leading_zeros() as usize);
    if !RSA_BITS.contains(&bits) {
        return Err(format!("the RSA key has {bits} bits: expected {} to {}", RSA_BITS.start(), RSA_BITS.end()));
    }
    Ok(())
}

fn check_point(point: &[u8], bytes: usize) -> Result<(), String> {
    if point.len() != bytes || point[0] != 4 {
        return Err(
            "the point is compressed or damaged: write the key with `openssl ec -conv_form uncompressed`".into()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests;
