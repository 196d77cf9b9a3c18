use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::digest::MacHash;
use crate::encoding::{base64_url, hex};
use crate::key::PublicAlgorithm;

/// RFC 7517, appendix A.1: n of the RSA key.
const RSA_N: &str = "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw";

fn rsa() -> Value {
    json!({"kty": "RSA", "kid": "r", "alg": "RS256", "n": RSA_N, "e": "AQAB"})
}

fn ed25519(kid: &str) -> Value {
    json!({"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"})
}

/// A key with changes; a change to null removes a member.
fn with(mut key: Value, changes: &Value) -> Value {
    let members = key.as_object_mut().unwrap();
    for (name, value) in changes.as_object().unwrap() {
        if value.is_null() {
            members.remove(name);
        } else {
            members.insert(name.clone(), value.clone());
        }
    }
    key
}

fn read(key: &Value, options: &JwkOptions) -> Result<Jwk, String> {
    Jwk::from_json(key.as_object().unwrap(), options)
}

fn set(keys: &[Value]) -> Result<KeySet, String> {
    KeySet::parse(json!({"keys": keys}).to_string().as_bytes(), &JwkOptions::default())
}

#[test]
fn reads_the_example_set_of_the_rfc() {
    // RFC 7517, appendix A.1, but without the `use` of the first key, which is `enc` there.
    let ec = json!({
        "kty": "EC", "crv": "P-256", "kid": "1",
        "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4", "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM",
    });
    let set = set(&[with(ec.clone(), &json!({"use": "enc", "kid": "0"})), ec, rsa()]).unwrap();
    assert_eq!(set.notes(), ["key 1 (`0`) is left out: `use` is `enc`, not `sig`"]);
    let Some(Key::Public(ec)) = set.find(Some("1")) else { panic!() };
    assert_eq!((ec.algorithm, ec.bytes.len()), (PublicAlgorithm::EcdsaP256, 65));
    assert_eq!(hex(&ec.bytes[..5]), "0430a0424c");
    let Some(Key::Public(rsa)) = set.find(Some("r")) else { panic!() };
    assert_eq!((rsa.algorithm, rsa.bytes.len()), (PublicAlgorithm::RsaPkcs1Sha256, 270));
    assert_eq!(hex(&rsa.bytes[..12]), "3082010a0282010100d2fc7b");
    assert_eq!((set.find(Some("0")), set.find(Some("")), set.find(None)), (None, None, None));
    assert!(set.like(Method::Public(PublicAlgorithm::EcdsaP256)).is_some());
    assert!(set.like(Method::Public(PublicAlgorithm::Ed25519)).is_none());
}

#[test]
fn each_key_has_one_algorithm() {
    let algorithm = |key: &Value, options: &JwkOptions| read(key, options).map(|key| Method::of(&key.key));
    let named = |names: &[&str]| JwkOptions {
        algorithms: names.iter().map(|name| Algorithm::named(name).unwrap()).collect(),
        secrets: true,
    };
    let method = |name: &str| Ok(Some(Algorithm::named(name).unwrap().method));
    let without = with(rsa(), &json!({"alg": null}));
    assert_eq!(
        algorithm(&without, &named(&["HS256"])),
        Err(
            "it has no `alg`; set it to one of RS256, RS384, RS512, PS256, PS384, PS512, or set a default algorithm for the \
             key set"
                .to_owned()
        )
    );
    assert_eq!(algorithm(&without, &named(&["ES256", "PS256", "RS256"])), method("PS256"));
    assert_eq!(algorithm(&rsa(), &named(&["PS256"])), method("RS256"));
    assert_eq!(algorithm(&ed25519("a"), &named(&[])), method("EdDSA"));
    assert_eq!(algorithm(&with(ed25519("a"), &json!({"alg": "Ed25519"})), &named(&[])), method("EdDSA"));
    let secret = json!({"kty": "oct", "k": base64_url(&[7; 64])});
    assert!(algorithm(&secret, &named(&[])).unwrap_err().contains("HS256, HS384, HS512"));
    assert_eq!(algorithm(&secret, &named(&["HS384"])), method("HS384"));
    assert_eq!(algorithm(&with(secret, &json!({"alg": "HS512"})), &named(&[])), method("HS512"));
    let key = read(&json!({"kty": "oct", "alg": "HS256", "k": base64_url(&[7; 32])}), &named(&[])).unwrap().key;
    assert_eq!(key, Key::Hmac(MacHash::Sha256, Secret::new([7; 32])));
}

#[test]
fn unusable_keys_are_named_with_the_reason() {
    let ec = json!({"kty": "EC", "crv": "P-384", "x": base64_url(&[1; 48]), "y": base64_url(&[1; 48])});
    let oct = json!({"kty": "oct", "alg": "HS256", "k": base64_url(&[7; 31])});
    assert!(read(&ec, &JwkOptions::default()).is_ok());
    for (key, error) in [
        (with(rsa(), &json!({"kty": null})), "no `kty`"),
        (with(rsa(), &json!({"kty": 1})), "`kty` is not a string"),
        (with(rsa(), &json!({"kty": "rsa"})), "`kty` is `rsa`; expected"),
        (with(rsa(), &json!({"alg": "ES256"})), "`alg` is `ES256`; for this type of key, expected one of RS256,"),
        (with(rsa(), &json!({"alg": "none"})), "`alg` is `none`"),
        (with(rsa(), &json!({"alg": "RSA-OAEP"})), "`alg` is `RSA-OAEP`"),
        (with(rsa(), &json!({"alg": "HS256"})), "`alg` is `HS256`"),
        (with(rsa(), &json!({"use": "enc"})), "`use` is `enc`"),
        (with(rsa(), &json!({"key_ops": ["encrypt"]})), "`key_ops`"),
        (with(rsa(), &json!({"key_ops": "verify"})), "`key_ops`"),
        (with(rsa(), &json!({"d": "AQAB"})), "private key"),
        (with(rsa(), &json!({"n": null})), "no `n`"),
        (with(rsa(), &json!({"n": "a+b="})), "`n` is not Base64url"),
        (with(rsa(), &json!({"n": base64_url(&[0xff; 128])})), "1024 bits; expected 2048 to 8192"),
        (with(rsa(), &json!({"e": "AQ"})), "`e` is not"),
        (with(rsa(), &json!({"kid": "k".repeat(257)})), "`kid` has more than 256 bytes"),
        (with(ec.clone(), &json!({"crv": "P-521"})), "`crv` is `P-521`; expected"),
        (with(ec.clone(), &json!({"crv": "secp256k1"})), "`crv` is `secp256k1`"),
        (with(ec.clone(), &json!({"crv": null})), "`kty` is `EC`; expected"),
        (with(ec.clone(), &json!({"x": base64_url(&[1; 47])})), "`x` has 47 bytes; expected 48"),
        (with(ec.clone(), &json!({"crv": "P-256"})), "`x` has 48 bytes; expected 32"),
        (with(ed25519("a"), &json!({"crv": "X25519"})), "`crv` is `X25519`"),
        (with(ed25519("a"), &json!({"x": "AAAA"})), "`x` has 3 bytes; expected 32"),
        (oct.clone(), "shared secrets are not accepted here"),
    ] {
        let found = read(&key, &JwkOptions::default()).unwrap_err();
        assert!(found.contains(error), "{found}");
    }
    let options = JwkOptions { secrets: true, ..JwkOptions::default() };
    assert_eq!(read(&oct, &options).unwrap_err(), "a secret of 31 bytes; this algorithm needs at least 32 bytes");
}

#[test]
fn names_are_unique() {
    assert_eq!(set(&[ed25519("a"), ed25519("a")]).unwrap_err(), "two keys have the `kid` `a`");
    let unnamed = || with(ed25519(""), &json!({"kid": null}));
    let one = set(&[unnamed()]).unwrap();
    assert!(one.find(None).is_some() && one.find(Some("x")).is_some());
    let one = set(&[ed25519("a")]).unwrap();
    assert!(one.find(None).is_some() && one.find(Some("a")).is_some() && one.find(Some("x")).is_none());
    let two = set(&[ed25519("a"), unnamed(), ed25519("b")]).unwrap();
    assert_eq!(two.notes(), ["1 of 3 keys are left out: they have no `kid`, so no token can name them"]);
    assert!(two.find(None).is_none() && two.find(Some("b")).is_some());
    assert!(set(&[unnamed(), unnamed()]).unwrap_err().contains("2 of 2 keys"));
}

#[test]
fn refuses_what_is_not_a_set() {
    let many: Vec<Value> = (0..=MAX_KEYS).map(|at| ed25519(&at.to_string())).collect();
    assert!(set(&many).unwrap_err().contains("129 keys; at most 128"));
    assert!(set(&many[1..]).is_ok());
    for (text, error) in [
        (String::new(), "not a JWK Set: EOF"),
        ("[]".to_owned(), "not an object"),
        ("{}".to_owned(), "no `keys` array"),
        (r#"{"keys":{}}"#.to_owned(), "no `keys` array"),
        (rsa().to_string(), r#"write a single key as {"keys": [KEY]}"#),
        (r#"{"keys":[]}"#.to_owned(), "it is empty"),
        (r#"{"keys":[1]}"#.to_owned(), "key 1 is left out: it is not an object"),
        (r#"{"keys":[],"keys":[]}"#.to_owned(), "duplicate member `keys`"),
        (r#"{"keys":[{"kty":"oct","kid":"s"}]}"#.to_owned(), "key 1 (`s`) is left out: `kty` is `oct`"),
        (" ".repeat(MAX_SET_BYTES + 1), "at most 262144"),
    ] {
        let found = KeySet::parse(text.as_bytes(), &JwkOptions::default()).unwrap_err();
        assert!(found.contains(error), "{found}");
    }
}

proptest! {
    #[test]
    fn takes_any_bytes(
        bytes: Vec<u8>,
        members in prop::collection::hash_map("(kty|crv|alg|kid|use|n|e|x|y|k)", "(RSA|EC|oct|OKP|P-256|Ed25519|RS256|AQAB|[a-z]{0,5})", 0..8),
    ) {
        let options = JwkOptions { secrets: true, ..JwkOptions::default() };
        let _ = KeySet::parse(&bytes, &options);
        let _ = KeySet::parse(json!({"keys": [members]}).to_string().as_bytes(), &options);
    }
}
