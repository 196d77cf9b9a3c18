//! The test cases of RFC 9421, appendix B: `vectors/rfc9421.txt` holds its keys, messages, bases and signatures.

#![allow(clippy::unwrap_used, reason = "in a test it is the assertion, in its helpers too")]

use std::collections::BTreeMap;

use weir_auth::key::{PublicAlgorithm, PublicKey};
use weir_auth::message::{Algorithm, MessageSignatures, MessageSigner, Options, Response};
use weir_auth::{
    Consumer, Consumers, Credential, CredentialKind, Key, Keys, Pending, Reason, Request, Scheme, Secret, Signer,
    SigningKey, Unsigned, encoding, pem,
};
use weir_http::Header;

const NOW_MS: u64 = 1_618_884_473_000;

/// The sections of the file.
struct Vectors(BTreeMap<&'static str, &'static str>);

impl Vectors {
    fn read() -> Self {
        let sections = include_str!("vectors/rfc9421.txt").split("\n[").skip(1);
        let vectors = Self(sections.map(|section| section.split_once("]\n").unwrap()).collect());
        // Keys and secret, two messages, eight signatures with their bases, the message of one, six transformed messages.
        assert_eq!(vectors.0.len(), 6 + 2 + 2 * 8 + 1 + 6);
        vectors
    }

    fn text(&self, section: &str) -> &'static str {
        self.0.get(section).unwrap_or_else(|| panic!("no section {section}")).trim_end()
    }

    fn base(&self, label: &str) -> &'static str {
        self.text(&format!("{label} base"))
    }

    fn fields(&self, label: &str) -> &'static str {
        self.text(&format!("{label} fields"))
    }

    /// A message with the fields that a signature adds.
    fn signed(&self, message: &str, label: &str) -> Message {
        let mut message = Message::parse(self.text(message));
        message.fields.extend(self.fields(label).lines().map(field));
        message
    }

    fn keys(&self) -> Consumers {
        let public = |id, algorithm| (id, Key::Public(pem::public_key(self.text(id), algorithm).unwrap()));
        let keys = [
            public("test-key-rsa", PublicAlgorithm::RsaPkcs1Sha256),
            public("test-key-rsa-pss", PublicAlgorithm::RsaPssSha512),
            public("test-key-ecc-p256", PublicAlgorithm::EcdsaP256),
            public("test-key-ed25519", PublicAlgorithm::Ed25519),
            ("test-shared-secret", Key::Secret(self.secret())),
        ];
        let credential =
            |(id, key): (&str, Key)| Credential { kind: CredentialKind::Signature, id: id.into(), key: Some(key) };
        let credentials = keys.into_iter().map(credential).collect();
        let mut consumers = Consumers::default();
        consumers.put(Consumer { id: "example".to_owned(), groups: Vec::new(), credentials });
        consumers
    }

    fn secret(&self) -> Secret {
        Secret::new(encoding::from_base64(self.text("test-shared-secret").as_bytes()).unwrap())
    }
}

fn field(line: &str) -> (String, String) {
    line.split_once(": ").map(|(name, value)| (name.to_owned(), value.to_owned())).unwrap()
}

struct Message {
    start: Vec<String>,
    fields: Vec<(String, String)>,
    body: String,
}

impl Message {
    fn parse(text: &str) -> Self {
        let (head, body) = text.split_once("\n\n").unwrap_or((text, ""));
        let mut lines = head.lines();
        let start = lines.next().unwrap().split(' ').map(str::to_owned).collect();
        Self { start, fields: lines.map(field).collect(), body: body.trim_end().to_owned() }
    }

    fn headers(&self) -> Vec<Header<'_>> {
        self.fields.iter().map(|(name, value)| Header::new(name.as_bytes(), value.as_bytes())).collect()
    }

    fn field(&self, name: &str) -> &str {
        &self.fields.iter().find(|field| field.0 == name).unwrap().1
    }

    fn request<'m>(&'m self, headers: &'m [Header<'m>]) -> Request<'m> {
        let authority = self.field("Host").as_bytes();
        let (method, target) = (self.start[0].as_bytes(), self.start[1].as_bytes());
        Request { method, is_tls: true, client_certificate: None, authority, target, headers }
    }
}

fn scheme(base: &str) -> MessageSignatures {
    let covers_body = base.contains("\n\"content-digest\": ");
    let required = if covers_body { vec!["content-digest".to_owned()] } else { Vec::new() };
    MessageSignatures::new(Options { required, ..Options::default() }).unwrap()
}

/// Checks the base, then the signature.
fn verify(mut pending: Box<dyn Pending + '_>, keys: &dyn Keys, base: &str, body: &str) -> Result<(), Reason> {
    body.as_bytes().chunks(5).for_each(|part| pending.absorb(part));
    assert_eq!(String::from_utf8(pending.canonical()).unwrap(), base);
    pending.finish(keys).map(|identity| assert_eq!(identity.consumer.id, "example")).map_err(|failure| failure.reason)
}

fn verify_request(message: &Message, keys: &Consumers, base: &str) -> Result<(), Reason> {
    let headers = message.headers();
    verify(scheme(base).begin(&message.request(&headers), keys, NOW_MS).unwrap(), keys, base, &message.body)
}

#[test]
fn signed_requests_and_their_bases() {
    let vectors = Vectors::read();
    let keys = vectors.keys();
    for label in ["sig-b21", "sig-b22", "sig-b23", "sig-b25", "sig-b26"] {
        let base = vectors.base(label);
        let mut message = vectors.signed("test-request", label);
        assert_eq!(verify_request(&message, &keys, base), Ok(()), "{label}");
        message.body += " ";
        let covers_body = base.contains("content-digest");
        let expected = if covers_body { Err(Reason::BodyChanged) } else { Ok(()) };
        assert_eq!(verify_request(&message, &keys, base), expected, "{label}");
    }
}

#[test]
fn a_signed_response_and_its_base() {
    let vectors = Vectors::read();
    let base = vectors.base("sig-b24");
    let response = vectors.signed("test-response", "sig-b24");
    let (request, headers) = (Message::parse(vectors.text("test-request")), response.headers());
    let request_headers = request.headers();
    let response_head = Response { status: response.start[1].parse().unwrap(), headers: &headers };
    let keys = vectors.keys();
    let begin = || {
        let request = request.request(&request_headers);
        scheme(base).verify_response(&request, response_head, &keys, NOW_MS).unwrap()
    };
    assert_eq!(verify(begin(), &keys, base, &response.body), Ok(()));
    assert_eq!(verify(begin(), &keys, base, "{}"), Err(Reason::BodyChanged));
}

#[test]
fn a_proxy_that_terminates_tls() {
    let vectors = Vectors::read();
    let message = vectors.signed("ttrp message", "ttrp");
    assert_eq!(verify_request(&message, &vectors.keys(), vectors.base("ttrp")), Ok(()));
}

#[test]
fn transformations_that_keep_and_break_a_signature() {
    let vectors = Vectors::read();
    let (keys, base) = (vectors.keys(), vectors.base("transform"));
    for number in 1..=6 {
        let message = vectors.signed(&format!("transform message {number}"), "transform");
        if number <= 4 {
            assert_eq!(verify_request(&message, &keys, base), Ok(()), "{number}");
            continue;
        }
        let headers = message.headers();
        let pending = scheme(base).begin(&message.request(&headers), &keys, NOW_MS).unwrap();
        assert_eq!(pending.finish(&keys).unwrap_err().reason, Reason::Mismatch, "{number}");
    }
}

#[test]
fn deterministic_signatures_are_made_again() {
    let vectors = Vectors::read();
    let secret = SigningKey::Secret(vectors.secret());
    let ed25519 = pem::private_key(vectors.text("test-key-ed25519 private")).unwrap();
    for (message, label, algorithm, key_id, key, components) in [
        (
            "test-request",
            "sig-b25",
            Algorithm::HmacSha256,
            "test-shared-secret",
            &secret,
            &["date", "@authority", "content-type"][..],
        ),
        (
            "test-request",
            "sig-b26",
            Algorithm::Ed25519,
            "test-key-ed25519",
            &ed25519,
            &["date", "@method", "@path", "@authority", "content-type", "content-length"],
        ),
        (
            "transform message 1",
            "transform",
            Algorithm::Ed25519,
            "test-key-ed25519",
            &ed25519,
            &["@method", "@path", "@authority", "accept"],
        ),
    ] {
        let message = Message::parse(vectors.text(message));
        let signer = MessageSigner {
            label: label.to_owned(),
            components: Some(components.iter().map(|name| (*name).to_owned()).collect()),
            nonce: false,
            ..MessageSigner::new(algorithm)
        };
        let unsigned = Unsigned {
            method: &message.start[0],
            is_tls: true,
            authority: message.field("Host"),
            target: &message.start[1],
            headers: &message.fields,
            body: message.body.as_bytes(),
            now_ms: NOW_MS,
            random: [0; 16],
        };
        let signed = signer.sign(&unsigned, key_id, key).unwrap();
        let made: Vec<String> = signed.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        assert_eq!(made.join("\n"), vectors.fields(label));
    }
}

#[test]
fn a_key_of_another_algorithm_does_not_verify() {
    let vectors = Vectors::read();
    let keys = vectors.keys();
    let credential = &keys.get("example").unwrap().credentials[1];
    let Some(Key::Public(PublicKey { bytes, .. })) = credential.key.clone() else { unreachable!() };
    let key = Key::Public(PublicKey { algorithm: PublicAlgorithm::RsaPkcs1Sha256, bytes });
    let credentials = vec![Credential { kind: CredentialKind::Signature, id: credential.id.clone(), key: Some(key) }];
    let mut other = Consumers::default();
    other.put(Consumer { id: "example".to_owned(), groups: Vec::new(), credentials });
    let message = vectors.signed("test-request", "sig-b23");
    assert_eq!(verify_request(&message, &other, vectors.base("sig-b23")), Err(Reason::Mismatch));
}
