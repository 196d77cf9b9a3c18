//! The policy: what may be in the file, what is wrong with it, and what workers hold of it.
//!
//! ```text
//! text ─ document (nodes with places) ─ check (against the table) ─ build (expressions, files) ─ Snapshot
//! ```
//! Each step takes the earlier one's output and goes on after a fault, so that one run reports
//! all faults. [`serde`] was the alternative for the first two; it stops at the first fault and
//! forgets where the text inside a scalar was written. The documents of a gateway (`weir-resource`) are read and checked
//! by the same steps, against tables of their own.

pub mod action;
mod build;
pub mod check;
pub mod consumer;
mod digest;
pub mod document;
pub mod error;
pub mod files;
mod geo;
mod inspector;
pub mod leaf;
mod list;
mod loaded;
pub mod pointer;
pub mod reference;
mod rule_set;
pub mod schema;
pub mod signing;
mod snapshot;
pub mod source;
pub mod table;

pub use action::RULE_SET_ACTIONS;
pub use document::{MAX_DEPTH, MAX_DOCUMENT_BYTES, MAX_NODES, parse_document};
pub use error::{DocumentPosition, Fault, MAX_ERRORS, PolicyError, PolicyErrors};
pub use geo::MAX_GEO_BYTES;
pub use list::{MAX_LIST_BYTES, MAX_LIST_ENTRIES, MAX_STRING_BYTES};
pub use rule_set::RuleSetNeeds;
pub use schema::json_schema;
pub use snapshot::{ApplyError, RuleLabel, Snapshot, Trial, read_text, written};
pub use weir_engine::MAX_PLAN_POLICIES;
pub use weir_rules::{confined, counted, nearest};

/// Policies of a gateway. All are parsed again when one changes: 10,000 small ones take the sandbox, and a thread beside
/// each worker's event loop, a second (docs/policy.md), which the answer to a change should not wait for longer.
pub const MAX_POLICIES: usize = 10_000;

/// Writing MMDB files, for tests and demonstrations.
pub mod mmdb {
    pub use crate::geo::writer::{MAX_TEXT_BYTES, Record, Writer};
}
