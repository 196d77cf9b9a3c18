use super::*;

const RSA: &str = include_str!("../../tests/keys/rsa-public.pem");
const RSA_PKCS1: &str = include_str!("../../tests/keys/rsa-pkcs1-public.pem");
const RSA_PSS: &str = include_str!("../../tests/keys/rsa-pss-public.pem");
const P256: &str = include_str!("../../tests/keys/p256-public.pem");
const P384: &str = include_str!("../../tests/keys/p384-public.pem");
const ED25519: &str = include_str!("../../tests/keys/ed25519-public.pem");
const PRIVATE: &str = include_str!("../../tests/keys/p256.pem");

#[test]
fn keys_are_read_for_the_algorithms_of_their_kind_and_no_other() {
    use PublicAlgorithm::{
        EcdsaP256, EcdsaP384, Ed25519, RsaPkcs1Sha256, RsaPkcs1Sha384, RsaPkcs1Sha512, RsaPssSha256, RsaPssSha384,
        RsaPssSha512,
    };
    let pss = [RsaPssSha256, RsaPssSha384, RsaPssSha512];
    let rsa = [&[RsaPkcs1Sha256, RsaPkcs1Sha384, RsaPkcs1Sha512], &pss[..]].concat();
    let all = [&rsa[..], &[EcdsaP256, EcdsaP384, Ed25519]].concat();
    for (text, own) in [
        (RSA, &rsa[..]),
        (RSA_PKCS1, &rsa),
        (RSA_PSS, &pss),
        (P256, &[EcdsaP256]),
        (P384, &[EcdsaP384]),
        (ED25519, &[Ed25519]),
    ] {
        for algorithm in &all {
            match public_key(text, *algorithm) {
                Ok(key) => assert!(own.contains(algorithm) && key.algorithm == *algorithm, "{algorithm:?} {text}"),
                Err(error) => assert!(!own.contains(algorithm) && error.contains("expected"), "{error} {text}"),
            }
        }
    }
    assert_eq!(public_key(RSA, RsaPssSha512), public_key(RSA_PKCS1, RsaPssSha512));
    assert_eq!(
        public_key(&format!("Our key:\r\n{}", P256.replace('\n', "\r\n")), EcdsaP256),
        public_key(P256, EcdsaP256)
    );
}

#[test]
fn a_mistake_is_named() {
    let cut = &P256[..P256.len() / 2];
    let flipped = P256.replacen("MFk", "MFj", 1);
    for (text, algorithm, part) in [
        (P256, PublicAlgorithm::EcdsaP384, "this is a P-256 key: expected a P-384 key"),
        (RSA_PSS, PublicAlgorithm::RsaPkcs1Sha256, "an RSA key for PSS alone"),
        (include_str!("../../tests/keys/rsa1024-public.pem"), PublicAlgorithm::RsaPssSha512, "1024 bits"),
        (include_str!("../../tests/keys/p521-public.pem"), PublicAlgorithm::EcdsaP384, "not supported"),
        (include_str!("../../tests/keys/p256-compressed-public.pem"), PublicAlgorithm::EcdsaP256, "compressed"),
        (&format!("{P256}{P384}"), PublicAlgorithm::EcdsaP256, "several keys"),
        (&format!("{P256}{cut}"), PublicAlgorithm::EcdsaP256, "not PEM"),
        (PRIVATE, PublicAlgorithm::EcdsaP256, "this is a private key"),
        (include_str!("../../tests/keys/p256-sec1.pem"), PublicAlgorithm::EcdsaP256, "this is a private key"),
        (&P256.replace("PUBLIC KEY", "CERTIFICATE"), PublicAlgorithm::EcdsaP256, "this is a certificate"),
        (&P256.replace("PUBLIC KEY", "OTHER"), PublicAlgorithm::EcdsaP256, "BEGIN PUBLIC KEY"),
        (&P256.replacen("PUBLIC", "RSA PUBLIC", 1), PublicAlgorithm::EcdsaP256, "not PEM"),
        (&P256.replace("PUBLIC", "RSA PUBLIC"), PublicAlgorithm::RsaPssSha512, "damaged"),
        (cut, PublicAlgorithm::EcdsaP256, "not PEM"),
        (&flipped, PublicAlgorithm::EcdsaP256, "damaged"),
        ("", PublicAlgorithm::EcdsaP256, "no key"),
        ("MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE", PublicAlgorithm::EcdsaP256, "no key"),
        (&" ".repeat(20_000), PublicAlgorithm::EcdsaP256, "20000 bytes"),
    ] {
        let error = public_key(text, algorithm).unwrap_err();
        assert!(error.contains(part), "{error}: expected {part}");
    }
}

#[test]
fn a_private_key_is_read_from_pkcs_8_alone() {
    assert!(matches!(private_key(PRIVATE), Ok(SigningKey::Private(_))));
    for (text, part) in [
        (include_str!("../../tests/keys/p256-sec1.pem"), "pkcs8 -topk8"),
        (P256, "BEGIN PRIVATE KEY"),
        (&PRIVATE.replace("PRIVATE", "ENCRYPTED PRIVATE"), "encrypted"),
        (&PRIVATE.repeat(2), "several"),
    ] {
        let error = private_key(text).unwrap_err();
        assert!(error.contains(part), "{error}: expected {part}");
    }
}

#[test]
fn each_byte_of_the_contents_may_be_wrong_without_a_panic() {
    let der = pem::parse(P256).unwrap().into_contents();
    for at in 0..der.len() {
        for bit in 0..8 {
            let mut der = der.clone();
            der[at] ^= 1 << bit;
            let _ = public_key(&pem::encode(&pem::Pem::new("PUBLIC KEY", der)), PublicAlgorithm::EcdsaP256);
        }
        let cut = pem::encode(&pem::Pem::new("PUBLIC KEY", &der[..at]));
        public_key(&cut, PublicAlgorithm::EcdsaP256).unwrap_err();
    }
}
