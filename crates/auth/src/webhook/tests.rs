//! Vendors' vectors, a table of requests that are refused, and properties.

use proptest::prelude::*;

use super::*;
use crate::testing::{NOW_MS, Sent, consumers};
use crate::window::TOLERANCE_MS;
use crate::written::Written;

/// GitHub, "Validating webhook deliveries".
const GITHUB: (&str, &str, &str) = (
    "It's a Secret to Everybody",
    "Hello, World!",
    "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
);

/// Slack, "Verifying requests from Slack": secret, timestamp, body, signature.
const SLACK: (&str, &str, &str, &str) = (
    "8f742231b10e8888abcd99yyyzzz85a5",
    "1531420618",
    "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar\
     &user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com\
     %2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14\
     d10d2c447fce8b6703c",
    "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
);

fn preset(name: &str) -> Webhook {
    Webhook::new(WebhookOptions::preset(name, "partner").unwrap()).unwrap()
}

#[test]
fn githubs_example_is_accepted() {
    let (secret, body, signature) = GITHUB;
    let sent = Sent::new("/", &[("X-Hub-Signature-256", signature)], body.as_bytes());
    let identity = sent.verify(&preset("github"), &consumers(&[("k", secret)])).unwrap();
    assert_eq!((identity.consumer.id.as_str(), identity.credential, identity.nonce), ("partner", Some(0), None));
}

#[test]
fn slacks_example_is_accepted() {
    let (secret, timestamp, body, signature) = SLACK;
    let headers = [("X-Slack-Signature", signature), ("X-Slack-Request-Timestamp", timestamp)];
    let mut sent = Sent::new("/", &headers, body.as_bytes());
    sent.now_ms = 1_531_420_618_000 + TOLERANCE_MS;
    let identity = sent.verify(&preset("slack"), &consumers(&[("k", secret)])).unwrap();
    assert_eq!(identity.nonce.unwrap().expires_ms, sent.now_ms);
    sent.now_ms += 1;
    assert_eq!(sent.reason(&preset("slack"), &consumers(&[("k", secret)])), Some(Reason::Expired));
}

#[test]
fn any_live_secret_and_any_signature_of_a_list_will_do() {
    let consumers = consumers(&[("old", "one"), ("new", "two")]);
    let stripe = preset("stripe");
    let sent = Sent::new("/", &[], b"{}");
    for (at, secret) in ["one", "two"].into_iter().enumerate() {
        let mut sent = sent.signed(&stripe, "", secret);
        assert_eq!(sent.verify(&stripe, &consumers).unwrap().credential, Some(at));
        let zeros = "0".repeat(64);
        let header = String::from_utf8(sent.header("stripe-signature").clone()).unwrap();
        let (timestamp, signature) = header.split_once(',').unwrap();
        *sent.header("stripe-signature") = format!("{timestamp}, v1={zeros}, {signature},v0=x").into_bytes();
        assert_eq!(sent.verify(&stripe, &consumers).unwrap().credential, Some(at));
    }
}

#[test]
fn bad_requests_are_refused_with_their_reason() {
    let consumers = consumers(&[("k", "secret")]);
    let time = (NOW_MS / 1000).to_string();
    let (zeros, later, earlier) =
        ("0".repeat(64), (NOW_MS / 1000 + 301).to_string(), (NOW_MS / 1000 - 301).to_string());
    let many = format!("t={time}{}", format!(",v1={zeros}").repeat(9));
    let stripe = |value: &str| vec![("stripe-signature".to_owned(), value.to_owned())];
    let slack = |time: &str| {
        vec![("x-slack-signature".to_owned(), format!("v0={zeros}")), ("x-slack-request-timestamp".into(), time.into())]
    };
    let github = |value: &str| vec![("X-Hub-Signature-256".to_owned(), value.to_owned())];
    let right = format!("sha256={zeros}");
    let cases = [
        ("github", vec![], Reason::Missing),
        ("github", github(""), Reason::Missing),
        ("github", [github(&right), github(&right)].concat(), Reason::Duplicated),
        ("github", github(&format!("sha1={}", "0".repeat(40))), Reason::Unsupported),
        ("github", github("sha256=xyz"), Reason::Malformed),
        ("github", github(&right[..right.len() - 2]), Reason::Mismatch),
        ("github", github(&right), Reason::Mismatch),
        ("github", github(&"x".repeat(5000)), Reason::TooLarge),
        ("stripe", stripe(&format!("v1={zeros}")), Reason::Missing),
        ("stripe", stripe(&format!("t={time},t={time},v1={zeros}")), Reason::Duplicated),
        ("stripe", stripe(&format!("t={time},v0={zeros}")), Reason::Unsupported),
        ("stripe", stripe(&format!("t=12x,v1={zeros}")), Reason::Malformed),
        ("stripe", stripe(&format!("t=é,v1={zeros}")), Reason::Malformed),
        ("stripe", stripe(&format!("t={},v1={zeros}", "1".repeat(50))), Reason::TooLarge),
        ("stripe", stripe(&format!("t={earlier},v1={zeros}")), Reason::Expired),
        ("stripe", stripe(&format!("t={later},v1={zeros}")), Reason::NotYet),
        ("stripe", stripe(&many), Reason::TooLarge),
        ("slack", slack(""), Reason::Missing),
        ("slack", slack(&earlier), Reason::Expired),
        ("slack", [slack(&time), slack(&time)].concat(), Reason::Duplicated),
        ("shopify", vec![("x-shopify-hmac-sha256".into(), zeros.clone())], Reason::Mismatch),
        ("shopify", vec![("x-shopify-hmac-sha256".into(), "~~~~".into())], Reason::Malformed),
    ];
    for (name, headers, reason) in cases {
        let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let sent = Sent::new("/", &headers, b"{}");
        assert_eq!(sent.reason(&preset(name), &consumers), Some(reason), "{name} {headers:?}");
    }
    let mut sent = Sent::new("/", &[("x-slack-signature", &right), ("x-slack-request-timestamp", "x")], b"");
    *sent.header("x-slack-request-timestamp") = b"\xff".to_vec();
    *sent.header("x-slack-signature") = format!("v0={zeros}").into_bytes();
    assert_eq!(sent.reason(&preset("slack"), &consumers), Some(Reason::Malformed));
}

#[test]
fn an_unknown_consumer_and_its_dummy_secret_are_refused_at_the_end() {
    let github = preset("github");
    let sent = Sent::new("/", &[], b"{}");
    for secret in ["secret", "the secret of a consumer that does not exist"] {
        let sent = sent.signed(&github, "", secret);
        assert_eq!(sent.reason(&github, &consumers(&[])), Some(Reason::UnknownKey));
    }
}

#[test]
fn options_that_do_not_fit_are_refused() {
    type Change = fn(&mut WebhookOptions);
    let cases: [(&str, Change); 8] = [
        ("github", |options| options.header = "a b".into()),
        ("github", |options| options.signed = "nothing".into()),
        ("github", |options| options.signed = "{body}{body}".into()),
        ("github", |options| options.signed = "{timestamp}{body}".into()),
        ("github", |options| options.signed = "x".repeat(300) + "{body}"),
        ("slack", |options| options.signed = "{body}".into()),
        ("slack", |options| options.timestamp_prefix = "t=".into()),
        ("stripe", |options| options.prefix = String::new()),
    ];
    for (name, change) in cases {
        let mut options = WebhookOptions::preset(name, "partner").unwrap();
        change(&mut options);
        assert!(Webhook::new(options.clone()).is_err(), "{options:?}");
    }
    assert!(WebhookOptions::preset("gitlab", "partner").is_none());
}

proptest! {
    #[test]
    fn what_is_signed_is_accepted_and_what_was_changed_is_not(
        row in 0..PRESETS.len(),
        written in 0..Written::NAMES.len(),
        body in prop::collection::vec(any::<u8>(), 0..200),
        part in 1..50usize,
        at in any::<prop::sample::Index>(),
        bits in 1..=255u8,
    ) {
        let mut options = WebhookOptions::preset(PRESETS[row].name, "partner").unwrap();
        options.written = Written::NAMES[written].1;
        let scheme = Webhook::new(options.clone()).unwrap();
        let consumers = consumers(&[("a", "one"), ("b", "two")]);
        let mut sent = Sent::new("/", &[], &body).signed(&scheme, "", "two");
        sent.part = part;
        prop_assert_eq!(sent.verify(&scheme, &consumers).unwrap().credential, Some(1));

        if !body.is_empty() {
            let mut changed = sent.clone();
            changed.body[at.index(body.len())] ^= bits;
            prop_assert_eq!(changed.reason(&scheme, &consumers), Some(Reason::Mismatch));
        }
        let mut changed = sent.clone();
        let value = changed.header(&options.header);
        let at = at.index(value.len());
        value[at] ^= bits;
        let is_same_digit = options.written == Written::Hex && value[at].is_ascii_alphabetic() && bits == 0x20;
        if !is_same_digit {
            prop_assert!(changed.verify(&scheme, &consumers).is_err());
        }
        if !options.timestamp_header.is_empty() {
            let mut changed = sent.clone();
            let last = changed.header(&options.timestamp_header).last_mut().unwrap();
            *last = if *last == b'9' { b'8' } else { *last + 1 };
            prop_assert_eq!(changed.reason(&scheme, &consumers), Some(Reason::Mismatch));
        }
    }

    #[test]
    fn nothing_panics(
        row in 0..PRESETS.len(),
        value in prop::collection::vec(any::<u8>(), 0..100),
        timestamp in prop::collection::vec(any::<u8>(), 0..30),
        body in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let options = WebhookOptions::preset(PRESETS[row].name, "partner").unwrap();
        let mut sent = Sent::new("/", &[], &body);
        sent.headers = vec![(options.header.clone(), value), ("x-slack-request-timestamp".into(), timestamp)];
        prop_assert!(sent.verify(&Webhook::new(options).unwrap(), &consumers(&[("a", "one")])).is_err());
    }
}
