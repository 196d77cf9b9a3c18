//! Signature Version 4 against published examples, and against requests that must not pass.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::date::from_basic;
use crate::sample::{Part, Sample, keys, samples};

const ID: &str = "AKIDEXAMPLE";
const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

fn now_ms() -> u64 {
    from_basic(b"20150830T123600Z").unwrap()
}

fn signer(presigned_s: Option<u64>) -> AwsSigner {
    let (region, service) = ("us-east-1".to_owned(), "service".to_owned());
    AwsSigner { region, service, path: PathRule::DEFAULT, states_digest: false, presigned_s }
}

/// The examples of the S3 reference: "Signature Calculations for the Authorization Header" (GET and PUT of an object)
/// and "Authenticating Requests: Using Query Parameters".
#[test]
fn examples_of_the_s3_reference_pass() {
    let (id, secret) = ("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY");
    let authorization = |signed: &str, signature: &str| {
        format!(
            "AWS4-HMAC-SHA256 Credential={id}/20130524/us-east-1/s3/aws4_request,SignedHeaders={signed},Signature={signature}"
        )
    };
    let get = authorization(
        "host;range;x-amz-content-sha256;x-amz-date",
        "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
    );
    let put = authorization(
        "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
        "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
    );
    let presigned = format!(
        "/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={id}%2F20130524%2Fus-east-1%2Fs3%2Faws4_request\
         &X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host\
         &X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
    );
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let welcome = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072";
    let time = ("x-amz-date", "20130524T000000Z");
    let get = [("range", "bytes=0-9"), ("x-amz-content-sha256", empty), time, ("authorization", &*get)];
    let put = [
        ("date", "Fri, 24 May 2013 00:00:00 GMT"),
        ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
        ("x-amz-content-sha256", welcome),
        time,
        ("authorization", &*put),
    ];
    let samples = [
        Sample::new("GET", "/test.txt", &get, ""),
        Sample::new("PUT", "/test$file.text", &put, "Welcome to Amazon S3."),
        Sample::new("GET", &presigned, &[], ""),
    ];
    let signed_ms = from_basic(time.1.as_bytes()).unwrap();
    for sample in samples {
        let sample = sample.at("examplebucket.s3.amazonaws.com");
        assert_eq!(sample.refusal(&Aws::s3(), &keys(id, secret), signed_ms), None, "{sample:?}");
        let body = Sample { body: b"another body".to_vec(), ..sample };
        let refusal = body.refusal(&Aws::s3(), &keys(id, secret), signed_ms);
        assert_eq!(refusal, (!body.target.contains(&b'?')).then_some(Reason::BodyChanged));
    }
}

#[test]
fn the_whole_suite_passes() {
    let cases = include_str!("../../tests/vectors/sigv4.txt").split("\n[").skip(1);
    assert_eq!(cases.inspect(|case| check_case(case)).count(), 38);
}

fn check_case(case: &str) {
    let (head, rest) = case.split_once("]\n").unwrap();
    let has = |flag: &str| head.split(' ').any(|word| word == flag);
    let parts: BTreeMap<&str, &str> = rest
        .trim_start_matches("> ")
        .split("\n> ")
        .map(|part| {
            let (name, text) = part.split_once('\n').unwrap();
            (name, text.trim_end_matches('\n'))
        })
        .collect();
    let path = PathRule { is_normalized: has("normalize"), is_encoded_again: true };
    let token = parts.get("token").copied();
    let omits_token = has("omit_session_token");
    let scheme = Aws { path, ..Aws::default() };
    let keys = keys(ID, SECRET);
    for (kind, presigned_s) in [("header", None), ("query", Some(3600))] {
        let part = |name: &str| parts[&*format!("{kind} {name}")];
        let mut sent = parsed(part("signed"));
        let place = format!("{head} {kind}");
        if token.is_some() && omits_token {
            // The suite leaves the token out of the signature; here it must be in it.
            let refusal = if presigned_s.is_none() { Reason::Incomplete } else { Reason::Mismatch };
            assert_eq!(sent.refusal(&scheme, &keys, now_ms()), Some(refusal), "{place}");
            sent.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("x-amz-security-token"));
            let target = String::from_utf8(sent.target).unwrap();
            let parts: Vec<&str> = target.split('&').filter(|part| !part.starts_with("X-Amz-Security-Token")).collect();
            sent.target = parts.join("&").into_bytes();
        }
        let (verdict, canonical) = sent.judged(&scheme, &keys, now_ms(), &[]);
        assert_eq!(
            String::from_utf8(canonical).unwrap(),
            format!(
                "{}\n\nAWS4-HMAC-SHA256\n20150830T123600Z\n20150830/us-east-1/service/aws4_request\n{}",
                part("canonical"),
                part("hash")
            ),
            "{place}"
        );
        assert_eq!(verdict.unwrap().consumer.id, "john", "{place}");

        let mut plain = parsed(parts["plain"]);
        if let Some(token) = token.filter(|_| !omits_token) {
            match presigned_s {
                None => plain = plain.with("x-amz-security-token", token),
                Some(_) => {
                    let mut encoded = Vec::new();
                    uri::encode(&mut encoded, token.as_bytes(), uri::Text::Plain);
                    plain.target = [&plain.target[..], b"?X-Amz-Security-Token=", &encoded].concat();
                }
            }
        }
        let states_digest = has("sign_body") && presigned_s.is_none();
        let signed = plain.signed(&AwsSigner { path, states_digest, ..signer(presigned_s) }, now_ms(), ID, SECRET);
        let found = if presigned_s.is_none() {
            signed.value("authorization")
        } else {
            String::from_utf8(signed.target).unwrap()
        };
        let (_, after) = part("signed").split_once("Signature=").unwrap();
        assert!(found.ends_with(&after[..64]), "{place}: {found}");
    }
}

/// A request of the suite: the target may have spaces, and a field may go on in the next line.
fn parsed(text: &str) -> Sample {
    let (head, body) = text.split_once("\n\n").unwrap_or((text, ""));
    let (line, fields) = head.split_once('\n').unwrap();
    let (method, rest) = line.split_once(' ').unwrap();
    let mut sample = Sample::new(method, rest.strip_suffix(" HTTP/1.1").unwrap(), &[], "");
    for line in fields.lines() {
        match line.split_once(':') {
            Some(("Host", value)) => sample.authority = value.into(),
            Some((name, value)) => sample.headers.push((name.to_owned(), value.into())),
            None => sample.headers.last_mut().unwrap().1.extend_from_slice(format!("\n{line}").as_bytes()),
        }
    }
    let length = sample.headers.iter().find(|(name, _)| name == "Content-Length");
    let length = length.map_or(0, |(_, value)| String::from_utf8_lossy(value).parse().unwrap());
    sample.body = body.as_bytes()[..length].to_vec();
    sample
}

fn signed_sample(presigned_s: Option<u64>) -> Sample {
    let sample = Sample::new("POST", "/a/b?c=d", &[("content-type", "text/plain"), ("x-amz-meta-a", "b")], "hello");
    sample.signed(&AwsSigner { states_digest: presigned_s.is_none(), ..signer(presigned_s) }, now_ms(), ID, SECRET)
}

#[test]
fn requests_that_do_not_prove_their_sender_are_refused_for_the_right_reason() {
    use Reason::*;
    let header = || signed_sample(None);
    let long = "a".repeat(9000);
    let authorization = |from: &str, to: &str| header().replaced("authorization", from, to);
    let date = |sent: Sample, to: &str| sent.replaced("x-amz-date", "20150830T123600Z", to);
    let without = |name: &str| {
        let mut sample = header();
        sample.headers.retain(|(found, _)| found != name);
        sample
    };
    let repeated = |name: &str| {
        let mut sample = header();
        sample.headers.push((name.to_owned(), sample.value(name).into()));
        sample
    };
    let many: Vec<String> = (0..300).map(|number| format!("a{number:03}")).collect();
    let cases = [
        (Missing, without("authorization")),
        (Missing, header().with("authorization", "Bearer abc")),
        (Duplicated, repeated("authorization")),
        (Duplicated, repeated("x-amz-date")),
        (Duplicated, repeated("x-amz-content-sha256")),
        (Mismatch, repeated("content-type")),
        (Duplicated, authorization("Credential=", "Signature=a, Credential=")),
        (Duplicated, Sample { target: b"/a/b?c=d&X-Amz-Signature=x".to_vec(), ..header() }),
        (Malformed, authorization("Credential=", "Credentials=")),
        (Malformed, authorization(", Signature=", ", x-Signature=")),
        (Malformed, header().with("authorization", "AWS4-HMAC-SHA256")),
        (Malformed, header().with("authorization", b"AWS4-HMAC-SHA256 \xff\xfe")),
        (Malformed, authorization("/aws4_request", "/aws5_request")),
        (Malformed, authorization("/service/", "//")),
        (Malformed, authorization("/20150830/", "/2015083/")),
        (Malformed, authorization("/20150830/", "/20150829/")),
        (Malformed, authorization("host;", "Host;")),
        (Malformed, authorization("host;", "host;host;")),
        (Malformed, authorization("content-type;host", "host;content-type")),
        (Malformed, authorization("Signature=", "Signature=0")),
        (Malformed, date(header(), "2015-08-30")),
        (Malformed, header().with("x-amz-content-sha256", "abc")),
        (TooLarge, authorization("Credential=", &format!("Credential={long}"))),
        (TooLarge, authorization("Credential=", &format!("Credential={}", &long[..600]))),
        (TooLarge, authorization("content-type;", &format!("{};content-type;", many.join(";")))),
        (Unsupported, authorization("AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256")),
        (Unsupported, authorization("AWS4-HMAC-SHA256", "AWS4-HMAC-SHA1")),
        (Unsupported, header().with("authorization", "AWS AKIDEXAMPLE:frJIUN8DYpKDtOLCwo//yllqDzg=")),
        (Unsupported, header().with("x-amz-content-sha256", "UNSIGNED-PAYLOAD")),
        (Unsupported, header().with("x-amz-content-sha256", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD")),
        (Incomplete, authorization("host;", "")),
        (Incomplete, authorization(";x-amz-date", "")),
        (Incomplete, authorization(";x-amz-meta-a", "")),
        (Incomplete, authorization(";x-amz-content-sha256", "")),
        (Incomplete, header().with("X-Amz-Security-Token", "abc")),
        (Incomplete, without("content-type")),
        (Incomplete, without("x-amz-date")),
        (UnknownKey, authorization(ID, "AKIDOTHER")),
        (Expired, date(header(), "20150830T123059Z")),
        (NotYet, date(header(), "20150830T124101Z")),
        (Mismatch, date(header(), "20150830T123601Z")),
        (Mismatch, authorization("/us-east-1/", "/us-east-2/")),
        (BodyChanged, Sample { body: b"hallo".to_vec(), ..header() }),
    ];
    let keys = keys(ID, SECRET);
    assert_eq!(header().refusal(&Aws::default(), &keys, now_ms()), None);
    assert_eq!(header().with("X-Amz-Cf-Id", "abc").refusal(&Aws::default(), &keys, now_ms()), None);
    for (number, (reason, sample)) in cases.into_iter().enumerate() {
        assert_eq!(sample.refusal(&Aws::default(), &keys, now_ms()), Some(reason), "case {number}: {sample:?}");
    }
}

#[test]
fn presigned_urls_that_do_not_prove_their_sender_are_refused_for_the_right_reason() {
    use Reason::*;
    let sent = || signed_sample(Some(3600));
    let target = |from: &str, to: &str| {
        let target = String::from_utf8(sent().target).unwrap();
        assert!(target.contains(from), "{target}");
        Sample { target: target.replace(from, to).into(), ..sent() }
    };
    let stating = AwsSigner { states_digest: true, ..signer(Some(3600)) };
    let two_digests = Sample::new("GET", "/?X-Amz-Content-Sha256=abc", &[], "").signed(&stating, now_ms(), ID, SECRET);
    let cases = [
        (Malformed, target("&X-Amz-Expires=3600", "")),
        (Malformed, target("&X-Amz-Credential=", "&X-Amz-Credentials=")),
        (Malformed, target("X-Amz-Expires=3600", "X-Amz-Expires=0")),
        (Malformed, target("X-Amz-Expires=3600", "X-Amz-Expires=%2B1")),
        (Duplicated, target("X-Amz-Expires=3600", "X-Amz-Expires=3600&X%2dAmz-Expires=3600")),
        (TooLarge, target("X-Amz-Expires=3600", "X-Amz-Expires=604801")),
        (Mismatch, target("X-Amz-Expires=3600", "X-Amz-Expires=604800")),
        (Mismatch, target("c=d", "c=e")),
        (Mismatch, target("c=d", "c=d&X-Amz-Security-Token=a")),
        (Unsupported, target("AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256")),
        (Unsupported, target("c=d", "c=d&X-Amz-Content-Sha256=UNSIGNED-PAYLOAD")),
        (Unsupported, target("%2Fservice%2F", "%2Fs3%2F")),
        (Duplicated, two_digests),
        (Duplicated, sent().with("authorization", "AWS4-HMAC-SHA256 Credential=a")),
        (Incomplete, sent().with("x-amz-acl", "public-read")),
        (UnknownKey, target(ID, "AKIDOTHER")),
        (Mismatch, Sample { body: b"hallo".to_vec(), ..sent() }),
    ];
    let keys = keys(ID, SECRET);
    for (number, (reason, sample)) in cases.into_iter().enumerate() {
        assert_eq!(sample.refusal(&Aws::default(), &keys, now_ms()), Some(reason), "case {number}: {sample:?}");
    }
    let at = |now_ms: u64| sent().refusal(&Aws::default(), &keys, now_ms);
    assert_eq!(at(now_ms() + 3_600_000), None);
    assert_eq!(at(now_ms() + 3_600_001), Some(Expired));
    assert_eq!((at(now_ms() - 300_000), at(now_ms() - 300_001)), (None, Some(NotYet)));
    let none = Aws { max_expiry_s: 0, ..Aws::default() };
    assert_eq!(sent().refusal(&none, &keys, now_ms()), Some(TooLarge));
}

#[test]
fn options_narrow_what_passes() {
    let (keys, sample) = (keys(ID, SECRET), signed_sample(None));
    let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let regions = |names: &[&str]| Aws { regions: list(names), ..Aws::default() };
    let services = |names: &[&str]| Aws { services: list(names), ..Aws::default() };
    let refusal = |scheme: &Aws| sample.refusal(scheme, &keys, now_ms());
    assert_eq!(refusal(&regions(&["eu-west-1", "us-east-1"])), None);
    assert_eq!(refusal(&regions(&["eu-west-1"])), Some(Reason::Unsupported));
    assert_eq!(refusal(&services(&["service"])), None);
    assert_eq!(refusal(&services(&["s3"])), Some(Reason::Unsupported));

    let unsigned = |is_tls: bool| Sample { is_tls, ..sample.clone().with("x-amz-content-sha256", "UNSIGNED-PAYLOAD") };
    for (rule, with_tls, without) in [
        (UnsignedPayload::Refused, Reason::Unsupported, Reason::Unsupported),
        (UnsignedPayload::OverTls, Reason::Mismatch, Reason::Unsupported),
        (UnsignedPayload::Allowed, Reason::Mismatch, Reason::Mismatch),
    ] {
        let scheme = Aws { unsigned_payload: rule, ..Aws::default() };
        let found = [true, false].map(|is_tls| unsigned(is_tls).refusal(&scheme, &keys, now_ms()));
        assert_eq!(found, [Some(with_tls), Some(without)], "{rule:?}");
    }
}

#[test]
fn the_date_field_serves_if_there_is_no_other() {
    // Signed by hand over `date`, as clients that cannot set other fields do.
    let mut sample = Sample::new("GET", "/", &[("date", "Sun, 30 Aug 2015 12:36:00 GMT")], "");
    let head = "GET\n/\n\ndate:Sun, 30 Aug 2015 12:36:00 GMT\nhost:example.com\n\ndate;host\n";
    let canonical = format!("{head}{}", crate::encoding::hex(Hash::Sha256.of(b"").as_ref()));
    let scope = ["20150830", "us-east-1", "service"].map(|part| part.as_bytes().to_vec());
    let string = canonical::string_to_sign(b"20150830T123600Z", &scope, canonical.as_bytes());
    let signature = crate::encoding::hex(canonical::signature(SECRET.as_bytes(), &scope, &string).as_ref());
    let credential = format!("{ID}/20150830/us-east-1/service/aws4_request");
    let value = format!("AWS4-HMAC-SHA256 Credential={credential},SignedHeaders=date;host,Signature={signature}");
    sample = sample.with("authorization", value);
    assert_eq!(sample.refusal(&Aws::default(), &keys(ID, SECRET), now_ms()), None);
    let unsigned = sample.replaced("authorization", "date;host", "host");
    assert_eq!(unsigned.refusal(&Aws::default(), &keys(ID, SECRET), now_ms()), Some(Reason::Incomplete));
}

#[test]
fn the_nonce_is_the_signature_and_lives_as_long_as_the_claim() {
    for (presigned_s, lives_ms) in [(None, 300_000), (Some(3600), 3_600_000)] {
        let (verdict, _) = signed_sample(presigned_s).judged(&Aws::default(), &keys(ID, SECRET), now_ms(), &[]);
        let nonce = verdict.unwrap().nonce.unwrap();
        assert_eq!((nonce.value.len(), nonce.signed_ms, nonce.expires_ms), (32, Some(now_ms()), now_ms() + lives_ms));
    }
}

proptest! {
    #[test]
    fn signed_requests_pass_and_changed_ones_do_not(
        sample in samples(),
        is_presigned: bool,
        states_digest: bool,
        part in prop::sample::select(vec![
            Part::Method, Part::Target, Part::Authority, Part::Field("x-note"), Part::Field("authorization"), Part::Body,
        ]),
        at: Index,
        by in 1..=255u8,
        cuts in prop::collection::vec(any::<Index>(), 0..4),
    ) {
        let keys = keys(ID, SECRET);
        let presigned_s = is_presigned.then_some(60);
        let path = PathRule::S3;
        let scheme = Aws { path, ..Aws::default() };
        let sample = sample.signed(&AwsSigner { path, states_digest, ..signer(presigned_s) }, now_ms(), ID, SECRET);
        let cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(sample.body.len() + 1)).collect();
        let (whole, parts) = (sample.judged(&scheme, &keys, now_ms(), &[]), sample.judged(&scheme, &keys, now_ms(), &cuts));
        prop_assert_eq!(whole.0.unwrap().consumer, parts.0.unwrap().consumer);
        prop_assert_eq!(&whole.1, &parts.1);
        if let Some(changed) = sample.changed(part, at, by) {
            let (verdict, canonical) = changed.judged(&scheme, &keys, now_ms(), &[]);
            // A change that means the same, such as another case of an escape's digits, gives the same text.
            prop_assert!(verdict.is_err() || is_same_text(part, &canonical, &whole.1), "{:?}", changed);
        }
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(
        fields in prop::collection::vec((prop::sample::select(vec![
            "authorization", "x-amz-date", "date", "x-amz-content-sha256", "x-a",
        ]), prop::collection::vec(any::<u8>(), 0..80)), 0..6),
        tail in prop::collection::vec(any::<u8>(), 0..200),
        is_claimed: bool,
    ) {
        let mut sample = Sample::new("GET", "/?", &[("x-amz-date", "20150830T123600Z")], "body");
        sample.target.extend_from_slice(&tail);
        sample.headers.extend(fields.into_iter().map(|(name, value)| (name.to_owned(), value)));
        if is_claimed {
            let start = format!("AWS4-HMAC-SHA256 Credential={ID}/20150830/r/s/aws4_request,SignedHeaders=host,Signature=");
            sample = sample.with("authorization", [start.as_bytes(), &tail].concat());
        }
        prop_assert!(sample.judged(&Aws::default(), &keys(ID, SECRET), now_ms(), &[]).0.is_err());
    }
}

/// Whether a change of the target or of `Authorization` has left the canonical text as it was.
fn is_same_text(part: Part, changed: &[u8], whole: &[u8]) -> bool {
    match part {
        Part::Target | Part::Field("authorization") => changed == whole,
        Part::Method | Part::Authority | Part::Field(_) | Part::Body => false,
    }
}
