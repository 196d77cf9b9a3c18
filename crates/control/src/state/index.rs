//! Indices of references and of unique values.
//!
//! In the middle of a transaction both may hold invalid entries; [`super::verify`] checks them at its end.

use std::collections::HashMap;
use std::sync::Arc;

use weir_resource::ResourceKind;

use super::{Document, Key};

type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// Referrers by what they refer to, with how often.
#[derive(Clone, Debug, Default)]
pub(super) struct References {
    targets: [Map<Arc<str>, Map<Key, u32>>; ResourceKind::ALL.len()],
}

impl References {
    pub fn add(&mut self, key: &Key, document: &Document) {
        for reference in &document.references {
            let targets = &mut self.targets[reference.kind as usize];
            if !targets.contains_key(reference.id.as_str()) {
                targets.insert(reference.id.as_str().into(), Map::default());
            }
            let referrers = targets.get_mut(reference.id.as_str()).expect("it was just put there");
            *referrers.entry(key.clone()).or_default() += 1;
        }
    }

    pub fn remove(&mut self, key: &Key, document: &Document) {
        for reference in &document.references {
            let targets = &mut self.targets[reference.kind as usize];
            let Some(referrers) = targets.get_mut(reference.id.as_str()) else { continue };
            if let Some(count) = referrers.get_mut(key) {
                *count -= 1;
                if *count == 0 {
                    referrers.remove(key);
                }
            }
            if referrers.is_empty() {
                targets.remove(reference.id.as_str());
            }
        }
    }

    /// The resources that refer to it.
    pub fn referrers(&self, kind: ResourceKind, id: &str) -> impl Iterator<Item = &Key> + use<'_> {
        self.targets[kind as usize].get(id).into_iter().flat_map(|referrers| referrers.keys())
    }
}

/// Owners of unique values, by kind and value.
#[derive(Clone, Debug, Default)]
pub(super) struct Uniques {
    owners: [Map<Arc<str>, Vec<Key>>; ResourceKind::ALL.len()],
}

impl Uniques {
    pub fn add(&mut self, key: &Key, document: &Document) {
        for unique in &document.unique {
            let owners = &mut self.owners[key.kind as usize];
            match owners.get_mut(unique.key.as_str()) {
                Some(owners) => owners.push(key.clone()),
                None => {
                    owners.insert(unique.key.as_str().into(), vec![key.clone()]);
                }
            }
        }
    }

    pub fn remove(&mut self, key: &Key, document: &Document) {
        for unique in &document.unique {
            let all = &mut self.owners[key.kind as usize];
            let Some(owners) = all.get_mut(unique.key.as_str()) else { continue };
            if let Some(place) = owners.iter().position(|owner| owner == key) {
                owners.swap_remove(place);
            }
            if owners.is_empty() {
                all.remove(unique.key.as_str());
            }
        }
    }

    /// The owners of a value; more than one only in the middle of a change.
    pub fn owners(&self, kind: ResourceKind, key: &str) -> &[Key] {
        self.owners[kind as usize].get(key).map_or(&[], Vec::as_slice)
    }
}
