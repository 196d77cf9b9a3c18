//! Whether the time of a refusal tells an id that nobody has from a wrong signature: Welch's t over calls of both in
//! random order. |t| below 4.5 means that this many calls do not tell them apart.
//!
//! What is left is about 10 ns, of a look-up that finds something. A second look-up, of something that is there after a
//! miss and of something that is not after a hit, halved that and took 25 ns from every request.
//!
//! `cargo bench -p weir-auth --bench timing`, with `CALLS=1000000` for more than the default of 100,000 of each. A key that
//! is known and one that is not differ in the memory that they touch, so the machine has to be quiet.

use std::hint::black_box;
use std::time::Instant;

use weir_auth::aws::{Aws, AwsSigner, PathRule};
use weir_auth::digest::MacHash;
use weir_auth::hmac_auth::{Dialect, HmacAuth, HmacSigner};
use weir_auth::immediate::Tokens as TokenScheme;
use weir_auth::jwt::Jwt;
use weir_auth::message::{Algorithm, MessageSignatures, MessageSigner, Options};
use weir_auth::parameters::{ParameterOptions, Parameters};
use weir_auth::tokens::{Tokens, TokensOptions};
use weir_auth::{
    Consumer, Consumers, Credential, CredentialKind, Key, Request, Scheme, Secret, Signer, SigningKey, Unsigned,
};
use weir_http::Header;

const NOW_MS: u64 = 1_700_000_000_000;
const WRONG: &str = "another secret of forty bytes, or nearly so";
const BODY: &[u8] = b"note=an+order+of+seven+widgets&amount=7";
const KNOWN: &str = "shop-1";
const UNKNOWN: &str = "shop-2";

/// What is sent: target and header fields.
type Sent = (String, Vec<(String, String)>);

fn consumers() -> Consumers {
    let secret = || Secret::new("a shared secret of forty bytes, or nearly so");
    let credential = |kind, key| Credential { kind, id: KNOWN.into(), key: Some(key) };
    let mut consumers = Consumers::default();
    // Among others, as in life.
    for number in 0..1000 {
        let id = format!("other-{number}").into_bytes();
        let credential = Credential { kind: CredentialKind::Signature, id, key: Some(Key::Secret(secret())) };
        consumers.put(Consumer { id: format!("c{number}"), groups: Vec::new(), credentials: vec![credential] });
    }
    let credentials = vec![
        credential(CredentialKind::Signature, Key::Secret(secret())),
        credential(CredentialKind::Jwt, Key::Hmac(MacHash::Sha256, secret())),
    ];
    consumers.put(Consumer { id: "shop".to_owned(), groups: Vec::new(), credentials });
    consumers
}

fn sent(signer: &dyn Signer, target: &str, id: &str) -> Sent {
    let headers = vec![("content-type".to_owned(), "application/x-www-form-urlencoded".to_owned())];
    let (method, authority) = ("POST", "api.example");
    let unsigned = Unsigned {
        method,
        is_tls: true,
        authority,
        target,
        headers: &headers,
        body: BODY,
        now_ms: NOW_MS,
        random: [7; 16],
    };
    let signed = signer.sign(&unsigned, id, &SigningKey::Secret(Secret::new(WRONG))).expect("it signs");
    let target = signed.target.unwrap_or_else(|| target.to_owned());
    (target, headers.into_iter().chain(signed.headers).chain([("host".to_owned(), authority.to_owned())]).collect())
}

fn token(id: &str) -> Sent {
    let encoded = |text: String| weir_auth::encoding::base64_url(text.as_bytes());
    let head = encoded(format!(r#"{{"alg":"HS256","kid":"{id}"}}"#));
    let claims = encoded(format!(r#"{{"sub":"shop","exp":{}}}"#, NOW_MS / 1000 + 60));
    let signature = MacHash::Sha256.of(WRONG.as_bytes(), format!("{head}.{claims}").as_bytes());
    let token = format!("{head}.{claims}.{}", weir_auth::encoding::base64_url(signature.as_ref()));
    ("/".to_owned(), vec![("authorization".to_owned(), format!("Bearer {token}"))])
}

fn refuse(scheme: &dyn Scheme, keys: &Consumers, (target, headers): &Sent) -> u64 {
    let headers: Vec<Header<'_>> =
        headers.iter().map(|(name, value)| Header::new(name.as_bytes(), value.as_bytes())).collect();
    let request = Request {
        method: b"POST",
        is_tls: true,
        client_certificate: None,
        authority: b"api.example",
        target: target.as_bytes(),
        headers: &headers,
    };
    let begun = Instant::now();
    let refused = scheme.begin(black_box(&request), keys, NOW_MS).and_then(|mut pending| {
        pending.absorb(BODY);
        pending.finish(keys)
    });
    let nanoseconds = begun.elapsed().as_nanos() as u64;
    assert!(black_box(refused).is_err());
    nanoseconds
}

/// Mean and variance of what lies below the 95th percentile: an interrupt says nothing about keys.
fn moments(mut times: Vec<u64>, bound: u64) -> (f64, f64, f64) {
    times.retain(|time| *time <= bound);
    let count = times.len() as f64;
    let mean = times.iter().sum::<u64>() as f64 / count;
    let variance = times.iter().map(|time| (*time as f64 - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (count, mean, variance)
}

fn main() {
    let calls: usize = std::env::var("CALLS").ok().and_then(|text| text.parse().ok()).unwrap_or(100_000);
    let keys = consumers();
    let hmac = HmacSigner { dialect: Dialect::Kong, hash: MacHash::Sha256, fields: Vec::new() };
    let aws = AwsSigner {
        region: "eu-west-1".into(),
        service: "orders".into(),
        path: PathRule::DEFAULT,
        states_digest: true,
        presigned_s: None,
    };
    let message = MessageSigner::new(Algorithm::HmacSha256);
    let (tokens, parameters) = (Tokens::new(TokensOptions::default()), Parameters::new(ParameterOptions::default()));
    let (tokens, parameters) = (tokens.expect("defaults"), parameters.expect("defaults"));
    let both = |signer: &dyn Signer| [KNOWN, UNKNOWN].map(|id| sent(signer, "/orders", id));
    let of_parameters = [KNOWN, UNKNOWN].map(|id| sent(&parameters, &format!("/orders?app_id={id}"), id));
    let schemes: [(&str, Box<dyn Scheme>, [Sent; 2]); 6] = [
        ("message_signatures", Box::new(MessageSignatures::new(Options::default()).expect("defaults")), both(&message)),
        ("kong", Box::new(HmacAuth::new(Dialect::Kong)), both(&hmac)),
        ("aws_sigv4", Box::new(Aws::default()), both(&aws)),
        ("sorted_tokens", Box::new(tokens.clone()), both(&tokens)),
        ("sorted_parameters", Box::new(parameters.clone()), of_parameters),
        ("jwt HS256", Box::new(TokenScheme { jwt: Jwt::default(), issuer: None }), [KNOWN, UNKNOWN].map(token)),
    ];
    println!("{:<20} {:>10} {:>14} {:>12} {:>8}", "scheme", "calls", "wrong key ns", "unknown ns", "t");
    for (name, scheme, requests) in &schemes {
        let mut times = [Vec::with_capacity(calls), Vec::with_capacity(calls)];
        let mut random: u64 = 0x9e37_79b9_7f4a_7c15;
        while times.iter().any(|times| times.len() < calls) {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let which = (random >> 63) as usize;
            times[which].push(refuse(scheme.as_ref(), &keys, &requests[which]));
        }
        let mut all = times.concat();
        all.sort_unstable();
        let bound = all[all.len() * 95 / 100];
        let [(n, wrong, v), (m, unknown, w)] = times.map(|times| moments(times, bound));
        let t = (wrong - unknown) / (v / n + w / m).sqrt();
        println!("{name:<20} {calls:>10} {wrong:>14.1} {unknown:>12.1} {t:>8.2}");
    }
}
