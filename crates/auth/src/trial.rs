//! The secrets that may have made a signature.
//!
//! A request that names a key has one; a request that names none, or a consumer in the middle of a rotation, has a few.
//! An unknown key has one too, which nobody has, so that its request takes the time of a wrong signature.

use crate::{Candidate, CredentialKind, Failure, Identity, Keys, Nonce, Reason};

/// The most secrets that are tried: two during a rotation, a few for environments. Of more, the first in the document.
pub const MAX_SECRETS: usize = 8;

/// Stands in for the secret of an unknown key. It is public, and of no use: [`Trial::decide`] accepts candidates alone.
const NOBODY: &[u8] = b"the secret of a consumer that does not exist";

/// Candidates with shared secrets.
#[derive(Debug)]
pub struct Trial(Vec<Candidate>);

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
        Self(found.into_iter().filter(|candidate| candidate.secret().is_some()).take(MAX_SECRETS).collect())
    }

    /// The secrets, at least one.
    pub fn secrets(&self) -> impl Iterator<Item = &[u8]> {
        let nobody = self.0.is_empty().then_some(NOBODY);
        self.0.iter().filter_map(Candidate::secret).chain(nobody)
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
        if self.0.is_empty() {
            return Err(Failure::new(Reason::UnknownKey, "no consumer has a live shared secret of that name"));
        }
        let found = matched.and_then(|at| self.0.get(at));
        let found =
            found.ok_or_else(|| Failure::new(Reason::Mismatch, "the signature is of another message or secret"))?;
        Ok(Identity { consumer: found.consumer.clone(), credential: found.credential, nonce })
    }
}
