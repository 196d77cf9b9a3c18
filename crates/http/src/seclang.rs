//! The request and its response as SecLang variables: the values that ModSecurity v3.0.9 under
//! nginx would put into `ARGS`, `REQUEST_HEADERS`, `FILES` and the others.
//!
//! Rule sets are tuned to ModSecurity's names: of its multipart flags, of JSON leaves, of cookies with
//! spaces in them. The parsers are those of the [`Transaction`], so that both kinds of rules see the
//! same arguments and the same errors, and this is a second view of their results: lazy, each
//! variable at most once, borrowed where nothing has to be decoded.
//!
//! The engine's own variables (`TX`, `RULE`, `MATCHED_*`, `TIME*`, `ENV`, `GEO`, the persistent
//! collections) are not here. Where v3.0.9 loses data that an application would see (an encoded
//! question mark in the path, line ends within a multipart field, parts of malformed bodies), rules
//! see it. The order within a collection is that of the request; in v3 it is that of a hash table.
//!
//! nginx has already answered NUL bytes and a second `Host` or `Content-Length` with 400; dropped
//! header fields with invalid names; removed scheme and authority from the target; and turned
//! `:authority` into a `Host`. It merges nothing, and it rejects folded lines.

mod body;
mod cookie;
mod processor;
mod request;
mod request_body;
mod response;
mod settings;
mod target;

use std::cell::{Cell, OnceCell};

use bumpalo::Bump;

use crate::bound::{MAX_DEPTH, MAX_ITEMS};
pub use crate::multipart::MultipartFlags;
use crate::text::concat;
use crate::{Anomalies, Header, Pair, ResponseHead, Transaction};
use body::Body;
pub use processor::BodyProcessor;
pub use settings::Limits;
use target::Target;

/// The variables of one request and its response. Collections are names and values in order;
/// scalars always exist and are empty if ModSecurity has not set them (ModSecurity does not
/// distinguish these cases either: `&REQBODY_ERROR` is 1).
pub struct View<'a> {
    request: Transaction<'a>,
    arena: &'a Bump,
    limits: Limits,
    bytes: Cell<Option<&'a [u8]>>,
    chosen: Cell<Option<BodyProcessor>>,
    forced: Cell<bool>,
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
        let (arguments, json_depth) = (limits.arguments.min(MAX_ITEMS), limits.json_depth.min(MAX_DEPTH));
        Self {
            request: transaction.clone(),
            arena: transaction.arena(),
            limits: Limits { arguments, json_depth, ..limits },
            bytes: Cell::new(None),
            chosen: Cell::new(None),
            forced: Cell::new(false),
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

    /// Shows the request body of the transaction to rules, after phase 1. Until then, body variables are empty.
    pub fn set_body(&self) {
        self.bytes.set(Some(self.request.body()));
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

    /// The body processor: the one chosen by a rule, otherwise by `Content-Type`.
    #[must_use]
    pub fn processor(&self) -> Option<BodyProcessor> {
        self.chosen.get().or_else(|| {
            let implied = BodyProcessor::of_kind(self.request.body_kind());
            implied.filter(|processor| processor.is_native() || self.limits.xml_json_by_content_type)
        })
    }

    /// The anomalies of the transaction, for which each reading of a variable may add some.
    #[must_use]
    pub fn anomalies(&self) -> Anomalies {
        self.request.anomalies()
    }

    fn target(&self) -> &Target<'a> {
        self.target.get_or_init(|| Target::parse(self.arena, self.request.head.target))
    }

    /// The processed body; empty before the body is known.
    fn body(&self) -> &Body<'a> {
        let Some(bytes) = self.bytes.get() else { return &self.no_body };
        self.body.get_or_init(|| self.read_body(bytes))
    }
}

/// C's `isspace`.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// `number` in decimal digits.
fn number(arena: &Bump, number: usize) -> &[u8] {
    arena.alloc_slice_copy(itoa::Buffer::new().format(number).as_bytes())
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
