//! Forms, multipart, JSON and XML bodies, as rules see them.

use serde_json::json;
use weir_tests::origin::Echo;
use weir_tests::{Request, Setup};

const POLICY: &str = r#"
policies:
  - id: p
    rules:
      - {id: form, when: 'any(http.request.body.form["user"][*] eq "o''brien & co")', action: block}
      - {id: file-name, when: 'any(lower(http.request.body.multipart.filenames[*])[*] matches "\.php\d?$")', action: block}
      - {id: file-type, when: 'any(http.request.body.multipart.content_types[*] contains "x-evil")', action: block}
      - {id: file-size, when: 'any(http.request.body.multipart.sizes[*] gt 1000)', action: block}
      - {id: file-content, when: 'any(http.request.body.multipart.values[*] contains "<?php")', action: block}
      - {id: json-path, when: 'any(http.request.body.json["items.1.name"][*] eq "evil")', action: block}
      - {id: json-any, when: 'any(http.request.body.json.values[*] contains "attack-json")', action: block}
      - {id: xml, when: 'any(http.request.body.xml[*] contains "attack-xml")', action: block}
      - {id: broken, when: 'any(http.request.anomalies[*] in {"invalid_json" "invalid_multipart" "invalid_xml"}) and http.request.body.size gt 0', action: {block: 400}}
"#;

fn multipart(file: &str, content_type: &str, content: &str) -> Request {
    let body = format!(
        "--B\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nhello\r\n\
         --B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{file}\"\r\nContent-Type: {content_type}\r\n\r\n{content}\r\n--B--\r\n"
    );
    Request::post("/", "multipart/form-data; boundary=B", body)
}

#[test]
fn each_kind_of_body_is_parsed_for_its_rules() {
    let nginx = Setup::policy(POLICY).proxy(Echo::start()).start();
    let form = |body: &str| Request::post("/", "application/x-www-form-urlencoded; charset=utf-8", body);
    let json_body = |body: &str| Request::post("/", "application/json", body);
    let xml = |body: &str| Request::post("/", "text/xml", body);
    let cases = [
        ("", form("user=smith&x=%")),
        ("form", form("a=1&user=o%27brien+%26+co")),
        ("", multipart("cat.jpg", "image/jpeg", "meow")),
        ("file-name", multipart("shell.PHP5", "image/jpeg", "meow")),
        ("file-type", multipart("cat.jpg", "application/x-evil", "meow")),
        ("file-size", multipart("cat.jpg", "image/jpeg", &"m".repeat(1001))),
        ("file-content", multipart("cat.jpg", "image/jpeg", "GIF89a<?php system($_GET[0]);")),
        ("", json_body(r#"{"items": [{"name": "evil"}, {"name": "good"}]}"#)),
        ("json-path", json_body(r#"{"items": [{"name": "good"}, {"name": "e\u0076il"}]}"#)),
        ("json-any", Request::post("/", "application/vnd.api+json", r#"[[["attack-json"]]]"#)),
        ("", xml("<a b='c'>text</a>")),
        ("xml", xml("<a><b x='&#97;ttack-xml'/></a>")),
        ("xml", xml("<a><![CDATA[attack-xml]]></a>")),
        ("", form("attack-json=attack-xml")),
    ];
    let mut expected = Vec::new();
    for (rule, request) in &cases {
        let response = nginx.send(request);
        let wanted = if rule.is_empty() { 200 } else { 403 };
        assert_eq!(response.status, wanted, "{rule}: {}", String::from_utf8_lossy(&request.wire()));
        if !rule.is_empty() {
            expected.push(json!([rule]));
        }
    }
    let lines = nginx.attacks(expected.len());
    let mut found: Vec<_> = lines.iter().map(|line| line["rule_ids"].clone()).collect();
    found.sort_by_key(ToString::to_string);
    expected.sort_by_key(ToString::to_string);
    assert_eq!(found, expected);
}

#[test]
fn malformed_bodies_set_flags_that_rules_can_read() {
    let nginx = Setup::policy(POLICY).proxy(Echo::start()).start();
    for (content_type, body) in [
        ("application/json", r#"{"a": "#),
        ("multipart/form-data; boundary=B", "--B\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\nno end"),
        ("text/xml", "<a><b></a>"),
    ] {
        assert_eq!(nginx.send(&Request::post("/", content_type, body)).status, 400, "{content_type}");
    }
}
