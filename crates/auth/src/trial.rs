//! The secrets that may have made a signature.
//!
//! A request that names a key has one; a request that names none, or a consumer in the middle of a rotation, has a few.
//! An unknown key has one too, which nobody has, so that its request takes the time of a wrong signature.

use std::sync::{Arc, LazyLock};

use crate::{Candidate, Consumer, Credential, CredentialKind, Failure, Identity, Key, Keys, Nonce, Reason, Secret};

/// The most secrets that are tried: two during a rotation, a few for environments. Of more, the first in the document.
pub const MAX_SECRETS: usize = 8;

/// Stands in for the secret of an unknown key. It is public, and of no use: [`Trial::decide`] accepts candidates alone.
const NOBODY: &[u8] = b"the secret of a consumer that does not exist";

/// Candidates with shared secrets, at least one.
#[derive(Debug)]
pub struct Trial {
    candidates: Vec<Candidate>,
    /// Whether they are anybody's.
    is_known: bool,
}

/// The candidate for an unknown key, which is handled as any other until [`Trial::decide`].
fn nobody() -> Candidate {
    static NOBODYS: LazyLock<Arc<Consumer>> = LazyLock::new(|| {
        let key = Some(Key::Secret(Secret::new(NOBODY)));
        let credentials = vec![Credential { kind: CredentialKind::Signature, id: Vec::new(), key }];
        Arc::new(Consumer { id: String::new(), groups: Vec::new(), credentials })
    });
    Candidate { consumer: Arc::clone(&NOBODYS), credential: 0 }
}

impl Trial {
    /// The credential that the request names.
    #[must_use]
    pub fn of_id(keys: &dyn Keys, id: &[u8]) -> Self {
        Self::of(keys.find(CredentialKind::Signature, id))
    }

    /// All live credentials of a consumer.
    #[must_use]
    pub fn of_consumer(keys: &dyn Keys, consumer: &str) -> Self {
        Self::of(keys.of_consumer(CredentialKind::Signature, consumer))
    }

    fn of(found: impl IntoIterator<Item = Candidate>) -> Self {
        let mut candidates: Vec<Candidate> = Vec::with_capacity(1);
        candidates.extend(found.into_iter().filter(|candidate| candidate.secret().is_some()).take(MAX_SECRETS));
        let is_known = !candidates.is_empty();
        if !is_known {
            candidates.push(nobody());
        }
        Self { candidates, is_known }
    }

    /// The secrets, at least one.
    pub fn secrets(&self) -> impl Iterator<Item = &[u8]> {
        self.candidates.iter().filter_map(Candidate::secret)
    }

    /// The position of the first secret for which `matches` holds. It is asked about all of them, whatever it says.
    pub fn first(&self, mut matches: impl FnMut(usize, &[u8]) -> bool) -> Option<usize> {
        let matching = |found: Option<usize>, (at, secret)| found.or(matches(at, secret).then_some(at));
        // `or` evaluates its argument in any case.
        self.secrets().enumerate().fold(None, matching)
    }

    /// The identity of the candidate at a position that [`Trial::first`] gave.
    ///
    /// # Errors
    /// [`Reason::UnknownKey`] if there are no candidates, [`Reason::Mismatch`] if none matched.
    pub fn decide(&self, matched: Option<usize>, nonce: Option<Nonce>) -> Result<Identity, Failure> {
        if !self.is_known {
            return Err(Failure::new(Reason::UnknownKey, "no consumer has a live shared secret of that name"));
        }
        let found = matched.and_then(|at| self.candidates.get(at));
        let found =
            found.ok_or_else(|| Failure::new(Reason::Mismatch, "the signature is of another message or secret"))?;
        Ok(Identity { nonce, ..Identity::of(found.clone()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Consumers;
    use crate::key::{PublicAlgorithm, PublicKey};
    use crate::testing::consumers;

    #[test]
    fn secrets_are_bounded_and_all_are_asked() {
        let ids: Vec<String> = (0..20).map(|at| format!("k{at}")).collect();
        let secrets: Vec<_> = ids.iter().map(|id| (id.as_str(), id.as_str())).collect();
        let trial = Trial::of_consumer(&consumers(&secrets), "partner");
        let mut asked = 0;
        let found = trial.first(|_, secret| {
            asked += 1;
            secret == b"k2" || secret == b"k5"
        });
        assert_eq!((found, asked), (Some(2), MAX_SECRETS));
    }

    #[test]
    fn a_public_key_is_as_unknown_as_no_key_and_both_have_one_secret() {
        let public = PublicKey { algorithm: PublicAlgorithm::Ed25519, bytes: vec![0; 32] };
        let key = Some(Key::Public(public));
        let credentials = vec![Credential { kind: CredentialKind::Signature, id: b"public".to_vec(), key }];
        let mut consumers = Consumers::default();
        consumers.put(Consumer { id: "partner".into(), groups: Vec::new(), credentials });
        for id in ["public", "other"] {
            let trial = Trial::of_id(&consumers, id.as_bytes());
            let matched = trial.first(|_, secret| secret == NOBODY);
            assert_eq!(matched, Some(0));
            assert_eq!(trial.decide(matched, None).unwrap_err().reason, Reason::UnknownKey);
        }
    }
}
