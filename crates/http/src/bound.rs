//! Every bound of the parsers, each with its reason. What happens past one is always the same:
//! the parser stops, keeps what it has, and raises the anomaly named beside the bound.

use crate::Anomalies;

/// Arguments, cookies, fields, parts, JSON scalars, XML texts: past it [`Anomalies::TOO_MANY_ITEMS`].
/// Real forms have hundreds; ten thousand pairs are 320 KB of arena.
pub const MAX_ITEMS: usize = 10_000;

/// Containers of JSON and elements of XML within each other: past it [`Anomalies::TOO_DEEP`].
/// What common JSON parsers allow by default (serde_json 128, Rails 100, PHP 512).
pub const MAX_DEPTH: usize = 128;

/// Bytes of one flattened JSON path; longer ones are cut and raise [`Anomalies::TOO_DEEP`].
pub const MAX_PATH_BYTES: usize = 2048;

/// Addresses of a forwarding header that are looked at: past it [`Anomalies::INVALID_FORWARDED`].
/// Nobody has thirty-two trusted proxies in a row.
pub const MAX_HOPS: usize = 32;

/// Characters of a multipart boundary (RFC 2046, section 5.1.1): past it
/// [`Anomalies::INVALID_MULTIPART`], but the boundary is used as given.
pub const MAX_BOUNDARY_BYTES: usize = 70;

/// Bytes of arena that the paths of a JSON body of `body_bytes` may take: past it
/// [`Anomalies::TOO_MANY_ITEMS`]. Without it, many leaves under one long path would cost the
/// product of both numbers; with it the cost stays linear in the body.
#[must_use]
pub const fn max_path_arena(body_bytes: usize) -> usize {
    64 * 1024 + 8 * body_bytes
}

/// Whether a body that a parser is given is all of it. A body that was cut at the limit is not
/// broken because it ends too soon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of the body.
    Whole,
    /// Its beginning only.
    Beginning,
}

impl Extent {
    /// The anomaly `found` of something that ends too soon: none if it was cut.
    #[must_use]
    pub fn ends_too_soon(self, found: Anomalies) -> Anomalies {
        match self {
            Self::Whole => found,
            Self::Beginning => Anomalies::empty(),
        }
    }
}
