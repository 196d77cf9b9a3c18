//! Everything that people have configured, in memory, with what is needed to check a change in O(changed).
//!
//! A document is kept as its JSON text, the frame that workers get for it, and what the checker found out about it
//! (references, unique names). Parsed values are not kept: they take five times the memory, and only a nested change
//! and a merge patch want them.
//!
//! A change is applied first and verified afterwards, because only then "refers to", "is there twice" and "is a cycle"
//! are plain look-ups, whatever the order of a transaction. What was there before is noted on the way, so a refusal
//! costs as much as the change and the note is also what a roll-back restores.

mod apply;
mod certificate;
mod consumer;
mod document;
mod edit;
mod expand;
mod index;
mod key;
mod nested;
mod patch;
mod redacted;
mod secret;
mod verify;

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_gateway::Documents;
use weir_gateway::resource::CapturedFile;
use weir_resource::ResourceKind;

pub use apply::{Applied, Delta};
pub use certificate::{Contents, FileOf, Parts, ReadFiles, expand, not_kept};
pub use document::{Document, Held};
pub use edit::{Action, Condition, Edit, Match, Refusal};
pub use key::{Key, Target};
pub use nested::find as find_nested;
pub use patch::merge_patch;
pub use redacted::redacted;
pub use secret::key_hash;

pub(crate) use consumer::text as secret_text;

use index::{References, Uniques};

use crate::objects::Purpose;

/// All documents.
#[derive(Clone, Debug, Default)]
pub struct State {
    documents: [BTreeMap<Arc<str>, Held>; ResourceKind::ALL.len()],
    references: References,
    uniques: Uniques,
    compiled: Documents,
    digest: u64,
    revision: u64,
}

impl State {
    /// The revision that was applied last.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Sets it: of a state that was loaded.
    pub fn set_revision(&mut self, revision: u64) {
        self.revision = revision;
    }

    /// The sum over everything that workers hold, which each of them must come to as well.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// One document.
    #[must_use]
    pub fn get(&self, kind: ResourceKind, id: &str) -> Option<&Held> {
        self.documents[kind as usize].get(id)
    }

    /// All of a kind in the order of their ids, those behind `after` only.
    pub fn iter<'s>(
        &'s self,
        kind: ResourceKind,
        after: Option<&str>,
    ) -> impl Iterator<Item = (&'s Arc<str>, &'s Held)> {
        let start = after.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded);
        self.documents[kind as usize].range::<str, _>((start, std::ops::Bound::Unbounded))
    }

    /// The certificates that name files, with what was captured of them.
    pub fn certificates_in_files<'s>(&'s self) -> impl Iterator<Item = (&'s str, &'s [(Purpose, CapturedFile)])> {
        let files = |held: &'s Held| held.document.certificate.as_deref().map(|parts| parts.files.as_slice());
        let all = self.iter(ResourceKind::Certificates, None);
        all.filter_map(move |(id, held)| Some((&**id, files(held).filter(|files| !files.is_empty())?)))
    }

    /// How many there are of a kind.
    #[must_use]
    pub fn count(&self, kind: ResourceKind) -> usize {
        self.documents[kind as usize].len()
    }

    /// Members of an upstream, by their own ids.
    pub fn members<'s>(&'s self, upstream: &str) -> impl Iterator<Item = (&'s str, &'s Arc<str>, &'s Held)> {
        let prefix = format!("{upstream}/");
        let all = self.documents[ResourceKind::Members as usize]
            .range::<str, _>((std::ops::Bound::Included(prefix.as_str()), std::ops::Bound::Unbounded));
        let length = prefix.len();
        all.take_while(move |(id, _)| id.starts_with(&prefix)).map(move |(id, held)| (&id[length..], id, held))
    }

    /// The resources that refer to a resource.
    pub fn referrers(&self, kind: ResourceKind, id: &str) -> impl Iterator<Item = &Key> + use<'_> {
        self.references.referrers(kind, id)
    }

    /// The owners of what only one resource of a kind may have.
    #[must_use]
    pub fn owners(&self, kind: ResourceKind, unique: &str) -> &[Key] {
        self.uniques.owners(kind, unique)
    }

    /// The document as the API shows it: an upstream with its members, a secret as its hash.
    #[must_use]
    pub fn shown(&self, kind: ResourceKind, id: &str) -> Option<String> {
        let text = &*self.get(kind, id)?.document.text;
        Some(if kind == ResourceKind::Upstreams { self.with_members(id, text) } else { redacted(kind, text) })
    }

    fn with_members(&self, id: &str, text: &str) -> String {
        let mut out = text[..text.len() - 1].to_owned();
        let mut before = if out.len() > 1 { ",\"members\":{\"" } else { "\"members\":{\"" };
        let empty = out.len();
        for (member, _, held) in self.members(id) {
            out.push_str(before);
            out.push_str(member);
            out.push_str("\":");
            out.push_str(&held.document.text);
            before = ",\"";
        }
        out.push_str(if out.len() > empty { "}}" } else { "}" });
        out
    }

    /// Operations that make all of this out of nothing, as frames of the journal.
    pub fn base(&self) -> impl Iterator<Item = Vec<u8>> + '_ {
        let all = ResourceKind::ALL.into_iter().flat_map(|kind| self.documents[kind as usize].values());
        all.filter_map(|held| held.document.frame.as_ref().map(|frame| frame.to_vec()))
    }

    /// Lists, rule sets, policies, and what settings add to them: what workers compile.
    #[must_use]
    pub fn compiled(&self) -> &Documents {
        &self.compiled
    }

    /// All of it as one text: what snapshots hold.
    #[must_use]
    pub fn everything(&self) -> Vec<(Key, Held)> {
        ResourceKind::ALL
            .into_iter()
            .flat_map(|kind| self.iter(kind, None).map(move |(id, held)| (Key { kind, id: id.clone() }, held.clone())))
            .collect()
    }

    /// Puts a document, or takes it away, with all that hangs on it. The only place where documents change.
    fn set(&mut self, key: &Key, new: Option<Held>) -> Option<Held> {
        let map = &mut self.documents[key.kind as usize];
        let fresh = new.as_ref().map(|held| held.document.clone());
        let old = match new {
            Some(held) => map.insert(key.id.clone(), held),
            None => map.remove(&key.id),
        };
        let stale = old.as_ref().map(|held| &held.document);
        if let (Some(stale), Some(fresh)) = (stale, &fresh)
            && Arc::ptr_eq(stale, fresh)
        {
            return old;
        }
        if key.kind.is_compiled() {
            let entry = fresh.as_ref().and_then(|document| document.compiled_entry(key.kind));
            self.compiled.set(key.kind, &key.id, entry);
        }
        if let Some(document) = stale {
            self.references.remove(key, document);
            self.uniques.remove(key, document);
            self.digest ^= document.digest;
        }
        if let Some(document) = &fresh {
            self.references.add(key, document);
            self.uniques.add(key, document);
            self.digest ^= document.digest;
        }
        old
    }
}

#[cfg(test)]
mod tests;
