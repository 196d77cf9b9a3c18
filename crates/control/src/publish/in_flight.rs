//! Idempotency keys of changes that are neither stored nor refused yet. Two requests with one key would otherwise both
//! find that the store does not know it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use weir_gateway::resource::Sha256Hash;

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

/// The request that a key is in flight with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    BySame,
    ByOther,
}

impl InFlight {
    /// Adds a key, unless it is in flight already.
    pub fn begin(&self, key: &ChangeKey) -> Result<Flight, Taken> {
        let name = (key.actor.clone(), key.key.clone());
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(name.clone()) {
            Entry::Vacant(entry) => _ = entry.insert(key.fingerprint),
            Entry::Occupied(entry) if *entry.get() == key.fingerprint => return Err(Taken::BySame),
            Entry::Occupied(_) => return Err(Taken::ByOther),
        }
        Ok(Flight { all: self.clone(), name })
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.all.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_in_flight_until_it_is_dropped() {
        let key = |actor: &str, request: &[u8]| ChangeKey {
            actor: actor.into(),
            key: "k".into(),
            fingerprint: Sha256Hash::of(request),
        };
        let all = InFlight::default();
        let flight = all.begin(&key("a", b"x")).expect("it is new");
        assert!(matches!(all.begin(&key("a", b"x")), Err(Taken::BySame)));
        assert!(matches!(all.begin(&key("a", b"y")), Err(Taken::ByOther)));
        let _of_another = all.begin(&key("b", b"x")).expect("each client has keys of its own");
        drop(flight);
        let _again = all.begin(&key("a", b"y")).expect("it was refused, or is stored");
    }
}
