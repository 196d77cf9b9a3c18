//! The transaction: a borrowed view of one HTTP request and its response.
//!
//! Case 1 spent its CPU copying protocol variables into another world. Here everything is a
//! slice of the memory in which nginx parsed the request; what has to be decoded is decoded
//! lazily, at most once, into a per-request arena. Nothing in this crate knows nginx, so the
//! same code runs in `weir replay`, in tests and under the fuzzers.

mod anomaly;
mod head;
mod header;
mod transaction;

pub use anomaly::Anomalies;
pub use head::{Head, Tls, Version};
pub use header::{Header, header_hash};
pub use transaction::{Pair, Part, ResponseHead, Transaction};
