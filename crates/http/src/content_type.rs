//! `Content-Type`: the media type, the body format, and the multipart boundary.

use bumpalo::Bump;

use crate::bound::MAX_BOUNDARY_BYTES;
use crate::parameter::{Parameter, parameters};
use crate::{Anomalies, text};

/// The format of a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BodyKind {
    /// `application/x-www-form-urlencoded`
    Form,
    /// `multipart/*`
    Multipart,
    /// `application/json`, `text/json`, `*/*+json`
    Json,
    /// `application/xml`, `text/xml`, `*/*+xml`
    Xml,
    /// Anything else, or no `Content-Type`.
    #[default]
    Other,
}

/// Media types with their formats; others are classified by prefix and suffix.
const KINDS: &[(&[u8], BodyKind)] = &[
    (b"application/x-www-form-urlencoded", BodyKind::Form),
    (b"application/json", BodyKind::Json),
    (b"text/json", BodyKind::Json),
    (b"application/xml", BodyKind::Xml),
    (b"text/xml", BodyKind::Xml),
];

/// A parsed `Content-Type`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContentType<'a> {
    /// Media type in lower case, without parameters; empty if none was sent.
    pub mime: &'a [u8],
    /// The `boundary` parameter, unquoted; the first if there are several.
    pub boundary: Option<&'a [u8]>,
    /// The format of the body.
    pub kind: BodyKind,
}

impl<'a> ContentType<'a> {
    /// Parses the field value. In a multipart type, a boundary that is missing, repeated, too long
    /// or not printable raises [`Anomalies::INVALID_MULTIPART`].
    #[must_use]
    pub fn parse(arena: &'a Bump, value: &'a [u8], anomalies: &mut Anomalies) -> Self {
        let end = memchr::memchr(b';', value).unwrap_or(value.len());
        let mime = text::lower(arena, text::trim(&value[..end]));
        let kind = kind_of(mime);
        let mut boundary = None;
        if kind == BodyKind::Multipart {
            let mut valid = true;
            for Parameter { name, value, terminated } in parameters(&value[end..]) {
                if name.eq_ignore_ascii_case(b"boundary") {
                    valid &= terminated && boundary.is_none();
                    boundary = boundary.or(Some(value.unescaped(arena)));
                }
            }
            if !valid || !boundary.is_some_and(boundary_is_valid) {
                *anomalies |= Anomalies::INVALID_MULTIPART;
            }
        }
        Self { mime, boundary, kind }
    }
}

/// The format for a lower-case media type.
fn kind_of(mime: &[u8]) -> BodyKind {
    let named = KINDS.iter().find(|(name, _)| *name == mime).map(|(_, kind)| *kind);
    named.unwrap_or_else(|| {
        if mime.starts_with(b"multipart/") {
            BodyKind::Multipart
        } else if mime.ends_with(b"+json") {
            BodyKind::Json
        } else if mime.ends_with(b"+xml") {
            BodyKind::Xml
        } else {
            BodyKind::Other
        }
    })
}

/// RFC 2046, section 5.1.1, extended to all printable ASCII, which browsers and libraries respect.
fn boundary_is_valid(boundary: &[u8]) -> bool {
    let printable = boundary.iter().all(|byte| (0x20..0x7f).contains(byte));
    printable && (1..=MAX_BOUNDARY_BYTES).contains(&boundary.len()) && !boundary.ends_with(b" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parses() {
        const BAD: Anomalies = Anomalies::INVALID_MULTIPART;
        const GOOD: Anomalies = Anomalies::empty();
        let cases: [(&str, &str, BodyKind, Option<&str>, Anomalies); 22] = [
            ("", "", BodyKind::Other, None, GOOD),
            ("text/plain; charset=utf-8", "text/plain", BodyKind::Other, None, GOOD),
            ("Application/X-WWW-Form-URLencoded;x", "application/x-www-form-urlencoded", BodyKind::Form, None, GOOD),
            ("application/json", "application/json", BodyKind::Json, None, GOOD),
            (" application/problem+JSON ; a=b", "application/problem+json", BodyKind::Json, None, GOOD),
            ("text/json", "text/json", BodyKind::Json, None, GOOD),
            ("text/xml", "text/xml", BodyKind::Xml, None, GOOD),
            ("application/soap+xml", "application/soap+xml", BodyKind::Xml, None, GOOD),
            ("application/jsonp", "application/jsonp", BodyKind::Other, None, GOOD),
            ("multipart/form-data; boundary=abc", "multipart/form-data", BodyKind::Multipart, Some("abc"), GOOD),
            ("multipart/form-data;BOUNDARY=\"a;b c\"", "multipart/form-data", BodyKind::Multipart, Some("a;b c"), GOOD),
            ("multipart/mixed; a=b; boundary = x ;c", "multipart/mixed", BodyKind::Multipart, Some("x"), GOOD),
            ("multipart/form-data", "multipart/form-data", BodyKind::Multipart, None, BAD),
            ("multipart/form-data; boundary", "multipart/form-data", BodyKind::Multipart, Some(""), BAD),
            ("multipart/form-data; boundary=", "multipart/form-data", BodyKind::Multipart, Some(""), BAD),
            ("multipart/form-data; boundary=\"\"", "multipart/form-data", BodyKind::Multipart, Some(""), BAD),
            ("multipart/form-data; boundary=a; boundary=b", "multipart/form-data", BodyKind::Multipart, Some("a"), BAD),
            ("multipart/form-data; boundary=\"a", "multipart/form-data", BodyKind::Multipart, Some("a"), BAD),
            ("multipart/form-data; boundary=\"a \"", "multipart/form-data", BodyKind::Multipart, Some("a "), BAD),
            (
                "multipart/form-data; boundary=\"a\\\"b\"",
                "multipart/form-data",
                BodyKind::Multipart,
                Some("a\"b"),
                GOOD,
            ),
            ("multipart/form-data; boundary=a\tb", "multipart/form-data", BodyKind::Multipart, Some("a\tb"), BAD),
            ("multipart/form-data; xboundary=a", "multipart/form-data", BodyKind::Multipart, None, BAD),
        ];
        let arena = Bump::new();
        for (value, mime, kind, boundary, anomalies) in cases {
            let mut found = Anomalies::empty();
            let parsed = ContentType::parse(&arena, value.as_bytes(), &mut found);
            let expected = ContentType { mime: mime.as_bytes(), boundary: boundary.map(str::as_bytes), kind };
            assert_eq!((parsed, found), (expected, anomalies), "{value}");
        }
    }

    #[test]
    fn flags_long_boundaries() {
        let arena = Bump::new();
        for (length, expected) in [(70, Anomalies::empty()), (71, Anomalies::INVALID_MULTIPART)] {
            let value = arena.alloc_str(&format!("multipart/form-data; boundary={}", "b".repeat(length)));
            let mut found = Anomalies::empty();
            let parsed = ContentType::parse(&arena, value.as_bytes(), &mut found);
            assert_eq!((parsed.boundary.map(<[u8]>::len), found), (Some(length), expected));
        }
    }

    proptest! {
        #[test]
        fn takes_any_bytes(tail: Vec<u8>) {
            let arena = Bump::new();
            let value = [b"multipart/form-data;boundary=\"", &tail[..]].concat();
            let _ = ContentType::parse(&arena, &value, &mut Anomalies::empty());
            let _ = ContentType::parse(&arena, &tail, &mut Anomalies::empty());
        }
    }
}
