//! The transaction: a borrowed view of one HTTP request and its response.
//!
//! Copying protocol variables into a rule engine's own memory can cost more than the rules
//! themselves. Here everything is a slice of the memory in which nginx parsed the request; values
//! that need decoding are decoded lazily, at most once, into a per-request arena. This crate does
//! not depend on nginx, so the same code runs in `weir replay`, in tests and under the fuzzers.

mod anomaly;
pub mod bound;
pub mod client_address;
mod content_coding;
pub mod content_type;
pub mod cookie;
mod encoding;
mod fault;
pub mod form;
mod head;
mod header;
pub mod json;
mod json_token;
pub mod multipart;
mod parameter;
pub mod path;
pub mod seclang;
mod server_name;
pub mod text;
mod transaction;
pub mod uri;
mod work;
pub mod xml;

pub use anomaly::{Anomalies, BodyError, NAMES as ANOMALY_NAMES, Unreadable};
pub use bound::Extent;
pub use client_address::{AddressSource, ClientAddressConfig};
pub use content_coding::{ContentCoding, Inflated};
pub use content_type::{BodyKind, ContentType};
pub use fault::Faults;
pub use head::{Head, Tls, Version};
pub use header::{Header, header_hash, is_changeable, is_sendable};
pub use server_name::server_name;
pub use transaction::{Counter, Pair, Part, ResponseHead, Transaction};
pub use work::Work;
