//! What of a change has to be compiled, and what the sandbox has compiled of it.

use weir_gateway::resource::Document;

use crate::sandbox::Job;
use crate::state::{Applied, Key, State};

/// The compiled documents that a change touches, as of its first trial. When its turn comes, they are laid over what
/// other changes have made meanwhile, so that waiting costs no second trial.
#[derive(Clone, Debug)]
pub(super) struct Compiled {
    documents: Vec<(Key, Option<(Document, u64)>)>,
    /// Regular expressions, each with its JSON pointer.
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

/// Documents (by hash) and expressions that the sandbox has compiled.
#[derive(Debug)]
pub(super) struct Verified {
    pub job: Job,
    /// How often the change was sent to the sandbox.
    pub attempts: u32,
}

impl Verified {
    /// Whether it covers everything that the change needs compiled.
    pub fn covers(&self, state: &State, applied: &Applied) -> bool {
        let is_touched = applied.compiled().next().is_some();
        (!is_touched || self.job.documents.as_ref() == Some(state.compiled()))
            && applied.new_patterns().all(|(pattern, _)| self.job.patterns.iter().any(|(known, _)| known == pattern))
    }
}
