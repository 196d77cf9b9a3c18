//! Lines: method, host, target, signature input, content digest, a field; then the body. The parts in which the body
//! arrives do not count; no value adds a line to the signature base; the right signature of that base is accepted.
#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use weir_auth::encoding::base64;
use weir_auth::message::base::MAX_BASE_BYTES;
use weir_auth::message::{Algorithm, MessageSignatures, Options};
use weir_auth::{
    Candidate, Consumer, Credential, CredentialKind, Failure, Key, Keys, Reason, Request, Scheme, Secret, SigningKey,
};
use weir_http::Header;

const NOW_MS: u64 = 1_700_000_000_000;

/// Every id names the same key.
struct OneKey(Arc<Consumer>);

impl Keys for OneKey {
    fn find(&self, _: CredentialKind, _: &[u8]) -> Option<Candidate> {
        Some(Candidate { consumer: Arc::clone(&self.0), credential: 0 })
    }

    fn of_consumer(&self, _: CredentialKind, _: &str) -> Vec<Candidate> {
        Vec::new()
    }

    fn consumer(&self, _: &str) -> Option<Arc<Consumer>> {
        None
    }
}

static KEYS: LazyLock<OneKey> = LazyLock::new(|| {
    let key = Some(Key::Secret(Secret::new("key")));
    let credentials = vec![Credential { kind: CredentialKind::Signature, id: b"k".to_vec(), key }];
    OneKey(Arc::new(Consumer { id: "c".to_owned(), groups: Vec::new(), credentials }))
});

static SCHEMES: LazyLock<[MessageSignatures; 2]> = LazyLock::new(|| {
    let lenient = Options {
        required: vec!["content-digest".to_owned()],
        created: false,
        max_age_ms: u64::MAX,
        max_skew_ms: u64::MAX,
        ..Options::default()
    };
    [lenient, Options::default()].map(|options| MessageSignatures::new(options).expect("the options are right"))
});

fuzz_target!(|bytes: &[u8]| {
    let mut lines = bytes.splitn(7, |byte| *byte == b'\n');
    let [method, authority, target, input, digest, field, body] = [(); 7].map(|()| lines.next().unwrap_or_default());
    let label = input.split(|byte| *byte == b'=').next().unwrap_or_default();
    for scheme in &*SCHEMES {
        let run = |signature: &[u8], part: usize| -> Result<(Vec<u8>, Result<(), Reason>), Failure> {
            let signature = [label, b"=:", base64(signature).as_bytes(), b":"].concat();
            let headers = [
                Header::new(b"Signature-Input", input),
                Header::new(b"Signature", &signature),
                Header::new(b"Content-Digest", digest),
                Header::new(b"Priority", field),
                Header::new(b"X", field),
                Header::new(b"x", digest),
            ];
            let request =
                Request { method, is_tls: true, client_certificate: None, authority, target, headers: &headers };
            let mut pending = scheme.begin(&request, &*KEYS, NOW_MS)?;
            body.chunks(part).for_each(|bytes| pending.absorb(bytes));
            Ok((pending.canonical(), pending.finish(&*KEYS).map(drop).map_err(|failure| failure.reason)))
        };
        let first = run(&[0; 32], usize::MAX);
        assert_eq!(first, run(&[0; 32], 3));
        let Ok((base, verdict)) = first else { continue };
        assert!(verdict.is_err());
        assert!(base.len() <= MAX_BASE_BYTES + 2 * input.len() + 64);
        let text = str::from_utf8(&base).expect("a base is ASCII");
        let names = text.lines().map(|line| line.starts_with('"') && (line.contains("\": ") || line.contains("\";")));
        assert!(names.into_iter().all(|is_component| is_component), "each line names a component");
        if text.contains("\"signature\"") {
            continue;
        }
        let key = SigningKey::Secret(Secret::new("key"));
        let signature = Algorithm::HmacSha256.sign(&key, &base).expect("the key fits");
        let (again, verdict) = run(&signature, 5).expect("only the signature is another");
        assert_eq!(again, base);
        let changed = [Err(Reason::BodyChanged), Err(Reason::Incomplete), Err(Reason::Unsupported)];
        assert!(verdict.is_ok() || changed.contains(&verdict), "{verdict:?}");
    }
});
