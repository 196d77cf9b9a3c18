//! Platforms' vectors, a table of calls that are refused, and properties.

use proptest::prelude::*;

use super::*;
use crate::digest::Hash;
use crate::keyed::SecretPlace;
use crate::testing::{NOW_MS, Sent, consumers};
use crate::window::Window;
use crate::written::Written;

const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

fn scheme(name: &str, change: impl FnOnce(&mut ParameterOptions)) -> Parameters {
    let mut options = ParameterOptions::preset(name).unwrap();
    change(&mut options);
    Parameters::new(options).unwrap()
}

/// The example of WeChat Pay APIv2, "Secure Specification", section 1: both types of signatures.
#[test]
fn wechats_example_is_accepted() {
    let consumers = consumers(&[("10000100", "192006250b4c09247ec02edce69f6a2d")]);
    let hmac = |options: &mut ParameterOptions| {
        (options.hash, options.secret) = (Hash::Sha256, SecretPlace::AfterAndHmac);
    };
    let cases = [
        (scheme("wechat_pay_v2", |_| {}), "9A0A8659F005D6984697E2CA0A9CF3B7"),
        (scheme("wechat_pay_v2", hmac), "6A9AE1657590FD6257D693A078E1C3E4BB6BA4DC30B23E0EE2496E54170DACD6"),
    ];
    for (scheme, sign) in cases {
        let form = format!(
            "sign={sign}&appid=wxd930ea5d5a258f4f&mch_id=10000100&device_info=1000&body=test&nonce_str=ibuaiVcKdpRxkhJA&x="
        );
        let sent = Sent::new("/pay", &[FORM], form.as_bytes());
        let identity = sent.verify(&scheme, &consumers).unwrap();
        assert_eq!((identity.consumer.id.as_str(), identity.nonce), ("partner", None));
    }
}

/// The example of the Taobao Open Platform, "API call protocol"; its other signature types over the same parameters were
/// computed with OpenSSL.
#[test]
fn taobaos_example_is_accepted() {
    let consumers = consumers(&[("12345678", "helloworld")]);
    let target = "/router/rest?method=taobao.item.seller.get&app_key=12345678&session=test\
                  &timestamp=2016-01-01+12%3A00%3A00&format=json&v=2.0&sign_method=md5";
    let cases = [
        (scheme("taobao", |_| {}), "66987CB115214E59E6EC978214934FB8"),
        (scheme("taobao", |options| options.secret = SecretPlace::Hmac), "B4DDA503460D60A86B16E950E5D303E9"),
    ];
    for (scheme, sign) in cases {
        let form = b"fields=num_iid,title,nick,price,num&num_iid=11223344";
        let mut sent = Sent::new(&format!("{target}&sign={sign}"), &[FORM], form);
        sent.now_ms = 1_451_620_800_000;
        let nonce = sent.verify(&scheme, &consumers).unwrap().nonce.unwrap();
        assert_eq!((nonce.signed_ms, nonce.expires_ms), (Some(sent.now_ms), sent.now_ms + 600_000));
        sent.now_ms += 600_001;
        assert_eq!(sent.reason(&scheme, &consumers), Some(Reason::Expired));
    }
}

#[test]
fn bad_calls_are_refused_with_their_reason() {
    let consumers = consumers(&[("k", "secret")]);
    let timed = |options: &mut ParameterOptions| {
        (options.timestamp, options.nonce) = ("t".into(), "n".into());
        options.body_bytes = 400;
    };
    let form_only = |options: &mut ParameterOptions| options.query = false;
    let [custom, timed, form_only] = [scheme("custom", |_| {}), scheme("custom", timed), scheme("custom", form_only)];
    let json = scheme("custom", |options| options.json = true);
    let zeros = "0".repeat(64);
    let (seconds, zero) = (NOW_MS / 1000, format!("app_id=k&sign={zeros}"));
    let target = |rest: &str| format!("/?{zero}{rest}");
    let (long_id, long_sign) =
        (format!("/?app_id={}&sign={zeros}", "k".repeat(257)), format!("/?sign={}", "0".repeat(5000)));
    let big = format!("a={}", "x".repeat(399));
    let many: String = (0..600).map(|at| format!("&a{at}")).collect();
    type Case<'a> = (&'a Parameters, &'a str, &'a [(&'a str, &'a str)], &'a str, Reason);
    let cases: &[Case<'_>] = &[
        (&custom, "/", &[], "", Reason::Missing),
        (&custom, "/?app_id=k", &[], "", Reason::Missing),
        (&custom, &format!("/?sign={zeros}"), &[], "", Reason::Missing),
        (&custom, &target(""), &[], "", Reason::Mismatch),
        (&custom, "/?app_id=k&sign=00", &[], "", Reason::Mismatch),
        (&custom, "/?app_id=k&sign=0", &[], "", Reason::Malformed),
        (&custom, "/?app_id=k&sign=%FF%FE", &[], "", Reason::Malformed),
        (&custom, &target("&a=%f"), &[], "", Reason::Malformed),
        (&custom, &target("&a=1&a=1"), &[], "", Reason::Duplicated),
        (&custom, &target("&%61=1&a=1"), &[], "", Reason::Duplicated),
        (&custom, &target(&format!("&sign={zeros}")), &[], "", Reason::Duplicated),
        (&custom, &target(""), &[FORM], "sign=1", Reason::Duplicated),
        (&custom, &target(""), &[FORM, FORM], "a=1", Reason::Duplicated),
        (&custom, &target(""), &[], "a=1", Reason::Incomplete),
        (&custom, &target(""), &[("content-type", "application/json")], "{}", Reason::Incomplete),
        (&custom, &target(""), &[("content-type", "text/xml")], "<a/>", Reason::Incomplete),
        (&custom, &long_id, &[], "", Reason::TooLarge),
        (&custom, &long_sign, &[], "", Reason::TooLarge),
        (&custom, &target(&many), &[], "", Reason::TooLarge),
        (&custom, &format!("/?app_id=other&sign={zeros}"), &[], "", Reason::UnknownKey),
        (&form_only, &target(""), &[], "", Reason::Incomplete),
        (&json, &target(""), &[("content-type", "application/json; charset=utf-8")], "{\"a\":{}}", Reason::Incomplete),
        (&json, &target(""), &[("content-type", "application/json")], "{\"a\":1", Reason::Malformed),
        (&json, &target(""), &[("content-type", "application/json")], "{\"app_id\":1}", Reason::Duplicated),
        (&timed, &target(""), &[], "", Reason::Missing),
        (&timed, &target("&t=x"), &[], "", Reason::Malformed),
        (&timed, &target(&format!("&t={}", seconds - 301)), &[], "", Reason::Expired),
        (&timed, &target(&format!("&t={}", seconds + 301)), &[], "", Reason::NotYet),
        (&timed, &target(&format!("&t={seconds}")), &[], "", Reason::Missing),
        (&timed, &target(&format!("&t={seconds}&n=")), &[], "", Reason::Missing),
        (&timed, &target(&format!("&t={seconds}&n={}", "n".repeat(129))), &[], "", Reason::TooLarge),
        (&timed, &target(&format!("&t={seconds}&n=1")), &[FORM], &big, Reason::TooLarge),
        (&timed, &target(&format!("&t={seconds}&n=1")), &[FORM], &big[..400], Reason::Mismatch),
    ];
    for (scheme, target, headers, body, reason) in cases {
        for part in [1, usize::MAX] {
            let sent = Sent { part, ..Sent::new(target, headers, body.as_bytes()) };
            assert_eq!(sent.reason(*scheme, &consumers), Some(*reason), "{target} {headers:?} {body}");
        }
    }
}

#[test]
fn the_type_that_a_call_states_changes_nothing() {
    let consumers = consumers(&[("k", "secret")]);
    let md5 = scheme("wechat_pay_v2", |_| {});
    let hmac = scheme("wechat_pay_v2", |options| {
        (options.hash, options.secret) = (Hash::Sha256, SecretPlace::AfterAndHmac);
    });
    let sent = Sent::new("/?sign_type=MD5&mch_id=k", &[], b"").signed(&md5, "k", "secret");
    assert_eq!(sent.reason(&md5, &consumers), None);
    assert_eq!(sent.reason(&hmac, &consumers), Some(Reason::Mismatch));
}

#[test]
fn places_may_be_header_fields_and_unsigned_parts_allowed() {
    let consumers = consumers(&[("k", "secret")]);
    let scheme = scheme("custom", |options| {
        options.signature = Place::Header("X-Sign".into());
        options.key = Place::Header("X-Key".into());
        options.allow_unsigned = true;
        options.body_bytes = 2;
    });
    let sent = Sent::new("/?b=2&a=%31", &[], b"not signed").signed(&scheme, "k", "secret");
    assert_eq!(sent.target, b"/?b=2&a=%31");
    assert_eq!(sent.reason(&scheme, &consumers), None);
    let without = |name: &str| {
        let mut sent = sent.clone();
        sent.headers.retain(|(other, _)| other != name);
        sent.reason(&scheme, &consumers)
    };
    assert_eq!(["X-Sign", "X-Key"].map(without), [Some(Reason::Missing); 2]);
    assert_eq!(scheme.credential_fields(), ["x-sign"]);
}

#[test]
fn options_that_do_not_fit_are_refused() {
    type Change = fn(&mut ParameterOptions);
    let cases: [Change; 6] = [
        |options| options.signature = Place::Header(String::new()),
        |options| options.key = Place::Parameter(String::new()),
        |options| (options.query, options.form) = (false, false),
        |options| options.nonce = "n".into(),
        |options| (options.timestamp, options.excluded) = ("t".into(), vec!["t".into()]),
        |options| options.timestamp = "sign".into(),
    ];
    for change in cases {
        let mut options = ParameterOptions::default();
        change(&mut options);
        assert!(Parameters::new(options.clone()).is_err(), "{options:?}");
    }
}

fn any_options() -> impl Strategy<Value = ParameterOptions> {
    let rows = (0..PRESETS.len(), 0..SecretPlace::NAMES.len() - 1, 0..Written::NAMES.len(), any::<[bool; 4]>());
    rows.prop_map(|(row, place, written, [decode, keep_empty, timed, fixed])| {
        let mut options = ParameterOptions::preset(PRESETS[row].name).unwrap();
        (options.secret, options.written) = (SecretPlace::NAMES[place].1, Written::NAMES[written].1);
        (options.decode, options.keep_empty) = (decode, keep_empty);
        if timed && decode {
            (options.timestamp, options.nonce, options.window) = ("at".into(), "once".into(), Window::default());
        } else {
            options.timestamp = String::new();
        }
        options.consumer = if fixed { "partner".into() } else { String::new() };
        options
    })
}

proptest! {
    #[test]
    fn what_is_signed_is_accepted_and_what_was_changed_is_not(
        options in any_options(),
        query in "x=[0-9]{1,9}",
        body in "y=[a-z]{1,20}(&z=[A-Z]{0,9})?",
        part in 1..30usize,
        at in any::<prop::sample::Index>(),
    ) {
        let scheme = Parameters::new(options.clone()).unwrap();
        let consumers = consumers(&[("a", "one"), ("b", "two")]);
        let mut sent = Sent::new(&format!("/p?{query}"), &[FORM], body.as_bytes()).signed(&scheme, "b", "two");
        sent.part = part;
        let identity = sent.verify(&scheme, &consumers).unwrap();
        prop_assert_eq!((identity.credential, identity.nonce.is_some()), (Some(1), !options.timestamp.is_empty()));

        let mut changed = sent.clone();
        changed.target[5] = b'a';
        prop_assert!(changed.verify(&scheme, &consumers).is_err());
        let mut changed = sent.clone();
        changed.body[2] = b'0';
        prop_assert_eq!(changed.reason(&scheme, &consumers), Some(Reason::Mismatch));
        let mut changed = sent.clone();
        let start = memchr::memmem::rfind(&changed.target, b"sign=").unwrap() + 5;
        let end = changed.target.len();
        let at = start + at.index(end - start);
        changed.target[at] = if changed.target[at] == b'2' { b'3' } else { b'2' };
        prop_assert!(changed.verify(&scheme, &consumers).is_err());
        for changed_secret in [("a", "two!"), ("b", "one")] {
            let other = crate::testing::consumers(&[changed_secret]);
            prop_assert!(sent.verify(&scheme, &other).is_err());
        }
    }

    #[test]
    fn nothing_panics(
        options in any_options(),
        target in prop::collection::vec(any::<u8>(), 0..100),
        body in prop::collection::vec(any::<u8>(), 0..100),
        kind in prop::sample::select(vec!["", "application/x-www-form-urlencoded", "application/json"]),
    ) {
        let scheme = Parameters::new(ParameterOptions { json: true, ..options }).unwrap();
        let mut sent = Sent::new("/", &[("content-type", kind)], &body);
        sent.target = [b"/?app_id=a&mch_id=a&app_key=a&at=1700000000&once=1&sign=0000&", &target[..]].concat();
        prop_assert!(sent.verify(&scheme, &consumers(&[("a", "one")])).is_err());
    }
}
