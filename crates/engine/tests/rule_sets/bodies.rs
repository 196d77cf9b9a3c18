//! Bodies of requests, by their kind.

use weir_engine::seclang::Tuning;

use crate::site::{Request, Site, check};

const RULES: &str = "SecRule ARGS:k \"@streq v\" \"id:1,phase:2,pass\"\n\
                     SecRule ARGS:json.k \"@streq v\" \"id:2,phase:2,pass\"\n\
                     SecRule ARGS:json.list.array_1 \"@streq v\" \"id:3,phase:2,pass\"\n\
                     SecRule XML:/* \"@contains evil\" \"id:4,phase:2,pass\"\n\
                     SecRule XML://@* \"@contains evil\" \"id:5,phase:2,pass\"\n\
                     SecRule FILES \"@rx \\.php$\" \"id:6,phase:2,pass\"\n\
                     SecRule FILES_NAMES \"@streq f\" \"id:7,phase:2,pass\"\n\
                     SecRule REQBODY_ERROR \"@eq 1\" \"id:8,phase:2,pass\"\n\
                     SecRule INBOUND_DATA_ERROR \"@eq 1\" \"id:9,phase:2,pass\"\n\
                     SecRule MULTIPART_STRICT_ERROR \"@eq 1\" \"id:10,phase:2,pass\"\n\
                     SecRule ARGS_NAMES \"@streq k\" \"id:11,phase:2,pass\"\n";

fn site() -> Site {
    Site::tuned(RULES, Tuning { request_body: Some(true), processors_by_content_type: true, ..Tuning::default() })
}

#[test]
fn bodies_are_read_by_their_kind() {
    let part = |disposition: &str, value: &str| {
        format!("--B\r\nContent-Disposition: form-data; {disposition}\r\n\r\n{value}\r\n--B--\r\n")
    };
    let multipart = |body: String| Request::post("/", "multipart/form-data; boundary=B", body);
    let json = |body: &str| Request::post("/", "application/json", body);
    let xml = |body: &str| Request::post("/", "text/xml", body);
    for (request, expected) in [
        (Request::form("/", "k=v"), "1 11"),
        (Request::form("/", "k=%76"), "1 11"),
        (Request::form("/?k=v", ""), "1 11"),
        (Request::post("/", "text/plain", "k=v"), ""),
        (json("{\"k\":\"v\"}"), "2"),
        (json("{\"k\":\"\\u0076\"}"), "2"),
        (json("{\"list\":[\"a\",\"v\"]}"), "3"),
        (json("{\"k\":\"v\""), "2 8"),
        (xml("<a>is evil</a>"), "4"),
        (xml("<a b=\"is evil\">x</a>"), "5"),
        (xml("<a>evil"), "4 8"),
        (multipart(part("name=\"k\"", "v")), "1 11"),
        (multipart(part("name=\"f\"; filename=\"a.php\"", "x")), "6 7"),
        (Request::form("/", "k=v").truncated(), "1 9 11"),
    ] {
        assert_eq!(site().see(&request).ids(), expected, "{request:?}");
    }
}

#[test]
fn without_access_there_is_no_body() {
    let rules = "SecRequestBodyAccess Off\nSecRule ARGS:k|REQUEST_BODY \"@rx .\" \"id:1,phase:2,pass\"\n\
                 SecRule ARGS:q \"@rx .\" \"id:2,phase:2,pass\"\n";
    let site = Site::tuned(rules, Tuning::default());
    assert_eq!(site.see(&Request::form("/?q=1", "k=v")).ids(), "2");
}

#[test]
fn what_is_not_known_yet_is_empty() {
    let rules = "SecRule REQUEST_BODY \"@rx ^$\" \"id:1,phase:1,pass\"\nSecRule ARGS_POST:k \"@rx .\" \"id:2,phase:1,pass\"\n\
                 SecRule ARGS:k \"@rx v\" \"id:3,phase:2,pass\"\nSecRule RESPONSE_BODY \"!@rx .\" \"id:4,phase:2,pass\"\n";
    check([(rules, Request::form("/", "k=v"), "1 3 4")]);
}

#[test]
fn a_response_over_its_limit_is_cut_and_flagged() {
    let rules = "SecResponseBodyAccess On\nSecResponseBodyLimit 10\n\
                 SecRule OUTBOUND_DATA_ERROR \"@streq 1\" \"id:1,phase:4,pass\"\n\
                 SecRule OUTBOUND_DATA_ERROR \"@streq 0\" \"id:2,phase:4,pass\"\n\
                 SecRule RESPONSE_CONTENT_LENGTH \"@eq 10\" \"id:3,phase:4,pass\"\n\
                 SecRule OUTBOUND_DATA_ERROR \"@rx .\" \"id:4,phase:3,pass\"\n";
    let site = Site::tuned(rules, Tuning::default());
    for (length, kind, expected) in
        [(9, "text/html", "2"), (10, "text/html", "2 3"), (11, "text/html", "1 3"), (11, "image/png", "")]
    {
        let request = Request::get("/").answer(200, kind, &"x".repeat(length));
        assert_eq!(site.see(&request).ids(), expected, "{length} {kind}");
    }
}
