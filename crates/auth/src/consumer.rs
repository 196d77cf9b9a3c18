//! Consumers, their credentials, and how a credential is found.

use std::sync::Arc;

use rpds::HashTrieMapSync;

use crate::password::Attempt;
use crate::{Failure, Identity, Key};

/// Who sends requests: a partner, an application, a person.
#[derive(Debug, PartialEq, Eq)]
pub struct Consumer {
    /// The id.
    pub id: String,
    /// The groups, in the order of the document.
    pub groups: Vec<String>,
    /// The live credentials, in the order of the document.
    pub credentials: Vec<Credential>,
}

/// What a credential is for. One id may be taken once for each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CredentialKind {
    /// A key in a header or parameter; its id is the hash of the key.
    ApiKey,
    /// A secret or public key for `verify_signature`.
    Signature,
    /// A secret or public key for `jwt`; its id is the token's `kid`, or else its `iss`.
    Jwt,
    /// A user name with the hash of a password.
    Password,
    /// A client certificate: its subject or one of its names.
    Certificate,
}

/// One credential.
#[derive(Debug, PartialEq, Eq)]
pub struct Credential {
    /// What it is for.
    pub kind: CredentialKind,
    /// What a request names it by.
    pub id: Vec<u8>,
    /// What it verifies with; of [`CredentialKind::Password`] the hash as a secret, of kinds whose id says it all, nothing.
    pub key: Option<Key>,
}

/// A credential that may be the one.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its consumer.
    pub consumer: Arc<Consumer>,
    /// Its position in the consumer's credentials.
    pub credential: usize,
}

impl Candidate {
    /// The credential.
    #[must_use]
    pub fn credential(&self) -> &Credential {
        &self.consumer.credentials[self.credential]
    }

    /// The shared secret, unless it is bound to an algorithm.
    #[must_use]
    pub fn secret(&self) -> Option<&[u8]> {
        match self.credential().key.as_ref()? {
            Key::Secret(secret) => Some(secret.bytes()),
            Key::Hmac(..) | Key::Public(_) => None,
        }
    }
}

/// Where schemes look for credentials.
pub trait Keys {
    /// The live credential of that kind with that id.
    fn find(&self, kind: CredentialKind, id: &[u8]) -> Option<Candidate>;

    /// The live credentials of that kind that a consumer has: for schemes whose requests name no key.
    fn of_consumer(&self, kind: CredentialKind, consumer: &str) -> Vec<Candidate>;

    /// Whether the password of an attempt is right; `None` if that is not known yet. Verifying it here takes as long as
    /// the hash prescribes: a caller with an event loop verifies it elsewhere, before.
    fn password(&self, attempt: &Attempt) -> Option<Result<Identity, Failure>> {
        Some(attempt.finish())
    }

    /// The consumer with that id.
    fn consumer(&self, id: &str) -> Option<Arc<Consumer>>;
}

/// All consumers. A clone is O(1) and shares what it holds; a change is O(changed).
#[derive(Clone, Debug, Default)]
pub struct Consumers {
    consumers: HashTrieMapSync<String, Arc<Consumer>>,
    credentials: HashTrieMapSync<(CredentialKind, Vec<u8>), Candidate>,
}

impl Consumers {
    /// Puts a consumer in the place of the one with its id.
    pub fn put(&mut self, consumer: Consumer) {
        self.remove(&consumer.id);
        let consumer = Arc::new(consumer);
        for (at, credential) in consumer.credentials.iter().enumerate() {
            let candidate = Candidate { consumer: Arc::clone(&consumer), credential: at };
            self.credentials.insert_mut((credential.kind, credential.id.clone()), candidate);
        }
        self.consumers.insert_mut(consumer.id.clone(), consumer);
    }

    /// Removes a consumer; `None` if there is no such one.
    pub fn remove(&mut self, id: &str) -> Option<Arc<Consumer>> {
        let consumer = Arc::clone(self.consumers.get(id)?);
        for credential in &consumer.credentials {
            let key = (credential.kind, credential.id.clone());
            // Between two operations of a revision another consumer may have taken the id over.
            if self.credentials.get(&key).is_some_and(|found| found.consumer.id == id) {
                self.credentials.remove_mut(&key);
            }
        }
        self.consumers.remove_mut(id);
        Some(consumer)
    }

    /// A consumer.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Arc<Consumer>> {
        self.consumers.get(id)
    }

    /// The number of consumers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.consumers.size()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.consumers.is_empty()
    }
}

impl Keys for Consumers {
    fn find(&self, kind: CredentialKind, id: &[u8]) -> Option<Candidate> {
        self.credentials.get(&(kind, id.to_vec())).cloned()
    }

    fn of_consumer(&self, kind: CredentialKind, consumer: &str) -> Vec<Candidate> {
        let Some(consumer) = self.consumers.get(consumer) else { return Vec::new() };
        let positions = consumer.credentials.iter().enumerate().filter(|(_, credential)| credential.kind == kind);
        positions.map(|(credential, _)| Candidate { consumer: Arc::clone(consumer), credential }).collect()
    }

    fn consumer(&self, id: &str) -> Option<Arc<Consumer>> {
        self.consumers.get(id).cloned()
    }
}
