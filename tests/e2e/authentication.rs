//! Requests prove who sent them: keys, tokens, signatures over bodies that pass by; replays; consumers that change live.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use weir_auth::aws::{AwsSigner, PathRule};
use weir_auth::hmac_auth::{Dialect, HmacSigner};
use weir_auth::message::{Algorithm, MessageSigner};
use weir_auth::parameters::{ParameterOptions, Parameters};
use weir_auth::tokens::{Tokens, TokensOptions};
use weir_auth::webhook::{Webhook, WebhookOptions};
use weir_auth::{Secret, Signer, SigningKey, Unsigned};
use weir_tests::origin::Echo;
use weir_tests::{Nginx, Request, Response, Setup};

pub(crate) const SECRET: &str = "a shared secret of forty bytes, or nearly";
pub(crate) const KEY: &str = "0123456789abcdef0123";

const CONSUMERS: &str = r#"
consumers:
  shop:
    groups: [partners, eu]
    credentials:
      - key_auth: {key: "0123456789abcdef0123"}
      - signature: {id: shop-1, secret: "a shared secret of forty bytes, or nearly"}
      # bcrypt of `open sesame`
      - basic_auth: {username: ann, password_hash: "$2y$10$abcdefghijklmnopqrstuu4SuEsu2LsUrAYUpWQHLMMc4GV5pZTxK"}
  guest: {groups: [guests]}
  blocked:
    groups: [blocked]
    credentials: [key_auth: {key: "ffffffffffffffffffff"}]
"#;

pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

/// A request with a body, signed by `signer`.
pub(crate) fn signed(
    signer: &dyn Signer,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Request {
    signed_at(signer, method, target, headers, body, now_ms())
}

fn signed_at(
    signer: &dyn Signer,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: &[u8],
    now_ms: u64,
) -> Request {
    static NONCES: AtomicU64 = AtomicU64::new(1);
    let random = u128::from(NONCES.fetch_add(1, Ordering::Relaxed)).to_le_bytes();
    let own: Vec<_> = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let unsigned =
        Unsigned { method, is_tls: false, authority: "weir.test", target, headers: &own, body, now_ms, random };
    let signature = signer.sign(&unsigned, "shop-1", &SigningKey::Secret(Secret::new(SECRET))).unwrap();
    let mut request = Request::new(method, signature.target.as_deref().unwrap_or(target));
    let replaced = |name: &str| signature.headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
    for (name, value) in own.iter().filter(|(name, _)| !replaced(name)).chain(&signature.headers) {
        request = request.header(name, value);
    }
    if body.is_empty() { request } else { request.body(body) }
}

pub(crate) fn nginx(rules: &str) -> Nginx {
    let text = format!("{CONSUMERS}policies:\n  - id: p\n    rules:\n{rules}");
    let http = "client_body_buffer_size 8k; weir_body_limit 16k; underscores_in_headers on;";
    Setup::policy(&text).workers(1).http(http).proxy(Echo::start()).start()
}

pub(crate) fn refused(response: &Response, scheme: &str) {
    assert_eq!(response.status, 401, "{}", response.text());
    let challenge = response.header("www-authenticate").unwrap();
    assert!(challenge.starts_with(scheme) && challenge.ends_with("realm=\"weir\""), "{challenge}");
}

#[test]
fn every_scheme_takes_what_was_signed_and_nothing_else() {
    let message = MessageSigner::new(Algorithm::HmacSha256);
    let hmac = |dialect| HmacSigner { dialect, hash: weir_auth::digest::MacHash::Sha256, fields: Vec::new() };
    let aws = AwsSigner {
        region: "eu-west-1".into(),
        service: "orders".into(),
        path: PathRule::DEFAULT,
        states_digest: true,
        presigned_s: None,
    };
    let webhook = |preset| Webhook::new(WebhookOptions::preset(preset, "shop").unwrap()).unwrap();
    let parameters = Parameters::new(ParameterOptions::default()).unwrap();
    let tokens = Tokens::new(TokensOptions::default()).unwrap();
    let (apisix, kong, cavage) = (hmac(Dialect::Apisix), hmac(Dialect::Kong), hmac(Dialect::Cavage));
    let (github, stripe, slack, shopify) = ("github", "stripe", "slack", "shopify").map_each(webhook);
    let schemes: [(&str, &str, &dyn Signer, &str); 11] = [
        ("message_signatures", "", &message, "Signature"),
        ("apisix", "", &apisix, "Signature"),
        ("kong", "", &kong, "hmac"),
        ("cavage", "", &cavage, "Signature"),
        ("aws_sigv4", "", &aws, "AWS4-HMAC-SHA256"),
        ("github", ", consumer: shop", &github, ""),
        ("stripe", ", consumer: shop", &stripe, ""),
        ("slack", ", consumer: shop", &slack, ""),
        ("shopify", ", consumer: shop", &shopify, ""),
        ("sorted_parameters", "", &parameters, ""),
        ("sorted_tokens", "", &tokens, ""),
    ];
    let rules: String = schemes
        .iter()
        .map(|(scheme, options, ..)| {
            format!(
                "      - {{id: {scheme}, when: 'starts_with(http.request.uri.path, \"/{scheme}\")', \
                 action: {{verify_signature: {{scheme: {scheme}{options}}}}}}}\n"
            )
        })
        .collect();
    let nginx = nginx(&rules);
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    for (scheme, _, signer, challenge) in schemes {
        let target = format!("/{scheme}");
        let target = if scheme == "sorted_parameters" { target + "?app_id=shop-1&a=1" } else { target };
        // Past the limit for rules, and in a temporary file.
        for body in [format!("note={}", "order 订单 ".repeat(2)), format!("note={}", "text 7 ".repeat(6000))] {
            let (good, bad) = (body.as_bytes(), body.replacen('t', "T", 1).replacen('7', "8", 1).replacen('o', "0", 2));
            let request = signed(signer, "POST", &target, &form, good);
            let response = nginx.send(&request);
            assert_eq!(response.status, 200, "{scheme}: {}", nginx.error_log());
            assert_eq!(response.received("x-consumer-id").as_deref(), Some("shop"), "{scheme}");
            assert_eq!(nginx.send(&request.clone().chunked()).status, 200, "{scheme}, chunked");
            refused(&nginx.send(&request.clone().body(bad)), challenge);
        }
        refused(&nginx.send(&Request::post(&target, "text/plain", "a=b")), challenge);
    }
    let reasons: Vec<Value> = nginx.attacks(33).iter().map(|line| line["findings"][0]["reason"].clone()).collect();
    let text = |reason: &Value| reason.as_str().unwrap().split(':').next().unwrap().to_owned();
    let kinds: std::collections::BTreeSet<String> = reasons.iter().map(text).collect();
    for expected in ["missing", "mismatch", "body_changed"] {
        assert!(kinds.contains(expected), "{kinds:?}");
    }
}

/// Four values from four.
trait MapEach<T> {
    fn map_each<U>(self, map: impl Fn(T) -> U) -> (U, U, U, U);
}

impl<T> MapEach<T> for (T, T, T, T) {
    fn map_each<U>(self, map: impl Fn(T) -> U) -> (U, U, U, U) {
        (map(self.0), map(self.1), map(self.2), map(self.3))
    }
}

#[test]
fn the_upstream_learns_who_it_is_from_the_gateway_alone() {
    let nginx = nginx(
        "      - {id: who, when: 'true', action: {authenticate: {any_of: [jwt, key_auth], groups: [partners, guests], \
         denied_groups: [blocked], anonymous: guest, hide_credentials: true}}}\n\
         \x20     - {id: tag, when: 'consumer.id eq \"shop\" and any(consumer.groups[*] eq \"eu\")', action: {tag: europe}}\n",
    );
    let spellings = ["X-Consumer-Id", "x_consumer_id", "X-Consumer_Id", "X_CONSUMER-ID"];
    let forged = |request: Request| {
        let request = spellings.into_iter().fold(request, |request, name| request.header(name, "admin"));
        request.header("X-Consumer-Groups", "root").header("X-Consumer_Groups", "root")
    };
    let response = nginx.send(&forged(Request::get("/").header("X-API-Key", KEY)));
    assert_eq!(response.status, 200);
    assert_eq!(response.received("x-consumer-id").as_deref(), Some("shop"));
    assert_eq!(response.received("x-consumer-groups").as_deref(), Some("partners,eu"));
    assert_eq!(response.received("x-api-key"), None, "hidden");
    for name in ["x_consumer_id", "x-consumer_id", "x_consumer-id", "x-consumer_groups"] {
        assert_eq!(response.received(name), None, "{name}");
    }
    let response = nginx.send(&forged(Request::get("/")));
    assert_eq!((response.status, response.received("x-consumer-id").as_deref()), (200, Some("guest")));
    let wrong = nginx.send(&Request::get("/").header("apikey", "0123456789abcdef0124"));
    assert_eq!(wrong.status, 401, "a wrong key is not anonymous");
    let both = [
        Request::get("/").header("apikey", KEY).header("x-api-key", KEY),
        Request::get("/").header("apikey", KEY).header("apikey", KEY),
    ];
    both.iter().for_each(|request| assert_eq!(nginx.send(request).status, 401, "two keys"));
    assert_eq!(nginx.send(&Request::get("/").header("apikey", "ffffffffffffffffffff")).status, 403);
    let preflight = Request::new("OPTIONS", "/")
        .header("Origin", "https://shop.example")
        .header("Access-Control-Request-Method", "PUT")
        .header("X-Consumer-Id", "admin");
    let response = nginx.send(&preflight);
    assert_eq!((response.status, response.received("x-consumer-id")), (200, None));
    let lines = nginx.accesses(7);
    assert_eq!((&lines[0]["consumer"], &lines[0]["tags"]), (&json!("shop"), &json!(["europe"])));
    assert_eq!((&lines[1]["consumer"], &lines[2]["consumer"]), (&json!("guest"), &json!("")));
    let refusal = &nginx.attacks(4)[0];
    assert_eq!((&refusal["action"], &refusal["status"]), (&json!("unauthenticated"), &json!(401)));
    let reason = refusal["findings"][0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("unknown_key: ") && !reason.contains("0123456789abcdef0124"), "{reason}");
}

#[test]
fn rules_that_read_the_consumer_wait_for_the_signature() {
    let nginx = nginx(
        "      - {id: limit, when: 'true', action: {rate_limit: {key: consumer.id, rate: 2/h}}}\n\
         \x20     - {id: signed, when: 'true', action: {verify_signature: {scheme: sorted_tokens}}}\n\
         \x20     - {id: own, when: 'consumer.id eq \"shop\"', action: {rate_limit: {key: consumer.id, rate: 1/h, status: 420}}}\n",
    );
    let tokens = Tokens::new(TokensOptions::default()).unwrap();
    let statuses = [1, 2].map(|n| nginx.send(&signed(&tokens, "POST", "/", &[], format!("n{n}").as_bytes())).status);
    assert_eq!(statuses, [200, 420]);
}

#[test]
fn of_concurrent_duplicates_exactly_one_passes_also_after_a_reload() {
    let text = format!(
        "{CONSUMERS}policies:\n  - id: p\n    rules:\n      - {{id: once, when: 'true', action: {{verify_signature: \
         {{scheme: message_signatures, replay: refuse}}}}}}\n"
    );
    let nginx = Setup::policy(&text).workers(4).proxy(Echo::start()).start();
    let signer = MessageSigner { nonce: true, ..MessageSigner::new(Algorithm::HmacSha256) };
    let old = signed_at(&signer, "POST", "/old", &[], b"x", now_ms() - 60_000);
    assert_eq!(nginx.send(&old).status, 401, "it was signed before the memory of nonces began");
    thread::sleep(std::time::Duration::from_millis(1100)); // signatures have seconds
    for round in 0..20 {
        let request = signed(&signer, "POST", &format!("/{round}"), &[], b"pay 100");
        let statuses: Vec<u16> = thread::scope(|scope| {
            let clients: Vec<_> = (0..8).map(|_| scope.spawn(|| request.send(nginx.port).status)).collect();
            clients.into_iter().map(|client| client.join().unwrap()).collect()
        });
        let passed = statuses.iter().filter(|status| **status == 200).count();
        assert_eq!(passed, 1, "{statuses:?}");
        if round == 10 {
            nginx.reload();
        }
        assert_eq!(request.send(nginx.port).status, 401);
    }
    let lines = nginx.attacks(161);
    assert!(lines.iter().any(|line| line["findings"][0]["reason"].as_str().unwrap().starts_with("replayed: ")));
    assert!(lines.iter().any(|line| line["findings"][0]["reason"].as_str().unwrap().starts_with("replay_unknown: ")));
}

#[test]
fn detection_logs_and_changes_nothing() {
    let text = format!(
        "{CONSUMERS}policies:\n  - id: p\n    mode: detect\n    rules:\n      - {{id: signed, when: 'true', action: \
         {{verify_signature: sorted_tokens}}}}\n"
    );
    let nginx = Setup::policy(&text).workers(1).proxy(Echo::start()).start();
    let tokens = Tokens::new(TokensOptions::default()).unwrap();
    let request = signed(&tokens, "POST", "/", &[], b"good body");
    assert_eq!(
        nginx.send(&request.clone().header("X-Consumer-Id", "kept")).received("x-consumer-id").as_deref(),
        Some("kept")
    );
    assert_eq!(nginx.send(&request.body("a bad body")).status, 200);
    assert_eq!(nginx.attacks(1)[0]["action"], "detect");
    let consumers: Vec<Value> = nginx.accesses(2).iter().map(|line| line["consumer"].clone()).collect();
    assert_eq!(consumers, ["shop", ""]);
}

#[test]
fn two_signatures_in_one_rule_are_both_over_the_body() {
    let nginx = nginx(
        "      - {id: two, when: 'true', actions: [{verify_signature: message_signatures}, {verify_signature: {scheme: github, \
         consumer: shop}}]}\n",
    );
    let github = Webhook::new(WebhookOptions::preset("github", "shop").unwrap()).unwrap();
    let message = MessageSigner::new(Algorithm::HmacSha256);
    let hook = |body: &[u8]| {
        let (headers, now_ms) = (&[], now_ms());
        let unsigned = Unsigned {
            method: "POST",
            is_tls: false,
            authority: "weir.test",
            target: "/",
            headers,
            body,
            now_ms,
            random: [0; 16],
        };
        github.sign(&unsigned, "shop-1", &SigningKey::Secret(Secret::new(SECRET))).unwrap().headers.remove(0)
    };
    for (signed_body, status) in [(&b"pay 100"[..], 200), (b"", 401)] {
        let (name, value) = hook(signed_body);
        let request = signed(&message, "POST", "/", &[], b"pay 100").header(&name, value);
        assert_eq!(nginx.send(&request).status, status);
    }
}

#[test]
fn a_body_that_was_only_digested_is_there_for_rules_of_the_next_location() {
    let text = format!(
        "{CONSUMERS}policies:\n  - id: signed\n    rules:\n      - {{id: signed, when: 'http.request.uri.path eq \"/one\"', action: \
         {{verify_signature: message_signatures}}}}\n  - id: deep\n    rules:\n      - {{id: deep, when: 'http.request.body.raw \
         contains \"attack\"', action: block}}\n      - {{id: hook, when: 'http.request.headers[\"x-hook\"][0] eq \"1\"', action: \
         {{verify_signature: {{scheme: github, consumer: shop}}}}}}\n"
    );
    let echo = Echo::start();
    let server = format!(
        "location = /one {{ weir_apply signed; rewrite ^ /deep last; }} location /deep {{ weir_apply deep; proxy_pass http://{echo}; }}"
    );
    let nginx = Setup::policy(&text).server(&server).start();
    let message = MessageSigner::new(Algorithm::HmacSha256);
    assert_eq!(nginx.send(&signed(&message, "POST", "/one", &[], b"a harmless text")).status, 200);
    assert_eq!(nginx.send(&signed(&message, "POST", "/one", &[], b"an attack")).status, 403);
    let other = signed(&message, "POST", "/one", &[("X-Hook", "1")], b"a harmless text");
    assert_eq!(nginx.send(&other).status, 401, "one signature does not stand for the other");
}

#[test]
fn an_exception_behind_a_signature_does_not_overtake_it() {
    let nginx = nginx(
        "      - {id: signed, when: 'starts_with(http.request.uri.path, \"/order\")', action: {verify_signature: \
         message_signatures}}\n      - {id: health, when: 'http.request.uri.path eq \"/order/health\"', action: {allow: policy}}\n",
    );
    refused(&nginx.send(&Request::post("/order/health", "text/plain", "x")), "Signature");
    // Without a signature the body is not waited for.
    let mut connection = nginx.connect();
    connection.send(b"POST /order HTTP/1.1\r\nHost: weir.test\r\nContent-Length: 100000\r\n\r\n");
    assert_eq!(connection.receive().status, 401);
}

#[test]
fn a_signature_that_expires_while_its_body_arrives_is_not_replayed() {
    let text = format!(
        "{CONSUMERS}policies:\n  - id: p\n    rules:\n      - {{id: once, when: 'true', action: {{verify_signature: \
         {{scheme: message_signatures, replay: refuse, clock_skew: 2s}}}}}}\n"
    );
    let nginx = Setup::policy(&text).proxy(Echo::start()).start();
    thread::sleep(std::time::Duration::from_millis(1100));
    let message = MessageSigner::new(Algorithm::HmacSha256);
    let wire = signed(&message, "POST", "/", &[], b"pay 100").wire();
    let mut slow = nginx.connect();
    slow.send(&wire[..wire.len() - 1]);
    thread::sleep(std::time::Duration::from_millis(3500));
    slow.send(&wire[wire.len() - 1..]);
    assert_eq!(slow.receive().status, 401);
    let reason = nginx.attacks(1)[0]["findings"][0]["reason"].as_str().unwrap().to_owned();
    assert!(reason.starts_with("expired: "), "{reason}");
}
