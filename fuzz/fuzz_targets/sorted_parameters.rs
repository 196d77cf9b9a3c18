//! The first two bytes choose preset, content type and options. Then lines: target; the body. No request is accepted but
//! those that the options sign, and if a request can be signed, it is accepted in any parts.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_auth::keyed::SecretPlace;
use weir_auth::parameters::{PRESETS, ParameterOptions, Parameters};
use weir_auth::{
    Consumer, Consumers, Credential, CredentialKind, Key, Request, Scheme, Secret, Signer, SigningKey, Unsigned,
};
use weir_http::Header;

const SECRET: &str = "a secret that fuzzing does not find the codes of";
const NOW_MS: u64 = 1_700_000_000_000;
const TYPES: [&str; 3] = ["application/x-www-form-urlencoded", "application/json", "text/plain"];

fuzz_target!(|bytes: &[u8]| {
    let [preset, bits, rest @ ..] = bytes else { return };
    let mut lines = rest.splitn(2, |byte| *byte == b'\n');
    let [target, body] = [(); 2].map(|()| lines.next().unwrap_or_default());
    let kind = TYPES[usize::from(preset / 8) % TYPES.len()];
    let mut options =
        ParameterOptions::preset(PRESETS[usize::from(*preset) % PRESETS.len()].name).expect("of the table");
    options.json = true;
    (options.decode, options.keep_empty, options.allow_unsigned) = (bits & 1 == 0, bits & 2 == 0, bits & 4 == 0);
    let places = SecretPlace::NAMES.iter().filter(|(_, place)| *place != SecretPlace::None);
    options.secret = places.cycle().nth(usize::from(bits / 8)).expect("an endless iterator").1;
    if bits & 128 != 0 {
        (options.timestamp, options.nonce) = ("at".into(), "once".into());
        options.window.format = weir_auth::window::TimeFormat::Seconds;
    }
    let scheme = Parameters::new(options).expect("these options fit together");
    let mut consumers = Consumers::default();
    let key = Some(Key::Secret(Secret::new(SECRET)));
    let credentials = vec![Credential { kind: CredentialKind::Signature, id: b"k".to_vec(), key }];
    consumers.put(Consumer { id: "c".into(), groups: Vec::new(), credentials });
    let content_type = Header::new(b"content-type", kind.as_bytes());

    let verify = |target: &[u8], part: usize| {
        let request = Request {
            method: b"POST",
            is_tls: true,
            client_certificate: None,
            authority: b"",
            target,
            headers: &[content_type],
        };
        let mut pending = scheme.begin(&request, &consumers, NOW_MS)?;
        body.chunks(part).for_each(|part| pending.absorb(part));
        pending.canonical();
        pending.finish(&consumers)
    };
    assert!(verify(target, 7).is_err());

    let Ok(target) = str::from_utf8(target) else { return };
    let unsigned = Unsigned {
        method: "POST",
        is_tls: true,
        authority: "",
        target,
        headers: &[("Content-Type".into(), kind.into())],
        body,
        now_ms: NOW_MS,
        random: [0; 16],
    };
    let Ok(signed) = scheme.sign(&unsigned, "k", &SigningKey::Secret(Secret::new(SECRET))) else { return };
    let signed = signed.target.expect("the signature is in the query");
    // A request may have a signature, key id, timestamp or nonce of its own already.
    if [target.as_bytes(), body].iter().all(|text| !has_own(text)) {
        assert!(verify(signed.as_bytes(), usize::from(*bits).max(1)).is_ok(), "{signed}");
    }
});

/// Whether a text may have one of the names that the scheme gives a meaning to.
fn has_own(text: &[u8]) -> bool {
    const NAMES: [&[u8]; 7] = [b"sign", b"app_id", b"app_key", b"mch_id", b"at", b"once", b"timestamp"];
    text.contains(&b'%')
        || text.contains(&b'\\')
        || NAMES.iter().any(|name| text.windows(name.len()).any(|part| part == *name))
}
