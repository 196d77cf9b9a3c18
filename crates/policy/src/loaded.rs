//! What this process has made of large files, found again by the hash of their content.
//!
//! All policies of a gateway are built again when one changes. A list of a million networks and a geographic database
//! of 60 MB are not: as long as any policy uses them, the next build takes them as they are.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use weir_gateway::resource::Sha256Hash;

/// Loaded files of one type, each with what it was loaded for.
pub(crate) struct Loaded<T>(Mutex<Vec<(Sha256Hash, &'static str, Weak<T>)>>);

impl<T> Loaded<T> {
    pub const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// The file of this content, if it is loaded for this purpose.
    pub fn get(&self, hash: Option<Sha256Hash>, purpose: &'static str) -> Option<Arc<T>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().find(|(known, of, _)| Some(*known) == hash && *of == purpose);
        known.and_then(|(_, _, loaded)| loaded.upgrade())
    }

    /// Remembers it as long as somebody uses it.
    pub fn keep(&self, hash: Sha256Hash, purpose: &'static str, loaded: &Arc<T>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(_, _, loaded)| loaded.strong_count() > 0);
        all.push((hash, purpose, Arc::downgrade(loaded)));
    }
}
