//! Examples of requests: parts of one small gateway. Tests check them against the tables.

use serde_json::Value;
use weir_resource::{ResourceKind, descriptor};

/// The document that is an example of a kind; certificates have none.
pub(super) fn document(kind: ResourceKind) -> Option<Value> {
    parsed(descriptor(kind).example.document)
}

/// A merge patch of that document.
pub(super) fn patch(kind: ResourceKind) -> Option<Value> {
    parsed(descriptor(kind).example.patch)
}

fn parsed(text: &str) -> Option<Value> {
    (!text.is_empty()).then(|| serde_json::from_str(text).expect("examples are JSON, as a test asserts"))
}

/// The rule in the example of a policy.
pub(super) fn rule() -> Value {
    document(ResourceKind::Policies).map(|mut policy| policy["rules"][0].take()).unwrap_or_default()
}
