//! Credentials that the head of a request decides about: API keys, tokens and passwords as [`Scheme`]s.

use std::sync::Arc;

use crate::api_key::ApiKey;
use crate::jwk::KeySet;
use crate::jwt::{ConsumerOf, Jwt, Trust};
use crate::password::Attempt;
use crate::password_hash::PasswordHash;
use crate::place::Place;
use crate::{Failure, Identity, Keys, Pending, Reason, Request, Scheme};

/// What the head has decided.
struct Decided(Result<Identity, Failure>);

impl Pending for Decided {
    fn absorb(&mut self, _: &[u8]) {}

    fn finish(self: Box<Self>, _: &dyn Keys) -> Result<Identity, Failure> {
        self.0
    }

    fn canonical(&self) -> Vec<u8> {
        Vec::new()
    }
}

/// A missing credential fails at once, so that another scheme may have one; all else counts as a claim.
fn decided<'a>(decision: Result<Identity, Failure>) -> Result<Box<dyn Pending + 'a>, Failure> {
    match decision {
        Err(failure) if failure.reason == Reason::Missing => Err(failure),
        decision => Ok(Box::new(Decided(decision))),
    }
}

/// Names of the header fields among some places.
fn fields(places: &[Place]) -> Vec<&str> {
    let name = |place| match place {
        &Place::Bearer => Some("authorization"),
        Place::Header(name) => Some(name.as_str()),
        Place::Query(_) | Place::Cookie(_) => None,
    };
    places.iter().filter_map(name).collect()
}

impl Scheme for ApiKey {
    fn begin<'a>(&self, request: &Request<'a>, keys: &dyn Keys, _: u64) -> Result<Box<dyn Pending + 'a>, Failure> {
        decided(self.verify(request, keys))
    }

    fn reads_body(&self) -> bool {
        false
    }

    fn challenge(&self) -> &'static str {
        "Key"
    }

    fn credential_fields(&self) -> Vec<&str> {
        fields(&self.places)
    }
}

/// Tokens, and the keys that they are verified with.
#[derive(Clone, Debug)]
pub struct Tokens {
    /// Options for tokens.
    pub jwt: Jwt,
    /// The key set of an issuer; without it the keys are credentials of consumers.
    pub issuer: Option<(Arc<KeySet>, ConsumerOf)>,
}

impl Scheme for Tokens {
    fn begin<'a>(&self, request: &Request<'a>, keys: &dyn Keys, now_ms: u64) -> Result<Box<dyn Pending + 'a>, Failure> {
        let trust = match &self.issuer {
            Some((set, consumer)) => Trust::Issuer(set, consumer),
            None => Trust::Credentials,
        };
        decided(self.jwt.verify(request, keys, trust, now_ms).map(|verified| Identity {
            consumer: verified.consumer,
            credential: verified.credential,
            nonce: None,
            claims: Some(Arc::new(verified.claims)),
        }))
    }

    fn reads_body(&self) -> bool {
        false
    }

    fn challenge(&self) -> &'static str {
        "Bearer"
    }

    fn credential_fields(&self) -> Vec<&str> {
        fields(&self.jwt.places)
    }
}

/// User names and passwords.
#[derive(Clone, Debug, Default)]
pub struct Passwords {
    /// What an unknown user's password is hashed like.
    pub stand_in: PasswordHash,
}

impl Scheme for Passwords {
    fn begin<'a>(&self, request: &Request<'a>, keys: &dyn Keys, _: u64) -> Result<Box<dyn Pending + 'a>, Failure> {
        let attempt = match Attempt::begin(request, keys, &self.stand_in) {
            Ok(attempt) => attempt,
            Err(failure) => return decided(Err(failure)),
        };
        let unverified = || Err(Failure::new(Reason::Unavailable, "the password has not been verified"));
        decided(keys.password(&attempt).unwrap_or_else(unverified))
    }

    fn reads_body(&self) -> bool {
        false
    }

    fn challenge(&self) -> &'static str {
        "Basic"
    }

    fn stand_in(&self) -> Option<&PasswordHash> {
        Some(&self.stand_in)
    }

    fn credential_fields(&self) -> Vec<&str> {
        vec!["authorization"]
    }
}
