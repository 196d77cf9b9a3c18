//! A token that lives for a few minutes, with the claims that a rule expects.

use ring::rand::SystemRandom;
use ring::rsa;
use ring::signature::{self, RsaEncoding};
use serde_json::{Map, Value, json};
use weir_auth::encoding::{base64_url, hex};
use weir_auth::jwa::{self, Method, check_secret};
use weir_auth::key::PublicAlgorithm;
use weir_auth::message::Algorithm;
use weir_auth::{SigningKey, Unsigned};
use weir_policy::signing::{MessageClient, TokenRules};

use super::choice::{Choice, named_value};
use crate::Failure;
use crate::arguments::Sign;

/// The time from `iat` to `exp` unless the rule allows less: long enough to try something, useless in a shell history.
const LIFETIME_S: u64 = 300;

/// The token.
pub(super) fn made(
    choice: &Choice,
    rules: &TokenRules,
    request: &Unsigned<'_>,
    sign: &Sign,
) -> Result<String, Failure> {
    let name = match &choice.algorithm {
        Some(name) => name,
        None => usual(&choice.key)?,
    };
    let algorithm = jwa::Algorithm::named(name).ok_or_else(|| {
        let names = jwa::Algorithm::names(None);
        Failure::new(format!("tokens have no algorithm `{name}`")).hint(format!("there are {names}"))
    })?;
    let mut header = json!({"alg": algorithm.name, "typ": rules.jwt.typ.as_deref().unwrap_or("JWT")});
    if !choice.key_id.is_empty() {
        header["kid"] = choice.key_id.as_str().into();
    }
    let claims = Value::Object(claims(choice, rules, request, sign)?);
    let signed = format!("{}.{}", base64_url(header.to_string().as_bytes()), base64_url(claims.to_string().as_bytes()));
    let signature = signature(algorithm, &choice.key, signed.as_bytes());
    let signature = signature.map_err(|why| Failure::new(format!("the token cannot be signed: {why}")))?;
    Ok(format!("{signed}.{}", base64_url(&signature)))
}

fn claims(
    choice: &Choice,
    rules: &TokenRules,
    request: &Unsigned<'_>,
    sign: &Sign,
) -> Result<Map<String, Value>, Failure> {
    let now = request.now_ms / 1000;
    let lifetime = rules.jwt.claims.max_lifetime_ms.map_or(LIFETIME_S, |most| LIFETIME_S.min(most / 1000));
    let mut claims = Map::new();
    let mut add = |name: &str, value: Value| claims.insert(name.to_owned(), value);
    if !choice.consumer.is_empty() {
        add("sub", choice.consumer.as_str().into());
        add(&rules.consumer_claim, choice.consumer.as_str().into());
    }
    for (name, values) in [("iss", &rules.jwt.claims.issuers), ("aud", &rules.jwt.claims.audiences)] {
        values.first().map(|value| add(name, value.as_str().into()));
    }
    for (name, value) in [("iat", now.into()), ("exp", (now + lifetime).into()), ("jti", hex(&request.random).into())] {
        add(name, value);
    }
    if rules.jwt.claims.required.iter().any(|name| name == "nbf") {
        add("nbf", now.into());
    }
    for claim in &sign.claim {
        let (name, value) = named_value("--claim", claim)?;
        claims.insert(name, value);
    }
    match rules.jwt.claims.required.iter().find(|name| !claims.contains_key(*name)) {
        Some(name) => Err(Failure::new(format!("the rule requires the claim `{name}`"))
            .hint(format!("give it with --claim {name}=VALUE"))),
        None => Ok(claims),
    }
}

/// The usual algorithm of a key.
fn usual(key: &SigningKey) -> Result<&'static str, Failure> {
    match MessageClient::algorithm_of(key) {
        Some(Algorithm::HmacSha256) => Ok("HS256"),
        Some(Algorithm::Ed25519) => Ok("EdDSA"),
        Some(Algorithm::EcdsaP256Sha256) => Ok("ES256"),
        Some(Algorithm::EcdsaP384Sha384) => Ok("ES384"),
        Some(Algorithm::RsaPssSha512 | Algorithm::RsaV15Sha256) => Ok("RS256"),
        None => Err(Failure::new("the private key is of a kind that cannot sign tokens")
            .hint("expected an Ed25519, P-256 or P-384 key, or an RSA key of at least 2048 bits, in PKCS#8")),
    }
}

fn signature(algorithm: &jwa::Algorithm, key: &SigningKey, message: &[u8]) -> Result<Vec<u8>, String> {
    let public = match (algorithm.method, key) {
        (Method::Mac(hash), SigningKey::Secret(secret)) => {
            check_secret(hash, secret.bytes())?;
            return Ok(hash.of(secret.bytes(), message).as_ref().to_vec());
        }
        (Method::Mac(_), SigningKey::Private(_)) => return Err(format!("{} needs a shared secret", algorithm.name)),
        (Method::Public(_), SigningKey::Secret(_)) => {
            return Err(format!("{} needs a private key: give it with --private-key", algorithm.name));
        }
        (Method::Public(public), SigningKey::Private(_)) => public,
    };
    match public {
        PublicAlgorithm::RsaPkcs1Sha256 => Algorithm::RsaV15Sha256.sign(key, message),
        PublicAlgorithm::RsaPkcs1Sha384 => rsa(key, &signature::RSA_PKCS1_SHA384, message),
        PublicAlgorithm::RsaPkcs1Sha512 => rsa(key, &signature::RSA_PKCS1_SHA512, message),
        PublicAlgorithm::RsaPssSha256 => rsa(key, &signature::RSA_PSS_SHA256, message),
        PublicAlgorithm::RsaPssSha384 => rsa(key, &signature::RSA_PSS_SHA384, message),
        PublicAlgorithm::RsaPssSha512 => Algorithm::RsaPssSha512.sign(key, message),
        PublicAlgorithm::EcdsaP256 => Algorithm::EcdsaP256Sha256.sign(key, message),
        PublicAlgorithm::EcdsaP384 => Algorithm::EcdsaP384Sha384.sign(key, message),
        PublicAlgorithm::Ed25519 => Algorithm::Ed25519.sign(key, message),
    }
}

/// With RSA as message signatures do not have it.
fn rsa(key: &SigningKey, padding: &'static dyn RsaEncoding, message: &[u8]) -> Result<Vec<u8>, String> {
    let wrong = || "expected an RSA key of at least 2048 bits in PKCS#8".to_owned();
    let SigningKey::Private(der) = key else { return Err(wrong()) };
    let key = rsa::KeyPair::from_pkcs8(der.bytes()).map_err(|_| wrong())?;
    let mut signature = vec![0; key.public().modulus_len()];
    let signed = key.sign(padding, &SystemRandom::new(), message, &mut signature);
    signed.map(|()| signature).map_err(|_| "the RSA key does not sign".to_owned())
}
