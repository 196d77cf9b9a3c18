use weir_http::Header;

use super::*;
use crate::encoding::base64;
use crate::key::{PublicAlgorithm, PublicKey};
use crate::{Consumer, Consumers, Credential, Key, Secret};

/// crypt_blowfish's wrapper.c (Openwall): the hash of `U*U`.
pub(crate) const HASH: &str = "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW";

/// A consumer whose user `ann` has a password with this hash.
pub(crate) fn consumers(key: Option<Key>) -> Consumers {
    let mut consumers = Consumers::default();
    let credentials = vec![Credential { kind: CredentialKind::Password, id: b"ann".to_vec(), key }];
    consumers.put(Consumer { id: "shop".to_owned(), groups: Vec::new(), credentials });
    consumers
}

pub(crate) fn attempt(consumers: &Consumers, user: &str, password: &str) -> Attempt {
    let value = format!("Basic {}", base64(format!("{user}:{password}").as_bytes()));
    let headers = [Header::new(b"authorization", value.as_bytes())];
    let request = Request {
        method: b"GET",
        is_tls: true,
        client_certificate: None,
        authority: b"a.example",
        target: b"/",
        headers: &headers,
    };
    let stand_in = PasswordHash::parse(HASH).unwrap().stand_in();
    Attempt::begin(&request, consumers, &stand_in).unwrap()
}

#[test]
fn a_right_password_proves_the_user() {
    let consumers = consumers(Some(Key::Secret(Secret::new(HASH))));
    let identity = attempt(&consumers, "ann", "U*U").finish().unwrap();
    assert_eq!((&identity.consumer.id[..], identity.credential), ("shop", Some(0)));
    for (user, password, reason) in [
        ("ann", "U*V", Reason::Mismatch),
        ("ann", "", Reason::Mismatch),
        ("ann", HASH, Reason::Mismatch),
        ("bob", "U*U", Reason::UnknownKey),
        ("", "U*U", Reason::UnknownKey),
        ("Ann", "U*U", Reason::UnknownKey),
    ] {
        assert_eq!(attempt(&consumers, user, password).finish().unwrap_err().reason, reason, "{user}");
    }
}

#[test]
fn a_credential_without_a_readable_hash_is_as_unknown() {
    let public = PublicKey { algorithm: PublicAlgorithm::Ed25519, bytes: vec![0; 32] };
    for key in [
        None,
        Some(Key::Public(public)),
        Some(Key::Secret(Secret::new("U*U"))),
        Some(Key::Secret(Secret::new([0xff, 0xfe]))),
    ] {
        let consumers = consumers(key);
        assert_eq!(attempt(&consumers, "ann", "U*U").finish().unwrap_err().reason, Reason::UnknownKey);
    }
}

#[test]
fn nothing_secret_is_shown() {
    let consumers = consumers(Some(Key::Secret(Secret::new(HASH))));
    let shown = format!("{:?}", attempt(&consumers, "ann", "password-1"));
    assert!(!shown.contains("password-1") && !shown.contains("E5YPO9"), "{shown}");
}
