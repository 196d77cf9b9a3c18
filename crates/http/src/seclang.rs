//! The request and its response as SecLang variables: the values that ModSecurity v3.0.9 under
//! nginx would put into `ARGS`, `REQUEST_HEADERS`, `FILES` and the others.
//!
//! Rule sets are tuned to ModSecurity's view of a request: their verdicts depend on its multipart
//! flags, its names of JSON leaves, its cookies with spaces in them. The rest of this crate reads
//! requests as servers do. This is therefore a second view over the same memory: lazy, each
//! variable at most once, borrowed where nothing has to be decoded.
//!
//! The engine's own variables (`TX`, `RULE`, `MATCHED_*`, `TIME*`, `ENV`, `GEO`, the persistent
//! collections) are not here. Where v3.0.9 loses data that an application would see, see [`Gaps`].
//! The order within a collection is that of the request; in v3 it is that of a hash table.
//!
//! nginx has already answered NUL bytes and a second `Host` or `Content-Length` with 400; dropped
//! header fields with invalid names; removed scheme and authority from the target; and turned
//! `:authority` into a `Host`. It merges nothing, and it rejects folded lines.

mod body;
mod cookie;
mod form;
mod json;
mod json_lexer;
mod multipart;
mod processor;
mod request;
mod request_body;
mod response;
mod settings;
mod target;
mod xml;
mod xml_encoding;

use std::cell::{Cell, OnceCell};

use bumpalo::Bump;

use crate::bound::{Extent, MAX_ITEMS};
use crate::{Anomalies, Head, Header, Pair, ResponseHead, Transaction, header_hash};
use body::{Body, BodyReader};
pub use multipart::MultipartFlags;
pub use processor::BodyProcessor;
pub use settings::{Gaps, Limits};
use target::Target;

/// The variables of one request and its response. Collections are names and values in order;
/// scalars always exist and are empty if ModSecurity has not set them (ModSecurity does not
/// distinguish these cases either: `&REQBODY_ERROR` is 1).
pub struct View<'a> {
    head: Head<'a>,
    arena: &'a Bump,
    limits: Limits,
    bytes: Cell<Option<(&'a [u8], Extent)>>,
    chosen: Cell<Option<BodyProcessor>>,
    forced: Cell<bool>,
    anomalies: Cell<Anomalies>,
    target: OnceCell<Target<'a>>,
    request_line: OnceCell<&'a [u8]>,
    full_request: OnceCell<&'a [u8]>,
    remote_addr: OnceCell<&'a [u8]>,
    args_combined_size: OnceCell<&'a [u8]>,
    headers: OnceCell<&'a [Pair<'a>]>,
    cookies: OnceCell<&'a [Pair<'a>]>,
    query: OnceCell<&'a [Pair<'a>]>,
    body: OnceCell<Body<'a>>,
    /// The body variables before the body is known.
    no_body: Body<'a>,
    response: Cell<Option<ResponseHead<'a>>>,
    response_headers: OnceCell<&'a [Pair<'a>]>,
    response_body: Cell<Option<&'a [u8]>>,
    response_truncated: Cell<bool>,
}

impl<'a> View<'a> {
    /// A view of `transaction`'s request, read within `limits`. Body and response are set later.
    #[must_use]
    pub fn new(transaction: &Transaction<'a>, limits: Limits) -> Self {
        let limits = Limits { arguments: limits.arguments.min(MAX_ITEMS), ..limits };
        Self {
            head: transaction.head,
            arena: transaction.arena(),
            limits,
            bytes: Cell::new(None),
            chosen: Cell::new(None),
            forced: Cell::new(false),
            anomalies: Cell::new(Anomalies::empty()),
            target: OnceCell::new(),
            request_line: OnceCell::new(),
            full_request: OnceCell::new(),
            remote_addr: OnceCell::new(),
            args_combined_size: OnceCell::new(),
            headers: OnceCell::new(),
            cookies: OnceCell::new(),
            query: OnceCell::new(),
            body: OnceCell::new(),
            no_body: Body::default(),
            response: Cell::new(None),
            response_headers: OnceCell::new(),
            response_body: Cell::new(None),
            response_truncated: Cell::new(false),
        }
    }

    /// Sets the request body after phase 1; an empty one if there is none. `truncated` means that it is only the
    /// beginning of the body (`INBOUND_DATA_ERROR`). Until then, body variables are empty.
    pub fn set_body(&self, body: &'a [u8], truncated: bool) {
        debug_assert!(self.bytes.get().is_none(), "the body is set once");
        if truncated {
            self.flag(Anomalies::BODY_TRUNCATED);
        }
        self.bytes.set(Some((body, if truncated { Extent::Beginning } else { Extent::Whole })));
    }

    /// `ctl:requestBodyProcessor=`; without effect once the body has been read.
    pub fn set_processor(&self, processor: BodyProcessor) {
        self.chosen.set(Some(processor));
    }

    /// `ctl:forceRequestBodyVariable=`.
    pub fn force_body(&self, on: bool) {
        self.forced.set(on);
    }

    /// Whether a rule wants `REQUEST_BODY` to be set, whatever the processor.
    #[must_use]
    pub fn body_is_forced(&self) -> bool {
        self.forced.get()
    }

    /// The body processor: the one chosen by a rule, otherwise by the last `Content-Type` that implies one.
    #[must_use]
    pub fn processor(&self) -> Option<BodyProcessor> {
        self.chosen.get().or_else(|| {
            let of_type = |value| processor::processor_of(value, self.limits.xml_json_by_content_type);
            // Rules choose XML and JSON, in that order, once the header has been read.
            self.content_types().filter_map(of_type).max_by_key(|processor| match processor {
                BodyProcessor::UrlEncoded | BodyProcessor::Multipart => 0,
                BodyProcessor::Xml => 1,
                BodyProcessor::Json => 2,
            })
        })
    }

    /// Data that could not be shown or read so far: limits, malformed encodings. Rules that test the error variables
    /// see all of it, except [`Anomalies::TOO_MANY_ITEMS`] (arguments past `SecArgumentsLimit`, cookies, parts) and
    /// [`Anomalies::INVALID_COOKIE`] (a cookie without a name was dropped).
    #[must_use]
    pub fn anomalies(&self) -> Anomalies {
        self.anomalies.get()
    }

    fn flag(&self, found: Anomalies) {
        self.anomalies.set(self.anomalies.get() | found);
    }

    /// Records the anomalies of a value and returns the value.
    fn flagged<T>(&self, (value, found): (T, Anomalies)) -> T {
        self.flag(found);
        value
    }

    fn target(&self) -> &Target<'a> {
        self.target.get_or_init(|| Target::parse(self.arena, self.head.target, self.limits.gaps))
    }

    /// All values of a header field of the request, in order.
    fn header_values(&self, name: &'static [u8], hash: u64) -> impl Iterator<Item = &'a [u8]> + Clone + use<'a> {
        let headers: &'a [Header<'a>] = self.head.headers;
        headers.iter().filter(move |header| header.is(name, hash)).map(|header| header.value)
    }

    fn content_types(&self) -> impl Iterator<Item = &'a [u8]> + Clone + use<'a> {
        self.header_values(b"content-type", const { header_hash(b"content-type") })
    }

    /// The processed body; empty before the body is known.
    fn body(&self) -> &Body<'a> {
        let Some((bytes, extent)) = self.bytes.get() else { return &self.no_body };
        self.body.get_or_init(|| {
            let task = BodyReader {
                arena: self.arena,
                bytes,
                extent,
                processor: self.processor(),
                content_type: self.content_types().last().unwrap_or_default(),
                limits: &self.limits,
                room: self.limits.arguments - self.args_get().len(),
            };
            let body = task.run();
            self.flag(body.found);
            body
        })
    }
}

/// C's `isspace`.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// `number` in decimal digits, at the end of `buffer`.
fn digits(mut number: usize, buffer: &mut [u8; 20]) -> &[u8] {
    let mut at = buffer.len();
    loop {
        at -= 1;
        buffer[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &buffer[at..];
        }
    }
}

/// `number` in decimal digits.
fn number(arena: &Bump, number: usize) -> &[u8] {
    arena.alloc_slice_copy(digits(number, &mut [0; 20]))
}

/// Concatenates `pieces`.
fn concat<'a>(arena: &'a Bump, pieces: &[&[u8]]) -> &'a [u8] {
    let mut out = bumpalo::collections::Vec::with_capacity_in(pieces.iter().map(|piece| piece.len()).sum(), arena);
    for piece in pieces {
        out.extend_from_slice_copy(piece);
    }
    out.into_bump_slice()
}

/// `headers` as pairs of names and values.
fn pairs<'a>(arena: &'a Bump, headers: &'a [Header<'a>]) -> &'a [Pair<'a>] {
    arena.alloc_slice_fill_iter(headers.iter().map(|header| Pair { name: header.name, value: header.value }))
}

/// Pairs as text, for comparisons.
#[cfg(test)]
fn shown(pairs: &[Pair<'_>]) -> String {
    let shown: Vec<String> =
        pairs.iter().map(|pair| format!("{}={}", pair.name.escape_ascii(), pair.value.escape_ascii())).collect();
    shown.join("|")
}

#[cfg(test)]
mod tests;
