//! Private keys: the API accepts them and never returns them, yet a document that was read can be written again.

use serde_json::{Value, json};
use weir_gateway::resource::Sha256Hash;
use weir_resource::{Fault, ResourceKind, descriptor};

use super::{Held, Key};

/// The SHA-256 of a key in lower-case hex digits, of its text without spaces around it: what the API shows instead.
#[must_use]
pub fn key_hash(key: &str) -> String {
    Sha256Hash::of(key.trim().as_bytes()).to_string()
}

/// A document with the hash in place of its secret, if its kind has one.
#[must_use]
pub fn redacted(kind: ResourceKind, text: &str) -> String {
    let Some(secret) = descriptor(kind).secret else { return text.to_owned() };
    let mut value: Value = serde_json::from_str(text).unwrap_or_default();
    if let Some(secret) = value.get_mut(secret) {
        *secret = json!({"sha256": secret.as_str().map(key_hash)});
    }
    value.to_string()
}

/// Puts the secret back that `{"sha256": ..}` stands for: that of the document that is there.
pub(super) fn restore(key: &Key, value: &mut Value, old: Option<&Held>) -> Result<(), Fault> {
    let Some(secret) = descriptor(key.kind).secret else { return Ok(()) };
    let Some(shown) = value.get_mut(secret).filter(|shown| shown.is_object()) else { return Ok(()) };
    let known = old.and_then(|held| held.document.value()[secret].as_str().map(str::to_owned));
    match known {
        Some(known) if shown["sha256"] == key_hash(&known) => {
            *shown = Value::String(known);
            Ok(())
        }
        _ => Err(Fault {
            pointer: format!("{key}/{secret}"),
            message: "this is the hash of a key that is not there".to_owned(),
            expected: Some("the private key in PEM, or the hash of the key that the certificate has".to_owned()),
            ..Fault::default()
        }),
    }
}
