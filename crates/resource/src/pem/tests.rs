//! Certificates made for the purpose, and what is wrong with them.

use rcgen::{CertificateParams, DnType, KeyPair, PKCS_ECDSA_P384_SHA384, PKCS_ED25519};

use super::*;

/// Within the validity of what [`made`] makes.
const NOW: i64 = 1_800_000_000;

struct Made {
    chain: String,
    key: String,
}

fn made(key: KeyPair, names: &[&str]) -> Made {
    let mut params = CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap();
    params.distinguished_name.push(DnType::CommonName, "Common.Example");
    params.not_after = rcgen::date_time_ymd(2030, 1, 2);
    Made { chain: params.self_signed(&key).unwrap().pem(), key: key.serialize_pem() }
}

fn example() -> Made {
    made(KeyPair::generate().unwrap(), &["Shop.Example", "*.shop.example"])
}

fn first(chain: &str, key: &str) -> (PemPart, String, &'static str) {
    let fault = examine(chain, key, NOW).unwrap_err().remove(0);
    (fault.part, fault.message, fault.hint.unwrap_or_default())
}

#[test]
fn names_and_expiry_are_read() {
    let Made { chain, key } = example();
    let facts = examine(&chain, &key, NOW).unwrap();
    assert_eq!(
        facts,
        CertificateFacts { names: vec!["*.shop.example".into(), "shop.example".into()], not_after: 1_893_542_400 }
    );
    let no_names = made(KeyPair::generate().unwrap(), &[]);
    assert_eq!(examine(&no_names.chain, &no_names.key, NOW).unwrap().names, ["common.example"]);
}

#[test]
fn other_kinds_of_keys_and_longer_chains_are_taken() {
    for key in [KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384).unwrap(), KeyPair::generate_for(&PKCS_ED25519).unwrap()]
    {
        let Made { chain, key } = made(key, &["a"]);
        assert!(examine(&chain, &key, NOW).is_ok());
        let longer = format!("a comment\n{chain}\n{}", example().chain.replace('\n', "\r\n"));
        assert!(examine(&longer, &key, NOW).is_ok());
        assert!(authorities(&longer).is_ok());
    }
}

#[test]
fn what_does_not_fit_is_told_apart() {
    let (one, two) = (example(), example());
    let (part, message, hint) = first(&one.chain, &two.key);
    assert_eq!((part, message.as_str()), (PemPart::Key, "the key is not the certificate's"));
    assert!(hint.contains("openssl"));
    let (_, _, hint) = first(&format!("{}{}", two.chain, one.chain), &one.key);
    assert!(hint.contains("first"));
    assert!(first(&one.key, &one.key).2.contains("`key`"));
    assert!(first(&one.chain, &one.chain).2.contains("`certificate`"));
    let expired = examine(&one.chain, &one.key, 1_900_000_000).unwrap_err().remove(0);
    assert_eq!(expired.message, "the certificate expired on 2030-01-02");
}

#[test]
fn broken_pem_has_a_line() {
    let Made { chain, key } = example();
    let cut: String = chain.lines().take(3).map(|line| format!("{line}\n")).collect();
    let damaged = chain.replacen("MII", "M*I", 1);
    let other = chain.replacen("MII", "MAA", 1);
    for (chain, key, part, message) in [
        (cut.as_str(), key.as_str(), PemPart::Certificate, "line 1: the block that begins here has no -----END line"),
        (&damaged, &key, PemPart::Certificate, "line 1: the block that begins here is not valid base64"),
        (&other, &key, PemPart::Certificate, "line 1: the certificate that begins here cannot be read"),
        ("", &key, PemPart::Certificate, "line 1: there is no certificate"),
        (&chain, "", PemPart::Key, "line 1: there is no private key"),
        (
            &chain,
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\n-----END ENCRYPTED PRIVATE KEY-----",
            PemPart::Key,
            "line 1: the key is encrypted",
        ),
        (
            &chain,
            "\n-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END RSA PRIVATE KEY-----",
            PemPart::Key,
            "line 2: the key is encrypted",
        ),
        (
            &chain,
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
            PemPart::Key,
            "the key cannot be read",
        ),
        (&chain, "-----BEGIN X-----\n-----END X-----", PemPart::Key, "line 1: expected a private key, found X"),
    ] {
        let (found, text, _) = first(chain, key);
        assert_eq!((found, text.as_str()), (part, message));
    }
}

#[test]
fn both_halves_are_looked_at() {
    let faults = examine("x", "y", NOW).unwrap_err();
    assert_eq!(faults.iter().map(|fault| fault.part).collect::<Vec<_>>(), [PemPart::Certificate, PemPart::Key]);
}
