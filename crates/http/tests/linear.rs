//! No input is expensive: a quarter of a megabyte of anything repetitive takes every parser
//! milliseconds. A quadratic parser would take minutes, so the bound can be generous enough
//! for a busy machine and still tell.

use std::time::{Duration, Instant};

use bumpalo::Bump;
use weir_http::{
    Anomalies, ClientAddressConfig, ContentType, Extent, Header, Source, cookie, form, json, multipart, uri, xml,
};

/// What is repeated, alone and between a beginning and an end that give it a meaning.
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

/// What stands around the fragments, and the parser that it means something to.
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
];

const LENGTH: usize = 256 * 1024;

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
    let _ = json::parse(arena, bytes, Extent::Whole, found);
}

fn read_xml(arena: &Bump, bytes: &[u8], found: &mut Anomalies) {
    let _ = xml::parse(arena, bytes, Extent::Whole, found);
}

fn read_multipart(arena: &Bump, bytes: &[u8], found: &mut Anomalies) {
    let _ = multipart::parse(arena, bytes, b"x", Extent::Whole, found);
}

fn read_content_type(arena: &Bump, bytes: &[u8], found: &mut Anomalies) {
    let _ = ContentType::parse(arena, bytes, found);
}

fn read_forwarded(_: &Bump, bytes: &[u8], found: &mut Anomalies) {
    let peer = "10.0.0.1".parse().expect("an address");
    for (source, name) in [(Source::XForwardedFor, "x-forwarded-for"), (Source::Forwarded, "forwarded")] {
        let trusted = vec!["10.0.0.0/8".parse().expect("a network")];
        let headers = [Header::new(name.as_bytes(), bytes)];
        let _ = ClientAddressConfig { trusted, source }.resolve(peer, &headers, None, found);
    }
}

/// Runs the parser and checks what it cost.
fn check(parser: Parser, text: &str, what: &str) {
    let arena = Bump::new();
    let start = Instant::now();
    parser(&arena, text.as_bytes(), &mut Anomalies::empty());
    let took = start.elapsed();
    assert!(took < Duration::from_secs(3), "{what}: {took:?}");
    let bytes = arena.allocated_bytes();
    assert!(bytes < 64 * LENGTH, "{what}: {bytes} bytes of arena");
}

#[test]
fn every_parser_is_linear() {
    for fragment in FRAGMENTS {
        let repeated = fragment.repeat(LENGTH / fragment.len());
        for (parser, begin, end) in AROUND {
            check(*parser, &format!("{begin}{repeated}{end}"), &format!("{begin}{fragment}...{end}"));
        }
    }
}

/// Many closing delimiters before much white space: each once looked for the epilogue anew.
#[test]
fn many_ends_before_much_space() {
    let text = format!("{}{}", "--x--\n".repeat(LENGTH / 6), " ".repeat(LENGTH));
    check(read_multipart, &text, "ends before space");
}
