//! The view of a request for matching and balancing.

use std::{borrow::Cow, net::IpAddr};

use crate::{digest::pair, frame_digest, resource::HashKey};

/// A request, as its owner provides it. Each value borrows from the request, and is computed on demand.
pub trait RequestView {
    /// The host: `Host` or `:authority` (or SNI), in any case, with or without port and trailing dot.
    fn host(&self) -> &[u8];
    /// The path, decoded and normalised, without query; starts with `/`.
    fn path(&self) -> &[u8];
    /// The method in capitals.
    fn method(&self) -> &[u8];
    /// The query as sent, without `?`; empty if there is none.
    fn query_string(&self) -> &[u8];
    /// First value of a header field, by its lower-case name.
    fn header(&self, name: &str) -> Option<&[u8]>;
    /// First value of a query argument, decoded.
    fn query(&self, name: &str) -> Option<Cow<'_, [u8]>>;
    /// First value of a cookie.
    fn cookie(&self, name: &str) -> Option<&[u8]>;
    /// The client's address; `None` if it has none (a Unix socket).
    fn client(&self) -> Option<IpAddr>;
}

/// The key of consistent hashing and stickiness as a number; `None` if the request lacks it.
#[must_use]
pub fn hash_key(by: &HashKey, request: &dyn RequestView) -> Option<u64> {
    match by {
        HashKey::Ip => match request.client()?.to_canonical() {
            IpAddr::V4(address) => Some(frame_digest(&address.octets())),
            IpAddr::V6(address) => Some(frame_digest(&address.octets())),
        },
        HashKey::Uri => Some(pair(frame_digest(request.path()), frame_digest(request.query_string()))),
        HashKey::Header(name) => request.header(name).map(frame_digest),
        HashKey::Cookie(name) => request.cookie(name).map(frame_digest),
        HashKey::Query(name) => request.query(name).map(|value| frame_digest(&value)),
    }
}
