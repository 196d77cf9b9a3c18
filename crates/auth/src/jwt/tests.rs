use proptest::prelude::*;
use serde_json::json;
use weir_http::Header;

use super::*;
use crate::jwa::{ALGORITHMS, Algorithm};
use crate::jwk::JwkOptions;
use crate::jws::tests::Issuer;
use crate::{Consumers, Credential, Key};

const NOW_MS: u64 = 1_700_000_000_000;

fn algorithm(name: &str) -> &'static Algorithm {
    Algorithm::named(name).unwrap()
}

/// `shop` has a secret by the name `k1` and a public key by the name of its issuer; `pay` has a key `k2`; `none` has a
/// credential without a key.
fn consumers(issuer: &Issuer) -> Consumers {
    let credential = |id: &str, key| Credential { kind: CredentialKind::Jwt, id: id.as_bytes().to_vec(), key };
    let key = |name| Some(issuer.key(algorithm(name)));
    let mut consumers = Consumers::default();
    let mut put = |id: &str, credentials| {
        consumers.put(Consumer { id: id.to_owned(), groups: Vec::new(), credentials });
    };
    put("shop", vec![credential("k1", key("HS256")), credential("https://shop.example", key("ES256"))]);
    put("pay", vec![credential("k2", key("EdDSA"))]);
    put("none", vec![credential("k3", None)]);
    consumers
}

/// A token with these members of its header, and claims that are valid for a minute.
fn token(issuer: &Issuer, name: &str, header: &Value, claims: &Value) -> String {
    let mut all = json!({"alg": name});
    all.as_object_mut().unwrap().extend(header.as_object().unwrap().clone());
    let mut said = json!({"exp": NOW_MS / 1000 + 60});
    said.as_object_mut().unwrap().extend(claims.as_object().unwrap().clone());
    issuer.raw(algorithm(name), &all.to_string(), &said.to_string())
}

fn sender(verified: Result<Verified, Failure>) -> Result<(String, Option<usize>), Reason> {
    let verified = verified.map_err(|failure| failure.reason)?;
    Ok((verified.consumer.id.clone(), verified.credential))
}

#[test]
fn a_credential_is_found_by_kid_or_else_by_issuer() {
    let issuer = Issuer::shared();
    let consumers = consumers(issuer);
    let shop = "https://shop.example";
    for (name, header, claims, expected) in [
        ("HS256", json!({"kid": "k1"}), json!({}), Ok(("shop", 0))),
        ("HS256", json!({"kid": "k1"}), json!({"iss": "other"}), Ok(("shop", 0))),
        ("ES256", json!({}), json!({"iss": shop}), Ok(("shop", 1))),
        ("ES256", json!({"kid": "thumb"}), json!({"iss": shop}), Ok(("shop", 1))),
        ("EdDSA", json!({"kid": "k2"}), json!({"iss": shop, "sub": "shop"}), Ok(("pay", 0))),
        ("Ed25519", json!({"kid": "k2"}), json!({}), Ok(("pay", 0))),
        // The kid comes first, and its key has another algorithm or is another key.
        ("ES256", json!({"kid": "k2"}), json!({"iss": shop}), Err(Reason::Unsupported)),
        ("HS256", json!({"kid": "k2"}), json!({}), Err(Reason::Unsupported)),
        ("HS512", json!({"kid": "k1"}), json!({}), Err(Reason::Unsupported)),
        ("HS256", json!({}), json!({}), Err(Reason::UnknownKey)),
        ("HS256", json!({"kid": "k4"}), json!({"iss": "x"}), Err(Reason::UnknownKey)),
        ("HS256", json!({"kid": "k3"}), json!({}), Err(Reason::UnknownKey)),
        ("HS256", json!({"kid": "k1"}), json!({"iss": 1}), Err(Reason::Malformed)),
    ] {
        let text = token(issuer, name, &header, &claims);
        let found = Jwt::default().verify_token(text.as_bytes(), &consumers, Trust::Credentials, NOW_MS);
        let expected = expected.map(|(id, at)| (id.to_owned(), Some(at)));
        assert_eq!(sender(found), expected, "{name} {header} {claims}");
    }
}

#[test]
fn an_issuer_vouches_for_consumers() {
    let issuer = Issuer::shared();
    let consumers = consumers(issuer);
    let Key::Public(public) = issuer.key(algorithm("EdDSA")) else { panic!() };
    let x = crate::encoding::base64_url(&public.bytes);
    let set = json!({"keys": [
        {"kty": "OKP", "crv": "Ed25519", "kid": "a", "x": x},
        {"kty": "OKP", "crv": "Ed25519", "kid": "b", "x": crate::encoding::base64_url(&[0x58; 32])},
    ]});
    let set = KeySet::parse(set.to_string().as_bytes(), &JwkOptions::default()).unwrap();
    let by_claim = ConsumerOf::Claim("client_id".to_owned());
    let fixed = ConsumerOf::Id("pay".to_owned());
    let unknown = ConsumerOf::Id("gone".to_owned());
    let shop = json!({"client_id": "shop"});
    for (who, name, kid, claims, expected) in [
        (&by_claim, "EdDSA", json!({"kid": "a"}), &shop, Ok("shop")),
        (&fixed, "EdDSA", json!({"kid": "a"}), &shop, Ok("pay")),
        (&unknown, "EdDSA", json!({"kid": "a"}), &shop, Err(Reason::UnknownKey)),
        (&by_claim, "EdDSA", json!({"kid": "a"}), &json!({"client_id": "x"}), Err(Reason::UnknownKey)),
        (&by_claim, "EdDSA", json!({"kid": "a"}), &json!({"client_id": ["shop"]}), Err(Reason::Malformed)),
        (&by_claim, "EdDSA", json!({"kid": "a"}), &json!({}), Err(Reason::Incomplete)),
        // An expired token says that it is expired, whoever it names.
        (&by_claim, "EdDSA", json!({"kid": "a"}), &json!({"client_id": "x", "exp": 1}), Err(Reason::Expired)),
        (&by_claim, "EdDSA", json!({"kid": "b"}), &shop, Err(Reason::Mismatch)),
        (&by_claim, "EdDSA", json!({"kid": "k2"}), &shop, Err(Reason::UnknownKey)),
        (&by_claim, "EdDSA", json!({}), &shop, Err(Reason::UnknownKey)),
        (&by_claim, "HS256", json!({"kid": "a"}), &shop, Err(Reason::Unsupported)),
        (&by_claim, "HS256", json!({"kid": "k1"}), &shop, Err(Reason::UnknownKey)),
    ] {
        let text = token(issuer, name, &kid, claims);
        let found = Jwt::default().verify_token(text.as_bytes(), &consumers, Trust::Issuer(&set, who), NOW_MS);
        assert_eq!(sender(found), expected.map(|id| (id.to_owned(), None)), "{name} {kid} {claims}");
    }
}

#[test]
fn options_are_checked_after_the_signature() {
    let issuer = Issuer::shared();
    let consumers = consumers(issuer);
    let audiences = vec!["weir".to_owned()];
    let claims = ClaimRules { audiences, ..ClaimRules::default() };
    let jwt = Jwt { typ: Some("at+jwt".to_owned()), claims, ..Jwt::default() };
    let verified = |typ: Value, claims: Value| {
        let text = token(issuer, "HS256", &json!({"kid": "k1", "typ": typ}), &claims);
        let wrong = text.rsplit_once('.').unwrap().0.to_owned() + ".AAAA";
        let found = |text: &str| jwt.verify_token(text.as_bytes(), &consumers, Trust::Credentials, NOW_MS);
        assert_eq!(sender(found(&wrong)), Err(Reason::Mismatch));
        found(&text)
    };
    let good = verified(json!("application/AT+JWT"), json!({"aud": ["weir", "x"], "scope": "a b", "n": [1]})).unwrap();
    assert_eq!(good.claims["scope"], "a b");
    assert_eq!(good.claims.len(), 4);
    for (typ, claims, reason) in [
        (json!("JWT"), json!({"aud": "weir"}), Reason::Unsupported),
        (json!("at+jwt"), json!({"aud": "x"}), Reason::Unsupported),
        (json!("at+jwt"), json!({}), Reason::Incomplete),
        (json!("at+jwt"), json!({"aud": "weir", "exp": NOW_MS / 1000 - 60}), Reason::Expired),
        (json!("at+jwt"), json!({"aud": "weir", "nbf": NOW_MS / 1000 + 61}), Reason::NotYet),
    ] {
        assert_eq!(sender(verified(typ, claims)), Err(reason));
    }
    let untyped = token(issuer, "HS256", &json!({"kid": "k1"}), &json!({"aud": "weir"}));
    let found = jwt.verify_token(untyped.as_bytes(), &consumers, Trust::Credentials, NOW_MS);
    assert_eq!(sender(found), Err(Reason::Incomplete));
}

#[test]
fn claims_are_one_object() {
    let issuer = Issuer::shared();
    let consumers = consumers(issuer);
    for payload in ["", "1", "[]", "null", "{", r#"{"exp":1,"exp":2}"#, r#"{"sub":"a","\u0073ub":"b"}"#, "{}{}"] {
        let text = issuer.raw(algorithm("HS256"), r#"{"alg":"HS256","kid":"k1"}"#, payload);
        let found = Jwt::default().verify_token(text.as_bytes(), &consumers, Trust::Credentials, NOW_MS);
        assert_eq!(sender(found), Err(Reason::Malformed), "{payload}");
    }
}

#[test]
fn the_token_is_in_one_place() {
    let issuer = Issuer::shared();
    let consumers = consumers(issuer);
    let text = token(issuer, "HS256", &json!({"kid": "k1"}), &json!({}));
    let bearer = format!("Bearer {text}");
    let target = format!("/?access_token={text}");
    let mut jwt = Jwt::default();
    jwt.places.push(Place::Query("access_token".to_owned()));
    let found = |target: &str, fields: &[&str]| {
        let headers: Vec<Header<'_>> =
            fields.iter().map(|value| Header::new(b"authorization", value.as_bytes())).collect();
        let request = Request {
            method: b"GET",
            is_tls: true,
            client_certificate: None,
            authority: b"a.example",
            target: target.as_bytes(),
            headers: &headers,
        };
        sender(jwt.verify(&request, &consumers, Trust::Credentials, NOW_MS))
    };
    let shop = Ok(("shop".to_owned(), Some(0)));
    assert_eq!(found("/", &[&bearer]), shop);
    assert_eq!(found(&target, &[]), shop);
    assert_eq!(found(&target, &["Basic YTpi"]), shop);
    assert_eq!(found("/", &[]), Err(Reason::Missing));
    assert_eq!(found(&target, &[&bearer]), Err(Reason::Duplicated));
    assert_eq!(found("/", &[&bearer, &bearer]), Err(Reason::Duplicated));
    assert_eq!(found("/", &["Bearer "]), Err(Reason::Malformed));
    assert_eq!(found("/", &[&format!("{bearer} x")]), Err(Reason::Malformed));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn any_changed_byte_is_refused(which in 0..ALGORITHMS.len(), at: prop::sample::Index, change in 1..=255u8) {
        let (issuer, algorithm) = (Issuer::shared(), &ALGORITHMS[which]);
        let mut consumers = Consumers::default();
        let key = Some(issuer.key(algorithm));
        let credential = Credential { kind: CredentialKind::Jwt, id: b"k".to_vec(), key };
        consumers.put(Consumer { id: "c".to_owned(), groups: Vec::new(), credentials: vec![credential] });
        let mut text = token(issuer, algorithm.name, &json!({"kid": "k"}), &json!({"sub": "x"})).into_bytes();
        let verified = |text: &[u8]| sender(Jwt::default().verify_token(text, &consumers, Trust::Credentials, NOW_MS));
        prop_assert_eq!(verified(&text), Ok(("c".to_owned(), Some(0))));
        let at = at.index(text.len());
        text[at] ^= change;
        prop_assert!(verified(&text).is_err(), "{}", text.escape_ascii());
    }
}
