//! Responses that their origin has signed, and responses that somebody has changed, cut off or made up.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::json;
use weir_auth::digest::{Hash, MacHash};
use weir_auth::encoding::base64;
use weir_tests::origin;
use weir_tests::{Nginx, Request, Setup};

use crate::authentication::now_ms;

const SECRET: &str = "a secret of the origin, of forty bytes";
const BODY: &str = "{\"balance\": 100}";

/// An origin whose path says what is wrong with its response. The signature base is written here by hand.
fn origin() -> SocketAddr {
    origin::serve(|stream: TcpStream| {
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let mut words = line.split(' ').map(str::to_owned);
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        loop {
            line.clear();
            if reader.read_line(&mut line)? <= 2 {
                break;
            }
        }
        let is = |what: &str| target == format!("/{what}");
        let body = if is("big") { "x".repeat(5000) } else { BODY.to_owned() };
        let status = if is("empty") { 204 } else { 200 };
        let created = now_ms() / 1000 - if is("stale") { 3600 } else { 0 };
        let digest = format!("sha-256=:{}:", base64(Hash::Sha256.of(body.as_bytes()).as_ref()));
        let signed_target = if is("replayed") { "/good" } else { target.as_str() };
        let (id, secret) = match is("other") {
            true => ("shop-1", "a shared secret of forty bytes, or nearly"),
            false => ("origin-1", SECRET),
        };
        let digest_line = if status == 204 { String::new() } else { format!("\"content-digest\": {digest}\n") };
        let digest_part = if status == 204 { "" } else { "\"content-digest\" " };
        let params =
            format!("(\"@status\" {digest_part}\"@method\";req \"@target-uri\";req);created={created};keyid=\"{id}\"");
        let base = format!(
            "\"@status\": {status}\n{digest_line}\"@method\";req: {method}\n\
             \"@target-uri\";req: http://weir.test{signed_target}\n\"@signature-params\": {params}"
        );
        let signature = base64(MacHash::Sha256.of(secret.as_bytes(), base.as_bytes()).as_ref());
        let mut head = format!("HTTP/1.1 {status} OK\r\nConnection: close\r\n");
        if !is("unsigned") {
            head += &format!("Signature-Input: sig1={params}\r\nSignature: sig1=:{signature}:\r\n");
        }
        if status != 204 {
            let length = body.len() + if is("cut") { 10 } else { 0 };
            head +=
                &format!("Content-Type: application/json\r\nContent-Digest: {digest}\r\nContent-Length: {length}\r\n");
        }
        if is("encoded") {
            head += "Content-Encoding: br\r\n";
        }
        let sent = if is("changed") { body.replace("100", "999") } else { body };
        let sent = if status == 204 || method == "HEAD" { String::new() } else { sent };
        (&stream).write_all(format!("{head}\r\n{sent}").as_bytes())
    })
}

fn start(more: &str) -> Nginx {
    let text = format!(
        "consumers:\n  shop:\n    credentials: [{{signature: {{id: shop-1, secret: \"a shared secret of forty bytes, or \
         nearly\"}}}}]\n  origin:\n    credentials: [{{signature: {{id: origin-1, secret: \"{SECRET}\"}}}}]\npolicies:\n  \
         - id: p\n{more}    rules:\n      - {{id: proven, when: 'true', action: {{verify_response: {{consumer: origin, \
         max_body: 4k}}}}}}\n"
    );
    Setup::policy(&text).workers(1).server(&format!("location / {{ proxy_pass http://{}; }}", origin())).start()
}

#[test]
fn responses_pass_as_their_origin_has_signed_them() {
    let nginx = start("");
    let get = |path: &str| nginx.send(&Request::get(&format!("/{path}")));
    for path in ["good", "encoded"] {
        let response = get(path);
        assert_eq!((response.status, response.text().as_str()), (200, BODY), "{path}: {}", nginx.error_log());
    }
    assert_eq!(get("empty").status, 204);
    assert_eq!(nginx.send(&Request::new("HEAD", "/good")).status, 200);
    let reasons = [
        ("unsigned", "missing"),
        ("changed", "body_changed"),
        ("cut", "body_changed"),
        ("stale", "expired"),
        ("replayed", "mismatch"),
        ("other", "not_allowed"),
        ("big", "too_large"),
    ];
    for (path, _) in reasons {
        let response = get(path);
        assert_eq!(response.status, 502, "{path}: {}", response.text());
        assert!(!response.text().contains("balance"), "{path}");
    }
    let lines = nginx.attacks(reasons.len());
    for (line, (path, reason)) in lines.iter().zip(reasons) {
        let found = line["findings"][0]["reason"].as_str().unwrap();
        assert!(found.starts_with(&format!("{reason}: ")), "{path}: {found}");
        assert_eq!((&line["action"], &line["status"]), (&json!("block"), &json!(502)), "{path}");
    }
    assert!(nginx.crashes().is_empty());
}

#[test]
fn detection_lets_responses_pass() {
    let nginx = start("    mode: detect\n");
    for path in ["good", "changed", "unsigned", "big"] {
        assert_eq!(nginx.send(&Request::get(&format!("/{path}"))).status, 200, "{path}");
    }
    assert_eq!(nginx.attacks(3).len(), 3);
}
