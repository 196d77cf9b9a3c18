//! Every limit of the parsers, each with its reason. The reaction is always the same: the parser
//! stops, keeps what it has, and raises the anomaly named beside the limit.

#[cfg(doc)]
use crate::Anomalies;

/// Maximum number of arguments, cookies, fields, parts, JSON scalars or XML texts; beyond it
/// [`Anomalies::TOO_MANY_ITEMS`]. Real forms have hundreds; ten thousand pairs take 320 KB of arena.
pub const MAX_ITEMS: usize = 10_000;

/// Maximum nesting of JSON containers and XML elements; beyond it [`Anomalies::TOO_DEEP`]. Common
/// JSON parsers have similar defaults (serde_json 128, Rails 100, PHP 512).
pub const MAX_DEPTH: usize = 128;

/// Maximum length of a flattened JSON path; longer ones are cut and raise [`Anomalies::TOO_DEEP`].
pub const MAX_PATH_BYTES: usize = 2048;

/// Maximum size of the text that the entities of an XML document expand to, in total; beyond it
/// [`Anomalies::INVALID_XML`], and references stay as written.
pub const MAX_ENTITY_BYTES: usize = 1024 * 1024;

/// Maximum number of entities that an XML document may declare, and of levels at which they may refer
/// to each other; beyond it [`Anomalies::INVALID_XML`]. Real documents declare a few dozen.
pub const MAX_ENTITIES: usize = 1000;

/// Maximum number of addresses read from a forwarding header; beyond it
/// [`Anomalies::INVALID_FORWARDED`]. Chains of thirty-two trusted proxies do not occur in practice.
pub const MAX_HOPS: usize = 32;

/// Maximum length of a multipart boundary (RFC 2046, section 5.1.1); beyond it
/// [`Anomalies::INVALID_MULTIPART`], but the boundary is used as given.
pub const MAX_BOUNDARY_BYTES: usize = 70;

/// Maximum arena size of the paths of a JSON body of `body_bytes` bytes; beyond it
/// [`Anomalies::TOO_MANY_ITEMS`]. Without it, many leaves under one long path would cost the
/// product of both numbers; with it the cost is linear in the body.
#[must_use]
pub const fn max_path_arena(body_bytes: usize) -> usize {
    64 * 1024 + 8 * body_bytes
}

/// Whether a parser is given the whole body. A body that was cut at the limit is not malformed
/// because it ends too soon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// The whole body.
    #[default]
    Whole,
    /// Only its beginning.
    Beginning,
}
