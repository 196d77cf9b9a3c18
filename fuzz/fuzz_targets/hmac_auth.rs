//! Lines: method, target, authority, then header fields as `name:value` up to an empty line; then the body. `hmac-auth`
//! in each dialect never panics, says the same of a body in one piece and in two, and never lets a request pass: the
//! secret is not in the input.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_auth::hmac_auth::{BodyCheck, Dialect, HmacAuth};
use weir_auth::{Consumer, Consumers, Credential, CredentialKind, Key, Request, Scheme, Secret};
use weir_http::Header;

/// Sun, 30 Aug 2015 12:36:00 GMT.
const NOW_MS: u64 = 1_440_938_160_000;

fuzz_target!(|bytes: &[u8]| {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let [method, target, authority] = [(); 3].map(|()| lines.next().unwrap_or_default());
    let head = lines.by_ref().take_while(|line| !line.is_empty());
    let headers: Vec<Header<'_>> = head
        .map(|line| {
            let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
            Header::new(&line[..colon], line.get(colon + 1..).unwrap_or_default())
        })
        .collect();
    let body = lines.next().unwrap_or_default();
    let request = Request { method, is_tls: true, client_certificate: None, authority, target, headers: &headers };

    let key = Some(Key::Secret(Secret::new("not in the input")));
    let credential = Credential { kind: CredentialKind::Signature, id: b"me".to_vec(), key };
    let mut keys = Consumers::default();
    keys.put(Consumer { id: "john".to_owned(), groups: Vec::new(), credentials: vec![credential] });

    for dialect in Dialect::ALL {
        let strict = HmacAuth::new(dialect);
        let lax = HmacAuth { required: Vec::new(), clock_skew_s: None, body: BodyCheck::Digest, ..strict.clone() };
        for scheme in [strict, lax] {
            let judge = |parts: &[&[u8]]| {
                let mut pending = scheme.begin(&request, &keys, NOW_MS)?;
                parts.iter().for_each(|part| pending.absorb(part));
                let canonical = pending.canonical();
                pending.finish(&keys).map(|_| canonical)
            };
            let whole = judge(&[body]);
            assert!(whole.is_err());
            assert_eq!(whole, judge(&[&body[..body.len() / 2], &body[body.len() / 2..]]));
        }
    }
});
