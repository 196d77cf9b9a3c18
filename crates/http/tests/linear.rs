//! No input is expensive: every parser reads four megabytes of anything repetitive, within a multiple of its length of
//! memory. One that looked again at all that came before would take the better part of an hour, byte by byte, and minutes
//! with vector instructions.

use bumpalo::Bump;
use weir_http::seclang::{Limits, View};
use weir_http::{
    AddressSource, Anomalies, ClientAddressConfig, ContentType, Extent, Faults, Head, Header, Transaction, Version,
    cookie, form, json, multipart, uri, xml,
};

#[path = "../../../tests/harness/hang.rs"]
mod hang;

/// The repeated fragments, alone and between a beginning and an end that give them a meaning.
const FRAGMENTS: &[&str] = &[
    "%",
    "%4",
    "%41",
    "+",
    "&",
    "=",
    "a=1&",
    "a=%41&",
    ";",
    "a=1;",
    "\"",
    "\\",
    "\\\"",
    "\\u0041",
    "\\ud83d",
    "[",
    "]",
    "{",
    "}",
    "{\"a\":",
    "[1,",
    "1,",
    "\"a\":1,",
    "\"\",",
    "-",
    "--x",
    "--x--",
    "\n--x--\n",
    "\r\n--x\r\n",
    "\n--x\n\n",
    "\r\n",
    "\n",
    "\r",
    " ",
    "\n a",
    ":",
    "a:b\r\n",
    "--xy\r\n",
    "; a=\"",
    "; a=b",
    ";=",
    ";\"",
    "<",
    "<a",
    "<a>",
    "</a>",
    "<a/>",
    "<a b='c'>",
    " b='c'",
    " b",
    "&amp;",
    "&#x41;",
    "&a",
    "&;",
    "<!--",
    "-->",
    "<!",
    "<![CDATA[",
    "]]>",
    "<?",
    "<!DOCTYPE a [",
    "<!ENTITY a 'b'>",
    "'",
    "for=\"",
    "for=10.1.1.1,",
    "10.1.1.1,",
    ",",
    "[",
    "\0",
    "\u{e9}",
];

type Parser = fn(&Bump, &[u8], &mut Anomalies);

/// The text around the fragments, and the parser for which it is meaningful.
const AROUND: &[(Parser, &str, &str)] = &[
    (read_uri, "", ""),
    (read_form, "", ""),
    (read_cookie, "", ""),
    (read_forwarded, "", ""),
    (read_json, "", ""),
    (read_json, "{\"a\":[", "]}"),
    (read_json, "\"", "\""),
    (read_json, "{\"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\":[", "]}"),
    (read_xml, "", ""),
    (read_xml, "<a", "/>"),
    (read_xml, "<a b='", "'>x</a>"),
    (read_xml, "<a>", "</a>"),
    (read_multipart, "", ""),
    (read_multipart, "--x\r\nContent-Disposition: form-data; name=\"", "\"\r\n\r\n1\r\n--x--"),
    (read_multipart, "--x\r\nContent-Disposition: form-data", "\r\n\r\n1\r\n--x--"),
    (read_multipart, "--x\r\n", ""),
    (read_content_type, "multipart/form-data", ""),
    (read_content_type, "multipart/form-data; boundary=\"", "\""),
    (view_head, "", ""),
    (view_form, "", ""),
    (view_json, "", ""),
    (view_json, "{\"a\":[", "]}"),
    (view_json, "\"", "\""),
    (view_json, "{\"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\":[", "]}"),
    (view_xml, "", ""),
    (view_xml, "<a", "/>"),
    (view_xml, "<a b='", "'>x</a>"),
    (view_xml, "<a>", "</a>"),
    (view_multipart, "", ""),
    (view_multipart, "--x\r\nContent-Disposition: form-data; name=\"", "\"\r\n\r\n1\r\n--x--"),
    (view_multipart, "--x\r\nContent-Disposition: form-data; name=a\r\n\r\n", "\r\n--x--"),
    (view_multipart, "--x\r\nContent-Disposition: form-data; wrong=a\r\n", ""),
    (view_multipart, "--x\r\n", ""),
];

const LENGTH: usize = 4 << 20;

fn read_uri(arena: &Bump, bytes: &[u8], found: &mut Anomalies) {
    let _ = (uri::decode(arena, bytes, true, found), uri::raw_path(bytes), uri::percent_is_valid(bytes));
}

fn read_form(arena: &Bump, bytes: &[u8], found: &mut Anomalies) {
    let _ = form::parse(arena, bytes, Extent::Whole, found);
}

fn read_cookie(arena: &Bump, bytes: &[u8], found: &mut Anomalies) {
    let _ = cookie::parse(arena, std::iter::once(bytes), found);
}

fn read_json(arena: &Bump, bytes: &[u8], found: &mut Anomalies) {
    let settings = json::Settings::new(json::Paths::Dotted, Extent::Whole);
    let mut faults = Faults::default();
    let _ = json::parse(arena, bytes, settings, &mut faults);
    *found |= faults.anomalies;
}

fn read_xml(arena: &Bump, bytes: &[u8], found: &mut Anomalies) {
    let mut faults = Faults::default();
    let _ = xml::parse(arena, bytes, Extent::Whole, &mut faults);
    *found |= faults.anomalies;
}

fn read_multipart(arena: &Bump, bytes: &[u8], found: &mut Anomalies) {
    let mut faults = Faults::default();
    let _ = multipart::parse(arena, bytes, b"x", true, Extent::Whole, &mut faults);
    *found |= faults.anomalies;
}

fn read_content_type(arena: &Bump, bytes: &[u8], found: &mut Anomalies) {
    *found |= ContentType::parse(arena, bytes).anomalies;
}

fn read_forwarded(_: &Bump, bytes: &[u8], found: &mut Anomalies) {
    let peer = "10.0.0.1".parse().expect("an address");
    for (source, name) in [(AddressSource::XForwardedFor, "x-forwarded-for"), (AddressSource::Forwarded, "forwarded")] {
        let trusted = vec!["10.0.0.0/8".parse().expect("a network")];
        let headers = [Header::new(name.as_bytes(), bytes)];
        let _ = ClientAddressConfig { trusted, source }.resolve(peer, &headers, None, found);
    }
}

fn view_head(arena: &Bump, bytes: &[u8], found: &mut Anomalies) {
    *found |= view(arena, bytes, &[Header::new(b"Cookie", bytes), Header::new(b"Authorization", bytes)], b"");
}

fn view_form(arena: &Bump, bytes: &[u8], found: &mut Anomalies) {
    let header = Header::new(b"Content-Type", b"application/x-www-form-urlencoded");
    *found |= view(arena, b"/", &[header], bytes);
}

fn view_json(arena: &Bump, bytes: &[u8], found: &mut Anomalies) {
    *found |= view(arena, b"/", &[Header::new(b"Content-Type", b"application/json")], bytes);
}

fn view_xml(arena: &Bump, bytes: &[u8], found: &mut Anomalies) {
    *found |= view(arena, b"/", &[Header::new(b"Content-Type", b"text/xml")], bytes);
}

fn view_multipart(arena: &Bump, bytes: &[u8], found: &mut Anomalies) {
    *found |= view(arena, b"/", &[Header::new(b"Content-Type", b"multipart/form-data; boundary=x")], bytes);
}

/// Reads all SecLang variables of a request.
fn view<'a>(arena: &'a Bump, target: &'a [u8], headers: &'a [Header<'a>], body: &'a [u8]) -> Anomalies {
    let address = std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    let head = Head {
        method: b"POST",
        target,
        path: b"/",
        query: b"",
        version: Version::Http11,
        host: b"",
        headers,
        peer: address,
        peer_port: 1,
        client: address,
        server: address,
        server_port: 2,
        tls: None,
        received_ms: 0,
    };
    let limits = Limits { xml_json_by_content_type: true, ..Limits::default() };
    let transaction = Transaction::new(head, arena);
    transaction.set_body(body);
    let view = View::new(&transaction, limits);
    view.set_body();
    let _ = (view.args_get(), view.args_body(), view.request_cookies(), view.files_sizes(), view.xml_text());
    let _ = (view.request_uri(), view.auth_type(), view.remote_user(), view.full_request(), view.reqbody_error());
    view.anomalies()
}

/// Runs the parser, and checks that it ends and what it allocates.
fn check(parser: Parser, text: String, what: &str) {
    let bytes = hang::ends(what, move || {
        let arena = Bump::new();
        parser(&arena, text.as_bytes(), &mut Anomalies::empty());
        arena.allocated_bytes()
    });
    assert!(bytes < 64 * LENGTH, "{what}: {bytes} bytes of arena");
}

#[test]
fn every_parser_is_linear() {
    for fragment in FRAGMENTS {
        let repeated = fragment.repeat(LENGTH / fragment.len());
        for (parser, begin, end) in AROUND {
            check(*parser, format!("{begin}{repeated}{end}"), &format!("{begin}{fragment}...{end}"));
        }
    }
}

/// Many closing delimiters before much white space: each once searched for the epilogue again.
#[test]
fn many_ends_before_much_space() {
    let text = format!("{}{}", "--x--\n".repeat(LENGTH / 6), " ".repeat(LENGTH));
    check(read_multipart, text, "ends before space");
}
