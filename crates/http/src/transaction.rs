//! One client request from its header to the end of its response, with every variable computed
//! lazily and at most once.
//!
//! Variables are slices of the request's memory or of the arena, never of the transaction itself:
//! code that keeps the request alive may keep a `Transaction<'static>` across phases.

use std::cell::{Cell, OnceCell};

use bumpalo::Bump;

use crate::bound::Extent;
use crate::content_coding::ContentCoding;
use crate::content_type::{BodyKind, ContentType};
use crate::fault::Faults;
use crate::work::Work;
use crate::{
    Anomalies, BodyError, Head, Header, Unreadable, cookie, form, header_hash, json, multipart, text, uri, xml,
};

/// A decoded name and value: a query argument, cookie, form field, JSON leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair<'a> {
    /// Decoded name; for JSON the path, e.g. `items.0.price`.
    pub name: &'a [u8],
    /// Decoded value.
    pub value: &'a [u8],
}

/// One part of a multipart body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part<'a> {
    /// `name` of `Content-Disposition`; empty if missing.
    pub name: &'a [u8],
    /// `filename` of `Content-Disposition`, if given.
    pub file_name: Option<&'a [u8]>,
    /// `filename*` of `Content-Disposition`, decoded, if given.
    pub extended_file_name: Option<&'a [u8]>,
    /// `Content-Type` of the part; empty if missing.
    pub content_type: &'a [u8],
    /// Header fields, unfolded, without line ends.
    pub headers: &'a [&'a [u8]],
    /// The part's content.
    pub value: &'a [u8],
}

impl<'a> Part<'a> {
    /// The file names that are given.
    pub fn file_names(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.file_name.into_iter().chain(self.extended_file_name)
    }

    /// Whether some server reads the part as a field: Go also does if the file name is empty, PHP
    /// also if only `filename*` is given.
    #[must_use]
    pub fn is_field(&self) -> bool {
        self.file_name.is_none_or(<[u8]>::is_empty)
    }
}

/// A number that whoever evaluates the rules has counted for this request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its value.
    pub value: i64,
}

/// Status and header fields of the response, once nginx knows them.
#[derive(Clone, Copy, Debug)]
pub struct ResponseHead<'a> {
    /// Status code, 100 to 599.
    pub status: u16,
    /// Header fields that will be sent.
    pub headers: &'a [Header<'a>],
}

/// The transaction. `'a` is the lifetime of the request's memory and of the arena. A clone is the
/// same transaction.
#[derive(Clone)]
pub struct Transaction<'a> {
    /// Request line, header and connection.
    pub head: Head<'a>,
    arena: &'a Bump,
    parsed: &'a Parsed<'a>,
}

/// What has been read of the request so far. It is in the arena, so that both kinds of rules share it.
#[derive(Default)]
struct Parsed<'a> {
    request_line: Cell<Option<&'a [u8]>>,
    body: Cell<Option<&'a [u8]>>,
    response: Cell<Option<ResponseHead<'a>>>,
    counters: Cell<&'a [Counter<'a>]>,
    anomalies: Cell<Anomalies>,
    extent: Cell<Extent>,
    body_error: Cell<Option<BodyError>>,
    head_checked: Cell<bool>,
    extension: OnceCell<&'a [u8]>,
    content_type: OnceCell<ContentType<'a>>,
    arguments: OnceCell<&'a [Pair<'a>]>,
    cookies: OnceCell<&'a [Pair<'a>]>,
    decoded_cookies: OnceCell<&'a [Pair<'a>]>,
    form: OnceCell<&'a [Pair<'a>]>,
    json: OnceCell<&'a [Pair<'a>]>,
    multipart: OnceCell<multipart::Form<'a>>,
    xml: OnceCell<xml::Document<'a>>,
    work: Work,
}

const BAD_BOUNDARY: &str = "missing, repeated or malformed boundary in Content-Type";
const BAD_CONTENT_TYPE: &str = "different Content-Type fields, or a charset that is not based on ASCII";

impl<'a> Transaction<'a> {
    /// A transaction over `head`; decoded variables are allocated in `arena`.
    #[must_use]
    pub fn new(head: Head<'a>, arena: &'a Bump) -> Self {
        Self { head, arena, parsed: arena.alloc(Parsed::default()) }
    }

    /// The arena for values that live as long as the transaction.
    #[must_use]
    pub fn arena(&self) -> &'a Bump {
        self.arena
    }

    /// Sets the request line as received, where the head does not show it: of an absolute target it has the path alone.
    pub fn set_request_line(&self, line: &'a [u8]) {
        self.parsed.request_line.set(Some(line));
    }

    pub(crate) fn request_line(&self) -> Option<&'a [u8]> {
        self.parsed.request_line.get()
    }

    /// Sets the request body, as one slice; at most once, before any body variable is read. A body in a
    /// `Content-Encoding` raises [`Anomalies::INVALID_CONTENT_ENCODING`].
    pub fn set_body(&self, body: &'a [u8]) {
        if !body.is_empty() && self.content_coding() != ContentCoding::Identity {
            self.refuse_coding("body in a Content-Encoding");
        }
        self.set_content(body);
    }

    /// As [`Self::set_body`], but decodes `gzip` and `deflate`, up to `limit` bytes of content.
    pub fn set_body_inflated(&self, body: &'a [u8], limit: usize) {
        match self.content_coding().inflate(self.arena, body, self.extent(), limit) {
            _ if body.is_empty() => self.set_content(body),
            None => self.set_body(body),
            Some(inflated) => {
                if !inflated.is_valid {
                    self.refuse_coding("body that is not in its Content-Encoding");
                }
                if inflated.extent == Extent::Beginning {
                    self.set_body_truncated();
                }
                self.set_content(inflated.content);
            }
        }
    }

    fn set_content(&self, body: &'a [u8]) {
        debug_assert!(self.parsed.body.get().is_none(), "the body is set once");
        self.parsed.work.extend(body.len());
        self.parsed.body.set(Some(body));
    }

    fn refuse_coding(&self, reason: &'static str) {
        self.flag(Anomalies::INVALID_CONTENT_ENCODING);
        self.set_body_error(BodyError { reason, at: 0 });
    }

    fn content_coding(&self) -> ContentCoding {
        let name = b"content-encoding";
        ContentCoding::of_request(self.header_values(name, const { header_hash(b"content-encoding") }))
    }

    /// What may still be done for the transaction.
    #[must_use]
    pub fn work(&self) -> &'a Work {
        &self.parsed.work
    }

    /// The request body; empty before [`Self::set_body`].
    #[must_use]
    pub fn body(&self) -> &'a [u8] {
        self.parsed.body.get().unwrap_or_default()
    }

    /// Sets the response's status and header fields.
    pub fn set_response(&self, response: ResponseHead<'a>) {
        self.parsed.response.set(Some(response));
    }

    /// The response's status and header fields, once known.
    #[must_use]
    pub fn response(&self) -> Option<ResponseHead<'a>> {
        self.parsed.response.get()
    }

    /// Sets what has been counted for the request; before any rule reads it.
    pub fn set_counters(&self, counters: &'a [Counter<'a>]) {
        self.parsed.counters.set(counters);
    }

    /// What has been counted for the request.
    #[must_use]
    pub fn counters(&self) -> &'a [Counter<'a>] {
        self.parsed.counters.get()
    }

    /// Anomalies found so far.
    #[must_use]
    pub fn anomalies(&self) -> Anomalies {
        self.parsed.anomalies.get()
    }

    /// The first error of a parser that has read the body.
    #[must_use]
    pub fn body_error(&self) -> Option<BodyError> {
        self.parsed.body_error.get()
    }

    /// What rules have not seen as an application may read it, of all that they have asked for.
    #[inline]
    #[must_use]
    pub fn unreadable(&self) -> Option<Unreadable> {
        let anomalies = self.anomalies() & Anomalies::UNREADABLE;
        (!anomalies.is_empty()).then(|| Unreadable { anomalies, error: self.body_error() })
    }

    /// Records a parser's error, unless there was one before.
    pub(crate) fn set_body_error(&self, error: BodyError) {
        self.parsed.body_error.set(self.parsed.body_error.get().or(Some(error)));
    }

    /// Adds anomalies found.
    pub fn flag(&self, found: Anomalies) {
        self.parsed.anomalies.set(self.parsed.anomalies.get() | found);
    }

    /// First header field of this lower-case name.
    #[inline]
    #[must_use]
    pub fn header(&self, name: &[u8], hash: u64) -> Option<&'a [u8]> {
        self.head.headers.iter().find(|header| header.is(name, hash)).map(|header| header.value)
    }

    /// All values of the header fields of this lower-case name, in order.
    #[inline]
    pub fn header_values<'n>(&self, name: &'n [u8], hash: u64) -> impl Iterator<Item = &'a [u8]> + Clone + use<'a, 'n> {
        let headers: &'a [Header<'a>] = self.head.headers;
        headers.iter().filter(move |header| header.is(name, hash)).map(|header| header.value)
    }

    /// Records that [`Self::body`] is only the beginning of the body; call it before any body variable is read.
    pub fn set_body_truncated(&self) {
        self.parsed.extent.set(Extent::Beginning);
        self.flag(Anomalies::BODY_TRUNCATED);
    }

    pub(crate) fn extent(&self) -> Extent {
        self.parsed.extent.get()
    }

    /// Path as sent.
    #[must_use]
    pub fn raw_path(&self) -> &'a [u8] {
        uri::raw_path(self.head.target)
    }

    /// Lower-case extension of the last path segment, without the dot; empty if there is none.
    #[must_use]
    pub fn extension(&self) -> &'a [u8] {
        self.parsed.extension.get_or_init(|| uri::extension(self.arena, self.head.path))
    }

    /// `Content-Type`, parsed.
    #[must_use]
    pub fn content_type(&self) -> ContentType<'a> {
        *self.parsed.content_type.get_or_init(|| {
            let values = self.header_values(b"content-type", const { header_hash(b"content-type") });
            ContentType::of_request(self.arena, values)
        })
    }

    /// Media type of the body in lower case, without parameters.
    #[must_use]
    pub fn mime(&self) -> &'a [u8] {
        self.content_type().mime
    }

    /// The format of the body.
    #[must_use]
    pub fn body_kind(&self) -> BodyKind {
        self.content_type().kind
    }

    /// Query arguments, decoded, in order.
    #[must_use]
    pub fn arguments(&self) -> &'a [Pair<'a>] {
        self.parsed
            .arguments
            .get_or_init(|| self.flagging(|found| form::parse(self.arena, self.head.query, Extent::Whole, found)))
    }

    /// Cookies of all `Cookie` header fields, in order.
    #[must_use]
    pub fn cookies(&self) -> &'a [Pair<'a>] {
        self.parsed.cookies.get_or_init(|| {
            let headers = self.header_values(b"cookie", const { header_hash(b"cookie") });
            self.flagging(|found| cookie::parse(self.arena, headers, found))
        })
    }

    /// [`Self::cookies`] decoded as PHP does, escapes and `+` in values, and [`cookie::with_inner_values`].
    #[must_use]
    pub fn decoded_cookies(&self) -> &'a [Pair<'a>] {
        self.parsed.decoded_cookies.get_or_init(|| {
            let cookies = self.cookies();
            self.flagging(|found| cookie::with_inner_values(self.arena, cookies, true, found))
        })
    }

    /// Fields of a urlencoded form, or the fields of a multipart form. Empty before the body is
    /// known, and for other bodies.
    #[must_use]
    pub fn form(&self) -> &'a [Pair<'a>] {
        let Some(body) = self.parsed.body.get() else { return &[] };
        match self.body_kind() {
            BodyKind::Form => self.parsed.form.get_or_init(|| {
                self.reading(|faults| {
                    let pairs = form::parse(self.arena, body, self.parsed.extent.get(), &mut faults.anomalies);
                    if faults.anomalies.contains(Anomalies::TOO_MANY_ITEMS) {
                        faults.add(Anomalies::TOO_MANY_ITEMS, 0, "more than 10,000 fields");
                    }
                    pairs
                })
            }),
            BodyKind::Multipart => self.parsed.form.get_or_init(|| {
                let parts = self.multipart();
                let mut pairs = bumpalo::collections::Vec::with_capacity_in(parts.len(), self.arena);
                let fields = parts.iter().filter(|part| part.is_field());
                pairs.extend(
                    fields.map(|part| Pair { name: multipart::decoded_name(self.arena, part.name), value: part.value }),
                );
                pairs.into_bump_slice()
            }),
            _ => &[],
        }
    }

    /// Scalars of a JSON body by flattened path. Empty before the body is known, and for other bodies.
    #[must_use]
    pub fn json(&self) -> &'a [Pair<'a>] {
        match (self.parsed.body.get(), self.body_kind()) {
            (Some(body), BodyKind::Json) => self.parsed.json.get_or_init(|| {
                let settings = json::Settings {
                    has_documents: self.content_type().has_documents,
                    ..json::Settings::new(json::Paths::Dotted, self.parsed.extent.get())
                };
                self.reading(|faults| json::parse(self.arena, body, settings, faults))
            }),
            _ => &[],
        }
    }

    /// Parts of a multipart body. Empty before the body is known, and for other bodies.
    #[must_use]
    pub fn multipart(&self) -> &'a [Part<'a>] {
        self.multipart_form().map_or(&[], |form| form.parts)
    }

    /// A multipart body; none before the body is known, and for other bodies.
    pub(crate) fn multipart_form(&self) -> Option<multipart::Form<'a>> {
        match (self.parsed.body.get(), self.body_kind()) {
            (Some(body), BodyKind::Multipart) => Some(*self.parsed.multipart.get_or_init(|| self.read_multipart(body))),
            _ => None,
        }
    }

    /// Reads a body with the boundary of the `Content-Type`.
    pub(crate) fn read_multipart(&self, body: &'a [u8]) -> multipart::Form<'a> {
        let ContentType { boundary, mime, .. } = self.content_type();
        let (boundary, is_form) = (boundary.unwrap_or_default(), mime == b"multipart/form-data");
        self.reading(|faults| multipart::parse(self.arena, body, boundary, is_form, self.parsed.extent.get(), faults))
    }

    /// Texts and attribute values of an XML body. Empty before the body is known, and for other bodies.
    #[must_use]
    pub fn xml(&self) -> &'a [&'a [u8]] {
        self.xml_document().map_or(&[], |document| document.items)
    }

    /// An XML body; none before the body is known, and for other bodies.
    pub(crate) fn xml_document(&self) -> Option<xml::Document<'a>> {
        match (self.parsed.body.get(), self.body_kind()) {
            (Some(body), BodyKind::Xml) => Some(*self.parsed.xml.get_or_init(|| self.read_xml(body))),
            _ => None,
        }
    }

    pub(crate) fn read_xml(&self, body: &'a [u8]) -> xml::Document<'a> {
        self.reading(|faults| xml::parse(self.arena, body, self.parsed.extent.get(), faults))
    }

    /// All anomalies of the request: first parses path, arguments, cookies and header, and the body
    /// if it is known and has a known format.
    #[must_use]
    pub fn all_anomalies(&self) -> Anomalies {
        if !self.parsed.head_checked.replace(true) {
            let _ = (self.arguments(), self.cookies(), self.content_type());
            self.flag(text::check(self.head.path) | self.duplicate_headers());
            if !uri::percent_is_valid(self.raw_path()) {
                self.flag(Anomalies::INVALID_PERCENT);
            }
        }
        if self.parsed.body.get().is_some() {
            let _ = (self.form(), self.json(), self.xml());
        }
        self.anomalies()
    }

    /// Whether a header field that may occur only once is repeated.
    fn duplicate_headers(&self) -> Anomalies {
        const ONCE: [(&[u8], u64); 3] = [
            (b"host", header_hash(b"host")),
            (b"content-length", header_hash(b"content-length")),
            (b"content-type", header_hash(b"content-type")),
        ];
        let twice = ONCE.iter().any(|(name, hash)| self.header_values(name, *hash).nth(1).is_some());
        if twice { Anomalies::DUPLICATE_HEADER } else { Anomalies::empty() }
    }

    /// Runs a parser of the body and records the errors that it, or the `Content-Type`, has.
    pub(crate) fn reading<T>(&self, read: impl FnOnce(&mut Faults) -> T) -> T {
        let mut faults = Faults::default();
        match self.content_type().anomalies {
            Anomalies::INVALID_MULTIPART => faults.add(Anomalies::INVALID_MULTIPART, 0, BAD_BOUNDARY),
            found if !found.is_empty() => faults.add(found, 0, BAD_CONTENT_TYPE),
            _ => {}
        }
        let value = read(&mut faults);
        self.flag(faults.anomalies);
        if let Some(error) = faults.error {
            self.set_body_error(error);
        }
        value
    }

    /// Runs `read` and records the anomalies that it found.
    fn flagging<T>(&self, read: impl FnOnce(&mut Anomalies) -> T) -> T {
        let mut found = Anomalies::empty();
        let value = read(&mut found);
        self.flag(found);
        value
    }
}

#[cfg(test)]
#[path = "transaction_tests.rs"]
mod tests;
