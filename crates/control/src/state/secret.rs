//! Private keys: they go in and never come out, but a document that was read can be written again.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use weir_resource::Fault;

use super::{Held, Key};

/// The SHA-256 of a key in lower-case hex digits, of its text without spaces around it: what the API shows instead.
#[must_use]
pub fn key_hash(key: &str) -> String {
    Sha256::digest(key.trim().as_bytes()).iter().fold(String::with_capacity(64), |mut out, byte| {
        use std::fmt::Write;
        let _ = write!(out, "{byte:02x}");
        out
    })
}

/// The document of a certificate with the hash instead of the key.
#[must_use]
pub fn redacted(text: &str) -> String {
    let mut value: Value = serde_json::from_str(text).unwrap_or_default();
    hide(&mut value);
    value.to_string()
}

fn hide(value: &mut Value) {
    if let Some(key) = value.get_mut("key") {
        *key = json!({"sha256": key.as_str().map(key_hash)});
    }
}

/// Puts the key back that `{"sha256": ..}` stands for: that of the document that is there.
pub(super) fn restore(key: &Key, value: &mut Value, old: Option<&Held>) -> Result<(), Fault> {
    let Some(shown) = value.get_mut("key").filter(|shown| shown.is_object()) else { return Ok(()) };
    let known = old.and_then(|held| held.document.value()["key"].as_str().map(str::to_owned));
    match known {
        Some(known) if shown["sha256"] == key_hash(&known) => {
            *shown = Value::String(known);
            Ok(())
        }
        _ => Err(Fault {
            pointer: format!("{key}/key"),
            message: "this is the hash of a key that is not there".to_owned(),
            expected: Some("the private key in PEM, or the hash of the key that the certificate has".to_owned()),
            ..Fault::default()
        }),
    }
}
