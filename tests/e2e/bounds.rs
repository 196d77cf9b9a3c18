//! What rules cannot read completely: `weir_bounds` refuses it, or lets it pass and says so, for both kinds of rules.

use std::io::Write;

use serde_json::json;
use weir_tests::log::lines;
use weir_tests::origin::Echo;
use weir_tests::wait::until;
use weir_tests::{Nginx, Request, Setup};

const FORM: &str = "application/x-www-form-urlencoded";
const JSON: &str = "application/json";
const XML: &str = "text/xml";
const MULTIPART: &str = "multipart/form-data; boundary=B";
const SQLI: &str = "1' OR '1'='1' -- ";
/// Bound of arguments, cookies and JSON values.
const ITEMS: usize = 10_000;

/// Expressions that look for the attack wherever an application would read it.
fn expressions(mode: &str, more: &str) -> String {
    let fields = [
        "uri.args.values",
        "cookies.decoded",
        "body.form.values",
        "body.multipart.values",
        "body.json.values",
        "body.json.names",
        "body.xml",
    ];
    let rules = fields.map(|field| {
        let id = field.replace('.', "-");
        format!("      - {{id: {id}, when: 'any(http.request.{field}[*] contains \"1''=''1\")', action: block}}\n")
    });
    format!("policies:\n  - id: own\n    mode: {mode}\n{more}    rules:\n{}", rules.concat())
}

fn crs(mode: &str) -> String {
    format!(
        "policies:\n  - id: crs\n    mode: {mode}\n    rules:\n      - {{id: crs, when: 'true', action: {{crs: {{}}}}}}\n"
    )
}

fn serve(policy: &str, bounds: &str) -> Nginx {
    let buffers = "large_client_header_buffers 4 256k;";
    Setup::policy(policy).http(buffers).server(&format!("weir_bounds {bounds};")).proxy(Echo::start()).start()
}

fn browser(request: Request) -> Request {
    request.header("User-Agent", "Mozilla/5.0 (X11; Linux x86_64)").header("Accept", "*/*")
}

fn part(head: &str, value: &str) -> Vec<u8> {
    format!("--B\r\n{head}\r\n\r\n{value}\r\n--B--\r\n").into_bytes()
}

fn post(kind: &str, body: impl Into<Vec<u8>>) -> Request {
    Request::post("/", kind, body)
}

fn gzip(text: &str) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(text.as_bytes()).and_then(|()| gzip.finish()).expect("memory takes it")
}

/// Requests whose attack an application may read, although they are past a bound or not as their format has it.
fn unreadable() -> Vec<(&'static str, Request)> {
    let disposition = "Content-Disposition: form-data; name=\"q\"";
    let multipart = |head: &str| post(MULTIPART, part(head, SQLI));
    let json = format!("{{\"q\": \"{SQLI}\"}}");
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let utf32 = |text: &str| text.chars().flat_map(|it| u32::from(it).to_le_bytes()).collect::<Vec<u8>>();
    let form = format!("q={}", SQLI.replace('\'', "%27").replace(' ', "+"));
    let cookies = format!("{}q=1", "a=1;".repeat(ITEMS));
    vec![
        ("10,001 arguments", Request::get(&format!("/?{}{form}", "a&".repeat(ITEMS)))),
        ("10,001 fields", post(FORM, format!("{}{form}", "a&".repeat(ITEMS)))),
        ("10,001 JSON values", post(JSON, format!("[{}\"{SQLI}\"]", "1,".repeat(ITEMS)))),
        ("10,001 cookies", Request::get("/").header("Cookie", &cookies)),
        ("a space after the boundary", post(MULTIPART, [b"--B \r\n", &part(disposition, SQLI)[5..]].concat())),
        ("NUL in a name", multipart("Content-Disposition: form-data; name=\"q\0x\"")),
        ("no final boundary", post(MULTIPART, format!("--B\r\n{disposition}\r\n\r\n{SQLI}\r\n"))),
        ("attachment", multipart("Content-Disposition: attachment; name=\"q\"")),
        ("two names", multipart("Content-Disposition: form-data; name=\"a\"; name=\"q\"")),
        ("bare CR", multipart(&format!("X-A: b\rc\r\n{disposition}"))),
        ("bare filename", multipart("Content-Disposition: form-data; name=\"q\"; filename")),
        ("JSON with NaN", post(JSON, format!("{{\"a\": NaN, \"q\": \"{SQLI}\"}}"))),
        ("JSON with \\xff", post(JSON, [b"{\"a\": \"\xff\", ", &json.as_bytes()[1..]].concat())),
        ("JSON in UTF-16", post(JSON, utf16(&json))),
        ("JSON in UTF-32", post(JSON, utf32(&json))),
        ("two JSON documents", post(JSON, format!("{{}} {json}"))),
        ("two content types", post(JSON, form.clone()).header("Content-Type", FORM)),
        ("compressed", post(FORM, gzip(&form)).header("Content-Encoding", "gzip")),
        ("compressed otherwise", post(FORM, form.clone()).header("Content-Encoding", "br")),
        ("a query after #", Request::get(&format!("/?a=1#&{form}"))),
        ("another host in the target", Request::get("http://lax.example/").host("strict.example")),
    ]
}

#[test]
fn closed_refuses_whatever_the_rules_are() {
    for policy in [expressions("on", ""), crs("on")] {
        let nginx = serve(&policy, "closed");
        for (what, request) in unreadable() {
            let status = nginx.send(&browser(request)).status;
            assert!(matches!(status, 400 | 403 | 413), "{what}: {status}");
        }
        let said = nginx.error_log();
        for part in ["rules cannot read the request completely", "refused by weir_bounds", "at byte"] {
            assert!(said.contains(part), "{part}");
        }
        let path = nginx.path("attack.log");
        until("the attack log to say what and where", || {
            lines(&path).iter().any(|line| line["unreadable"].is_string()).then_some(())
        });
    }
}

#[test]
fn open_and_detection_let_pass_and_say_so() {
    for (policy, bounds, said) in [
        (expressions("on", ""), "open", "passed by weir_bounds"),
        (expressions("detect", ""), "closed", "weir_bounds would refuse it"),
        (crs("detect"), "closed", "weir_bounds would refuse it"),
    ] {
        let nginx = serve(&policy, bounds);
        for (what, request) in unreadable() {
            let status = nginx.send(&browser(request)).status;
            let is_found = bounds == "open" && status == 403; // by a rule, in what could be read
            assert!(status == 200 || is_found, "{what} {bounds}: {status}");
        }
        assert!(nginx.error_log().contains(said), "{said}");
    }
}

#[test]
fn what_is_unusual_but_clear_is_read_by_both() {
    let named = |parameters: &str| post(MULTIPART, part(&format!("Content-Disposition: {parameters}"), SQLI));
    let json = format!("{{\"q\": \"{SQLI}\"}}");
    let entity = format!("<!DOCTYPE a [<!ENTITY e \"{}\">]><a>&e;</a>", SQLI.replace('\'', "&#39;"));
    let form = format!("q={}", SQLI.replace('\'', "%27").replace(' ', "+"));
    for policy in [expressions("on", ""), crs("on")] {
        let nginx = serve(&policy, "closed");
        for (what, request) in [
            ("an unknown parameter", named("form-data; name=\"q\"; size=5")),
            ("Form-Data", named("Form-Data; name=\"q\"")),
            ("NAME", named("form-data; NAME=\"q\"")),
            (
                "Boundary",
                post("multipart/form-data; Boundary=B", part("Content-Disposition: form-data; name=\"q\"", SQLI)),
            ),
            ("an empty file name", named("form-data; name=\"q\"; filename=\"\"")),
            ("JSON with a BOM", post(JSON, format!("\u{feff}{json}"))),
            ("a name of JSON without a value", post(JSON, format!("[{{\"{SQLI}\": []}}]"))),
            ("an XML entity", post(XML, entity.clone())),
            ("XML split by CDATA", post(XML, format!("<a>{}<![CDATA[{}]]></a>", &SQLI[..6], &SQLI[6..]))),
            ("XML split by a comment", post(XML, format!("<a>{}<!-- -->{}</a>", &SQLI[..6], &SQLI[6..]))),
            ("a form with a word behind its type", post(&format!("{FORM} x"), form.clone())),
            ("a cookie with escapes", Request::get("/").header("Cookie", form.replace('+', "%20"))),
            (
                "a cookie of JSON",
                Request::get("/").header("Cookie", "q=j%3A%7B%22k%22%3A%221%27%20OR%20%271%27%3D%271%27%20--%20%22%7D"),
            ),
        ] {
            assert_eq!(nginx.send(&browser(request)).status, 403, "{what}");
        }
    }
}

#[test]
fn compressed_bodies_are_read_where_the_policy_says_so() {
    let nginx = serve(&expressions("on", "    inflate: true\n"), "closed");
    let send = |body: Vec<u8>| nginx.send(&post(FORM, body).header("Content-Encoding", "gzip"));
    assert_eq!(send(gzip("q=1%27%3D%271")).status, 403);
    let harmless = gzip("q=red+shoes");
    let passed = send(harmless.clone());
    assert_eq!((passed.status, &passed.json()["body_length"]), (200, &json!(harmless.len())), "it is sent as it came");
    assert_eq!(send(b"no gzip".to_vec()).status, 400);
    assert_eq!(send(gzip(&format!("q={}", "x".repeat(2 << 20)))).status, 413, "inflated past the limit");
}

#[test]
fn parts_with_a_charset_are_no_attack() {
    let nginx = serve(&crs("on"), "closed");
    let head = "Content-Disposition: form-data; name=\"note\"\r\nContent-Type: text/plain; charset=utf-8";
    assert_eq!(nginx.send(&browser(post(MULTIPART, part(head, "hello")))).status, 200);
}
