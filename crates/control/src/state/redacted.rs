//! Private keys, secrets of consumers and the key for CrowdSec: the API accepts them and never returns them, yet a document that was read can
//! be written again.

use serde_json::{Value, json};
use weir_resource::{ResourceKind, descriptor};

use super::consumer;
use super::secret::key_hash;

/// A document with the hash in place of its secret, if its kind has one. Where a secret is in a file is none.
#[must_use]
pub fn redacted(kind: ResourceKind, text: &str) -> String {
    let Some(secret) = descriptor(kind).secret else { return text.to_owned() };
    let mut value: Value = serde_json::from_str(text).unwrap_or_default();
    if matches!(kind, ResourceKind::Consumers | ResourceKind::Settings) {
        consumer::hide(&mut value);
    } else if let Some(secret) = value.get_mut(secret).filter(|secret| secret.is_string()) {
        *secret = json!({"sha256": secret.as_str().map(key_hash)});
    }
    value.to_string()
}
