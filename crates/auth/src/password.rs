//! A request with user name and password, in two steps.
//!
//! By design, checking a password takes about a tenth of a second of CPU time. So [`Attempt::begin`] and
//! [`Remembered`](crate::remembered::Remembered) are meant for the event loop, and [`Attempt::finish`] for another thread.

use crate::basic::Basic;
use crate::password_hash::PasswordHash;
use crate::{Candidate, CredentialKind, Failure, Identity, Keys, Reason, Request};

/// A user name and password that have not been verified yet.
#[derive(Clone, Debug)]
pub struct Attempt {
    basic: Basic,
    found: Option<Candidate>,
    hash: PasswordHash,
}

impl Attempt {
    /// Reads the credentials of a request and finds the user. If the user is unknown or has no readable hash, the password
    /// will be checked against `stand_in`, so that the time does not tell which users exist. Pass
    /// [`PasswordHash::stand_in`] of a hash in use.
    ///
    /// # Errors
    /// As [`Basic::of`].
    pub fn begin(request: &Request<'_>, keys: &dyn Keys, stand_in: &PasswordHash) -> Result<Self, Failure> {
        let basic = Basic::of(request)?;
        let found = keys.find(CredentialKind::Password, basic.user());
        let stored = found.as_ref().and_then(Candidate::secret).and_then(|stored| std::str::from_utf8(stored).ok());
        let hash = stored.and_then(|stored| PasswordHash::parse(stored).ok());
        let found = found.filter(|_| hash.is_some());
        Ok(Self { basic, found, hash: hash.unwrap_or_else(|| stand_in.clone()) })
    }

    /// Checks the password, which takes the time and memory that the hash prescribes.
    ///
    /// # Errors
    /// [`Reason::UnknownKey`] for an unknown user, after the same time as [`Reason::Mismatch`] for a wrong password.
    pub fn finish(&self) -> Result<Identity, Failure> {
        let is_right = std::hint::black_box(self.hash.verifies(self.basic.password()));
        match self.identity() {
            None => Err(Failure::new(Reason::UnknownKey, "no consumer has a password for this user name")),
            Some(identity) if is_right => Ok(identity),
            Some(_) => Err(Failure::new(Reason::Mismatch, "the password is wrong")),
        }
    }

    /// The identity that a right password proves; `None` if the user is unknown.
    pub(crate) fn identity(&self) -> Option<Identity> {
        let found = self.found.as_ref()?;
        Some(Identity::of(found.clone()))
    }

    /// The credentials of the request, and the stored hash of the user.
    pub(crate) fn parts(&self) -> (&Basic, &[u8]) {
        (&self.basic, self.found.as_ref().and_then(Candidate::secret).unwrap_or_default())
    }
}

#[cfg(test)]
pub(crate) mod tests;
