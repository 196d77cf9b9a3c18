//! Test cases for the transaction.

use super::*;
use crate::Version;

fn head<'a>(target: &'a str, headers: &'a [Header<'a>]) -> Head<'a> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let address = "192.0.2.1".parse().expect("an address");
    Head {
        method: b"POST",
        target: target.as_bytes(),
        path: path.as_bytes(),
        query: query.as_bytes(),
        version: Version::Http11,
        host: b"example.com",
        headers,
        peer: address,
        peer_port: 1234,
        client: address,
        server: address,
        server_port: 80,
        tls: None,
        received_ms: 0,
    }
}

fn pairs(pairs: &[Pair<'_>]) -> String {
    let shown: Vec<String> =
        pairs.iter().map(|pair| format!("{}={}", pair.name.escape_ascii(), pair.value.escape_ascii())).collect();
    shown.join("|")
}

#[test]
fn reads_the_head() {
    let headers = [
        Header::new(b"Host", b"example.com"),
        Header::new(b"Cookie", b"a=1"),
        Header::new(b"X-Y", b"1"),
        Header::new(b"cookie", b"b=2"),
        Header::new(b"x-y", b"2"),
    ];
    let arena = Bump::new();
    let transaction = Transaction::new(head("/d/i.PHP?a=1&b=%20", &headers), &arena);
    assert_eq!(pairs(transaction.arguments()), "a=1|b= ");
    assert_eq!(pairs(transaction.cookies()), "a=1|b=2");
    assert_eq!(transaction.raw_path(), b"/d/i.PHP");
    assert_eq!(transaction.extension(), b"php");
    assert_eq!((transaction.mime(), transaction.body_kind()), (&b""[..], BodyKind::Other));
    let values: Vec<&[u8]> = transaction.header_values(b"x-y", header_hash(b"x-y")).collect();
    assert_eq!(values, [b"1", b"2"]);
    assert_eq!(transaction.all_anomalies(), Anomalies::empty());
}

#[test]
fn computes_at_most_once() {
    let headers = [Header::new(b"Content-Type", b"application/JSON"), Header::new(b"Cookie", b"a=1")];
    let arena = Bump::new();
    let transaction = Transaction::new(head("/A.PHP?a=%41", &headers), &arena);
    transaction.set_body(br#"{"a":{"b":"\u0041"}}"#);
    let read = || {
        (
            transaction.arguments().as_ptr(),
            transaction.cookies().as_ptr(),
            transaction.extension().as_ptr(),
            transaction.mime().as_ptr(),
            transaction.json().as_ptr(),
            transaction.all_anomalies(),
        )
    };
    let first = read();
    let used = arena.allocated_bytes_including_metadata() - arena.chunk_capacity();
    assert_eq!(read(), first);
    assert_eq!(arena.allocated_bytes_including_metadata() - arena.chunk_capacity(), used, "nothing more allocated");
}

#[test]
fn reads_bodies_by_their_type() {
    let cases: [(&str, &str, [&str; 4]); 5] = [
        // content type, body, form, json, parts, texts
        ("application/x-www-form-urlencoded", "a=1&b=%32", ["a=1|b=2", "", "0", "0"]),
        ("application/json", r#"{"a":[1]}"#, ["", "a.0=1", "0", "0"]),
        ("text/xml", "<a b='1'>2</a>", ["", "", "0", "2"]),
        (
            "multipart/form-data; boundary=x",
            "--x\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n\
             --x\r\nContent-Disposition: form-data; name=f; filename=g\r\n\r\n2\r\n--x--\r\n",
            ["a=1", "", "2", "0"],
        ),
        ("text/plain", "a=1", ["", "", "0", "0"]),
    ];
    for (kind, body, expected) in cases {
        let headers = [Header::new(b"Content-Type", kind.as_bytes())];
        let arena = Bump::new();
        let transaction = Transaction::new(head("/", &headers), &arena);
        let read = || {
            let [parts, texts] =
                [transaction.multipart().len(), transaction.xml().len()].map(|count| count.to_string());
            [pairs(transaction.form()), pairs(transaction.json()), parts, texts]
        };
        assert_eq!(read(), ["", "", "0", "0"], "{kind}: no body yet");
        transaction.set_body(body.as_bytes());
        assert_eq!(read(), expected, "{kind}");
        assert_eq!(transaction.all_anomalies(), Anomalies::empty(), "{kind}");
    }
}

#[test]
fn flags_what_is_broken() {
    type Fields = &'static [(&'static str, &'static str)];
    let none: Fields = &[];
    let cases: [(&str, Fields, &str, Anomalies); 14] = [
        ("/?a=%zz", none, "", Anomalies::INVALID_PERCENT),
        ("/%z", none, "", Anomalies::INVALID_PERCENT),
        ("/?a=%00", none, "", Anomalies::NUL_BYTE),
        ("/a\0", none, "", Anomalies::NUL_BYTE),
        ("/?a=%ff", none, "", Anomalies::INVALID_UTF8),
        ("/", &[("Cookie", "x")], "", Anomalies::INVALID_COOKIE),
        ("/", &[("Host", "a"), ("host", "a")], "", Anomalies::DUPLICATE_HEADER),
        ("/", &[("Content-Length", "1"), ("Content-Length", "1")], "", Anomalies::DUPLICATE_HEADER),
        ("/", &[("Content-Type", "a/b"), ("Content-Type", "a/b")], "", Anomalies::DUPLICATE_HEADER),
        ("/", &[("Accept", "a/b"), ("Accept", "a/b")], "", Anomalies::empty()),
        ("/", &[("Content-Type", "multipart/form-data")], "x", Anomalies::INVALID_MULTIPART),
        ("/", &[("Content-Type", "application/json")], "{", Anomalies::INVALID_JSON),
        ("/", &[("Content-Type", "text/xml")], "<", Anomalies::INVALID_XML),
        ("/", &[("Content-Type", "application/x-www-form-urlencoded")], "%", Anomalies::INVALID_PERCENT),
    ];
    for (target, headers, body, expected) in cases {
        let headers: Vec<Header<'_>> =
            headers.iter().map(|(name, value)| Header::new(name.as_bytes(), value.as_bytes())).collect();
        let arena = Bump::new();
        let transaction = Transaction::new(head(target, &headers), &arena);
        transaction.set_body(body.as_bytes());
        assert_eq!(transaction.all_anomalies(), expected, "{target} {body}");
        assert_eq!(transaction.anomalies(), expected);
    }
}

#[test]
fn a_truncated_body_is_flagged_as_that_alone() {
    for (kind, body) in [
        ("application/x-www-form-urlencoded", "a=%4"),
        ("application/json", "{\"a\":"),
        ("text/xml", "<a><b"),
        ("multipart/form-data; boundary=x", "--x\r\nContent-Disp"),
    ] {
        let headers = [Header::new(b"Content-Type", kind.as_bytes())];
        let arena = Bump::new();
        let transaction = Transaction::new(head("/", &headers), &arena);
        transaction.set_body(body.as_bytes());
        transaction.set_body_truncated();
        assert_eq!(transaction.all_anomalies(), Anomalies::BODY_TRUNCATED, "{kind}");
    }
}

#[test]
fn absurd_requests_are_bounded_and_flagged() {
    let query = format!("/?{}", "a=1&".repeat(100_000));
    let cookie = "c=1;".repeat(100_000);
    let mut headers: Vec<Header<'_>> = (0..50_000).map(|_| Header::new(b"X", b"y")).collect();
    headers.push(Header::new(b"Cookie", cookie.as_bytes()));
    let kind = format!("multipart/form-data; {}boundary={}", "a=b;".repeat(100_000), "x".repeat(100_000));
    headers.push(Header::new(b"Content-Type", kind.as_bytes()));
    let arena = Bump::new();
    let transaction = Transaction::new(head(&query, &headers), &arena);
    let body = "-".repeat(1_000_000);
    transaction.set_body(body.as_bytes());
    assert_eq!(transaction.all_anomalies(), Anomalies::TOO_MANY_ITEMS | Anomalies::INVALID_MULTIPART);
    assert_eq!(transaction.arguments().len(), crate::bound::MAX_ITEMS);
    assert_eq!(transaction.cookies().len(), crate::bound::MAX_ITEMS);
    assert!(arena.allocated_bytes() < 4_000_000, "{} bytes of arena", arena.allocated_bytes());
}

/// The nginx module keeps the transaction across phases beside the memory it borrows from.
#[test]
fn can_be_kept_with_static_lifetimes() {
    let arena: &'static Bump = Box::leak(Box::default());
    let kept: &'static [Pair<'static>] = {
        let transaction: Transaction<'static> = Transaction::new(head("/?a=%41", &[]), arena);
        transaction.arguments()
    };
    assert_eq!(pairs(kept), "a=A");
}
