use std::borrow::Cow;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::cursor::Start;
use crate::{Cursor, CursorError, TopicName};

const AT: Cursor = Cursor { epoch: 0x1f3a, position: 42 };

fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn requests_are_read() {
    let filters = |filters: &[&'static str]| filters.iter().map(|filter| Cow::Borrowed(*filter)).collect::<Vec<_>>();
    let publish = |topic: &'static str, payload: &[u8], id| {
        let payload = Cow::Owned(payload.to_vec());
        Request::Publish { topic: topic.into(), payload, id }
    };
    for (text, request) in [
        (
            r#"{"subscribe": ["a/+"]}"#,
            Request::Subscribe { filters: filters(&["a/+"]), start: Start::Now, more: false },
        ),
        (
            r#"{"subscribe":["a","b"],"since":"1f3a:42"}"#,
            Request::Subscribe { filters: filters(&["a", "b"]), start: Start::After(AT), more: false },
        ),
        (
            r#"{"subscribe": ["a"], "since": null}"#,
            Request::Subscribe { filters: filters(&["a"]), start: Start::Now, more: false },
        ),
        (
            r#"{"subscribe": ["a"], "since": "oldest"}"#,
            Request::Subscribe { filters: filters(&["a"]), start: Start::Oldest, more: false },
        ),
        (r#"{"unsubscribe": ["a/\u002b"]}"#, Request::Unsubscribe { filters: filters(&["a/+"]) }),
        (r#"{"publish": "a", "data": "x\n\ud83d\ude00", "id": 7}"#, publish("a", "x\n\u{1f600}".as_bytes(), Some(7))),
        (r#" {"publish": "a", "data": ""}"#, publish("a", b"", None)),
        (r#"{"base64": "/wo=", "publish": "a"}"#, publish("a", b"\xff\n", None)),
        (r#"{"ping": 18446744073709551615}"#, Request::Ping(u64::MAX)),
    ] {
        assert_eq!(parse(text.as_bytes()), Ok(request), "{text}");
    }
}

#[test]
fn texts_without_escapes_are_not_copied() {
    let Ok(Request::Publish { topic, payload, .. }) = parse(br#"{"publish": "a", "data": "b"}"#) else { panic!() };
    assert!(matches!((topic, payload), (Cow::Borrowed(_), Cow::Borrowed(_))));
    let Ok(Request::Subscribe { filters, .. }) = parse(br#"{"subscribe": ["a"]}"#) else { panic!() };
    assert!(matches!(filters[..], [Cow::Borrowed(_)]));
}

#[test]
fn other_frames_are_refused_with_a_reason() {
    let many = json!({"unsubscribe": vec!["a"; MAX_FILTERS + 1]}).to_string();
    for (text, message) in [
        ("", "a frame is a JSON object, as in {\"subscribe\": [\"a/#\"]}"),
        (r#"[["a"]]"#, "a frame is a JSON object, as in {\"subscribe\": [\"a/#\"]}"),
        ("{}", "a frame has exactly one of subscribe, unsubscribe, publish, presence and ping"),
        (
            r#"{"ping": 1, "subscribe": ["a"]}"#,
            "a frame has exactly one of subscribe, unsubscribe, publish, presence and ping",
        ),
        (r#"{"ping": 1, "since": "1:1"}"#, "since belongs to subscribe"),
        (r#"{"subscribe": ["a"], "id": 1}"#, "id belongs to publish"),
        (r#"{"ping": 1, "data": ""}"#, "data belongs to publish"),
        (r#"{"subscribe": []}"#, "a frame has 1 to 1024 filters, this one 0; send the others in further frames"),
        (&many, "a frame has 1 to 1024 filters, this one 1025; send the others in further frames"),
        (r#"{"subscribe": ["a"], "since": "x"}"#, &format!("since: {}", CursorError::Colon)),
        (r#"{"publish": "a"}"#, "publish has data, a text, or base64 for other bytes"),
        (r#"{"publish": "a", "data": "", "base64": ""}"#, "publish has data, a text, or base64 for other bytes"),
        (r#"{"publish": "a", "base64": "/wo"}"#, "base64 is not standard Base64 with padding: Invalid padding"),
        (r#"{"ping": -1}"#, "ping is a whole number from 0 to 2^64 - 1"),
        (r#"{"publish": "a", "data": "", "id": 1.5}"#, "id is a whole number from 0 to 2^64 - 1"),
        (r#"{"unsubscribe": ["a"], "more": true}"#, "more belongs to subscribe"),
        (r#"{"ping": 1, "ping": 2}"#, "not a frame: duplicate field `ping` at line 1 column 18"),
        (r#"{"ping": 1} x"#, "not a frame: trailing characters at line 1 column 13"),
    ] {
        assert_eq!(parse(text.as_bytes()).map_err(|error| error.to_string()), Err(message.to_owned()), "{text}");
    }
    let unknown = parse(br#"{"topics": ["a"]}"#).unwrap_err().to_string();
    assert!(
        unknown.starts_with("not a frame: unknown field `topics`, expected one of `subscribe`, `since`"),
        "{unknown}"
    );
    for text in [
        &b"{\"ping\": 1, \"x"[..],
        b"{\"publish\": \"a\xff\", \"data\": \"\"}",
        br#"{"publish": "\ud800", "data": ""}"#,
    ] {
        assert!(matches!(parse(text), Err(FrameError::Json(_))));
    }
}

#[test]
fn responses_are_written() {
    let topic = TopicName::new(b"a/b").unwrap();
    for (text, frame) in [
        (written(|out| message(topic, AT, b"x\"\n", out)), r#"{"topic":"a/b","id":"1f3a:42","data":"x\"\n"}"#),
        (written(|out| message(topic, AT, b"\xff\n", out)), r#"{"topic":"a/b","id":"1f3a:42","base64":"/wo="}"#),
        (written(|out| gap("*", AT, AT, out)), r#"{"gap":"*","from":"1f3a:42","to":"1f3a:42"}"#),
        (written(|out| subscribed(&["a/+", "#"], AT, out)), r##"{"subscribed":["a/+","#"],"at":"1f3a:42"}"##),
        (written(|out| published(AT, 7, out)), r#"{"published":"1f3a:42","id":7}"#),
        (written(|out| error("no", None, None, out)), r#"{"error":"no"}"#),
        (
            written(|out| error("no", Some("ask"), Some(About::Topic("a")), out)),
            r#"{"error":"no","hint":"ask","about":"a"}"#,
        ),
        (written(|out| error("no", None, Some(About::Id(7)), out)), r#"{"error":"no","about":7}"#),
        (written(|out| reconnect(1_200, out)), r#"{"reconnect_ms":1200}"#),
        (written(|out| pong(1, out)), r#"{"pong":1}"#),
    ] {
        assert_eq!(text, frame);
    }
}

proptest! {
    #[test]
    fn payloads_come_through(payload in prop::collection::vec(any::<u8>(), 0..20), text in any::<String>()) {
        for payload in [&payload[..], text.as_bytes()] {
            let frame = written(|out| message(TopicName::new(b"a").unwrap(), AT, payload, out));
            let mut value: Value = serde_json::from_str(&frame).unwrap();
            let members = value.as_object_mut().unwrap();
            members.remove("topic");
            members.remove("id");
            members.insert("publish".to_owned(), json!("a"));
            let request = value.to_string();
            prop_assert_eq!(
                parse(request.as_bytes()),
                Ok(Request::Publish { topic: "a".into(), payload: payload.into(), id: None })
            );
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in r#"\{("(subscribe|since|publish|data|base64|id|ping)":("a"|\["a"\]|1|null),?){0,4}\}"#) {
        let _ = parse(text.as_bytes());
    }
}
