//! Signatures made with OpenSSL alone, over a signature base written by hand: nothing of the signer here is in them.

#![allow(clippy::unwrap_used, reason = "in a test it is the assertion, in its helpers too")]

use weir_auth::certificate::{self, ClientCertificate, NameKind};
use weir_auth::key::PublicAlgorithm;
use weir_auth::message::{MessageSignatures, Options};
use weir_auth::{Consumer, Consumers, Credential, CredentialKind, Key, Reason, Request, Scheme, Secret, pem};
use weir_http::Header;

const NOW_MS: u64 = 1_700_000_000_000;
const BODY: &[u8] = b"{\"hello\": \"world\"}";
// `openssl dgst -sha256 -binary body | base64`
const DIGEST: &str = "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:";

/// Key id and signature; the keys are those in `tests/keys` and the secret `shared`.
const SIGNATURES: [(&str, &str); 4] = [
    // `openssl dgst -sha256 -hmac shared -binary base`
    ("hmac", "qggQRvDBbZ9gdR54nPRQIhoYAn7kJTBWA82YKSW1Rxw="),
    // `openssl pkeyutl -sign -rawin -inkey ed25519.pem -in base`
    ("ed25519", "N1scIGQBCadPEfwemfGzMOQ1u2HvRKPNqgJlorOemfrkZV1oqxlVY1Qj1BDCom6cYYikYbR4jVhdMaMyjWrqBQ=="),
    // `openssl dgst -sha512 -sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:64 -sign rsa.pem base`
    (
        "pss",
        "ocxgg7nn+z8B0vs4H531Wve4OseCi61Lvzdf0WS99TUMXMLS16kDBQTpS3LV8PauzYhrYRiVwkPHiJIINMLJxB+KF5zyPzK1x+UM\
         o50jBEeQl+5CFSMWz6sk9NdqJx4ueK1ujlj8QDCwyRTu7P2yRQxHvOMQMcTsGipc1iVO4G2HpfXCHSQsXqT5SsSoH1IZd/SUSPnX\
         pAsPGF9/Uq9QuFIAzRVNEfM2tvmFs81oEr1kw0oLpfLJUC++63bpjZvIjwywLvZAIuS2btTkL/wwA17XFOTguReIHExDbKUmCa93\
         OPCSNyKjgNCfeChGuzGspEl0lUKSsI0bfxBqER12AA==",
    ),
    // `openssl dgst -sha256 -sign rsa.pem base`
    (
        "v15",
        "i9fHRIdUEWFDCK9IqSzQRwxwanGMK/6wPDXpd1bxmQkCA275b4GpLprZMtbj3wfEnMH5o80Fvh27Al3w1HeAlVNnm2AM9LawrYCC\
         udaROsOm1JlV+x9nArqbNNi7VGh6katL5mxVMNJcjBMrl4mbYV+2yMokpj6s0DlgT7gi7vkjpasArZeuG3cI/3zqx+8U0SXXAguo\
         iF/m3UHGFY7Z6YvlD3pU1EXWZy7Lvndn3urLWfr5NCpSi3ICOJ7+BtcxA3KtGih1dycoRw0SfvReJqttdWSvwHnhvSdksrGOel1m\
         WDVAL5vRqN/tPqYQ1qwdehiztyJl6nDLN61PeE0JUw==",
    ),
];

fn keys() -> Consumers {
    let public = |text, algorithm| Key::Public(pem::public_key(text, algorithm).unwrap());
    let rsa = include_str!("keys/rsa-public.pem");
    let keys = [
        ("hmac", Key::Secret(Secret::new("shared"))),
        ("ed25519", public(include_str!("keys/ed25519-public.pem"), PublicAlgorithm::Ed25519)),
        ("pss", public(rsa, PublicAlgorithm::RsaPssSha512)),
        ("v15", public(rsa, PublicAlgorithm::RsaPkcs1Sha256)),
    ];
    let credential =
        |(id, key): (&str, Key)| Credential { kind: CredentialKind::Signature, id: id.into(), key: Some(key) };
    let credentials = keys.into_iter().map(credential).collect();
    let mut consumers = Consumers::default();
    consumers.put(Consumer { id: "partner".to_owned(), groups: Vec::new(), credentials });
    consumers
}

#[test]
fn signatures_of_openssl_verify() {
    let (keys, scheme) = (keys(), MessageSignatures::new(Options::default()).unwrap());
    for (key_id, signature) in SIGNATURES {
        let parameters =
            format!("(\"@method\" \"@target-uri\" \"content-digest\");created=1700000000;keyid=\"{key_id}\"");
        let (input, signature) = (format!("sig1={parameters}"), format!("sig1=:{signature}:"));
        let headers = [
            Header::new(b"Content-Digest", DIGEST.as_bytes()),
            Header::new(b"Signature-Input", input.as_bytes()),
            Header::new(b"Signature", signature.as_bytes()),
        ];
        let verify = |target| {
            let request = Request {
                method: b"POST",
                is_tls: true,
                client_certificate: None,
                authority: b"API.example:443",
                target,
                headers: &headers,
            };
            let mut pending = scheme.begin(&request, &keys, NOW_MS).unwrap();
            pending.absorb(BODY);
            let base = String::from_utf8(pending.canonical()).unwrap();
            (base, pending.finish(&keys).map(|identity| identity.consumer.id.clone()).map_err(|failure| failure.reason))
        };
        let base = format!(
            "\"@method\": POST\n\"@target-uri\": https://api.example/orders?dry=1\n\
             \"content-digest\": {DIGEST}\n\"@signature-params\": {parameters}"
        );
        assert_eq!(verify(b"/orders?dry=1"), (base, Ok("partner".to_owned())), "{key_id}");
        assert_eq!(verify(b"/orders?dry=0").1, Err(Reason::Mismatch), "{key_id}");
    }
}

#[test]
fn subjects_are_written_as_openssl_writes_them() {
    // `openssl x509 -noout -subject -nameopt RFC2253,-esc_msb,utf8 -in client.pem`
    const SUBJECT: &str =
        r##"serialNumber=12,UID=u1,emailAddress=a@shop.example,CN=\#shop\ ,O=Käse\, \"Räder\" \<GmbH\>\;\\,C=DE"##;
    let encoded = ::pem::parse(include_str!("keys/client.pem")).unwrap();
    let names = certificate::names(encoded.contents()).unwrap();
    let of = |kind| names.iter().filter(move |name| name.0 == kind).map(|name| name.1.as_str()).collect::<Vec<_>>();
    assert_eq!(of(NameKind::Subject), [SUBJECT]);
    assert_eq!(of(NameKind::Dns), ["Shop.Example"]);
    assert_eq!(of(NameKind::Uri), ["spiffe://shop.example/a"]);
    assert_eq!(of(NameKind::Email), ["a@shop.example"]);
    // `openssl x509 -outform DER -in client.pem | sha256sum`
    assert_eq!(of(NameKind::Sha256), ["39e7859a56c790c1741565e1c9293e7aaf9a751237b71826cee7bf462a5d7048"]);
    for end in 0..encoded.contents().len() {
        assert!(certificate::names(&encoded.contents()[..end]).is_err(), "{end} bytes of it");
    }
}

#[test]
fn a_certificate_whose_names_are_those_of_two_consumers_is_refused() {
    let der = ::pem::parse(include_str!("keys/client.pem")).unwrap().into_contents();
    let request = Request {
        method: b"GET",
        is_tls: true,
        client_certificate: Some(&der),
        authority: b"a",
        target: b"/",
        headers: &[],
    };
    let mut consumers = Consumers::default();
    let mut put = |id: &str, names: &[(NameKind, &str)]| {
        let credential = |&(kind, name): &(NameKind, &str)| Credential {
            kind: CredentialKind::Certificate,
            id: kind.credential_id(name),
            key: None,
        };
        let credentials = names.iter().map(credential).collect();
        consumers.put(Consumer { id: id.to_owned(), groups: Vec::new(), credentials });
        ClientCertificate
            .begin(&request, &consumers, NOW_MS)?
            .finish(&consumers)
            .map(|identity| identity.consumer.id.clone())
    };
    assert_eq!(
        put("b", &[(NameKind::Dns, "other.example")]).map_err(|failure| failure.reason),
        Err(Reason::UnknownKey)
    );
    let own = [(NameKind::Dns, "shop.EXAMPLE"), (NameKind::Email, "a@shop.example")];
    assert_eq!(put("a", &own).unwrap(), "a", "two names of one consumer");
    let second = put("b", &[(NameKind::Uri, "spiffe://shop.example/a")]);
    assert_eq!(second.map_err(|failure| failure.reason), Err(Reason::Duplicated));
}
