//! The first byte chooses a preset and the size of parts. Then lines: signature field, timestamp field; then the body. No
//! request is accepted but those that the preset signs, and these are, in any parts.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_auth::webhook::{PRESETS, Webhook, WebhookOptions};
use weir_auth::{
    Consumer, Consumers, Credential, CredentialKind, Key, Request, Scheme, Secret, Signer, SigningKey, Unsigned,
};
use weir_http::Header;

const SECRET: &str = "a secret that fuzzing does not find the codes of";
const NOW_MS: u64 = 1_700_000_000_000;

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, rest)) = bytes.split_first() else { return };
    let mut lines = rest.splitn(3, |byte| *byte == b'\n');
    let [signature, timestamp, body] = [(); 3].map(|()| lines.next().unwrap_or_default());
    let preset = PRESETS[usize::from(*choice) % PRESETS.len()].name;
    let options = WebhookOptions::preset(preset, "c").expect("a name of the table");
    let fields = [options.header.clone(), options.timestamp_header.clone()];
    let scheme = Webhook::new(options).expect("presets fit together");
    let mut consumers = Consumers::default();
    let key = Some(Key::Secret(Secret::new(SECRET)));
    let credentials = vec![Credential { kind: CredentialKind::Signature, id: b"k".to_vec(), key }];
    consumers.put(Consumer { id: "c".into(), groups: Vec::new(), credentials });

    let verify = |headers: &[Header<'_>], part: usize| {
        let request =
            Request { method: b"POST", is_tls: true, client_certificate: None, authority: b"", target: b"/", headers };
        let mut pending = scheme.begin(&request, &consumers, NOW_MS)?;
        body.chunks(part).for_each(|part| pending.absorb(part));
        pending.canonical();
        pending.finish(&consumers)
    };
    let headers = [Header::new(fields[0].as_bytes(), signature), Header::new(fields[1].as_bytes(), timestamp)];
    assert!(verify(&headers, 7).is_err());

    let unsigned = Unsigned {
        method: "POST",
        is_tls: true,
        authority: "",
        target: "/",
        headers: &[],
        body,
        now_ms: NOW_MS,
        random: [0; 16],
    };
    let signed = scheme.sign(&unsigned, "", &SigningKey::Secret(Secret::new(SECRET))).expect("the key is a secret");
    let headers: Vec<_> =
        signed.headers.iter().map(|(name, value)| Header::new(name.as_bytes(), value.as_bytes())).collect();
    assert!(verify(&headers, usize::from(*choice).max(1)).is_ok());
});
