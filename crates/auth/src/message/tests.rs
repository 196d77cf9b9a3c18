use std::sync::OnceLock;

use proptest::prelude::*;
use weir_http::Header;

use super::*;
use crate::key::{PublicAlgorithm, PublicKey};
use crate::{
    Consumer, Consumers, Credential, CredentialKind, Failure, Identity, Key, Keys, Reason, Request, Scheme, Secret,
    Signer, SigningKey, Unsigned, pem,
};

const NOW_MS: u64 = 1_700_000_000_000;
const BODY: &[u8] = b"{\"amount\": 10}";
const TARGET: &str = "/orders/7?dry=1";
const KEYS: [(Algorithm, &str, &str); 5] = [
    (
        Algorithm::Ed25519,
        include_str!("../../tests/keys/ed25519.pem"),
        include_str!("../../tests/keys/ed25519-public.pem"),
    ),
    (
        Algorithm::EcdsaP256Sha256,
        include_str!("../../tests/keys/p256.pem"),
        include_str!("../../tests/keys/p256-public.pem"),
    ),
    (
        Algorithm::EcdsaP384Sha384,
        include_str!("../../tests/keys/p384.pem"),
        include_str!("../../tests/keys/p384-public.pem"),
    ),
    (
        Algorithm::RsaPssSha512,
        include_str!("../../tests/keys/rsa.pem"),
        include_str!("../../tests/keys/rsa-public.pem"),
    ),
    (
        Algorithm::RsaV15Sha256,
        include_str!("../../tests/keys/rsa.pem"),
        include_str!("../../tests/keys/rsa-public.pem"),
    ),
];

fn signing_key(algorithm: Algorithm) -> SigningKey {
    let row = KEYS.iter().find(|row| row.0 == algorithm);
    row.map_or_else(|| SigningKey::Secret(Secret::new("shared")), |row| pem::private_key(row.1).unwrap())
}

fn public(algorithm: Algorithm) -> PublicAlgorithm {
    match algorithm {
        Algorithm::Ed25519 => PublicAlgorithm::Ed25519,
        Algorithm::EcdsaP256Sha256 => PublicAlgorithm::EcdsaP256,
        Algorithm::EcdsaP384Sha384 => PublicAlgorithm::EcdsaP384,
        Algorithm::RsaPssSha512 => PublicAlgorithm::RsaPssSha512,
        Algorithm::RsaV15Sha256 | Algorithm::HmacSha256 => PublicAlgorithm::RsaPkcs1Sha256,
    }
}

/// A consumer whose credentials have the names of the algorithms, and one of another scheme.
fn keys() -> &'static Consumers {
    static CONSUMERS: OnceLock<Consumers> = OnceLock::new();
    CONSUMERS.get_or_init(|| {
        let credential = |id: &str, key| Credential { kind: CredentialKind::Signature, id: id.into(), key: Some(key) };
        let mut credentials = vec![credential("hmac-sha256", Key::Secret(Secret::new("shared")))];
        for (algorithm, _, text) in KEYS {
            let key = pem::public_key(text, public(algorithm)).unwrap();
            credentials.push(credential(algorithm.name(), Key::Public(key)));
        }
        let other = PublicKey { algorithm: PublicAlgorithm::RsaPkcs1Sha512, bytes: Vec::new() };
        credentials.push(credential("rs512", Key::Public(other)));
        let mut consumers = Consumers::default();
        consumers.put(Consumer { id: "partner".to_owned(), groups: Vec::new(), credentials });
        consumers
    })
}

/// A request as it arrives.
#[derive(Clone, Debug)]
struct Sent {
    method: Vec<u8>,
    authority: Vec<u8>,
    target: Vec<u8>,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
}

impl Sent {
    fn signed_by(signer: &MessageSigner, key_id: &str, body: &[u8]) -> Self {
        let own = [("Content-Type", "application/json"), ("X-Trace", "abc"), ("X-Free", "1")];
        let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let unsigned = Unsigned {
            method: "POST",
            is_tls: true,
            authority: "api.example",
            target: TARGET,
            headers: &own,
            body,
            now_ms: NOW_MS,
            random: [7; 16],
        };
        let signed = signer.sign(&unsigned, key_id, &signing_key(signer.algorithm)).unwrap();
        let headers = own.into_iter().chain(signed.headers).map(|(name, value)| (name, value.into_bytes()));
        Self {
            method: b"POST".to_vec(),
            authority: b"api.example".to_vec(),
            target: TARGET.into(),
            headers: headers.collect(),
            body: body.to_vec(),
        }
    }

    fn by(algorithm: Algorithm) -> Self {
        Self::signed_by(&MessageSigner::new(algorithm), algorithm.name(), BODY)
    }

    fn field(&mut self, name: &str) -> &mut Vec<u8> {
        &mut self.headers.iter_mut().find(|header| header.0 == name).unwrap().1
    }

    fn replace(mut self, name: &str, from: &str, to: &str) -> Self {
        let value = String::from_utf8(self.field(name).clone()).unwrap();
        assert!(value.contains(from), "{value}");
        *self.field(name) = value.replacen(from, to, 1).into_bytes();
        self
    }

    fn add(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    fn without(mut self, name: &str) -> Self {
        self.headers.retain(|header| header.0 != name);
        self
    }

    fn verify_at(
        &self,
        scheme: &MessageSignatures,
        keys: &dyn Keys,
        now_ms: u64,
        part: usize,
    ) -> Result<Identity, Failure> {
        let headers: Vec<_> = self.headers.iter().map(|(name, value)| Header::new(name.as_bytes(), value)).collect();
        let request = Request {
            method: &self.method,
            is_tls: true,
            client_certificate: None,
            authority: &self.authority,
            target: &self.target,
            headers: &headers,
        };
        let mut pending = scheme.begin(&request, keys, now_ms)?;
        self.body.chunks(part).for_each(|bytes| pending.absorb(bytes));
        pending.finish(keys)
    }

    fn verify_with(&self, options: Options) -> Result<Identity, Reason> {
        let scheme = MessageSignatures::new(options).unwrap();
        self.verify_at(&scheme, keys(), NOW_MS, 4).map_err(|failure| failure.reason)
    }

    fn verify(&self) -> Result<Identity, Reason> {
        self.verify_with(Options::default())
    }
}

#[test]
fn each_algorithm_signs_and_verifies() {
    for algorithm in Algorithm::ALL {
        for names_algorithm in [false, true] {
            let signer = MessageSigner { names_algorithm, ..MessageSigner::new(algorithm) };
            let identity = Sent::signed_by(&signer, algorithm.name(), BODY).verify().unwrap();
            assert_eq!(identity.consumer.credentials[identity.credential.unwrap()].id, algorithm.name().as_bytes());
            let nonce = identity.nonce.unwrap();
            assert_eq!(nonce.value, b"BwcHBwcHBwcHBwcHBwcHBw");
            assert_eq!((nonce.signed_ms, nonce.expires_ms), (Some(NOW_MS), NOW_MS + 300_000));
        }
        let plain = MessageSigner { nonce: false, lifetime_s: Some(60), ..MessageSigner::new(algorithm) };
        let nonce = Sent::signed_by(&plain, algorithm.name(), b"").verify().unwrap().nonce.unwrap();
        assert!(nonce.value.len() >= 32 && nonce.expires_ms == NOW_MS + 60_000);
    }
}

#[test]
fn what_is_wrong_is_named() {
    let good = || Sent::by(Algorithm::HmacSha256);
    let input = |from: &str, to: &str| good().replace("Signature-Input", from, to);
    let signature = |from: &str, to: &str| good().replace("Signature", from, to);
    let other_body = Sent { body: b"{\"amount\": 99}".to_vec(), ..good() };
    let no_digest = Sent::signed_by(&MessageSigner::new(Algorithm::HmacSha256), "hmac-sha256", b"");
    let many: String = (0..9).map(|at| format!("s{at}=(),")).collect();
    for (name, sent, reason) in [
        ("nothing", good().without("Signature").without("Signature-Input"), Reason::Missing),
        ("no signature", good().without("Signature"), Reason::Malformed),
        ("no input", good().without("Signature-Input"), Reason::Malformed),
        ("header repeated", good().add("Signature", "sig1=:AAAA:"), Reason::Duplicated),
        ("input repeated", good().add("signature-input", "sig1=()"), Reason::Duplicated),
        ("two signatures", good().add("Signature-Input", "b=()").add("Signature", "b=:AAAA:"), Reason::Duplicated),
        ("a second value", good().add("Signature", "b=:AAAA:"), Reason::Duplicated),
        ("a second input", good().add("Signature-Input", "b=()"), Reason::Duplicated),
        ("too many", good().add("Signature-Input", many.trim_end_matches(',')), Reason::TooLarge),
        ("other label", signature("sig1=", "sig2="), Reason::Malformed),
        ("not bytes", signature("sig1=:", "sig1=(), x=:"), Reason::Duplicated),
        ("truncated", signature(":", ""), Reason::Malformed),
        ("not a list", input("sig1=(", "sig1=a, b=("), Reason::Duplicated),
        ("an item", good().without("Signature-Input").add("Signature-Input", "sig1=a"), Reason::Malformed),
        ("not ASCII", input("sig1", "s\u{ef}g1"), Reason::Malformed),
        ("truncated input", input(";keyid", ";keyid="), Reason::Malformed),
        ("oversized", good().add("Signature-Input", &"a".repeat(20_000)), Reason::TooLarge),
        ("no key id", input(";keyid=\"hmac-sha256\"", ""), Reason::Incomplete),
        ("unknown key", input("hmac-sha256", "nobody"), Reason::UnknownKey),
        ("a key of another scheme", input("hmac-sha256", "rs512"), Reason::Unsupported),
        ("no time", input(";created=1700000000", ""), Reason::Incomplete),
        ("expired", input("=1700000000", "=1699999699"), Reason::Expired),
        ("not yet valid", input("=1700000000", "=1700000031"), Reason::NotYet),
        ("later", input("=1700000000", "=1700000001"), Reason::Mismatch),
        ("expires", input(";keyid", ";expires=1699999999;keyid"), Reason::Malformed),
        ("two times", input(";keyid", ";created=1700000000;keyid"), Reason::Duplicated),
        ("other algorithm", input(";keyid", ";alg=\"ed25519\";keyid"), Reason::Unsupported),
        ("unknown algorithm", input(";keyid", ";alg=\"none\";keyid"), Reason::Unsupported),
        ("other nonce", input("BwcH", "BwcI"), Reason::Mismatch),
        ("a new parameter", input(";keyid", ";x=1;keyid"), Reason::Mismatch),
        ("covered twice", input("(\"@method\"", "(\"@method\" \"@method\""), Reason::Duplicated),
        ("absent field", input("(\"@method\"", "(\"@method\" \"x-none\""), Reason::Mismatch),
        ("trailer", input("(\"@method\"", "(\"@method\" \"x-trace\";tr"), Reason::Unsupported),
        ("its own parameters", input("(\"@method\"", "(\"@signature-params\""), Reason::Unsupported),
        ("method not covered", input("\"@method\" ", ""), Reason::Incomplete),
        ("target not covered", input("\"@target-uri\" ", ""), Reason::Incomplete),
        ("query not covered", input("\"@target-uri\"", "\"@authority\" \"@path\""), Reason::Incomplete),
        ("nothing covered", input("sig1=(", "sig1=();x=\"").replace("Signature-Input", ")", ""), Reason::Malformed),
        ("digest not covered", input(" \"content-digest\"", ""), Reason::Mismatch),
        ("body without digest", Sent { body: b"x".to_vec(), ..no_digest }, Reason::Incomplete),
        ("body changed", other_body, Reason::BodyChanged),
        ("body cut", Sent { body: Vec::new(), ..good() }, Reason::BodyChanged),
        ("digest changed", good().replace("Content-Digest", "=:", "=:A"), Reason::Malformed),
        ("digest of MD5", good().replace("Content-Digest", "sha-256", "md5"), Reason::Unsupported),
        ("digest repeated", good().add("content-digest", "sha-512=:AAAA:"), Reason::Malformed),
        ("digest dropped", good().without("Content-Digest"), Reason::Mismatch),
        ("host", Sent { authority: b"other.example".to_vec(), ..good() }, Reason::Mismatch),
        ("no host", Sent { authority: Vec::new(), ..good() }, Reason::Malformed),
        ("type repeated", good().add("content-type", "text/html"), Reason::Mismatch),
    ] {
        let failure =
            sent.verify_at(&MessageSignatures::new(Options::default()).unwrap(), keys(), NOW_MS, 4).expect_err(name);
        assert_eq!(failure.reason, reason, "{name}: {failure}");
        assert!(failure.detail.len() < 200, "{name}: {failure}");
    }
    // Without a body there is no digest to cover; what nobody signed may change.
    let bodiless = Sent::signed_by(&MessageSigner::new(Algorithm::HmacSha256), "hmac-sha256", b"");
    bodiless.replace("X-Free", "1", "2").verify().unwrap();
}

#[test]
fn the_signature_with_the_label_and_tag_counts() {
    let signer = MessageSigner { tag: Some("app \"1\"".to_owned()), ..MessageSigner::new(Algorithm::Ed25519) };
    let sent = Sent::signed_by(&signer, "ed25519", BODY);
    let two = sent.clone().add("Signature-Input", "proxy=();tag=\"p\"").add("Signature", "proxy=:AAAA:");
    let label = |label: &str| Options { label: Some(label.to_owned()), ..Options::default() };
    let tag = |tag: &str| Options { tag: Some(tag.to_owned()), ..Options::default() };
    two.verify_with(label("sig1")).unwrap();
    two.verify_with(tag("app \"1\"")).unwrap();
    two.verify_with(Options { tag: signer.tag, ..label("sig1") }).unwrap();
    assert_eq!(two.verify_with(label("proxy")).unwrap_err(), Reason::Incomplete);
    assert_eq!(two.verify_with(label("sig2")).unwrap_err(), Reason::Missing);
    assert_eq!(two.verify_with(tag("app")).unwrap_err(), Reason::Missing);
    assert_eq!(two.verify_with(Options { tag: Some("p".to_owned()), ..label("sig1") }).unwrap_err(), Reason::Missing);
    let same = two.add("Signature-Input", "b=();tag=\"p\"");
    assert_eq!(same.verify_with(tag("p")).unwrap_err(), Reason::Duplicated);
    for (wrong, part) in [
        (label("A"), "not a label"),
        (label("a=1"), "not a label"),
        (label("a, b"), "not a label"),
        (label(""), "not a label"),
        (tag("\u{e4}"), "tag"),
        (Options { required: vec!["@query-param".to_owned()], ..Options::default() }, "cannot be required"),
    ] {
        assert!(MessageSignatures::new(wrong).unwrap_err().contains(part));
    }
}

#[test]
fn more_can_be_required_and_asked_for() {
    let strict = Options {
        required: ["@method", "@authority", "@path", "@query", "x-trace"].map(str::to_owned).to_vec(),
        nonce: true,
        ..Options::default()
    };
    let sent = |components: &[&str]| {
        let components = Some(components.iter().map(|name| (*name).to_owned()).collect());
        Sent::signed_by(&MessageSigner { components, ..MessageSigner::new(Algorithm::Ed25519) }, "ed25519", BODY)
    };
    sent(&["@method", "@target-uri", "X-Trace"]).verify_with(strict.clone()).unwrap();
    let with_host = sent(&["@method", "host", "@request-target", "\"x-trace\";bs"]).add("Host", "api.example");
    with_host.verify_with(strict.clone()).unwrap();
    assert_eq!(with_host.without("Host").verify_with(strict.clone()).unwrap_err(), Reason::Mismatch);
    let open = sent(&["@method", "@target-uri"]);
    assert_eq!(open.verify_with(strict.clone()).unwrap_err(), Reason::Incomplete);
    open.without("X-Trace").verify_with(strict.clone()).unwrap();

    let scheme = MessageSignatures::new(strict).unwrap();
    assert!(!scheme.reads_body());
    assert_eq!(scheme.challenge(), "Signature");
    assert_eq!(scheme.credential_fields(), ["signature", "signature-input"]);
    let scheme = MessageSignatures::new(Options { tag: Some("t".to_owned()), ..Options::of_responses() }).unwrap();
    assert!(scheme.reads_body());
}

#[test]
fn a_response_counts_for_its_request_alone() {
    let input = "(\"@status\" \"@method\";req \"@target-uri\";req);created=1700000000;keyid=\"hmac-sha256\"";
    let base = format!(
        "\"@status\": 204\n\"@method\";req: GET\n\"@target-uri\";req: https://a.example/x\n\"@signature-params\": {input}"
    );
    let signature = Algorithm::HmacSha256.sign(&signing_key(Algorithm::HmacSha256), base.as_bytes()).unwrap();
    let fields = [format!("s={input}"), format!("s=:{}:", crate::encoding::base64(&signature))];
    let headers =
        [Header::new(b"Signature-Input", fields[0].as_bytes()), Header::new(b"Signature", fields[1].as_bytes())];
    let scheme = MessageSignatures::new(Options::of_responses()).unwrap();
    let verify = |target: &[u8], status, body: &[u8]| {
        let request = Request {
            method: b"GET",
            is_tls: true,
            client_certificate: None,
            authority: b"a.example",
            target,
            headers: &[],
        };
        let mut pending =
            scheme.verify_response(&request, Response { status, headers: &headers }, keys(), NOW_MS).unwrap();
        pending.absorb(body);
        pending.finish(keys()).map(|identity| identity.consumer.id.clone()).map_err(|failure| failure.reason)
    };
    assert_eq!(verify(b"/x", 204, b"").as_deref(), Ok("partner"));
    assert_eq!(verify(b"/y", 204, b""), Err(Reason::Mismatch));
    assert_eq!(verify(b"/x", 200, b""), Err(Reason::Mismatch));
    assert_eq!(verify(b"/x", 204, b"body"), Err(Reason::Incomplete));
}

#[test]
fn a_signature_that_is_altered_without_the_key_is_the_same_nonce() {
    // The order of P-256 (SEC 2, section 2.4.2): with (r, s) also (r, n - s) is a signature.
    const ORDER: &[u8] = b"ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";
    let signer = MessageSigner { nonce: false, ..MessageSigner::new(Algorithm::EcdsaP256Sha256) };
    let mut sent = Sent::signed_by(&signer, "ecdsa-p256-sha256", BODY);
    let nonce = |sent: &Sent| sent.verify().unwrap().nonce.unwrap().value;
    let first = nonce(&sent);
    let text = String::from_utf8(sent.field("Signature").clone()).unwrap();
    let encoded = text.strip_prefix("sig1=:").unwrap().strip_suffix(':').unwrap();
    let mut signature = crate::encoding::from_base64(encoded.as_bytes()).unwrap();
    let order = crate::encoding::from_hex(ORDER).unwrap();
    let mut borrow = 0;
    for (byte, order) in signature[32..].iter_mut().zip(order).rev() {
        let difference = i16::from(order) - i16::from(*byte) - borrow;
        borrow = i16::from(difference < 0);
        *byte = difference.rem_euclid(256) as u8;
    }
    *sent.field("Signature") = format!("sig1=:{}:", crate::encoding::base64(&signature)).into_bytes();
    assert_eq!(nonce(&sent), first);
}

#[test]
fn a_signer_says_why_it_cannot_sign() {
    let unsigned = Unsigned {
        method: "GET",
        is_tls: true,
        authority: "a",
        target: "/",
        headers: &[],
        body: b"",
        now_ms: NOW_MS,
        random: [0; 16],
    };
    let secret = signing_key(Algorithm::HmacSha256);
    let signer = MessageSigner::new(Algorithm::HmacSha256);
    let with = |name: &str| MessageSigner { components: Some(vec![name.to_owned()]), ..signer.clone() };
    for (signer, key_id, key, part) in [
        (MessageSigner::new(Algorithm::Ed25519), "k", &secret, "expected an Ed25519 key"),
        (signer.clone(), "k", &signing_key(Algorithm::Ed25519), "expected a shared secret"),
        (MessageSigner::new(Algorithm::RsaPssSha512), "k", &signing_key(Algorithm::EcdsaP256Sha256), "expected an RSA"),
        (MessageSigner::new(Algorithm::EcdsaP384Sha384), "k", &signing_key(Algorithm::EcdsaP256Sha256), "a P-384 key"),
        (signer.clone(), "\u{e4}", &secret, "`keyid` is not printable"),
        (MessageSigner { label: "A".to_owned(), ..signer.clone() }, "k", &secret, "expected a key"),
        (MessageSigner { label: "a=1, b".to_owned(), ..signer.clone() }, "k", &secret, "not a label"),
        (with("x-none"), "k", &secret, "absent"),
        (with("@status"), "k", &secret, "no status"),
        (with("a b"), "k", &secret, "not the lower-case name"),
        (with("\"date\";tr"), "k", &secret, "trailers"),
    ] {
        let error = signer.sign(&unsigned, key_id, key).unwrap_err();
        assert!(error.contains(part), "{error}: expected {part}");
    }
}

/// The bytes of a signed request whose change must be noticed: all but the name of the label.
fn change(sent: &mut Sent, place: usize, at: usize, to: u8) -> bool {
    let field = match place {
        0 => &mut sent.method,
        1 => &mut sent.target,
        2 => &mut sent.body,
        3 => sent.field("Content-Type"),
        4 => sent.field("Content-Digest"),
        5 => sent.field("Signature"),
        6 => sent.field("Signature-Input"),
        _ => &mut sent.authority,
    };
    let at = at % field.len();
    let before = std::mem::replace(&mut field[at], to);
    // Names of hosts have no case.
    if place == 7 { !before.eq_ignore_ascii_case(&to) } else { before != to }
}

proptest! {
    #[test]
    fn a_changed_byte_is_noticed(algorithm in 0..6usize, place in 0..8usize, at in any::<usize>(), to in any::<u8>()) {
        let mut sent = Sent::by(Algorithm::ALL[algorithm]);
        if change(&mut sent, place, at, to) {
            prop_assert!(sent.verify().is_err(), "{place} {at} {to}");
        }
    }

    #[test]
    fn the_parts_in_which_a_body_arrives_do_not_count(body in proptest::collection::vec(any::<u8>(), 0..200), part in 1..50usize) {
        let sent = Sent::signed_by(&MessageSigner::new(Algorithm::HmacSha256), "hmac-sha256", &body);
        let scheme = MessageSignatures::new(Options::default()).unwrap();
        prop_assert!(sent.verify_at(&scheme, keys(), NOW_MS, part).is_ok());
    }

    #[test]
    fn arbitrary_fields_do_not_panic(
        input in "sig1=\\((\"(@[a-z-]{0,12}|[a-z-]{1,12})\"(;(sf|bs|req|tr|key=\"a\"|name=\"a\"))? ?){0,6}\\)(;(created|expires|keyid|nonce|alg)=(1700000000|\"ed25519\"|\"hmac-sha256\"|:AAAA:)){0,5}",
        bytes in proptest::collection::vec(any::<u8>(), 0..60),
        target in proptest::collection::vec(any::<u8>(), 0..60),
    ) {
        for input in [input.as_bytes(), &bytes] {
            let headers = vec![
                ("Signature-Input".to_owned(), input.to_vec()),
                ("Signature".to_owned(), [b"sig1=:", &b"A".repeat(bytes.len() / 4 * 4)[..], b":"].concat()),
                ("Content-Digest".to_owned(), bytes.clone()),
            ];
            let (authority, body) = (bytes.clone(), bytes.clone());
            let sent = Sent { method: bytes.clone(), authority, target: target.clone(), headers, body };
            for required in [vec!["content-digest".to_owned()], Options::default().required] {
                let options = Options { required, created: false, ..Options::default() };
                prop_assert!(sent.verify_with(options).is_err());
            }
        }
    }
}
