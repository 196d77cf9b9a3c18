//! Recently verified passwords, so that a client that sends its password with every request has it hashed only once.
//!
//! The table holds HMACs of user name, password and stored hash under a random key of this process. The table without the
//! key does not help anyone guess a password, and a changed stored hash gives another HMAC, which is not in the table. The
//! table has two halves: when the younger one is full, it replaces the older one, so no request pays for a sweep.

use std::collections::HashMap;
use std::fmt;

use ring::error::Unspecified;
use ring::rand::{SecureRandom as _, SystemRandom};

use crate::digest::MacHash;
use crate::password::Attempt;
use crate::{Identity, Secret};

type Code = [u8; 32];

/// A bounded table of verified passwords.
pub struct Remembered {
    key: Secret,
    capacity: usize,
    ttl_ms: u64,
    /// HMACs with the time in milliseconds since the Unix epoch at which they expire.
    young: HashMap<Code, u64>,
    old: HashMap<Code, u64>,
}

impl Remembered {
    /// An empty table of at most `capacity` passwords, rounded up to an even number, which are
    /// remembered for `ttl_ms` milliseconds each. With a capacity of 0, none is remembered.
    ///
    /// # Errors
    /// If the operating system does not provide random numbers.
    pub fn new(capacity: usize, ttl_ms: u64) -> Result<Self, Unspecified> {
        let mut key = [0; 32];
        SystemRandom::new().fill(&mut key)?;
        Ok(Self { key: Secret::new(key), capacity, ttl_ms, young: HashMap::new(), old: HashMap::new() })
    }

    /// The identity of an attempt whose password was verified against the same stored hash less than `ttl_ms` ago.
    #[must_use]
    pub fn find(&self, attempt: &Attempt, now_ms: u64) -> Option<Identity> {
        let code = self.code(attempt);
        let expires = self.young.get(&code).or_else(|| self.old.get(&code))?;
        attempt.identity().filter(|_| now_ms < *expires)
    }

    /// Remembers an attempt. Call this only after [`Attempt::finish`] has returned an identity.
    pub fn put(&mut self, attempt: &Attempt, now_ms: u64) {
        if self.capacity == 0 {
            return;
        }
        if self.young.len() >= self.capacity.div_ceil(2) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(self.code(attempt), now_ms.saturating_add(self.ttl_ms));
    }

    /// The HMAC of an attempt. Each part follows its length, so that different attempts never give the same bytes.
    fn code(&self, attempt: &Attempt) -> Code {
        let (basic, stored) = attempt.parts();
        let mut mac = MacHash::Sha256.begin(self.key.bytes());
        for part in [basic.user(), basic.password(), stored] {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac.finish().as_ref().try_into().expect("SHA-256 has 32 bytes")
    }
}

impl fmt::Debug for Remembered {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Remembered({} of {})", self.young.len() + self.old.len(), self.capacity)
    }
}

#[cfg(test)]
mod tests;
