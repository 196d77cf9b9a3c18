//! What of a change has to be compiled, and what the sandbox has compiled of it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use weir_gateway::resource::Document;
use weir_resource::Fault;

use super::captured;
use crate::sandbox::{Job, Uses};
use crate::state::{Applied, Key, State};

/// The compiled documents that a change touches, as of its first trial. When its turn comes, they are laid over what
/// other changes have made meanwhile, so that waiting costs no second trial.
#[derive(Clone, Debug)]
pub(super) struct Compiled {
    documents: Vec<(Key, Option<(Document, u64)>)>,
    /// Regular expressions, each with its JSON pointer.
    patterns: Vec<(String, String)>,
    /// Resources whose files are captured anew.
    fresh: Fresh,
    /// Whether everything is compiled, changed or not.
    all: bool,
}

impl Compiled {
    pub fn of(applied: &Applied, fresh: Fresh, all: bool) -> Self {
        let documents = applied.compiled().map(|(key, entry)| (key.clone(), entry)).collect();
        Self { documents, patterns: applied.places_of_patterns(), fresh, all }
    }

    /// Whether there is nothing to compile, as far as is known which resources depend on files.
    pub fn is_empty(&self, uses: Option<&Uses>) -> bool {
        self.documents.is_empty() && self.patterns.is_empty() && self.fresh.is_empty(uses) && !self.all
    }

    /// What is to be compiled, and which files are to be captured anew before.
    pub fn begin(self, state: &State, uses: Option<&Uses>, attempts: u32) -> (Verified, BTreeSet<PathBuf>) {
        let mut all = state.compiled().clone();
        let fresh = self.fresh.paths(uses);
        let is_touched = self.all || !self.documents.is_empty() || !fresh.is_empty();
        for (key, entry) in self.documents {
            all.set(key.kind, &key.id, entry);
        }
        let job = Job { documents: is_touched.then_some(all), patterns: self.patterns };
        let files = captured::digest(state.compiled());
        (Verified { job, attempts, files, uses: None, warnings: Vec::new(), changed: Vec::new() }, fresh)
    }
}

/// Resources whose files are captured anew.
#[derive(Clone, Debug)]
pub(super) enum Fresh {
    All,
    These(BTreeSet<Key>),
}

impl Fresh {
    fn is_empty(&self, uses: Option<&Uses>) -> bool {
        match (self, uses) {
            (Self::All, _) => false,
            (Self::These(keys), Some(uses)) => keys.iter().all(|key| !uses.contains_key(key)),
            // Until control knows, each of them may.
            (Self::These(keys), None) => keys.iter().all(|key| !key.kind.is_compiled()),
        }
    }

    fn paths(&self, uses: Option<&Uses>) -> BTreeSet<PathBuf> {
        let Some(uses) = uses else { return BTreeSet::new() };
        match self {
            Self::All => captured::paths_of(uses, uses.keys()),
            Self::These(keys) => captured::paths_of(uses, keys.iter()),
        }
    }
}

/// Documents (by hash) and expressions that the sandbox has compiled.
#[derive(Debug)]
pub(super) struct Verified {
    /// With the files that were captured.
    pub job: Job,
    /// The digest of the captured files before.
    files: u64,
    /// Files that the documents depend on.
    pub uses: Option<Uses>,
    /// What is odd about the documents.
    pub warnings: Vec<Fault>,
    /// What changes in files, in words.
    pub changed: Vec<String>,
    /// How often the change was sent to the sandbox.
    pub attempts: u32,
}

impl Verified {
    /// Whether no other change has captured files meanwhile.
    pub fn is_current(&self, state: &State) -> bool {
        self.job.documents.is_none() || self.files == captured::digest(state.compiled())
    }

    /// Whether it covers everything that the change needs compiled.
    pub fn covers(&self, state: &State, applied: &Applied) -> bool {
        let is_touched = applied.compiled().next().is_some();
        (!is_touched || self.job.documents.as_ref() == Some(state.compiled()))
            && applied.new_patterns().all(|(pattern, _)| self.job.patterns.iter().any(|(known, _)| known == pattern))
    }
}
