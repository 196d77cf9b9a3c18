//! The test cases of RFC 9421, appendix B, read from its source: `WEIR_VECTORS` names the folder of
//! `rfc9421-appendix-b.md`. Without it they are skipped.

#![allow(clippy::unwrap_used, reason = "in a test it is the assertion, in its helpers too")]

use std::fs;
use std::path::Path;

use weir_auth::key::{PublicAlgorithm, PublicKey};
use weir_auth::message::{Algorithm, MessageSignatures, MessageSigner, Options, Response};
use weir_auth::{
    Consumer, Consumers, Credential, CredentialKind, Key, Keys, Pending, Reason, Request, Scheme, Secret, Signer,
    SigningKey, Unsigned, encoding, pem,
};
use weir_http::Header;

const NOW_MS: u64 = 1_618_884_473_000;

/// Code blocks with the headings under which they stand.
struct Vectors(Vec<(String, String)>);

impl Vectors {
    fn read() -> Option<Self> {
        let Some(folder) = std::env::var_os("WEIR_VECTORS") else {
            println!("skipped: WEIR_VECTORS does not name the folder of rfc9421-appendix-b.md");
            return None;
        };
        let text = fs::read_to_string(Path::new(&folder).join("rfc9421-appendix-b.md")).unwrap();
        let (mut blocks, mut heading, mut block) = (Vec::new(), String::new(), None);
        for line in text.lines() {
            match &mut block {
                None if line.starts_with('#') => heading = line.trim_start_matches('#').trim().to_owned(),
                None if line.starts_with("~~~") => block = Some(String::new()),
                None => {}
                Some(text) if line.starts_with("~~~") => {
                    blocks.push((heading.clone(), unfold(text)));
                    block = None;
                }
                Some(text) => *text += &format!("{line}\n"),
            }
        }
        Some(Self(blocks))
    }

    fn under<'v>(&'v self, heading: &'v str) -> impl Iterator<Item = &'v str> {
        self.0.iter().filter(move |block| block.0.starts_with(heading)).map(|block| block.1.as_str())
    }

    fn base(&self, heading: &str) -> String {
        let base = self.under(heading).find(|block| block.contains("\"@signature-params\": "));
        base.unwrap().trim_end().to_owned()
    }

    fn keys(&self) -> Consumers {
        let public = |heading, algorithm| {
            let text = self.under(heading).next().unwrap();
            let end = text.find("\n\n").unwrap();
            Key::Public(pem::public_key(&text[..end], algorithm).unwrap())
        };
        let keys = [
            ("test-key-rsa", public("Example Key RSA test", PublicAlgorithm::RsaPkcs1Sha256)),
            ("test-key-rsa-pss", public("Example RSA PSS Key", PublicAlgorithm::RsaPssSha512)),
            ("test-key-ecc-p256", public("Example ECC P-256", PublicAlgorithm::EcdsaP256)),
            ("test-key-ed25519", public("Example Ed25519", PublicAlgorithm::Ed25519)),
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
        let text = self.under("Example Shared Secret").next().unwrap();
        Secret::new(encoding::from_base64(text.trim().as_bytes()).unwrap())
    }

    fn ed25519(&self) -> SigningKey {
        let text = self.under("Example Ed25519").next().unwrap();
        pem::private_key(&text[text.find("\n\n").unwrap()..]).unwrap()
    }
}

/// Undoes the folding of long lines (RFC 8792, section 7.2).
fn unfold(block: &str) -> String {
    let block = block.trim_start_matches("NOTE: '\\' line wrapping per RFC 8792\n").trim_start_matches('\n');
    let mut parts = block.split("\\\n");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.trim_start_matches(' '))
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
        let field =
            |line: &str| line.split_once(": ").map(|(name, value)| (name.to_owned(), value.to_owned())).unwrap();
        Self { start, fields: lines.map(field).collect(), body: body.trim_end().to_owned() }
    }

    fn with(mut self, fields: &str) -> Self {
        self.fields.extend(Self::parse(&format!("-\n{fields}")).fields);
        self
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
    let Some(vectors) = Vectors::read() else { return };
    let keys = vectors.keys();
    for heading in [
        "Minimal Signature Using rsa-pss-sha512",
        "Selective Covered Components using rsa-pss-sha512",
        "Full Coverage using rsa-pss-sha512",
        "Signing a Request using hmac-sha256",
        "Signing a Request using ed25519",
    ] {
        let request = || Message::parse(vectors.under("Test Cases").next().unwrap());
        let fields = vectors.under(heading).find(|block| block.starts_with("Signature-Input: ")).unwrap();
        let base = vectors.base(heading);
        let mut message = request().with(fields);
        assert_eq!(verify_request(&message, &keys, &base), Ok(()), "{heading}");
        message.body += " ";
        let covers_body = base.contains("content-digest");
        let expected = if covers_body { Err(Reason::BodyChanged) } else { Ok(()) };
        assert_eq!(verify_request(&message, &keys, &base), expected, "{heading}");
    }
}

#[test]
fn a_signed_response_and_its_base() {
    let Some(vectors) = Vectors::read() else { return };
    let heading = "Signing a Response using ecdsa-p256-sha256";
    let base = vectors.base(heading);
    let fields = vectors.under(heading).find(|block| block.starts_with("Signature-Input: ")).unwrap();
    let mut response = Message::parse(vectors.under("Test Cases").nth(1).unwrap()).with(fields);
    // The source states another digest for this message than in the base, and than its body has.
    let digest = base.lines().find_map(|line| line.strip_prefix("\"content-digest\": ")).unwrap();
    response
        .fields
        .iter_mut()
        .filter(|field| field.0 == "Content-Digest")
        .for_each(|field| field.1 = digest.to_owned());
    let (request, headers) = (Message::parse(vectors.under("Test Cases").next().unwrap()), response.headers());
    let request_headers = request.headers();
    let response_head = Response { status: response.start[1].parse().unwrap(), headers: &headers };
    let keys = vectors.keys();
    let begin = || {
        let request = request.request(&request_headers);
        scheme(&base).verify_response(&request, response_head, &keys, NOW_MS).unwrap()
    };
    assert_eq!(verify(begin(), &keys, &base, &response.body), Ok(()));
    assert_eq!(verify(begin(), &keys, &base, "{}"), Err(Reason::BodyChanged));
}

#[test]
fn a_proxy_that_terminates_tls() {
    let Some(vectors) = Vectors::read() else { return };
    let blocks: Vec<&str> = vectors.under("TLS-Terminating Proxies").collect();
    let message = Message::parse(blocks.iter().find(|block| block.contains("Signature: ttrp=")).unwrap());
    let base = vectors.base("TLS-Terminating Proxies");
    let alone = blocks.iter().find(|block| block.starts_with("xVMH")).unwrap().trim();
    assert_eq!(message.field("Signature"), format!("ttrp=:{alone}:"));
    assert_eq!(verify_request(&message, &vectors.keys(), &base), Ok(()));
}

#[test]
fn transformations_that_keep_and_break_a_signature() {
    let Some(vectors) = Vectors::read() else { return };
    let (keys, heading) = (vectors.keys(), "HTTP Message Transformations");
    let messages: Vec<_> = vectors.under(heading).filter(|block| block.contains("Signature: ")).collect();
    assert_eq!(messages.len(), 6);
    let base = vectors.base(heading);
    for (at, text) in messages.into_iter().enumerate() {
        let message = Message::parse(text);
        if at < 4 {
            assert_eq!(verify_request(&message, &keys, &base), Ok(()), "{text}");
            continue;
        }
        let headers = message.headers();
        let pending = scheme(&base).begin(&message.request(&headers), &keys, NOW_MS).unwrap();
        assert_eq!(pending.finish(&keys).unwrap_err().reason, Reason::Mismatch, "{text}");
    }
}

#[test]
fn deterministic_signatures_are_made_again() {
    let Some(vectors) = Vectors::read() else { return };
    let secret = SigningKey::Secret(vectors.secret());
    let ed25519 = vectors.ed25519();
    let request = vectors.under("Test Cases").next().unwrap();
    let transformed = vectors.under("HTTP Message Transformations").next().unwrap();
    for (text, fields, label, algorithm, key_id, key, components) in [
        (
            request,
            vectors.under("Signing a Request using hmac-sha256").nth(1).unwrap(),
            "sig-b25",
            Algorithm::HmacSha256,
            "test-shared-secret",
            &secret,
            &["date", "@authority", "content-type"][..],
        ),
        (
            request,
            vectors.under("Signing a Request using ed25519").nth(1).unwrap(),
            "sig-b26",
            Algorithm::Ed25519,
            "test-key-ed25519",
            &ed25519,
            &["date", "@method", "@path", "@authority", "content-type", "content-length"],
        ),
        (
            transformed,
            transformed,
            "transform",
            Algorithm::Ed25519,
            "test-key-ed25519",
            &ed25519,
            &["@method", "@path", "@authority", "accept"],
        ),
    ] {
        let message = Message::parse(text);
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
        for (name, value) in &signed.headers {
            assert!(fields.contains(&format!("{name}: {value}\n")), "{name}: {value}");
        }
        assert_eq!(signed.headers.len(), 2);
    }
}

#[test]
fn a_key_of_another_algorithm_does_not_verify() {
    let Some(vectors) = Vectors::read() else { return };
    let keys = vectors.keys();
    let credential = &keys.get("example").unwrap().credentials[1];
    let Some(Key::Public(PublicKey { bytes, .. })) = credential.key.clone() else { unreachable!() };
    let key = Key::Public(PublicKey { algorithm: PublicAlgorithm::RsaPkcs1Sha256, bytes });
    let credentials = vec![Credential { kind: CredentialKind::Signature, id: credential.id.clone(), key: Some(key) }];
    let mut other = Consumers::default();
    other.put(Consumer { id: "example".to_owned(), groups: Vec::new(), credentials });
    let heading = "Full Coverage using rsa-pss-sha512";
    let fields = vectors.under(heading).find(|block| block.starts_with("Signature-Input: ")).unwrap();
    let message = Message::parse(vectors.under("Test Cases").next().unwrap()).with(fields);
    assert_eq!(verify_request(&message, &other, &vectors.base(heading)), Err(Reason::Mismatch));
}
