//! JSON Schemas of state files and of documents of the API, made from the tables.

use serde_json::Value;
use weir_policy::schema::whole;

use crate::Kind;
use crate::table::{self, ALL, STATE};

/// The schema of a state file, as `weir apply` reads it.
#[must_use]
pub fn state_schema() -> Value {
    whole(&STATE, "Weir state", &ALL)
}

/// The schema of a document of one kind, whole: what it refers to is in its `$defs`.
#[must_use]
pub fn json_schema(kind: Kind) -> Value {
    whole(table::of(kind), kind.singular(), &ALL)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
