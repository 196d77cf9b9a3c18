//! One client request from its header to the end of its response, with every variable computed
//! lazily and at most once.
//!
//! Variables are slices of the request's memory or of the arena, never of the transaction itself:
//! code that keeps the request alive may keep a `Transaction<'static>` across phases.

use std::cell::{Cell, OnceCell};

use bumpalo::Bump;

use crate::bound::Extent;
use crate::content_type::{BodyKind, ContentType};
use crate::{Anomalies, BodyError, Head, Header, cookie, form, header_hash, json, multipart, text, uri, xml};

/// A decoded name and value: a query argument, cookie, form field, JSON leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair<'a> {
    /// Decoded name; for JSON the path, e.g. `items.0.price`.
    pub name: &'a [u8],
    /// Decoded value.
    pub value: &'a [u8],
}

/// One part of a multipart body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// `name` of `Content-Disposition`; empty if missing.
    pub name: &'a [u8],
    /// `filename` of `Content-Disposition`, if given: the part is a file.
    pub file_name: Option<&'a [u8]>,
    /// `Content-Type` of the part; empty if missing.
    pub content_type: &'a [u8],
    /// The part's content.
    pub value: &'a [u8],
}

/// Status and header fields of the response, once nginx knows them.
#[derive(Clone, Copy, Debug)]
pub struct ResponseHead<'a> {
    /// Status code, 100 to 599.
    pub status: u16,
    /// Header fields that will be sent.
    pub headers: &'a [Header<'a>],
}

/// The transaction. `'a` is the lifetime of the request's memory and of the arena.
pub struct Transaction<'a> {
    /// Request line, header and connection.
    pub head: Head<'a>,
    arena: &'a Bump,
    body: Cell<Option<&'a [u8]>>,
    response: Cell<Option<ResponseHead<'a>>>,
    anomalies: Cell<Anomalies>,
    extent: Cell<Extent>,
    body_error: Cell<Option<BodyError>>,
    head_checked: Cell<bool>,
    extension: OnceCell<&'a [u8]>,
    content_type: OnceCell<ContentType<'a>>,
    arguments: OnceCell<&'a [Pair<'a>]>,
    cookies: OnceCell<&'a [Pair<'a>]>,
    form: OnceCell<&'a [Pair<'a>]>,
    json: OnceCell<&'a [Pair<'a>]>,
    multipart: OnceCell<&'a [Part<'a>]>,
    xml: OnceCell<&'a [&'a [u8]]>,
}

impl<'a> Transaction<'a> {
    /// A transaction over `head`; decoded variables are allocated in `arena`.
    #[must_use]
    pub fn new(head: Head<'a>, arena: &'a Bump) -> Self {
        Self {
            head,
            arena,
            body: Cell::new(None),
            response: Cell::new(None),
            anomalies: Cell::new(Anomalies::empty()),
            extent: Cell::new(Extent::Whole),
            body_error: Cell::new(None),
            head_checked: Cell::new(false),
            extension: OnceCell::new(),
            content_type: OnceCell::new(),
            arguments: OnceCell::new(),
            cookies: OnceCell::new(),
            form: OnceCell::new(),
            json: OnceCell::new(),
            multipart: OnceCell::new(),
            xml: OnceCell::new(),
        }
    }

    /// The arena for values that live as long as the transaction.
    #[must_use]
    pub fn arena(&self) -> &'a Bump {
        self.arena
    }

    /// Sets the request body, as one slice; at most once, before any body variable is read.
    pub fn set_body(&self, body: &'a [u8]) {
        debug_assert!(self.body.get().is_none(), "the body is set once");
        self.body.set(Some(body));
    }

    /// The request body; empty before [`Self::set_body`].
    #[must_use]
    pub fn body(&self) -> &'a [u8] {
        self.body.get().unwrap_or_default()
    }

    /// Sets the response's status and header fields.
    pub fn set_response(&self, response: ResponseHead<'a>) {
        self.response.set(Some(response));
    }

    /// The response's status and header fields, once known.
    #[must_use]
    pub fn response(&self) -> Option<ResponseHead<'a>> {
        self.response.get()
    }

    /// Anomalies found so far.
    #[must_use]
    pub fn anomalies(&self) -> Anomalies {
        self.anomalies.get()
    }

    /// The first error of a parser that has read the body.
    #[must_use]
    pub fn body_error(&self) -> Option<BodyError> {
        self.body_error.get()
    }

    /// Records a parser's error, unless there was one before.
    pub fn set_body_error(&self, error: BodyError) {
        self.body_error.set(self.body_error.get().or(Some(error)));
    }

    /// Adds anomalies found.
    pub fn flag(&self, found: Anomalies) {
        self.anomalies.set(self.anomalies.get() | found);
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

    /// All values of the response's header fields of this lower-case name, in order.
    #[inline]
    pub fn response_header_values<'n>(
        &self,
        name: &'n [u8],
        hash: u64,
    ) -> impl Iterator<Item = &'a [u8]> + Clone + use<'a, 'n> {
        let headers: &'a [Header<'a>] = self.response.get().map_or(&[], |response| response.headers);
        headers.iter().filter(move |header| header.is(name, hash)).map(|header| header.value)
    }

    /// Records that [`Self::body`] is only the beginning of the body; call it before any body variable is read.
    pub fn set_body_truncated(&self) {
        self.extent.set(Extent::Beginning);
        self.flag(Anomalies::BODY_TRUNCATED);
    }

    /// Whether the body is only the beginning of what the client sent.
    #[must_use]
    pub fn body_truncated(&self) -> bool {
        self.extent.get() == Extent::Beginning
    }

    /// Path as sent.
    #[must_use]
    pub fn raw_path(&self) -> &'a [u8] {
        uri::raw_path(self.head.target)
    }

    /// Lower-case extension of the last path segment, without the dot; empty if there is none.
    #[must_use]
    pub fn extension(&self) -> &'a [u8] {
        self.extension.get_or_init(|| uri::extension(self.arena, self.head.path))
    }

    /// `Content-Type`, parsed.
    #[must_use]
    pub fn content_type(&self) -> ContentType<'a> {
        *self.content_type.get_or_init(|| {
            let value = self.header(b"content-type", const { header_hash(b"content-type") });
            self.flagging(|found| ContentType::parse(self.arena, value.unwrap_or_default(), found))
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
        self.arguments
            .get_or_init(|| self.flagging(|found| form::parse(self.arena, self.head.query, Extent::Whole, found)))
    }

    /// Cookies of all `Cookie` header fields, in order.
    #[must_use]
    pub fn cookies(&self) -> &'a [Pair<'a>] {
        self.cookies.get_or_init(|| {
            let headers = self.header_values(b"cookie", const { header_hash(b"cookie") });
            self.flagging(|found| cookie::parse(self.arena, headers, found))
        })
    }

    /// Fields of a urlencoded form, or the non-file fields of a multipart form. Empty before the
    /// body is known, and for other bodies.
    #[must_use]
    pub fn form(&self) -> &'a [Pair<'a>] {
        match self.body_kind() {
            BodyKind::Form => {
                self.body_variable(&self.form, |body, found| form::parse(self.arena, body, self.extent.get(), found))
            }
            BodyKind::Multipart => self.body_variable(&self.form, |_, _| {
                let parts = self.multipart();
                let mut pairs = bumpalo::collections::Vec::with_capacity_in(parts.len(), self.arena);
                let fields = parts.iter().filter(|part| part.file_name.is_none());
                pairs.extend(fields.map(|part| Pair { name: part.name, value: part.value }));
                pairs.into_bump_slice()
            }),
            _ => &[],
        }
    }

    /// Scalars of a JSON body by flattened path. Empty before the body is known, and for other bodies.
    #[must_use]
    pub fn json(&self) -> &'a [Pair<'a>] {
        if self.body_kind() != BodyKind::Json {
            return &[];
        }
        self.body_variable(&self.json, |body, found| json::parse(self.arena, body, self.extent.get(), found))
    }

    /// Parts of a multipart body. Empty before the body is known, and for other bodies.
    #[must_use]
    pub fn multipart(&self) -> &'a [Part<'a>] {
        let ContentType { kind: BodyKind::Multipart, boundary: Some(boundary), .. } = self.content_type() else {
            return &[];
        };
        self.body_variable(&self.multipart, |body, found| {
            multipart::parse(self.arena, body, boundary, self.extent.get(), found)
        })
    }

    /// Texts and attribute values of an XML body. Empty before the body is known, and for other bodies.
    #[must_use]
    pub fn xml(&self) -> &'a [&'a [u8]] {
        if self.body_kind() != BodyKind::Xml {
            return &[];
        }
        self.body_variable(&self.xml, |body, found| xml::parse(self.arena, body, self.extent.get(), found))
    }

    /// All anomalies of the request: first parses path, arguments, cookies and header, and the body
    /// if it is known and has a known format.
    #[must_use]
    pub fn all_anomalies(&self) -> Anomalies {
        if !self.head_checked.replace(true) {
            let _ = (self.arguments(), self.cookies(), self.content_type());
            self.flag(text::check(self.head.path) | self.duplicate_headers());
            if !uri::percent_is_valid(self.raw_path()) {
                self.flag(Anomalies::INVALID_PERCENT);
            }
        }
        if self.body.get().is_some() {
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

    /// Runs `read` on the body, at most once; empty before the body is known.
    fn body_variable<T>(
        &self,
        cell: &OnceCell<&'a [T]>,
        read: impl FnOnce(&'a [u8], &mut Anomalies) -> &'a [T],
    ) -> &'a [T] {
        match self.body.get() {
            Some(body) => cell.get_or_init(|| self.flagging(|found| read(body, found))),
            None => &[],
        }
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
