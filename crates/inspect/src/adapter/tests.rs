//! Each protocol beside what its documentation shows.

use super::*;
use crate::testing;

fn asked(inspector: &Inspector, change: impl FnOnce(&mut Question<'_>)) -> String {
    let mut question = testing::question();
    change(&mut question);
    let mut buffer = Vec::new();
    write(&mut buffer, inspector, "auth.internal:4181", &question);
    String::from_utf8(buffer).unwrap()
}

fn response(status: u16, headers: &[(&str, &str)], body: &str) -> Response {
    let headers = headers.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec())).collect();
    Response { status, headers, body: body.into(), keeps_alive: true }
}

#[test]
fn forward_auth_says_what_nginx_traefik_and_caddy_say() {
    let mut inspector = testing::inspector(Protocol::ForwardAuth);
    inspector.path = "/verify".into();
    inspector.sets = vec!["x-user".into()];
    let text = asked(&inspector, |question| {
        question.headers.extend([
            (&b"X-User"[..], &b"root"[..]),
            (b"x_user", b"root"),
            (b"X-Forwarded-For", b"198.51.100.1"),
            (b"x-forwarded-for", b"198.51.100.2"),
            (b"X_Forwarded_Port", b"1"),
            (b"Forwarded", b"for=198.51.100.3"),
            (b"X-Forwarded-Uri", b"/public"),
            (b"Transfer-Encoding", b"chunked"),
        ]);
    });
    let expected = "GET /verify HTTP/1.1\r\nHost: auth.internal:4181\r\nCookie: a=b\r\nX-Forwarded-Method: POST\r\n\
        X-Forwarded-Proto: https\r\nX-Forwarded-Host: shop.example:8443\r\nX-Forwarded-Uri: /cart?x=1\r\n\
        X-Forwarded-For: 192.0.2.7\r\nX-Real-IP: 192.0.2.7\r\nX-Original-Method: POST\r\n\
        X-Original-URI: /cart?x=1\r\nX-Original-URL: https://shop.example:8443/cart?x=1\r\n\r\n";
    assert_eq!(text, expected, "no copy of what the service decides, or of what belongs to the connection");
}

#[test]
fn forward_auth_passes_with_what_may_be_set_and_refuses_as_a_whole() {
    let mut inspector = testing::inspector(Protocol::ForwardAuth);
    inspector.sets = vec!["x-user".into()];
    let passed = understand(&inspector, response(204, &[("X-User", "ada"), ("X-Admin", "yes")], "")).unwrap();
    assert_eq!((passed.advice, passed.set_headers), (Advice::Pass, vec![(b"X-User".to_vec(), b"ada".to_vec())]));
    for status in [302, 401, 403, 404, 429] {
        let headers = [("Location", "/login"), ("Set-Cookie", "a=b"), ("Set-Cookie", "c=d"), ("Connection", "close")];
        let refused = understand(&inspector, response(status, &headers, "no")).unwrap();
        assert_eq!((refused.advice, refused.status, &refused.body[..]), (Advice::Refuse, status, &b"no"[..]));
        assert_eq!(refused.response_headers.len(), 3, "{status}");
    }
    assert_eq!(understand(&inspector, response(502, &[], "")), Err(Failure::Unable));
}

#[test]
fn ext_authz_keeps_method_path_and_host_and_says_whether_the_body_is_whole() {
    let mut inspector = testing::inspector(Protocol::ExtAuthz);
    (inspector.path, inspector.body_bytes) = ("/check".into(), 4);
    inspector.sets = vec!["x-user".into(), "x-old".into()];
    let text = asked(&inspector, |question| (question.body, question.body_bytes) = (b"a=1&", 9));
    assert!(text.starts_with("POST /check/cart?x=1 HTTP/1.1\r\nHost: shop.example:8443\r\nCookie: a=b\r\n"), "{text}");
    assert!(
        text.contains("x-envoy-auth-partial-body: true\r\n") && text.ends_with("Content-Length: 4\r\n\r\na=1&"),
        "{text}"
    );
    let headers = [("x-user", "ada"), ("x-envoy-auth-headers-to-remove", "x-old, host")];
    let passed = understand(&inspector, response(200, &headers, "")).unwrap();
    assert_eq!(passed.remove_headers, [b"x-old".to_vec()], "only what it may");
    assert_eq!(understand(&inspector, response(204, &[], "")).unwrap().advice, Advice::Refuse, "200 alone allows");
    assert_eq!(understand(&inspector, response(503, &[], "")), Err(Failure::Unable));
}

#[test]
fn crowdsec_is_told_in_its_own_fields() {
    let mut inspector = testing::inspector(Protocol::CrowdSec { unknown: Remediation::Ban });
    inspector.token = crate::inspector::Secret("k".into());
    let text = asked(&inspector, |question| {
        question.headers.extend([(&b"User-Agent"[..], &b"curl"[..]), (b"X-Crowdsec-Appsec-Ip", b"127.0.0.1")]);
    });
    for line in
        ["Ip: 192.0.2.7", "Uri: /cart?x=1", "Host: shop.example", "Verb: POST", "Api-Key: k", "User-Agent: curl"]
    {
        assert_eq!(text.matches(&format!("X-Crowdsec-Appsec-{line}\r\n")).count(), 1, "{line} in {text}");
    }
    assert!(!text.contains("Appsec-Ip: 127.0.0.1"), "{text}");
    assert!(!format!("{inspector:?}").contains("\"k\""), "the key is not shown");
}

#[test]
fn crowdsec_gets_a_target_that_it_can_parse() {
    for (target, expected) in [
        ("/a%20b?c=%zz&d", "/a%20b?c=%zz&d"),
        ("//a:b/attack", "/%2Fa:b/attack"),
        ("//", "/%2F"),
        ("///a:b", "///a:b"),
        ("/a#%zz?x=%zz#%", "/a%23%25zz?x=%zz%23%"),
        ("/a%2?0", "/a%252?0"),
    ] {
        assert_eq!(String::from_utf8_lossy(&readable(target.as_bytes())), expected, "{target}");
    }
}

#[test]
fn crowdsec_bans_and_an_unknown_remediation_is_mapped() {
    let inspector = testing::inspector(Protocol::CrowdSec { unknown: Remediation::Captcha });
    let say = |status, body| understand(&inspector, response(status, &[], body));
    assert_eq!(say(200, r#"{"action":"allow","http_status":200}"#), Ok(Answer::default()));
    let banned = say(403, r#"{"action":"ban","http_status":406}"#).unwrap();
    assert_eq!((banned.advice, banned.status), (Advice::Refuse, 406));
    let mapped = say(403, r#"{"action":"throttle"}"#).unwrap();
    assert_eq!((mapped.advice, mapped.tags), (Advice::Refuse, vec!["captcha".to_owned()]));
    assert!(mapped.reason.contains("throttle"));
    assert_eq!(say(401, ""), Err(Failure::Unable), "a wrong key is not a ban");
    assert_eq!(say(500, ""), Err(Failure::Unable));
    assert_eq!(say(403, "<html>"), Err(Failure::Unreadable));
}

#[test]
fn a_target_cannot_end_the_request_line() {
    let inspector = testing::inspector(Protocol::ExtAuthz);
    let text = asked(&inspector, |question| question.target = b"/a HTTP/1.1\r\nX: y\x7f");
    assert!(text.starts_with("POST //a%20HTTP/1.1%0D%0AX:%20y%7F HTTP/1.1\r\n"), "{text}");
}
