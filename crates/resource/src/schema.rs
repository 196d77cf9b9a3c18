//! JSON Schemas of state files and of documents of the API, made from the tables.

use serde_json::Value;
use weir_policy::schema::whole;

use crate::ResourceKind;
use crate::kind::{STATE, descriptor, tables};

/// The schema of a state file, as `weir apply` reads it.
#[must_use]
pub fn state_schema() -> Value {
    whole(&STATE, "Weir state", &tables())
}

/// The schema of a document of one kind, whole: what it refers to is in its `$defs`.
#[must_use]
pub fn json_schema(kind: ResourceKind) -> Value {
    whole(descriptor(kind).table, kind.singular(), &tables())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
