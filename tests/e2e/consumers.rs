//! Consumers whose credentials change, passwords beside the event loop, and the keys of issuers.

use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use weir_auth::message::{Algorithm, MessageSigner};
use weir_auth::{Secret, SigningKey};
use weir_tests::origin::Echo;
use weir_tests::wait::until;
use weir_tests::{Control, Gateway, Request, Setup, port};

use crate::authentication::{KEY, nginx, now_ms, refused, signed};

#[test]
fn consumers_of_a_gateway_change_live_and_keep_their_secrets() {
    let echo = Echo::start();
    let policy = json!({"rules": [{"id": "key", "when": "true", "action": {"key_auth": {"groups": ["partners"]}}}]});
    let consumer = |keys: &[&str]| {
        let credentials: Vec<Value> = keys.iter().map(|key| json!({"key_auth": {"key": key}})).collect();
        json!({"groups": ["partners"], "credentials": credentials})
    };
    let gateway = Gateway::start(&[
        ("consumers/shop", consumer(&[KEY])),
        ("upstreams/app", json!({"members": {"a": {"address": echo.to_string()}}})),
        ("policies/auth", policy),
        ("settings", json!({"policies": ["auth"]})),
        ("sites/all", json!({"hosts": ["*"]})),
        ("routes/all", json!({"site": "all", "to": "app"})),
    ]);
    let status = |key: &str| gateway.nginx.send(&Request::get("/").header("apikey", key)).status;
    let new = "fedcba98765432100123";
    assert_eq!((status(KEY), status(new)), (200, 401));
    let _ = gateway.api().put("consumers/shop", &consumer(&[KEY, new])).expect(200);
    assert_eq!((status(KEY), status(new)), (200, 200), "both are live while clients change over");

    let shown = gateway.api().get("consumers/shop").expect(200);
    assert!(!shown.body.to_string().contains(KEY), "{:?}", shown.body);
    let mut document = shown.body.clone();
    document["groups"] = json!(["others"]);
    let _ = gateway.api().put("consumers/shop", &document).expect(200);
    assert_eq!(status(new), 403, "the hashes in the answer stood for the keys");
    let _ = gateway.api().patch("consumers/shop", &json!({"groups": ["partners"]})).expect(200);
    let _ = gateway.api().put("consumers/shop", &consumer(&[new])).expect(200);
    assert_eq!((status(KEY), status(new)), (401, 200));

    let taken = gateway.api().put("consumers/other", &consumer(&[new])).expect(422);
    assert!(!taken.body.to_string().contains(new), "{:?}", taken.body);
    let file = gateway.nginx.path("secret");
    std::fs::write(&file, "from-a-file-of-bytes\n").unwrap();
    let from_file = json!({"groups": ["partners"], "credentials": [{"key_auth": {"key": {"file": file}}}]});
    let _ = gateway.api().put("consumers/file", &from_file).expect(201);
    assert_eq!(status("from-a-file-of-bytes"), 200);
    let shown = gateway.api().get("consumers/file").expect(200).body.to_string();
    assert!(shown.contains("\"file\"") && !shown.contains("from-a-file"), "{shown}");
    let _ = gateway.api().delete("consumers/shop").expect(200);
    assert_eq!(status(new), 401);
}

#[test]
fn passwords_are_verified_beside_the_event_loop_and_remembered() {
    let nginx = nginx(
        "      - {id: door, when: 'starts_with(http.request.uri.path, \"/door\")', action: {basic_auth: {hide_credentials: true}}}\n",
    );
    let basic = |user: &str, password: &str| {
        let text = weir_auth::encoding::base64(format!("{user}:{password}").as_bytes());
        Request::get("/door").header("Authorization", format!("Basic {text}"))
    };
    let right = basic("ann", "open sesame");
    let response = nginx.send(&right);
    assert_eq!((response.status, response.received("x-consumer-id").as_deref()), (200, Some("shop")));
    assert_eq!(response.received("authorization"), None);
    refused(&nginx.send(&basic("ann", "open sesam")), "Basic");
    refused(&nginx.send(&basic("bob", "open sesame")), "Basic");
    refused(&nginx.send(&Request::get("/door")), "Basic");
    // A hundred requests with a remembered password take less time than ten hashes: none of them waits.
    let mut connection = nginx.connect();
    (0..100).for_each(|_| assert_eq!(right.send_on(&mut connection).status, 200));

    // More wrong passwords than may wait: some are answered at once with 503, and others are served meanwhile.
    let statuses: Vec<u16> = thread::scope(|scope| {
        let wrong = |n: usize| basic("ann", &format!("wrong {n}"));
        let clients: Vec<_> = (0..100).map(|n| scope.spawn(move || wrong(n).send(nginx.port).status)).collect();
        assert_eq!(nginx.get("/").status, 200, "a request that needs no password");
        assert_eq!(nginx.send(&right).status, 200, "a remembered one");
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let count = |status| statuses.iter().filter(|one| **one == status).count();
    assert_eq!(count(401) + count(503), 100, "{statuses:?}");
    assert!(count(401) >= 64 && count(503) > 0, "{statuses:?}");
}

#[test]
fn faults_of_credentials_quote_no_secrets() {
    let gateway = Gateway::start(&[]);
    let secret = "TOPSECRETKEY-0123456789abcdef0123";
    for credential in [
        json!({"key_auth": secret}),
        json!(secret),
        json!({"key_auth": {"key": format!("{secret}\t")}}),
        json!({"signature": {"id": "a", "secret": [secret]}}),
        json!({"jwt": {"id": "a", "algorithm": "HS512", "secret": secret}}),
        json!({"basic_auth": {"username": "ann", "password_hash": secret}}),
    ] {
        let refused = gateway.api().put("consumers/z", &json!({"credentials": [credential]})).expect(422);
        assert!(!refused.body.to_string().contains("TOPSECRET"), "{}", refused.body);
    }
    let audit = gateway.api().get("audit").body.to_string();
    assert!(audit.contains("consumers/z") && !audit.contains("TOPSECRET"), "{audit}");
}

#[test]
fn rules_before_a_password_keep_guesses_away_from_the_hashes() {
    let nginx = nginx(
        "      - {id: pace, when: 'starts_with(http.request.uri.path, \"/before\")', action: {rate_limit: 5/h}}\n\
         \x20     - {id: door, when: 'starts_with(http.request.uri.path, \"/before\")', action: basic_auth}\n\
         \x20     - {id: both, when: 'http.request.uri.path eq \"/both\"', actions: [{rate_limit: 2/h}, basic_auth, {tag: known}]}\n",
    );
    let wrong = |path: &str, n: usize| {
        let text = weir_auth::encoding::base64(format!("ann:wrong {n}").as_bytes());
        Request::get(path).header("Authorization", format!("Basic {text}"))
    };
    // Were the passwords verified first, more than may wait would get 503.
    let statuses: Vec<u16> = thread::scope(|scope| {
        let clients: Vec<_> =
            (0..100).map(|n| scope.spawn(move || wrong("/before", n).send(nginx.port).status)).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let count = |status| statuses.iter().filter(|one| **one == status).count();
    assert_eq!((count(401), count(429)), (5, 95), "{statuses:?}");
    // The evaluation goes on where it waited: what came before is counted once.
    let statuses = [0, 1, 2].map(|n| nginx.send(&wrong("/both", n)).status);
    assert_eq!(statuses, [401, 401, 429]);
}

#[test]
fn one_right_way_is_enough_whatever_the_others_say() {
    let nginx = nginx(
        "      - {id: a, when: 'http.request.uri.path eq \"/a\"', action: {authenticate: {any_of: [key_auth, basic_auth]}}}\n\
         \x20     - {id: b, when: 'http.request.uri.path eq \"/b\"', action: {authenticate: {any_of: [basic_auth, key_auth]}}}\n",
    );
    let send = |path: &str, key: &str, password: &str| {
        let text = weir_auth::encoding::base64(format!("ann:{password}").as_bytes());
        let request = Request::get(path).header("apikey", key).header("Authorization", format!("Basic {text}"));
        nginx.send(&request).status
    };
    let wrong = "0123456789abcdef0000";
    for path in ["/a", "/b"] {
        assert_eq!(send(path, wrong, "open sesame"), 200, "{path}: a right password");
        assert_eq!(send(path, KEY, "wrong"), 200, "{path}: a right key");
        assert_eq!(send(path, wrong, "wrong"), 401, "{path}");
    }
}

#[test]
fn a_nonce_is_kept_for_the_longest_window_of_the_rules() {
    let nginx = nginx(
        "      - {id: short, when: 'any(http.request.headers[\"x-a\"][*] eq \"1\")', action: {verify_signature: {scheme: \
         message_signatures, replay: refuse, clock_skew: 2s}}}\n\
         \x20     - {id: long, when: 'not any(http.request.headers[\"x-a\"][*] eq \"1\")', action: {verify_signature: {scheme: \
         message_signatures, replay: refuse}}}\n",
    );
    thread::sleep(Duration::from_millis(1100)); // signatures have seconds
    let request = signed(&MessageSigner::new(Algorithm::HmacSha256), "POST", "/", &[], b"pay 100");
    assert_eq!(nginx.send(&request.clone().header("X-A", "1")).status, 200);
    thread::sleep(Duration::from_millis(3500));
    assert_eq!(nginx.send(&request).status, 401, "it has been used");
}

#[test]
fn keys_of_an_issuer_roll_over_without_a_reload() {
    let setup = Setup::gateway();
    let file = setup.prefix().join("keys.json");
    let control = Control::start(&setup.prefix().join("state"), &setup.prefix().join("run"));
    roll_over(&Gateway { nginx: setup.start(), control }, &file, &json!(file), "on_change");
}

#[test]
fn keys_at_a_url_are_downloaded_by_control() {
    let setup = Setup::gateway();
    let (prefix, port) = (setup.prefix().to_owned(), port::free());
    let own = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (trusted, key) = (prefix.join("issuer.pem"), prefix.join("issuer.key"));
    std::fs::write(&trusted, own.cert.pem()).unwrap();
    std::fs::write(&key, own.signing_key.serialize_pem()).unwrap();
    let origin = format!(
        "server {{ listen 127.0.0.1:{port} ssl; listen 127.0.0.2:{port} ssl; ssl_certificate {}; ssl_certificate_key {}; \
         root {}; }}",
        trusted.display(),
        key.display(),
        prefix.display()
    );
    let file = prefix.join("keys.json");
    let environment = [("SSL_CERT_FILE", trusted.to_str().unwrap())];
    let control = Control::start_with(&prefix.join("state"), &prefix.join("run"), &environment);
    let gateway = Gateway { nginx: setup.http(&origin).start(), control };
    let url = format!("https://localhost:{port}/keys.json");
    let policy = |url: &str| json!({"rules": [{"id": "token", "when": "true", "action": {"jwt": {"jwks": url}}}]});
    for (wrong, why) in [
        (url.replace("keys", "other"), "status 404"),
        (url.replace("localhost", "127.0.0.2"), "certificate"),
        (format!("https://localhost:{}/keys", port::free()), "refused"),
        (url.replace(".json", "/"), "expected the URL"),
        ("http://issuer.example/keys.json".to_owned(), "unprotected"),
        ("http://localhost.example/keys.json".to_owned(), "unprotected"),
    ] {
        let refused = gateway.api().put("policies/bad", &policy(&wrong)).expect(422);
        let (pointer, message) = &refused.errors()[0];
        assert!(pointer.ends_with("/action/jwt/jwks") && message.contains(why), "{wrong}: {pointer}: {message}");
    }
    roll_over(&gateway, &file, &json!(url), "1s");
    std::fs::remove_file(&file).unwrap();
    until("the failure to be shown", || {
        let status = gateway.api().get("workers").body.to_string();
        (status.contains(&url) && status.contains("404")).then_some(())
    });
    let _ = gateway.api().patch("policies/auth", &json!({"mode": "detect"})).expect(200);
}

/// A set of keys is replaced by another one, in `file`, which `jwks` names.
fn roll_over(gateway: &Gateway, file: &Path, jwks: &Value, refresh: &str) {
    /// RFC 8037, appendix A, as PKCS#8, and its public key.
    const PRIVATE: &str =
        "302e020100300506032b6570042204209d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
    const PUBLIC: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
    let echo = Echo::start();
    let set = |kid: &str| json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": PUBLIC}]}).to_string();
    std::fs::write(file, set("one")).unwrap();
    let jwt = json!({"jwks": jwks, "issuers": ["https://issuer.example"], "audiences": ["orders"]});
    let documents = [
        ("consumers/ann", json!({"groups": ["people"]})),
        ("upstreams/app", json!({"members": {"a": {"address": echo.to_string()}}})),
        (
            "policies/auth",
            json!({"refresh": refresh, "rules": [
                {"id": "token", "when": "true", "action": {"jwt": jwt}},
                {"id": "scope", "when": "not any(jwt.claims[\"scope\"][*] eq \"write\")", "action": "block"},
            ]}),
        ),
        ("settings", json!({"policies": ["auth"]})),
        ("sites/all", json!({"hosts": ["*"]})),
        ("routes/all", json!({"site": "all", "to": "app"})),
    ];
    let _ = gateway.api().put_all(&documents).expect(200);
    let token = |kid: &str, claims: &Value| {
        let encoded = |part: &Value| weir_auth::encoding::base64_url(part.to_string().as_bytes());
        let signed = format!("{}.{}", encoded(&json!({"alg": "EdDSA", "kid": kid})), encoded(claims));
        let key = SigningKey::Private(Secret::new(weir_auth::encoding::from_hex(PRIVATE.as_bytes()).unwrap()));
        let signature = Algorithm::Ed25519.sign(&key, signed.as_bytes()).unwrap();
        format!("{signed}.{}", weir_auth::encoding::base64_url(&signature))
    };
    let claims = |name: &str, value: Value| {
        let mut claims = json!({"iss": "https://issuer.example", "aud": ["orders", "stock"], "sub": "ann", "scope": "write",
            "exp": now_ms() / 1000 + 60});
        claims[name] = value;
        claims
    };
    let send = |kid: &str, claims: &Value| {
        gateway.nginx.send(&Request::get("/").header("Authorization", format!("Bearer {}", token(kid, claims))))
    };
    let good = claims("sub", "ann".into());
    let response = send("one", &good);
    assert_eq!((response.status, response.received("x-consumer-id").as_deref()), (200, Some("ann")));
    assert_eq!(send("one", &claims("scope", "read".into())).status, 403);
    for (name, value) in
        [("sub", json!("bob")), ("aud", json!("stock")), ("iss", json!("https://other.example")), ("exp", json!(1))]
    {
        assert_eq!(send("one", &claims(name, value)).status, 401, "{name}");
    }
    assert_eq!(send("two", &good).status, 401);
    std::fs::write(file, set("two")).unwrap();
    until("the new key to be live", || (send("two", &good).status == 200).then_some(()));
    until("the old key to be gone, in both workers", || (send("one", &good).status == 401).then_some(()));
}
