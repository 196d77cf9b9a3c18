//! Secrets of consumers, and the key for CrowdSec: read from files and the environment when a change is accepted, kept, and never shown.
//!
//! A secret that is elsewhere stays with its document as `captured`, so that a revision means what it had then.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::{Value, json};
use weir_policy::consumer;
use weir_resource::Fault;

use super::Key;
use super::certificate::{Contents, FileOf};
use super::secret::key_hash;
use crate::objects::Purpose;

/// The keys of credentials that hold secrets.
const SECRETS: [&str; 3] = ["key", "secret", "password_hash"];
/// The key for what was read.
const CAPTURED: &str = "captured";

/// Every secret in a document, with its JSON pointer within the document.
fn secrets(document: &mut Value) -> impl Iterator<Item = (String, &mut Value)> {
    let mut all = Vec::new();
    for (name, part) in document.as_object_mut().into_iter().flatten() {
        match (name.as_str(), part) {
            ("credentials", Value::Array(credentials)) => {
                all.extend(credentials.iter_mut().enumerate().flat_map(of_credential))
            }
            ("crowdsec", Value::Object(parts)) => {
                all.extend(parts.get_mut("key").map(|key| ("/crowdsec/key".to_owned(), key)));
            }
            _ => {}
        }
    }
    all.into_iter()
}

fn of_credential((at, credential): (usize, &mut Value)) -> impl Iterator<Item = (String, &mut Value)> {
    let kinds = credential.as_object_mut().into_iter().flatten();
    let parts = kinds.filter_map(|(kind, value)| Some((kind, value.as_object_mut()?)));
    parts.flat_map(move |(kind, parts)| {
        let held = parts.iter_mut().filter(|(name, _)| SECRETS.contains(&name.as_str()));
        held.map(move |(name, secret)| (format!("/credentials/{at}/{kind}/{name}"), secret))
    })
}

/// The text of a secret, however it is written.
pub(crate) fn text(secret: &Value) -> Option<&str> {
    secret.as_str().or_else(|| secret["value"].as_str()).or_else(|| secret[CAPTURED].as_str())
}

/// Hides the secrets of a document: the hash of one that was given by value, the place of one that is elsewhere.
pub(super) fn hide(document: &mut Value) {
    for (_, secret) in secrets(document) {
        if let Some(parts) = secret.as_object_mut() {
            parts.remove(CAPTURED);
        }
        if let Some(value) = text(secret) {
            *secret = json!({"sha256": key_hash(value)});
        }
    }
}

/// The secret with a hash among those of a document.
pub(super) fn known(document: &mut Value, hash: &str) -> Option<String> {
    let mut texts = secrets(document).filter_map(|(_, secret)| text(secret).map(str::to_owned));
    texts.find(|text| key_hash(text) == hash)
}

/// Completes a document that a client has sent: with what files and environment variables hold, and with the secrets
/// that hashes stand for. Returns files that must be read first.
///
/// # Errors
/// What cannot be read, or that there is no such secret.
pub(super) fn resolve(
    key: &Key,
    document: &mut Value,
    contents: &dyn Contents,
    before: Option<Value>,
) -> Result<BTreeSet<FileOf>, Vec<Fault>> {
    let mut unread = BTreeSet::new();
    let mut faults = Vec::new();
    let mut before = before.unwrap_or_default();
    for (pointer, secret) in secrets(document) {
        if let Some(parts) = secret.as_object_mut() {
            parts.remove(CAPTURED);
        }
        let mut fault = |message: String, hint: &str| {
            let (pointer, hint) = (format!("{key}{pointer}"), Some(hint.to_owned()));
            faults.push(Fault { pointer, message, hint, ..Fault::default() });
        };
        if let Some(hash) = secret["sha256"].as_str() {
            match known(&mut before, hash) {
                Some(text) => *secret = text.into(),
                None => fault(
                    format!("there is no secret with the hash {hash}"),
                    "answers show the hashes of secrets only; give the secret itself",
                ),
            }
        } else if let Some(name) = secret["env"].as_str() {
            match std::env::var(name) {
                Ok(text) if !text.is_empty() => secret[CAPTURED] = text.into(),
                Ok(_) | Err(_) => fault(
                    format!("weir control has no environment variable `{name}`"),
                    "set it for the service, and restart weir control",
                ),
            }
        } else if let Some(path) = secret["file"].as_str().map(PathBuf::from) {
            let file = (path, Purpose::Secret);
            match contents.file(&file) {
                None => _ = unread.insert(file),
                Some(Err(why)) => {
                    fault(format!("{} cannot be read: {why}", file.0.display()), "see `weir control --files`")
                }
                Some(Ok(hash)) => match contents.text(hash).as_deref().and_then(consumer::one_line) {
                    Some(text) => secret[CAPTURED] = text.into(),
                    None => fault(
                        format!("{} does not hold one line of text", file.0.display()),
                        "write one secret into it",
                    ),
                },
            }
        }
    }
    if faults.is_empty() { Ok(unread) } else { Err(faults) }
}
