//! One client request from its header to the end of its response, with every variable
//! computed lazily and at most once.

use std::cell::{Cell, OnceCell};

use bumpalo::Bump;

use crate::{Anomalies, Head, Header};

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

/// The transaction. `'a` is the life of the request's memory and of the arena.
pub struct Transaction<'a> {
    /// What the request line, header and connection say.
    pub head: Head<'a>,
    arena: &'a Bump,
    body: Cell<Option<&'a [u8]>>,
    response: Cell<Option<ResponseHead<'a>>>,
    anomalies: Cell<Anomalies>,
    arguments: OnceCell<&'a [Pair<'a>]>,
    cookies: OnceCell<&'a [Pair<'a>]>,
    form: OnceCell<&'a [Pair<'a>]>,
    json: OnceCell<&'a [Pair<'a>]>,
    multipart: OnceCell<&'a [Part<'a>]>,
    xml: OnceCell<&'a [&'a [u8]]>,
}

impl<'a> Transaction<'a> {
    /// A transaction over `head`; decoded variables go to `arena`.
    #[must_use]
    pub fn new(head: Head<'a>, arena: &'a Bump) -> Self {
        Self {
            head,
            arena,
            body: Cell::new(None),
            response: Cell::new(None),
            anomalies: Cell::new(Anomalies::empty()),
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

    /// Gives the request body, as one slice; at most once, before any body variable is read.
    pub fn set_body(&self, body: &'a [u8]) {
        debug_assert!(self.body.get().is_none(), "the body is set once");
        self.body.set(Some(body));
    }

    /// The request body; empty before [`Self::set_body`].
    #[must_use]
    pub fn body(&self) -> &'a [u8] {
        self.body.get().unwrap_or_default()
    }

    /// Gives the response's status and header fields.
    pub fn set_response(&self, response: ResponseHead<'a>) {
        self.response.set(Some(response));
    }

    /// The response's status and header fields, once known.
    #[must_use]
    pub fn response(&self) -> Option<ResponseHead<'a>> {
        self.response.get()
    }

    /// What has been found broken so far.
    #[must_use]
    pub fn anomalies(&self) -> Anomalies {
        self.anomalies.get()
    }

    /// Adds anomalies found.
    pub fn flag(&self, found: Anomalies) {
        self.anomalies.set(self.anomalies.get() | found);
    }

    /// First header field of that lower-case name.
    #[inline]
    #[must_use]
    pub fn header(&self, name: &[u8], hash: u64) -> Option<&'a [u8]> {
        self.head.headers.iter().find(|header| header.is(name, hash)).map(|header| header.value)
    }
}
