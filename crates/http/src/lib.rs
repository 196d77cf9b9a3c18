//! The transaction: a borrowed view of one HTTP request and its response.
//!
//! Case 1 spent its CPU copying protocol variables into another world. Here everything is a
//! slice of the memory in which nginx parsed the request; what has to be decoded is decoded
//! lazily, at most once, into a per-request arena. Nothing in this crate knows nginx, so the
//! same code runs in `weir replay`, in tests and under the fuzzers.

mod anomaly;
pub mod bound;
pub mod client_address;
pub mod content_type;
pub mod cookie;
pub mod form;
mod head;
mod header;
pub mod json;
mod json_token;
pub mod multipart;
mod parameter;
pub mod seclang;
pub mod text;
mod transaction;
pub mod uri;
pub mod xml;

pub use anomaly::{Anomalies, NAMES as ANOMALY_NAMES};
pub use bound::Extent;
pub use client_address::{ClientAddressConfig, Source};
pub use content_type::{BodyKind, ContentType};
pub use head::{Head, Tls, Version};
pub use header::{Header, header_hash};
pub use transaction::{Pair, Part, ResponseHead, Transaction};
