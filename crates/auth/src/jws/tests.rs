use std::sync::LazyLock;

use proptest::prelude::*;
use ring::rand::SystemRandom;
use ring::rsa::{KeyPair as RsaKeyPair, KeyPairComponents, PublicKeyComponents};
use ring::signature::{self, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};

use super::*;
use crate::Secret;
use crate::digest::MacHash;
use crate::encoding::base64_url;
use crate::jwa::ALGORITHMS;
use crate::jwk::{Jwk, JwkOptions};
use crate::key::{PublicAlgorithm, PublicKey};

/// RFC 7515, appendix A: the claims of A.1, A.2 and A.3.
const CLAIMS: &str = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
/// A.1.1.
const HS256_KEY: &str = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
/// A.2.1: n, d, p, q, dp, dq, qi.
const RSA_N: &str = "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ";
const RSA_D: &str = "Eq5xpGnNCivDflJsRQBXHx1hdR1k6Ulwe2JZD50LpXyWPEAeP88vLNO97IjlA7_GQ5sLKMgvfTeXZx9SE-7YwVol2NXOoAJe46sui395IW_GO-pWJ1O0BkTGoVEn2bKVRUCgu-GjBVaYLU6f3l9kJfFNS3E0QbVdxzubSu3Mkqzjkn439X0M_V51gfpRLI9JYanrC4D4qAdGcopV_0ZHHzQlBjudU2QvXt4ehNYTCBr6XCLQUShb1juUO1ZdiYoFaFQT5Tw8bGUl_x_jTj3ccPDVZFD9pIuhLhBOneufuBiB4cS98l2SR_RQyGWSeWjnczT0QU91p1DhOVRuOopznQ";
const RSA_P: &str = "4BzEEOtIpmVdVEZNCqS7baC4crd0pqnRH_5IB3jw3bcxGn6QLvnEtfdUdiYrqBdss1l58BQ3KhooKeQTa9AB0Hw_Py5PJdTJNPY8cQn7ouZ2KKDcmnPGBY5t7yLc1QlQ5xHdwW1VhvKn-nXqhJTBgIPgtldC-KDV5z-y2XDwGUc";
const RSA_Q: &str = "uQPEfgmVtjL0Uyyx88GZFF1fOunH3-7cepKmtH4pxhtCoHqpWmT8YAmZxaewHgHAjLYsp1ZSe7zFYHj7C6ul7TjeLQeZD_YwD66t62wDmpe_HlB-TnBA-njbglfIsRLtXlnDzQkv5dTltRJ11BKBBypeeF6689rjcJIDEz9RWdc";
const RSA_DP: &str = "BwKfV3Akq5_MFZDFZCnW-wzl-CCo83WoZvnLQwCTeDv8uzluRSnm71I3QCLdhrqE2e9YkxvuxdBfpT_PI7Yz-FOKnu1R6HsJeDCjn12Sk3vmAktV2zb34MCdy7cpdTh_YVr7tss2u6vneTwrA86rZtu5Mbr1C1XsmvkxHQAdYo0";
const RSA_DQ: &str = "h_96-mK1R_7glhsum81dZxjTnYynPbZpHziZjeeHcXYsXaaMwkOlODsWa7I9xXDoRwbKgB719rrmI2oKr6N3Do9U0ajaHF-NKJnwgjMd2w9cjz3_-kyNlxAr2v4IKhGNpmM5iIgOS1VZnOZ68m6_pbLBSp3nssTdlqvd0tIiTHU";
const RSA_QI: &str = "IYd7DHOhrWvxkwPQsRM2tOgrjbcrfvtQJipd-DlcxyVuuM9sQLdgjVk2oy26F0EmpScGLq2MowX7fhd_QJQ3ydy5cY7YIBi87w93IKLEdfnbJtoOPLUW0ITrJReOgo1cq9SbsxYawBgfp_gh6A5603k2-ZQwVK0JKSHuLFkuQ3U";
/// RFC 7520, section 3.3: n.
const COOKBOOK_N: &str = "n4EPtAOCc9AlkeQHPzHStgAbgs7bTZLwUBZdR8_KuKPEHLd4rHVTeT-O-XV2jRojdNhxJWTDvNd7nqQ0VEiZQHz_AJmSCpMaJMRBSFKrKb2wqVwGU_NsYOYL-QtiWN2lbzcEe6XC0dApr5ydQLrHqkHHig3RBordaZ6Aj-oBHqFEHYpPe7Tpe-OfVfHd1E6cS6M1FZcD1NNLYD5lFHpPI9bTwJlsde3uhGqC0ZCuEHg8lhzwOHrtIQbS0FVbb9k3-tVTU4fg_3L_vniUFAKwuCLqKnS2BYwdq_mzSnbLY7h_qixoR7jig3__kRhuaxwUkRz5iaiQkqgc5gHdrNP5zw";

/// The token and the key of each published example.
fn published() -> Vec<(String, Value)> {
    let ec = ("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0");
    vec![
        // RFC 7515, A.1.
        (
            format!("eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.{CLAIMS}.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
            json!({"kty": "oct", "alg": "HS256", "k": HS256_KEY}),
        ),
        // RFC 7515, A.2.
        (
            format!(
                "eyJhbGciOiJSUzI1NiJ9.{CLAIMS}.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"
            ),
            json!({"kty": "RSA", "alg": "RS256", "e": "AQAB", "n": RSA_N}),
        ),
        // RFC 7515, A.3.
        (
            format!(
                "eyJhbGciOiJFUzI1NiJ9.{CLAIMS}.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
            ),
            json!({"kty": "EC", "crv": "P-256", "x": ec.0, "y": ec.1}),
        ),
        // RFC 8037, A.4, with the key of A.2.
        (
            "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
                .to_owned(),
            json!({"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}),
        ),
        // RFC 7520, section 4.2.
        (
            "eyJhbGciOiJQUzM4NCIsImtpZCI6ImJpbGJvLmJhZ2dpbnNAaG9iYml0b24uZXhhbXBsZSJ9.SXTigJlzIGEgZGFuZ2Vyb3VzIGJ1c2luZXNzLCBGcm9kbywgZ29pbmcgb3V0IHlvdXIgZG9vci4gWW91IHN0ZXAgb250byB0aGUgcm9hZCwgYW5kIGlmIHlvdSBkb24ndCBrZWVwIHlvdXIgZmVldCwgdGhlcmXigJlzIG5vIGtub3dpbmcgd2hlcmUgeW91IG1pZ2h0IGJlIHN3ZXB0IG9mZiB0by4.cu22eBqkYDKgIlTpzDXGvaFfz6WGoz7fUDcfT0kkOy42miAh2qyBzk1xEsnk2IpN6-tPid6VrklHkqsGqDqHCdP6O8TTB5dDDItllVo6_1OLPpcbUrhiUSMxbbXUvdvWXzg-UD8biiReQFlfz28zGWVsdiNAUf8ZnyPEgVFn442ZdNqiVJRmBqrYRXe8P_ijQ7p8Vdz0TTrxUeT3lm8d9shnr2lfJT8ImUjvAA2Xez2Mlp8cBE5awDzT0qI0n6uiP1aCN_2_jLAeQTlqRHtfa64QQSUmFAAjVKPbByi7xho0uTOcbH510a6GYmJUAfmWjwZ6oD4ifKo8DYM-X72Eaw"
                .to_owned(),
            json!({"kty": "RSA", "alg": "PS384", "kid": "bilbo.baggins@hobbiton.example", "e": "AQAB", "n": COOKBOOK_N}),
        ),
    ]
}

fn read(jwk: &Value) -> Key {
    let options = JwkOptions { secrets: true, ..JwkOptions::default() };
    Jwk::from_json(jwk.as_object().unwrap(), &options).unwrap().key
}

/// Someone who makes tokens.
pub(crate) struct Issuer {
    rsa: RsaKeyPair,
    p256: EcdsaKeyPair,
    p384: EcdsaKeyPair,
    ed25519: Ed25519KeyPair,
    secret: Secret,
    random: SystemRandom,
}

impl Issuer {
    /// The same one for all tests, because its keys take long to check.
    pub(crate) fn shared() -> &'static Self {
        static ISSUER: LazyLock<Issuer> = LazyLock::new(Issuer::new);
        &ISSUER
    }

    fn new() -> Self {
        let random = SystemRandom::new();
        let bytes = |text: &str| from_base64_url(text.as_bytes()).unwrap();
        let components = KeyPairComponents {
            public_key: PublicKeyComponents { n: bytes(RSA_N), e: bytes("AQAB") },
            d: bytes(RSA_D),
            p: bytes(RSA_P),
            q: bytes(RSA_Q),
            dP: bytes(RSA_DP),
            dQ: bytes(RSA_DQ),
            qInv: bytes(RSA_QI),
        };
        let ecdsa = |algorithm| {
            let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
            EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random).unwrap()
        };
        let ed25519 = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        Self {
            rsa: RsaKeyPair::from_components(&components).unwrap(),
            p256: ecdsa(&signature::ECDSA_P256_SHA256_FIXED_SIGNING),
            p384: ecdsa(&signature::ECDSA_P384_SHA384_FIXED_SIGNING),
            ed25519: Ed25519KeyPair::from_pkcs8(ed25519.as_ref()).unwrap(),
            secret: Secret::new(bytes(HS256_KEY)),
            random,
        }
    }

    /// What verifies tokens of an algorithm.
    pub(crate) fn key(&self, algorithm: &Algorithm) -> Key {
        let algorithm = match algorithm.method {
            Method::Mac(hash) => return Key::Hmac(hash, self.secret.clone()),
            Method::Public(algorithm) => algorithm,
        };
        let bytes = match algorithm {
            PublicAlgorithm::EcdsaP256 => self.p256.public_key().as_ref(),
            PublicAlgorithm::EcdsaP384 => self.p384.public_key().as_ref(),
            PublicAlgorithm::Ed25519 => self.ed25519.public_key().as_ref(),
            PublicAlgorithm::RsaPkcs1Sha256
            | PublicAlgorithm::RsaPkcs1Sha384
            | PublicAlgorithm::RsaPkcs1Sha512
            | PublicAlgorithm::RsaPssSha256
            | PublicAlgorithm::RsaPssSha384
            | PublicAlgorithm::RsaPssSha512 => self.rsa.public().as_ref(),
        };
        Key::Public(PublicKey { algorithm, bytes: bytes.to_vec() })
    }

    fn signature(&self, algorithm: &Algorithm, message: &[u8]) -> Vec<u8> {
        let rsa = |encoding: &'static dyn signature::RsaEncoding| {
            let mut signature = vec![0; self.rsa.public().modulus_len()];
            self.rsa.sign(encoding, &self.random, message, &mut signature).unwrap();
            signature
        };
        let algorithm = match algorithm.method {
            Method::Mac(hash) => return hash.of(self.secret.bytes(), message).as_ref().to_vec(),
            Method::Public(algorithm) => algorithm,
        };
        match algorithm {
            PublicAlgorithm::RsaPkcs1Sha256 => rsa(&signature::RSA_PKCS1_SHA256),
            PublicAlgorithm::RsaPkcs1Sha384 => rsa(&signature::RSA_PKCS1_SHA384),
            PublicAlgorithm::RsaPkcs1Sha512 => rsa(&signature::RSA_PKCS1_SHA512),
            PublicAlgorithm::RsaPssSha256 => rsa(&signature::RSA_PSS_SHA256),
            PublicAlgorithm::RsaPssSha384 => rsa(&signature::RSA_PSS_SHA384),
            PublicAlgorithm::RsaPssSha512 => rsa(&signature::RSA_PSS_SHA512),
            PublicAlgorithm::EcdsaP256 => self.p256.sign(&self.random, message).unwrap().as_ref().to_vec(),
            PublicAlgorithm::EcdsaP384 => self.p384.sign(&self.random, message).unwrap().as_ref().to_vec(),
            PublicAlgorithm::Ed25519 => self.ed25519.sign(message).as_ref().to_vec(),
        }
    }

    /// A token with this text as its header, signed with an algorithm that the header need not state.
    pub(crate) fn raw(&self, algorithm: &Algorithm, header: &str, payload: &str) -> String {
        let signed = format!("{}.{}", base64_url(header.as_bytes()), base64_url(payload.as_bytes()));
        let signature = base64_url(&self.signature(algorithm, signed.as_bytes()));
        format!("{signed}.{signature}")
    }
}

fn named(name: &str) -> &'static Algorithm {
    Algorithm::named(name).unwrap()
}

fn verified(token: &str, key: Option<&Key>) -> Result<(), Reason> {
    let token = Compact::parse(token.as_bytes()).map_err(|failure| failure.reason)?;
    token.verify(key, None).map_err(|failure| failure.reason)
}

#[test]
fn published_examples_verify() {
    for (token, jwk) in published() {
        let key = read(&jwk);
        assert_eq!(verified(&token, Some(&key)), Ok(()), "{token}");
        assert_eq!(verified(&token, None), Err(Reason::UnknownKey));
        let compact = Compact::parse(token.as_bytes()).unwrap();
        assert_eq!(compact.kid.as_deref(), jwk.get("kid").and_then(Value::as_str));
    }
}

#[test]
fn a_key_verifies_tokens_of_its_algorithm_and_no_other() {
    let issuer = Issuer::shared();
    for algorithm in &ALGORITHMS {
        let token = issuer.raw(algorithm, &json!({"alg": algorithm.name}).to_string(), "{}");
        for other in &ALGORITHMS {
            let fits = other.method == algorithm.method;
            let expected = if fits { Ok(()) } else { Err(Reason::Unsupported) };
            assert_eq!(verified(&token, Some(&issuer.key(other))), expected, "{} {}", algorithm.name, other.name);
        }
        // A secret that is bound to nothing verifies nothing.
        assert_eq!(verified(&token, Some(&Key::Secret(issuer.secret.clone()))), Err(Reason::Unsupported));
    }
}

#[test]
fn the_header_does_not_choose_the_algorithm() {
    let issuer = Issuer::shared();
    let rs256 = issuer.key(named("RS256"));
    let Key::Public(public) = &rs256 else { panic!() };
    // The classical forgery: the public key as the secret of an HMAC.
    let header = base64_url(br#"{"alg":"HS256"}"#);
    let code = MacHash::Sha256.of(&public.bytes, format!("{header}.e30").as_bytes());
    let forged = format!("{header}.e30.{}", base64_url(code.as_ref()));
    assert_eq!(verified(&forged, Some(&rs256)), Err(Reason::Unsupported));
    // An algorithm stated, another used.
    let wrong = issuer.raw(named("PS256"), r#"{"alg":"RS256"}"#, "{}");
    assert_eq!(verified(&wrong, Some(&rs256)), Err(Reason::Mismatch));
    // The key comes from the header.
    let jwk = json!({"alg": "EdDSA", "jwk": {"kty": "OKP", "crv": "Ed25519", "x": "AAAA"}, "jku": "https://x.example"});
    let own = issuer.raw(named("EdDSA"), &jwk.to_string(), "{}");
    assert_eq!(verified(&own, Some(named("EdDSA").stand_in())), Err(Reason::Mismatch));
    // ECDSA signatures of zeros, which some verifiers have taken (CVE-2022-21449).
    for (name, size) in [("ES256", 64), ("ES384", 96)] {
        let header = base64_url(json!({"alg": name}).to_string().as_bytes());
        let zeros = format!("{header}.e30.{}", base64_url(&vec![0; size]));
        assert_eq!(verified(&zeros, Some(&issuer.key(named(name)))), Err(Reason::Mismatch));
    }
}

/// Time would otherwise tell which keys exist.
#[test]
fn an_unknown_key_takes_the_work_of_a_wrong_signature() {
    let issuer = Issuer::shared();
    for algorithm in &ALGORITHMS {
        let token = issuer.raw(algorithm, &json!({"alg": algorithm.name}).to_string(), "{}");
        let mut token = Compact::parse(token.as_bytes()).unwrap();
        // Still below the modulus of RSA, and still a number of the right size for the curves.
        *token.signature.last_mut().unwrap() ^= 1;
        let (own, other) = (issuer.key(algorithm), Key::Secret(Secret::new([0; 32])));
        for (key, like) in [(Some(&own), None), (None, None), (None, Some(&own)), (Some(&other), None)] {
            jwa::VERIFIED.take();
            assert!(token.verify(key, like).is_err());
            assert_eq!(jwa::VERIFIED.take(), [algorithm.method], "{} {key:?} {like:?}", algorithm.name);
        }
    }
}

#[test]
fn refuses_headers() {
    let issuer = Issuer::shared();
    let key = issuer.key(named("HS256"));
    let long = format!(r#"{{"alg":"HS256","kid":"{}"}}"#, "k".repeat(MAX_KID_BYTES + 1));
    for (header, reason) in [
        (r#"{"alg":"none"}"#, Reason::Unsupported),
        (r#"{"alg":"NONE"}"#, Reason::Unsupported),
        (r#"{"alg":"hs256"}"#, Reason::Unsupported),
        (r#"{"alg":"ES512"}"#, Reason::Unsupported),
        (r#"{"alg":""}"#, Reason::Unsupported),
        (r#"{"alg":null}"#, Reason::Malformed),
        (r#"{"alg":["HS256"]}"#, Reason::Malformed),
        (r#"{"typ":"JWT"}"#, Reason::Malformed),
        (r#"{"alg":"HS256","alg":"HS256"}"#, Reason::Malformed),
        (r#"{"alg":"none","alg":"HS256"}"#, Reason::Malformed),
        (r#"{"alg":"HS256","\u0061lg":"none"}"#, Reason::Malformed),
        (r#"{"alg":"HS256","kid":1}"#, Reason::Malformed),
        (r#"{"alg":"HS256","typ":1}"#, Reason::Malformed),
        (r#"{"alg":"HS256","crit":["exp"],"exp":1}"#, Reason::Unsupported),
        (r#"{"alg":"HS256","crit":[]}"#, Reason::Unsupported),
        (r#"{"alg":"HS256","b64":false,"crit":["b64"]}"#, Reason::Unsupported),
        (r#"{"alg":"HS256","b64":false}"#, Reason::Unsupported),
        (r#"{"alg":"HS256","enc":"A128GCM"}"#, Reason::Unsupported),
        (r#"{"alg":"HS256","zip":"DEF"}"#, Reason::Unsupported),
        (r#"{"alg":"HS256","cty":"JWT"}"#, Reason::Unsupported),
        (r#"{"alg":"HS256","cty":"application/jwt"}"#, Reason::Unsupported),
        (&long, Reason::TooLarge),
        ("[]", Reason::Malformed),
        ("", Reason::Malformed),
        ("{", Reason::Malformed),
    ] {
        let token = issuer.raw(named("HS256"), header, "{}");
        assert_eq!(verified(&token, Some(&key)), Err(reason), "{header}");
    }
    for header in [r#"{"alg":"HS256","b64":true,"cty":"json"}"#, " {\"alg\" : \"HS256\"}\n", r#"{"\u0061lg":"HS256"}"#]
    {
        assert_eq!(verified(&issuer.raw(named("HS256"), header, "{}"), Some(&key)), Ok(()), "{header}");
    }
}

#[test]
fn refuses_forms() {
    let (token, jwk) = published().swap_remove(0);
    let key = read(&jwk);
    let parts: Vec<&str> = token.split('.').collect();
    let [header, payload, code] = parts[..] else { panic!() };
    let huge = format!("{header}.{}.{code}", "A".repeat(MAX_TOKEN_BYTES));
    for (token, reason) in [
        (String::new(), Reason::Malformed),
        (header.to_owned(), Reason::Malformed),
        (format!("{header}.{payload}"), Reason::Malformed),
        (format!("{header}.{payload}."), Reason::Mismatch),
        (format!("{token}."), Reason::Malformed),
        (format!("{token}.a.b"), Reason::Unsupported),
        ("....".to_owned(), Reason::Unsupported),
        ("..".to_owned(), Reason::Malformed),
        (format!(".{payload}.{code}"), Reason::Malformed),
        (format!("{token}="), Reason::Malformed),
        (format!("{token}AA"), Reason::Malformed),
        (format!("{token}A"), Reason::Mismatch),
        (format!("{header}=.{payload}.{code}"), Reason::Malformed),
        (format!("{header}.{payload}.{code}\n"), Reason::Malformed),
        (format!("{header}.{payload}.+{}", &code[1..]), Reason::Malformed),
        // The last character has two bits that no byte needs; here they are not zero.
        (format!("{header}.{payload}.{}l", &code[..code.len() - 1]), Reason::Malformed),
        (format!("{header}.{payload}.{}", &code[..40]), Reason::Mismatch),
        (format!("{header}.{payload}.{code}AAAA"), Reason::Mismatch),
        (format!("{header} .{payload}.{code}"), Reason::Malformed),
        ("{\"payload\":\"\",\"signatures\":[]}".to_owned(), Reason::Malformed),
        (huge, Reason::TooLarge),
    ] {
        assert_eq!(verified(&token, Some(&key)), Err(reason), "{token}");
    }
    let failure = Compact::parse(format!("{}.e30.", base64_url(&[0xff; 20])).as_bytes()).unwrap_err();
    assert_eq!(failure.to_string(), "malformed: the header of the token: expected value at line 1 column 1");
}

#[test]
fn media_types_have_a_short_form() {
    for (found, wanted, expected) in [
        ("JWT", "jwt", true),
        ("application/at+jwt", "at+jwt", true),
        ("at+JWT", "Application/at+jwt", true),
        ("jwt", "at+jwt", false),
        ("text/jwt", "jwt", false),
        ("application/application/jwt", "jwt", false),
        ("applicatio\u{e9}/jwt", "jwt", false),
    ] {
        assert_eq!(media_type_is(found, wanted), expected, "{found}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_changed_byte_is_refused(which in 0..5usize, at: prop::sample::Index, change in 1..=255u8) {
        let (token, jwk) = published().swap_remove(which);
        let mut bytes = token.into_bytes();
        let at = at.index(bytes.len());
        bytes[at] ^= change;
        let is_right = Compact::parse(&bytes).is_ok_and(|token| token.verify(Some(&read(&jwk)), None).is_ok());
        prop_assert!(!is_right, "{}", bytes.escape_ascii());
    }

    #[test]
    fn what_is_signed_verifies(which in 0..ALGORITHMS.len(), payload in "\\PC{0,60}", kid in "\\PC{0,20}") {
        let (issuer, algorithm) = (Issuer::shared(), &ALGORITHMS[which]);
        let header = json!({"alg": algorithm.name, "kid": kid}).to_string();
        let token = issuer.raw(algorithm, &header, &payload);
        let compact = Compact::parse(token.as_bytes()).unwrap();
        prop_assert_eq!(compact.kid.as_deref(), Some(&kid[..]));
        prop_assert_eq!(&compact.payload[..], payload.as_bytes());
        prop_assert!(compact.verify(Some(&issuer.key(algorithm)), None).is_ok());
    }

    #[test]
    fn takes_any_bytes(bytes: Vec<u8>, text in "[A-Za-z0-9_.-]{0,60}", header in r#"\{("alg":"(HS256|ES256|none)",?|"kid":"a"){0,3}\}"#) {
        let made = format!("{}.{}.{text}", base64_url(header.as_bytes()), base64_url(&bytes));
        for token in [&bytes[..], text.as_bytes(), made.as_bytes()] {
            if let Ok(token) = Compact::parse(token) {
                prop_assert!(token.verify(None, None).is_err());
            }
        }
    }
}
