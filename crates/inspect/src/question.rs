//! What an inspector is told of a request. Everything is borrowed: a question is written out as soon as it is asked.

use std::net::IpAddr;

/// A header field: name and value as the client sent them.
pub type Field<'q> = (&'q [u8], &'q [u8]);

/// The length of a body that comes in pieces and has not been read.
pub const UNKNOWN_LENGTH: u64 = u64::MAX;

/// One question about one request.
#[derive(Clone, Debug)]
pub struct Question<'q> {
    /// The detector that is asked, of those that a service has; UTF-8.
    pub detector: &'q str,
    /// For whom, where one service answers for several; may be empty.
    pub tenant: &'q str,
    /// The request's id, as in the logs.
    pub request_id: &'q [u8],
    /// Address of the client.
    pub client: IpAddr,
    /// Method, such as `GET`.
    pub method: &'q [u8],
    /// `http` or `https`.
    pub scheme: &'q [u8],
    /// Host that the request names, without its port; may be empty.
    pub host: &'q [u8],
    /// The same as the client sent it, with its port if it has one.
    pub authority: &'q [u8],
    /// Path and query as the client sent them.
    pub target: &'q [u8],
    /// Path as nginx decides by: decoded and normalised (no `.`, `..`, nor `//` unless `merge_slashes` is off).
    pub path: &'q [u8],
    /// Protocol, such as `HTTP/1.1`.
    pub protocol: &'q [u8],
    /// The header fields that the inspector is to see, in their order.
    pub headers: Vec<Field<'q>>,
    /// The beginning of the body, or all of it.
    pub body: &'q [u8],
    /// Length of the whole body; [`UNKNOWN_LENGTH`] while that is not known. If it is more than the length of `body`, that
    /// is partial.
    pub body_bytes: u64,
    /// Rules that have matched, as `POLICY/RULE`; of rule sets, the ids of their rules.
    pub findings: Vec<String>,
    /// Score so far.
    pub score: u32,
    /// Tags so far.
    pub tags: &'q [String],
    /// Facts about TLS: `version`, `sni` and so on, with their values.
    pub tls: Vec<(&'static str, &'q [u8])>,
    /// The consumer that was authenticated; may be empty.
    pub consumer: &'q str,
    /// For how long the gateway waits, in milliseconds.
    pub deadline_ms: u32,
}

impl Question<'_> {
    /// Whether the inspector sees less than the whole body.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.body_bytes > self.body.len() as u64
    }
}
