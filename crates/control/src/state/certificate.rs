//! Certificates whose parts are elsewhere: in files, or, of a key, in the gateway already.
//!
//! A document names files and says in `captured` which contents they had when the change was accepted; what workers get
//! has the contents in it. So a renewed certificate is a change of its document, and a rollback brings the earlier
//! content back by its hash. A key that is given by its hash becomes part of the document.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::{Value, json};
use weir_gateway::resource::{CapturedFile, Sha256Hash};
use weir_resource::Fault;

use super::Key;
use super::secret::key_hash;
use crate::objects::{KEPT_FILE_BYTES, KEPT_FILE_REVISIONS, Purpose};

/// The parts of a certificate, by their keys in the document.
const PARTS: [(&str, Purpose); 2] = [("certificate", Purpose::Chain), ("key", Purpose::Key)];
/// The key for what was captured.
const CAPTURED: &str = "captured";

/// A file of a certificate.
pub type FileOf = (PathBuf, Purpose);

/// Files of certificates as they were read for a change.
pub type ReadFiles = BTreeMap<FileOf, Result<Sha256Hash, String>>;

/// Where the parts of certificates come from.
pub trait Contents {
    /// A file, if it was read for this change: the hash of its content, or why there is none.
    fn file(&self, file: &FileOf) -> Option<Result<Sha256Hash, String>>;
    /// A content that is kept.
    fn text(&self, hash: Sha256Hash) -> Option<String>;
    /// A private key that an earlier revision had.
    fn private_key(&self, hash: Sha256Hash) -> Option<String>;
}

/// Nothing is kept: for states whose certificates name no files.
impl Contents for () {
    fn file(&self, _: &FileOf) -> Option<Result<Sha256Hash, String>> {
        None
    }

    fn text(&self, _: Sha256Hash) -> Option<String> {
        None
    }

    fn private_key(&self, _: Sha256Hash) -> Option<String> {
        None
    }
}

/// What a document of a certificate has.
#[derive(Debug, Default)]
pub struct Parts {
    /// The files that it names, as captured.
    pub files: Vec<(Purpose, CapturedFile)>,
    /// Those whose content is lost.
    pub lost: Vec<CapturedFile>,
    /// The hash by which the API shows its key.
    pub key: Option<Sha256Hash>,
}

/// What a document of a certificate has, and the document with the contents of its files in it; `None` if it names none,
/// or one of the contents is lost.
pub fn expand(text: &str, contents: &dyn Contents) -> (Parts, Option<String>) {
    let mut parts = Parts::default();
    let mut value: Value = serde_json::from_str(text).unwrap_or_default();
    parts.key = value["key"].as_str().and_then(|key| key_hash(key).parse().ok());
    let captured = value.as_object_mut().and_then(|object| object.remove(CAPTURED)).unwrap_or_default();
    for (part, purpose) in PARTS {
        let Some(path) = value[part]["file"].as_str().map(str::to_owned) else { continue };
        let Some(sha256) = captured[part].as_str().and_then(|hash| hash.parse().ok()) else { continue };
        let content = contents.text(sha256);
        let size = content.as_ref().map_or(0, String::len) as u64;
        let file = CapturedFile { path, sha256, size };
        match content {
            Some(content) => value[part] = content.into(),
            None => parts.lost.push(file.clone()),
        }
        if purpose == Purpose::Key {
            parts.key = Some(sha256);
        }
        parts.files.push((purpose, file));
    }
    let expanded = (!parts.files.is_empty() && parts.lost.is_empty()).then(|| value.to_string());
    (parts, expanded)
}

/// Makes a document of a certificate that a client has sent one that is kept: with what was captured, and with the key
/// that a hash stands for. Returns files that must be read before it is complete.
///
/// # Errors
/// What is wrong with the files, or that there is no such key.
pub(super) fn resolve(
    key: &Key,
    value: &mut Value,
    contents: &dyn Contents,
    known: impl Fn(Sha256Hash) -> Option<String>,
) -> Result<BTreeSet<FileOf>, Vec<Fault>> {
    let mut unread = BTreeSet::new();
    let Some(object) = value.as_object_mut() else { return Ok(unread) };
    object.remove(CAPTURED);
    let mut captured = serde_json::Map::new();
    let mut faults = Vec::new();
    for (part, purpose) in PARTS {
        let Some(given) = object.get_mut(part) else { continue };
        let only = |name: &str| match given.as_object() {
            Some(keys) if keys.len() == 1 => keys.get(name).and_then(Value::as_str).map(str::to_owned),
            _ => None,
        };
        if let Some(pem) = only("pem") {
            *given = pem.into();
        } else if let Some(path) = only("file") {
            let file = (PathBuf::from(&path), purpose);
            match contents.file(&file) {
                Some(Ok(hash)) => _ = captured.insert(part.to_owned(), json!(hash)),
                Some(Err(reason)) => faults.push(Fault {
                    pointer: format!("{key}/{part}/file"),
                    message: format!("{path} cannot be captured: {reason}"),
                    ..Fault::default()
                }),
                None => _ = unread.insert(file),
            }
        } else if let Some(hash) = only("sha256").filter(|_| purpose == Purpose::Key).and_then(|hash| hash.parse().ok())
        {
            match known(hash).or_else(|| contents.private_key(hash)) {
                Some(pem) => *given = pem.into(),
                None => faults.push(Fault {
                    pointer: format!("{key}/{part}/sha256"),
                    message: format!("the gateway does not have the private key with the hash {hash}"),
                    expected: Some("the hash of a private key that this gateway has".to_owned()),
                    hint: Some(NO_KEY.to_owned()),
                    ..Fault::default()
                }),
            }
        }
    }
    if !captured.is_empty() {
        object.insert(CAPTURED.to_owned(), captured.into());
    }
    if faults.is_empty() { Ok(unread) } else { Err(faults) }
}

/// The fault of a resource that needs a content which was forgotten.
pub fn not_kept(key: &Key, file: &CapturedFile) -> Fault {
    Fault {
        pointer: key.to_string(),
        message: format!("the content that {} had then ({}) is not kept any more", file.path, file.sha256),
        hint: Some(format!(
            "contents are kept for {} revisions that changed files, up to {} MiB",
            KEPT_FILE_REVISIONS,
            KEPT_FILE_BYTES >> 20
        )),
        ..Fault::default()
    }
}

/// Advice where there is no such key.
const NO_KEY: &str = "`weir get` shows the hashes of keys only: give the key in PEM or as `{file: PATH}`; for another \
                      machine, `weir backup` takes the keys along";

#[cfg(test)]
mod tests;
