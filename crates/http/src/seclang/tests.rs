//! The view as a whole: order of access, and dependencies between variables.

use proptest::prelude::*;

use super::*;
use crate::{Head, Tls, Version};

/// Applies `question` to the view of a request.
fn ask<T>(target: &str, headers: &[(&str, &str)], body: &str, limits: Limits, question: impl Fn(&View<'_>) -> T) -> T {
    let arena = Bump::new();
    let headers: Vec<Header<'_>> =
        headers.iter().map(|(name, value)| Header::new(name.as_bytes(), value.as_bytes())).collect();
    let head = Head {
        method: b"POST",
        target: target.as_bytes(),
        path: b"/",
        query: b"",
        version: Version::Http11,
        host: b"h",
        headers: &headers,
        peer: [10, 0, 0, 1].into(),
        peer_port: 4000,
        client: [192, 0, 2, 1].into(),
        server: [10, 0, 0, 2].into(),
        server_port: 80,
        tls: None::<Tls<'_>>,
        received_ms: 0,
    };
    let transaction = Transaction::new(head, &arena);
    transaction.set_body(arena.alloc_slice_copy(body.as_bytes()));
    let view = View::new(&transaction, limits);
    view.set_body();
    question(&view)
}

const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");
const JSON: (&str, &str) = ("content-type", "application/json");

fn all() -> Limits {
    Limits { xml_json_by_content_type: true, ..Limits::default() }
}

fn text(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

#[test]
fn scalars() {
    let headers = [
        ("Host", "example.com:8080"),
        ("Authorization", "Basic dXNlcjpwYXNz"),
        ("Cookie", "a=1; b"),
        ("Cookie", "a=2"),
        FORM,
    ];
    let shown = ask("/p/a%20b?x=%41&y#f", &headers, "z=%zz", all(), |view| {
        [
            view.request_line(),
            view.request_uri(),
            view.request_uri_raw(),
            view.request_filename(),
            view.request_basename(),
            view.query_string(),
            view.request_method(),
            view.request_protocol(),
            view.server_name(),
            view.auth_type(),
            view.remote_user().unwrap_or(b"none"),
            view.remote_addr(),
            view.remote_port(),
            view.server_addr(),
            view.server_port(),
            view.reqbody_processor(),
            view.reqbody_error(),
            view.urlencoded_error(),
            view.inbound_data_error(),
            view.args_combined_size(),
            view.files_combined_size(),
            view.request_body_length(),
            view.multipart_unmatched_boundary(),
            view.full_request_length(),
        ]
        .map(text)
        .join("|")
    });
    let full = "Host: example.com:8080\nAuthorization: Basic dXNlcjpwYXNz\nCookie: a=1; b\nCookie: a=2\n\
                Content-Type: application/x-www-form-urlencoded\n\n\nz=%zz";
    let expected = "POST /p/a%20b?x=%41&y#f HTTP/1.1|/p/a b?x=A&y#f|/p/a%20b?x=%41&y#f|/p/a b|a b|x=%41&y#f|POST|HTTP/1.1\
                    |example.com|Basic|user|192.0.2.1|4000|10.0.0.2|80|URLENCODED|0|1|0|9.000000||5|";
    assert_eq!(shown, format!("{expected}|{}", full.len()));
    let cookies =
        ask("/", &headers, "", all(), |view| (self::shown(view.request_cookies()), text(view.full_request())));
    assert_eq!(cookies.0, "a=1|b=|a=2");
    assert!(full.starts_with(&cookies.1.replace("\\n", "\n")));
}

#[test]
fn the_content_type_chooses_the_processor() {
    let cases: [(&[&str], &str, &str); 12] = [
        (&[], "", ""),
        (&["text/plain"], "", ""),
        (&["application/x-www-form-urlencoded"], "URLENCODED", "URLENCODED"),
        (&["APPLICATION/X-WWW-form-urlencoded y"], "URLENCODED", "URLENCODED"),
        (&["multipart/form-data; boundary=a"], "MULTIPART", "MULTIPART"),
        (&["multipart/mixed; boundary=a"], "MULTIPART", "MULTIPART"),
        (&["application/json; charset=x"], "", "JSON"),
        (&["application/vnd.api+JSON"], "", "JSON"),
        (&["application/+json"], "", "JSON"),
        (&["text/xml"], "", "XML"),
        (&["application/soap+xml", "application/x-www-form-urlencoded"], "URLENCODED", "URLENCODED"),
        (&["multipart/form-data", "application/x-www-form-urlencoded", "x"], "URLENCODED", "URLENCODED"),
    ];
    for (types, without, with) in cases {
        let headers: Vec<_> = types.iter().map(|value| ("Content-Type", *value)).collect();
        let name = |limits| ask("/", &headers, "", limits, |view| text(view.reqbody_processor()));
        assert_eq!((name(Limits::default()), name(all())), (without.to_owned(), with.to_owned()), "{types:?}");
    }
    let chosen = ask("/", &[("Content-Type", "text/plain")], "[1]", all(), |view| {
        view.set_processor(BodyProcessor::Json);
        (view.reqbody_processor(), shown(view.args_body()))
    });
    assert_eq!(chosen, (&b"JSON"[..], "json.array_0=1".to_owned()));
}

#[test]
fn json_is_in_args_but_not_in_args_post() {
    let found = ask("/?q=1", &[JSON], r#"{"a":[true]}"#, all(), |view| {
        (shown(view.args_get()), shown(view.args_body()), view.args_post().len(), text(view.args_combined_size()))
    });
    assert_eq!(found, ("q=1".into(), "json.a.array_0=true".into(), 0, "20.000000".into()));
}

#[test]
fn errors() {
    let of = |view: &View<'_>| {
        [view.reqbody_error(), view.reqbody_processor_error(), view.inbound_data_error(), view.reqbody_error_msg()]
            .map(text)
            .join("|")
    };
    const LONG: &str = "1||1|Request body excluding files is bigger than the maximum expected.";
    let short = Limits { no_files_bytes: Some(3), ..all() };
    let multipart = ("Content-Type", "multipart/form-data; boundary=abc");
    let cases = [
        (FORM, "a=1", all(), "0|0|0|"),
        (FORM, "a=1", short, "0|0|0|"),
        (FORM, "a=12", short, LONG),
        (JSON, "", all(), "0|0|0|"),
        (JSON, "[1]", short, "0|0|0|"),
        (JSON, "[12]", short, LONG),
        (JSON, "[1", all(), "1|1|0|invalid_json: end of the body within the document at byte 2"),
        (JSON, "[[1]]", Limits { json_depth: 1, ..all() }, "1|1|0|too_deep: JSON nested too deep at byte 2"),
        (("Content-Type", "text/xml"), "", all(), "0|0|0|"),
        (("Content-Type", "text/xml"), "<a/>", all(), "0|0|0|"),
        (("Content-Type", "text/xml"), "<a>", all(), "1|1|0|invalid_xml: element without its end at byte 3"),
        (("Content-Type", "text/plain"), "xxxx", short, "||0|"),
        (multipart, "", all(), "0|0|0|"),
        (multipart, "x", all(), "1|1|0|invalid_multipart: no boundary in the body at byte 0"),
        (multipart, "--abc\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--abc--", short, LONG),
    ];
    for (header, body, limits, expected) in cases {
        assert_eq!(ask("/", &[header], body, limits, of), expected, "{body}");
    }
}

#[test]
fn arguments_past_the_limit_are_flagged() {
    let limits = Limits { arguments: 3, ..all() };
    let found = ask("/?a&b", &[FORM], "c&d", limits, |view| {
        (shown(view.args_get()), shown(view.args_body()), view.anomalies())
    });
    assert_eq!(found, ("a=|b=".into(), "c=".into(), Anomalies::TOO_MANY_ITEMS));
    let json = ask("/?a&b", &[JSON], "[1,2]", limits, |view| (view.args_body().len(), text(view.reqbody_error())));
    assert_eq!(json, (1, "1".into()));
}

#[test]
fn variables_of_the_body_are_empty_before_it_is_known() {
    let arena = Bump::new();
    let headers = [Header::new(b"Content-Type", b"application/x-www-form-urlencoded")];
    ask("/?q", &[], "", all(), |view| {
        let head = Head { headers: &headers, target: b"/?q", ..view.request.head };
        let transaction = Transaction::new(head, &arena);
        let view = View::new(&transaction, all());
        assert_eq!((view.args_body().len(), view.reqbody_error(), view.full_request()), (0, &b""[..], &b""[..]));
        assert_eq!((view.args_combined_size(), view.inbound_data_error()), (&b"1.000000"[..], &b""[..]));
        transaction.set_body(b"a=1");
        transaction.set_body_truncated();
        view.set_body();
        assert_eq!((shown(view.args_post()), view.args_combined_size()), ("a=1".into(), &b"3.000000"[..]));
        assert_eq!(view.inbound_data_error(), b"1");
    });
}

#[test]
fn plain_arguments_are_borrowed() {
    let body = "first=one&second=two&empty=";
    ask("/?a=b", &[FORM], body, all(), |view| {
        let bytes = view.request_body().as_ptr_range();
        for pair in view.args_body() {
            assert!(bytes.contains(&pair.name.as_ptr()) && bytes.start <= pair.value.as_ptr());
        }
    });
}

#[test]
fn response() {
    ask("/", &[], "", all(), |view| {
        assert_eq!(
            (view.response_status(), view.response_protocol(), view.response_content_type()),
            (&b""[..], &b""[..], &b""[..])
        );
        let headers = view.arena.alloc_slice_copy(&[Header::new(b"content-TYPE", b"text/html; charset=x")]);
        view.set_response(ResponseHead { status: 404, headers });
        assert_eq!(view.outbound_data_error(), b"");
        view.set_response_body(b"gone");
        assert_eq!(view.outbound_data_error(), b"0");
        view.set_response_body_truncated();
        assert_eq!(view.outbound_data_error(), b"1");
        assert_eq!((view.response_status(), view.response_protocol()), (&b"404"[..], &b"HTTP/1.1"[..]));
        assert_eq!(shown(view.response_headers()), "content-TYPE=text/html; charset=x");
        assert_eq!((view.response_content_type(), view.response_content_length()), (&b"text/html"[..], &b"4"[..]));
    });
}

proptest! {
    #[test]
    fn takes_any_request(target: String, name in "(?i)cookie|content-type|authorization|x", value: String, kind in 0..4usize, body: String) {
        const TYPES: [&str; 4] =
            ["text/xml", "application/json", "multipart/form-data; boundary=a", "application/x-www-form-urlencoded"];
        let headers = [(&name[..], &value[..]), ("Content-Type", TYPES[kind])];
        ask(&target, &headers, &body, all(), |view| {
            let pieces = view.args_get().iter().chain(view.request_cookies()).chain(view.args_body());
            assert!(pieces.map(|pair| pair.value.len()).sum::<usize>() <= target.len() + value.len() + 3 * body.len());
            let _ = (view.request_uri(), view.remote_user(), view.xml_text(), view.reqbody_error_msg());
        });
    }
}
