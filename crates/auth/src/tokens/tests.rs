//! The comparison with the obvious version, the corpus shared with Lua, and a table of requests that are refused.

use proptest::prelude::*;

use super::*;
use crate::encoding;
use crate::testing::{Sent, consumers};

fn sorted(body: &[u8], part: usize) -> Option<String> {
    let mut tokens = SortedTokens::default();
    body.chunks(part).for_each(|part| tokens.absorb(part));
    let text = tokens.finish()?;
    let mut given = Vec::new();
    text.give(|part| given.extend_from_slice(part));
    assert_eq!(text.length(), given.len() as u64);
    Some(String::from_utf8(given).unwrap())
}

#[test]
fn texts_are_those_of_the_definition() {
    // The tokens `a1`, `中` (e4 b8 ad) and `Z` are YTHkuK1a in Base64.
    assert_eq!(sorted("a1, 中;é\u{9fa6}-Z".as_bytes(), 1).as_deref(), Some("1HKTYaku"));
    assert_eq!(sorted(b"", 1).as_deref(), Some(""));
    assert_eq!(sorted(b"{}", 1).as_deref(), Some(""));
    assert_eq!(sorted(b"a", 1).as_deref(), Some("==QY"));
    assert_eq!(sorted(b"ab", 1).as_deref(), Some("=IWY"));
}

/// Pieces of bodies: what is kept, what separates, and what is not UTF-8.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => "[ -~]{0,30}".prop_map(String::into_bytes),
        4 => "[\u{4df0}-\u{4e10}\u{9f90}-\u{9fb0}]{0,9}".prop_map(String::into_bytes),
        2 => "\\PC{0,9}".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..3),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn the_fast_version_is_the_obvious_one(body in pieces(), part in 1..40usize, zeros in 0..2usize) {
        let body = [body, vec![b'0'; zeros * 2000]].concat();
        let expected = naive::sorted_text(&body);
        prop_assert_eq!(&sorted(&body, part), &expected);
        prop_assert_eq!(&sorted(&body, usize::MAX), &expected);
    }

    #[test]
    fn what_is_signed_is_accepted_and_what_was_changed_is_not(
        body in "[ -~\u{4e00}-\u{4e20}]{1,60}",
        place in 0..SecretPlace::NAMES.len(),
        written in 0..Written::NAMES.len(),
        hash in prop::sample::select(vec![Hash::Md5, Hash::Sha1, Hash::Sha256, Hash::Sha384, Hash::Sha512]),
        consumer in prop::sample::select(vec!["", "partner"]),
        part in 1..50usize,
        at in any::<prop::sample::Index>(),
    ) {
        let (secret, written) = (SecretPlace::NAMES[place].1, Written::NAMES[written].1);
        let options = TokensOptions { hash, secret, written, consumer: consumer.into(), ..TokensOptions::default() };
        let scheme = Tokens::new(options).unwrap();
        let consumers = consumers(&[("a", "one"), ("b", "two")]);
        let mut sent = Sent::new("/", &[], body.as_bytes()).signed(&scheme, "b", "two");
        sent.part = part;
        let is_open = secret == SecretPlace::None && !consumer.is_empty();
        prop_assert_eq!(sent.verify(&scheme, &consumers).unwrap().credential, Some(usize::from(!is_open)));

        let mut changed = sent.clone();
        let value = changed.header("x-signature");
        let at = at.index(value.len());
        value[at] = if value[at] == b'2' { b'3' } else { b'2' };
        prop_assert!(changed.verify(&scheme, &consumers).is_err());
        let mut changed = sent.clone();
        changed.body.push(b'x');
        prop_assert_eq!(changed.reason(&scheme, &consumers), Some(Reason::Mismatch));
    }

    #[test]
    fn nothing_panics(
        signature in prop::collection::vec(any::<u8>(), 0..50),
        id in prop::collection::vec(any::<u8>(), 0..10),
        body in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let mut sent = Sent::new("/", &[], &body);
        sent.headers = vec![("x-signature".into(), signature), ("x-app-id".into(), id)];
        prop_assert!(sent.verify(&Tokens::new(TokensOptions::default()).unwrap(), &consumers(&[("a", "one")])).is_err());
    }
}

#[test]
fn bad_requests_are_refused_with_their_reason() {
    let scheme = Tokens::new(TokensOptions::default()).unwrap();
    let consumers = consumers(&[("k", "secret")]);
    let right = "5ebe2294ecd0e0f08eab7690d2a6ee69"; // of an empty text and `secret`
    let sha1 = "0".repeat(40);
    let (long, long_id) = ("0".repeat(4097), "k".repeat(257));
    let (id, signature) = (("X-App-Id", "k"), ("X-Signature", right));
    type Case<'a> = (&'a [(&'a str, &'a str)], &'a [u8], Option<Reason>);
    let cases: &[Case<'_>] = &[
        (&[id, signature], b"{}", None),
        (&[id, signature], b"", None),
        (&[id], b"{}", Some(Reason::Missing)),
        (&[signature], b"{}", Some(Reason::Missing)),
        (&[("X-App-Id", ""), signature], b"{}", Some(Reason::Missing)),
        (&[id, signature, signature], b"{}", Some(Reason::Duplicated)),
        (&[id, id, signature], b"{}", Some(Reason::Duplicated)),
        (&[id, ("X-Signature", "5EBE2294ECD0E0F08EAB7690D2A6EE69")], b"{}", Some(Reason::Malformed)),
        (&[id, ("X-Signature", "\u{e9}")], b"{}", Some(Reason::Malformed)),
        (&[id, ("X-Signature", &right[..31])], b"{}", Some(Reason::Malformed)),
        (&[id, ("X-Signature", &right[..30])], b"{}", Some(Reason::Mismatch)),
        (&[id, ("X-Signature", &sha1)], b"{}", Some(Reason::Mismatch)),
        (&[id, ("X-Signature", &long)], b"{}", Some(Reason::TooLarge)),
        (&[("X-App-Id", &long_id), signature], b"{}", Some(Reason::TooLarge)),
        (&[("X-App-Id", "other"), signature], b"{}", Some(Reason::UnknownKey)),
        (&[id, signature], b"{1}", Some(Reason::Mismatch)),
        (&[id, signature], b"{\xff}", Some(Reason::Malformed)),
        (&[id, signature], b"{\xed\xa0\x80}", Some(Reason::Malformed)),
        (&[id, signature], b"{\xc0\xae}", Some(Reason::Malformed)),
        (&[id, signature], b"{\xe4\xb8", Some(Reason::Malformed)),
    ];
    for (headers, body, reason) in cases {
        for part in [1, usize::MAX] {
            let sent = Sent { part, ..Sent::new("/", headers, body) };
            assert_eq!(sent.reason(&scheme, &consumers), *reason, "{headers:?} {}", body.escape_ascii());
        }
    }
}

/// What Weir and the Lua peers of the benchmark have to agree about. To make it again, set WEIR_WRITE_CORPUS.
#[test]
fn the_corpus_shared_with_lua_is_verified() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/peers/lua/signature/corpus.jsonl");
    if std::env::var_os("WEIR_WRITE_CORPUS").is_some() {
        std::fs::write(path, corpus()).unwrap();
    }
    let text = std::fs::read_to_string(path).unwrap();
    assert_eq!(text, corpus(), "the corpus is not what the obvious version makes");
    for line in text.lines() {
        let entry: serde_json::Value = serde_json::from_str(line).unwrap();
        let field = |name: &str| entry[name].as_str().unwrap().to_owned();
        let body = encoding::from_base64(field("body").as_bytes()).unwrap();
        let (secret, expected) = (field("secret"), field("expected"));
        let scheme = Tokens::new(TokensOptions::default()).unwrap();
        let signature = if expected == "invalid" { "0".repeat(32) } else { expected.clone() };
        let sent = Sent::new("/", &[("x-app-id", "k"), ("x-signature", &signature)], &body);
        let reason = (expected == "invalid").then_some(Reason::Malformed);
        assert_eq!(sent.reason(&scheme, &consumers(&[("k", &secret)])), reason, "{line}");
    }
}

/// The lines: a body as Base64, a secret, and the digest, or `invalid` if the body is not UTF-8.
fn corpus() -> String {
    let mut bodies: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b"{}".to_vec(),
        b"a".to_vec(),
        b"ab".to_vec(),
        br#"{"order":"A-1001","amount":12.50,"items":[{"sku":"x_1","count":2}]}"#.to_vec(),
        r#"{"姓名":"张三","地址":"北京市海淀区 12 号","备注":"ångström – ünïcode 😀"}"#.into(),
    ];
    for character in [
        '\u{4dff}',
        '\u{4e00}',
        '\u{9fa5}',
        '\u{9fa6}',
        '\u{ff21}',
        '\u{7f}',
        '\u{80}',
        '\u{7ff}',
        '\u{800}',
        '\u{d7ff}',
        '\u{e000}',
        '\u{ffff}',
        '\u{10000}',
        '\u{10ffff}',
    ] {
        bodies.push(format!("x{character}{character}y").into_bytes());
    }
    let invalid: [&[u8]; 16] = [
        b"\x80",
        b"\xbf",
        b"\xc0\x80",
        b"\xc1\xbf",
        b"\xc2",
        b"\xe0\x80\x80",
        b"\xe0\x9f\xbf",
        b"\xe4\xb8",
        b"\xed\xa0\x80",
        b"\xed\xbf\xbf",
        b"\xf0\x80\x80\x80",
        b"\xf0\x8f\xbf\xbf",
        b"\xf4\x90\x80\x80",
        b"\xf5\x80\x80\x80",
        b"\xfe",
        b"\xff",
    ];
    bodies.extend(invalid.iter().map(|bytes| [b"{\"a\":\"", *bytes].concat()));
    bodies.extend(invalid.iter().map(|bytes| [*bytes, b"z\"}"].concat()));
    // Knuth's generator (The Art of Computer Programming, volume 2, section 3.3.4), of which the high bits are used.
    let mut state = 1u64;
    let mut below = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    let alphabet: Vec<char> =
        ('0'..='9').chain('A'..='Z').chain('a'..='z').chain("{}[]\":, \n-_中文字符龥丁é".chars()).collect();
    for size in 0..60 {
        bodies.push((0..size * 5).map(|_| alphabet[below(alphabet.len())]).collect::<String>().into_bytes());
    }
    let mut lines = String::new();
    for (at, body) in bodies.iter().enumerate() {
        let secret = ["secret", "", "密钥", "0123456789abcdef0123456789abcdef"][at % 4];
        let expected = naive::sorted_text(body)
            .map_or("invalid".into(), |text| encoding::hex(Hash::Md5.of((text + secret).as_bytes()).as_ref()));
        let entry = serde_json::json!({ "body": encoding::base64(body), "secret": secret, "expected": expected });
        lines += &format!("{entry}\n");
    }
    lines
}
