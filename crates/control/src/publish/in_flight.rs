//! Idempotency keys of changes that are neither stored nor refused yet. Two requests with one key would otherwise both
//! find that the store does not know it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use weir_gateway::resource::Sha256Hash;

use super::queue::Answer;
use crate::store::ChangeKey;

/// Actor and key.
type Name = (String, String);

/// All of them, with the fingerprints of their requests.
#[derive(Clone, Debug, Default)]
pub(super) struct InFlight(Arc<Mutex<HashMap<Name, Sha256Hash>>>);

/// One of them, until it is dropped.
#[derive(Debug)]
pub(super) struct Flight {
    all: InFlight,
    name: Name,
}

impl InFlight {
    /// Adds a key, or answers that it is in flight already.
    pub fn begin(&self, key: &ChangeKey) -> Result<Flight, Answer> {
        let name = (key.actor.clone(), key.key.clone());
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(name.clone()) {
            Entry::Vacant(entry) => _ = entry.insert(key.fingerprint),
            Entry::Occupied(entry) if *entry.get() == key.fingerprint => return Err(Answer::InProgress),
            Entry::Occupied(_) => return Err(Answer::KeyReused(None)),
        }
        Ok(Flight { all: self.clone(), name })
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.all.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.name);
    }
}
