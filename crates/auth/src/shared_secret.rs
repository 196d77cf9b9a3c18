//! The shared secret of a credential that a request names, and what stands in for it if there is none.
//!
//! A request with an unknown key id is verified to the end with a key that nobody has, so that the time says nothing
//! about which ids exist.

use crate::{Candidate, CredentialKind, Keys};

/// The key in place of an unknown one. What it verifies is not looked at.
const NOBODY: &[u8] = b"a secret that no credential has, as long as others";

/// The live credential for signatures with that id, if its key is a shared secret.
pub(crate) fn find(keys: &dyn Keys, id: &[u8]) -> Option<Candidate> {
    keys.find(CredentialKind::Signature, id).filter(|found| found.secret().is_some())
}

/// The secret of what [`find`] has found.
pub(crate) fn of(found: Option<&Candidate>) -> &[u8] {
    found.and_then(Candidate::secret).unwrap_or(NOBODY)
}
