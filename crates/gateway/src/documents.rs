//! All documents that are compiled together, as a persistent map: a clone costs nothing and goes to other threads, a
//! change costs O(log n).

use std::sync::Arc;

use archery::ArcK;
use rpds::RedBlackTreeMap;

use crate::resource::{Document, Resource, ResourceKind};

/// Kind and id of a document. The part of the settings that is compiled has an empty id.
type DocumentKey = (ResourceKind, Arc<str>);

type Entry<'d> = (&'d DocumentKey, &'d (Document, u64));

/// Lists, rule sets, policies, and the part of the settings that is compiled.
#[derive(Clone, Debug, Default)]
pub struct Documents {
    /// Each with the digest of its frame.
    map: RedBlackTreeMap<DocumentKey, (Document, u64), ArcK>,
    digest: u64,
}

impl Documents {
    /// Puts or removes (`None`) a document. `digest` is that of its frame. Returns the previous document, with its
    /// digest.
    pub fn set(&mut self, kind: ResourceKind, id: &str, new: Option<(Document, u64)>) -> Option<(Document, u64)> {
        let key = (kind, Arc::from(id));
        let old = self.map.get(&key).cloned();
        let digest_of = |entry: &Option<(Document, u64)>| entry.as_ref().map_or(0, |(_, digest)| *digest);
        self.digest ^= digest_of(&old) ^ digest_of(&new);
        match new {
            Some(new) => self.map.insert_mut(key, new),
            None => _ = self.map.remove_mut(&key),
        }
        old
    }

    /// Puts the compiled document of a resource, if it has one. Returns the previous document, with its digest.
    pub fn put(&mut self, resource: &Resource, digest: u64) -> Option<(Document, u64)> {
        let kind = resource.kind();
        kind.is_compiled().then(|| {
            let id = resource.id();
            self.set(kind, &id, resource.document().map(|document| (document.clone(), digest)))
        })?
    }

    /// A document.
    #[must_use]
    pub fn get(&self, kind: ResourceKind, id: &str) -> Option<&Document> {
        self.map.get(&(kind, Arc::from(id))).map(|(document, _)| document)
    }

    /// All documents, by kind and id.
    pub fn iter(&self) -> impl Iterator<Item = (ResourceKind, &Document)> {
        self.map.iter().map(|((kind, _), (document, _))| (*kind, document))
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.map.size()
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// XOR of the digests of their frames; it differs after any change.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.digest
    }
}

/// Equal if kinds, ids and hashes of contents are equal.
impl PartialEq for Documents {
    fn eq(&self, other: &Self) -> bool {
        let is_same = |(one, two): (_, _)| {
            let ((key, (document, _)), (other_key, (other, _))): (Entry<'_>, Entry<'_>) = (one, two);
            key == other_key && document.hash == other.hash
        };
        self.len() == other.len() && self.map.iter().zip(other.map.iter()).all(is_same)
    }
}

/// Documents without frames.
impl FromIterator<Resource> for Documents {
    fn from_iter<I: IntoIterator<Item = Resource>>(resources: I) -> Self {
        let mut documents = Self::default();
        for resource in resources {
            let digest = resource.document().map_or(0, |document| crate::frame_digest(document.json.as_bytes()));
            documents.put(&resource, digest);
        }
        documents
    }
}
