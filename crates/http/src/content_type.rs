//! `Content-Type`: the media type, the body format, and the multipart boundary.

use bumpalo::Bump;

use crate::bound::MAX_BOUNDARY_BYTES;
use crate::multipart::MultipartFlags;
use crate::parameter::{Parameter, parameters};
use crate::{Anomalies, text};

/// The format of a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BodyKind {
    /// `application/x-www-form-urlencoded`
    Form,
    /// `multipart/*`
    Multipart,
    /// `application/json`, `text/json`, `*/*+json`; any type with a word that begins or ends with `json`
    Json,
    /// `application/xml`, `text/xml`, `*/*+xml`; any type with the word `xml`
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
    /// Whether a JSON body may have several documents, as that of `application/x-ndjson` has: types that are not
    /// exactly JSON may.
    pub has_documents: bool,
    /// Liberties that a multipart type takes.
    pub flags: MultipartFlags,
    /// Reasons not to trust how a body of this type is read.
    pub anomalies: Anomalies,
}

impl<'a> ContentType<'a> {
    /// Parses the fields of a request, of which the last with a known format counts. Fields that
    /// differ raise [`Anomalies::INVALID_CONTENT_TYPE`], because servers choose differently.
    #[must_use]
    pub fn of_request(arena: &'a Bump, values: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut result: Option<Self> = None;
        let mut differ = false;
        let mut before: Option<&[u8]> = None;
        for value in values {
            differ |= before.replace(value).is_some_and(|before| before != value);
            let parsed = Self::parse(arena, value);
            if parsed.kind != BodyKind::Other || result.is_none() {
                result = Some(parsed);
            }
        }
        let mut parsed = result.unwrap_or_default();
        if differ {
            parsed.anomalies |= Anomalies::INVALID_CONTENT_TYPE;
        }
        parsed
    }

    /// Parses one field value. The media type ends where a token does, as in PHP. In a multipart
    /// type, a boundary that is missing, repeated, too long or not printable raises
    /// [`Anomalies::INVALID_MULTIPART`]; a charset that does not extend ASCII raises
    /// [`Anomalies::INVALID_CONTENT_TYPE`].
    #[must_use]
    pub fn parse(arena: &'a Bump, value: &'a [u8]) -> Self {
        if let Some((mime, kind)) = KINDS.iter().find(|(name, _)| *name == value) {
            return Self { mime, kind: *kind, ..Self::default() };
        }
        let value = text::trim(value);
        let end = value.iter().position(|byte| !is_media_type_byte(*byte)).unwrap_or(value.len());
        let mime = text::lower(arena, &value[..end]);
        let (kind, is_exact) = match kind_of(mime) {
            BodyKind::Other => (similar_kind(value), false),
            kind => (kind, true),
        };
        let has_documents = kind == BodyKind::Json && !is_exact;
        let mut parsed = Self { mime, kind, has_documents, ..Self::default() };
        if kind == BodyKind::Multipart {
            if !parsed.read_boundary(arena, &value[end..]) {
                parsed.anomalies |= Anomalies::INVALID_MULTIPART;
            }
        } else if kind != BodyKind::Other && !charset_is_readable(value) {
            parsed.anomalies |= Anomalies::INVALID_CONTENT_TYPE;
        }
        parsed
    }

    /// Finds the boundary in the text after the media type; `false` if parsers disagree about it.
    fn read_boundary(&mut self, arena: &'a Bump, rest: &'a [u8]) -> bool {
        let mut valid = true;
        for parameter @ Parameter { name, value, quoted, .. } in parameters(rest) {
            if name.eq_ignore_ascii_case(b"boundary") {
                let bare = quoted || !value.raw().iter().any(|byte| matches!(byte, b' ' | b'\t' | b',' | b'"' | b'\''));
                valid &= parameter.is_complete() && self.boundary.is_none() && bare;
                self.flags.set(MultipartFlags::BOUNDARY_QUOTED, quoted);
                self.boundary = self.boundary.or(Some(value.unescaped(arena)));
            }
        }
        if memchr::memchr2(b'=', b';', rest).is_some_and(|at| rest[at] == b'=') {
            valid = false;
            self.flags |= MultipartFlags::MISSING_SEMICOLON;
            self.boundary = self.boundary.or_else(|| loose_boundary(rest));
        }
        let at = memchr::memmem::find(rest, b"boundary").map_or(rest.len(), |at| at + b"boundary".len());
        if let [before, b'=', after, ..] | [b'=', before @ after, ..] = &rest[at..]
            && (before.is_ascii_whitespace() || after.is_ascii_whitespace())
        {
            self.flags |= MultipartFlags::BOUNDARY_WHITESPACE;
        }
        valid && self.boundary.is_some_and(boundary_is_valid)
    }
}

/// The boundary that PHP would find without a semicolon before it.
fn loose_boundary(rest: &[u8]) -> Option<&[u8]> {
    let word = b"boundary";
    let at = rest.windows(word.len()).position(|window| window.eq_ignore_ascii_case(word))?;
    let value = &rest[at + memchr::memchr(b'=', &rest[at..])? + 1..];
    let end = value.iter().position(|byte| matches!(byte, b';' | b',')).unwrap_or(value.len());
    Some(text::trim(&value[..end]))
}

/// RFC 9110, section 5.6.2, and the slash between type and subtype.
fn is_media_type_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-'..=b'/' | b'^'..=b'`' | b'|' | b'~')
}

/// Encodings that are not based on ASCII, by the start of their names in lower case: a rule cannot read
/// what they contain. Others leave what attacks consist of as it is.
const UNREADABLE_CHARSETS: [&[u8]; 12] = [
    b"utf-16",
    b"utf16",
    b"utf-32",
    b"utf32",
    b"utf-7",
    b"utf7",
    b"ucs",
    b"iso-10646",
    b"ibm",
    b"cp037",
    b"cp1026",
    b"hz",
];

/// Whether a `Content-Type` has no charset, or one that extends ASCII.
pub(crate) fn charset_is_readable(value: &[u8]) -> bool {
    let Some(at) = memchr::memchr(b';', value) else { return true };
    parameters(&value[at..]).filter(|parameter| parameter.name.eq_ignore_ascii_case(b"charset")).all(|parameter| {
        let name = parameter.value.raw();
        let starts = |start: &&[u8]| name.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start));
        !UNREADABLE_CHARSETS.iter().any(starts)
    })
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

/// The format that servers take a type for that look for a word in it: Laravel and others search for `json`.
fn similar_kind(value: &[u8]) -> BodyKind {
    let end = memchr::memchr(b';', value).unwrap_or(value.len());
    let is = |word: &[u8], piece: Option<&[u8]>| piece.is_some_and(|piece| piece.eq_ignore_ascii_case(word));
    for word in value[..end].split(|byte| !byte.is_ascii_alphanumeric()) {
        if is(b"json", word.first_chunk::<4>().map(<[u8; 4]>::as_slice))
            || is(b"json", word.last_chunk::<4>().map(<[u8; 4]>::as_slice))
        {
            return BodyKind::Json;
        }
        if is(b"xml", Some(word)) {
            return BodyKind::Xml;
        }
    }
    BodyKind::Other
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
    fn types_that_contain_a_format_have_it() {
        for (value, kind, has_documents) in [
            ("application/json", BodyKind::Json, false),
            ("application/vnd.api+json; charset=utf-8", BodyKind::Json, false),
            ("application/x-ndjson", BodyKind::Json, true),
            ("application/JSONlines", BodyKind::Json, true),
            ("text/plain, application/json", BodyKind::Json, true),
            ("json", BodyKind::Json, true),
            ("text/plain; profile=json", BodyKind::Other, false),
            ("application/x-xml", BodyKind::Xml, false),
            ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", BodyKind::Other, false),
            ("multipart/json; boundary=b", BodyKind::Multipart, false),
        ] {
            let arena = Bump::new();
            let parsed = ContentType::parse(&arena, value.as_bytes());
            assert_eq!((parsed.kind, parsed.has_documents), (kind, has_documents), "{value}");
        }
    }

    #[test]
    fn parses() {
        const BAD: Anomalies = Anomalies::INVALID_MULTIPART;
        const GOOD: Anomalies = Anomalies::empty();
        const TYPE: Anomalies = Anomalies::INVALID_CONTENT_TYPE;
        let cases: [(&str, &str, BodyKind, Option<&str>, Anomalies); 29] = [
            ("", "", BodyKind::Other, None, GOOD),
            ("application/x-www-form-urlencoded x", "application/x-www-form-urlencoded", BodyKind::Form, None, GOOD),
            ("application/json; charset=windows-1252", "application/json", BodyKind::Json, None, GOOD),
            ("application/json; charset=\"UTF-16\"", "application/json", BodyKind::Json, None, TYPE),
            ("text/xml;charset=ibm037", "text/xml", BodyKind::Xml, None, TYPE),
            ("multipart/form-data boundary=abc", "multipart/form-data", BodyKind::Multipart, Some("abc"), BAD),
            ("multipart/form-data, boundary=abc,x", "multipart/form-data", BodyKind::Multipart, Some("abc"), BAD),
            ("multipart/form-data; boundary=a,b", "multipart/form-data", BodyKind::Multipart, Some("a,b"), BAD),
            ("text/plain; charset=utf-8", "text/plain", BodyKind::Other, None, GOOD),
            ("Application/X-WWW-Form-URLencoded;x", "application/x-www-form-urlencoded", BodyKind::Form, None, GOOD),
            ("application/json", "application/json", BodyKind::Json, None, GOOD),
            (" application/problem+JSON ; a=b", "application/problem+json", BodyKind::Json, None, GOOD),
            ("text/json", "text/json", BodyKind::Json, None, GOOD),
            ("text/xml", "text/xml", BodyKind::Xml, None, GOOD),
            ("application/soap+xml", "application/soap+xml", BodyKind::Xml, None, GOOD),
            ("application/jsonp", "application/jsonp", BodyKind::Json, None, GOOD),
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
            let parsed = ContentType::parse(&arena, value.as_bytes());
            let expected = (mime.as_bytes(), boundary.map(str::as_bytes), kind, anomalies);
            assert_eq!((parsed.mime, parsed.boundary, parsed.kind, parsed.anomalies), expected, "{value}");
        }
    }

    #[test]
    fn flags_long_boundaries() {
        let arena = Bump::new();
        for (length, expected) in [(70, Anomalies::empty()), (71, Anomalies::INVALID_MULTIPART)] {
            let value = arena.alloc_str(&format!("multipart/form-data; boundary={}", "b".repeat(length)));
            let parsed = ContentType::parse(&arena, value.as_bytes());
            assert_eq!((parsed.boundary.map(<[u8]>::len), parsed.anomalies), (Some(length), expected));
        }
    }

    #[test]
    fn the_last_known_format_counts() {
        let arena = Bump::new();
        let of = |values: &[&'static str]| {
            let parsed = ContentType::of_request(&arena, values.iter().map(|value| value.as_bytes()));
            (parsed.kind, !parsed.anomalies.is_empty())
        };
        assert_eq!(of(&[]), (BodyKind::Other, false));
        assert_eq!(of(&["text/xml", "text/xml"]), (BodyKind::Xml, false));
        assert_eq!(of(&["text/plain", "application/x-www-form-urlencoded"]), (BodyKind::Form, true));
        assert_eq!(of(&["application/json", "text/plain"]), (BodyKind::Json, true));
    }

    proptest! {
        #[test]
        fn takes_any_bytes(tail: Vec<u8>) {
            let arena = Bump::new();
            let value = [b"multipart/form-data;boundary=\"", &tail[..]].concat();
            let _ = ContentType::parse(&arena, &value);
            let _ = ContentType::parse(&arena, &tail);
        }
    }
}
