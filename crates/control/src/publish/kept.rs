//! What a change of certificates may need beside its documents: files that were read for it, contents and keys that are
//! kept.

use weir_gateway::resource::Sha256Hash;

use crate::objects::Objects;
use crate::state::{Contents, FileOf, ReadFiles};
use crate::store::Store;

/// Files that were read for a change.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub files: ReadFiles,
    pub attempts: u32,
    /// Why one could not be stored, if that is for lack of space.
    pub full: Option<String>,
}

/// What a change of certificates may need.
pub(super) struct Kept<'k> {
    pub objects: &'k Objects,
    pub store: &'k Store,
    pub read: &'k Read,
}

impl Contents for Kept<'_> {
    fn file(&self, file: &FileOf) -> Option<Result<Sha256Hash, String>> {
        self.read.files.get(file).cloned()
    }

    fn text(&self, hash: Sha256Hash) -> Option<String> {
        self.objects.text(hash)
    }

    fn private_key(&self, hash: Sha256Hash) -> Option<String> {
        self.store.retired_key(hash).ok().flatten().or_else(|| self.objects.private_key(hash))
    }
}

/// What is kept, for states that are loaded or restored.
impl Contents for Objects {
    fn file(&self, _: &FileOf) -> Option<Result<Sha256Hash, String>> {
        None
    }

    fn text(&self, hash: Sha256Hash) -> Option<String> {
        Self::text(self, hash)
    }

    fn private_key(&self, _: Sha256Hash) -> Option<String> {
        None
    }
}
