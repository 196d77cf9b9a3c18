//! One document and what was found out about it.

use std::sync::Arc;

use serde_json::Value;
use weir_gateway::op::Op;
use weir_gateway::resource::{Resource, Settings};
use weir_resource::{Checked, Fault, Reference, ResourceKind, Unique, check, check_stored, reads_alike};

use super::{Contents, Key, Parts, expand};

type Check = fn(ResourceKind, &str, &[u8]) -> Result<Checked, Vec<Fault>>;

/// A document that was checked. Never changes; a change makes another one.
#[derive(Debug)]
pub struct Document {
    /// As JSON, without spaces.
    pub text: Arc<str>,
    /// What workers are told, as it stands in the journal.
    pub frame: Option<Box<[u8]>>,
    /// What workers compile of it.
    pub compiled: Option<weir_gateway::resource::Document>,
    /// Its part of the state's digest.
    pub digest: u64,
    /// What it names.
    pub references: Vec<Reference>,
    /// What nobody else may have.
    pub unique: Vec<Unique>,
    /// Regular expressions that the sandbox must have compiled.
    pub patterns: Vec<String>,
    /// The parts of a certificate. If one of them is lost, workers are told nothing.
    pub certificate: Option<Box<Parts>>,
}

/// A document that is in the state.
#[derive(Clone, Debug)]
pub struct Held {
    /// The document.
    pub document: Arc<Document>,
    /// The revision that it last changed in; of an upstream, it or one of its members.
    pub revision: u64,
}

/// Where a text stands in a document, as a JSON pointer from it on (RFC 6901). Recursion is bounded by the depth that
/// documents may have.
fn place(value: &Value, text: &str) -> Option<String> {
    let below = |step: String, value: &Value| place(value, text).map(|rest| format!("/{step}{rest}"));
    match value {
        Value::String(found) => (found == text).then(String::new),
        Value::Array(items) => items.iter().enumerate().find_map(|(n, item)| below(n.to_string(), item)),
        Value::Object(pairs) => {
            pairs.iter().find_map(|(key, item)| below(key.replace('~', "~0").replace('/', "~1"), item))
        }
        _ => None,
    }
}

impl Document {
    /// What workers compile of it, with the digest that workers give it.
    pub(super) fn compiled_entry(&self, kind: ResourceKind) -> Option<(weir_gateway::resource::Document, u64)> {
        let document = self.compiled.clone()?;
        let digest = if kind == ResourceKind::Settings { frame_digest(document.json.as_bytes()) } else { self.digest };
        Some((document, digest))
    }

    /// Where one of its expressions stands, as a JSON pointer from it on; empty if it was made from several parts.
    #[must_use]
    pub fn place_of(&self, pattern: &str) -> String {
        serde_json::from_str(&self.text).ok().and_then(|value| place(&value, pattern)).unwrap_or_default()
    }

    /// Checks a document by itself.
    ///
    /// # Errors
    /// All that is wrong with it; pointers are those within the document.
    pub fn check(key: &Key, text: String, contents: &dyn Contents) -> Result<Self, Vec<Fault>> {
        Self::with(check, key, text, contents)
    }

    /// Checks a document that was good once; see [`check_stored`].
    ///
    /// # Errors
    /// As [`Document::check`].
    pub fn check_stored(key: &Key, text: String, contents: &dyn Contents) -> Result<Self, Vec<Fault>> {
        Self::with(check_stored, key, text, contents)
    }

    fn with(check: Check, key: &Key, text: String, contents: &dyn Contents) -> Result<Self, Vec<Fault>> {
        if !key.is_valid() {
            let message = format!("`{}` is not a valid {} id", key.id, key.kind.singular());
            let expected = Some(format!("1 to 128 bytes, {}", key.kind.id_pattern()));
            return Err(vec![Fault { message, expected, ..Fault::default() }]);
        }
        let mut checked = check(key.kind, &key.id, text.as_bytes())?;
        let mut certificate = None;
        if key.kind == ResourceKind::Certificates {
            let (parts, expanded) = expand(&text, contents);
            if let Some(expanded) = expanded {
                checked = check(key.kind, &key.id, expanded.as_bytes())?;
            }
            certificate = Some(Box::new(parts));
        }
        // Settings that set nothing for the workers are the same to them as none.
        let counts =
            !matches!(&checked.op, Some(Op::Put(Resource::Settings(settings))) if *settings == Settings::default());
        let compiled = match &checked.op {
            Some(Op::Put(resource)) => resource.document().cloned(),
            Some(Op::Delete { .. } | Op::Health { .. } | Op::Addresses { .. }) | None => None,
        };
        let text: Arc<str> = match &compiled {
            Some(document) if *document.json == *text => Arc::clone(&document.json),
            _ => text.into(),
        };
        let frame = checked
            .op
            .map(|op| serde_json::to_vec(&op).expect("operations have only text keys, so they can be written as JSON"));
        Ok(Self {
            digest: frame.as_deref().filter(|_| counts).map_or(0, frame_digest),
            frame: frame.map(Vec::into_boxed_slice),
            compiled,
            text,
            references: checked.references,
            unique: checked.unique,
            patterns: checked.patterns,
            certificate,
        })
    }

    /// Whether it differs from another version at most in how values are written, such as `1.2` and `"1.2"`.
    #[must_use]
    pub fn is_respelling_of(&self, other: &Self) -> bool {
        // The frame of a compiled document is its text.
        (self.compiled.is_some() || self.frame == other.frame) && reads_alike(&self.value(), &other.value())
    }

    /// Parsed.
    #[must_use]
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.text).expect("what is kept was made from a value")
    }
}

/// What a frame adds to the digest, on both sides.
pub fn frame_digest(frame: &[u8]) -> u64 {
    weir_gateway::frame_digest(frame)
}
