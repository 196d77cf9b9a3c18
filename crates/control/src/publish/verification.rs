//! What of a change has to be compiled, and what the sandbox has compiled of it.

use weir_gateway::resource::Document;

use crate::sandbox::Job;
use crate::state::{Applied, Key, State};

/// What a change does to what is compiled, as it was seen when the change was tried. It is put over what others have
/// made meanwhile when its turn comes, so that waiting costs no second trial.
#[derive(Clone, Debug)]
pub(super) struct Compiled {
    documents: Vec<(Key, Option<(Document, u64)>)>,
    /// With the place of each.
    patterns: Vec<(String, String)>,
}

impl Compiled {
    pub fn of(applied: &Applied) -> Self {
        let documents = applied.compiled().map(|(key, entry)| (key.clone(), entry)).collect();
        Self { documents, patterns: applied.places_of_patterns() }
    }

    pub fn job(self, state: &State) -> Job {
        let mut all = state.compiled().clone();
        let is_touched = !self.documents.is_empty();
        for (key, entry) in self.documents {
            all.set(key.kind, &key.id, entry);
        }
        Job { documents: is_touched.then_some(all), patterns: self.patterns }
    }
}

/// What the sandbox has found good: documents by their hashes, and expressions.
#[derive(Debug)]
pub(super) struct Verified {
    pub job: Job,
    /// How often the change was sent to the sandbox.
    pub attempts: u32,
}

impl Verified {
    /// Whether it is all that has to be compiled.
    pub fn covers(&self, state: &State, applied: &Applied) -> bool {
        let is_touched = applied.compiled().next().is_some();
        (!is_touched || self.job.documents.as_ref() == Some(state.compiled()))
            && applied.new_patterns().all(|(pattern, _)| self.job.patterns.iter().any(|(known, _)| known == pattern))
    }
}
