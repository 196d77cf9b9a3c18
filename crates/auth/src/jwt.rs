//! JSON Web Tokens (RFC 7519), verified by the rules of RFC 8725.
//!
//! A token is trusted in one of two ways. Either its key is a credential of a consumer, and that consumer is the sender;
//! or its key is in the set of an issuer, and the issuer says who the sender is. The two do not mix: if a consumer's own
//! token could name the sender, every consumer could act as any other.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::claims::{self, ClaimRules};
use crate::excerpt::Excerpt;
use crate::jwk::KeySet;
use crate::jws::{self, Compact};
use crate::place::{self, Place};
use crate::{Consumer, CredentialKind, Failure, Keys, Reason, Request, strict_json};

/// Options for tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jwt {
    /// The places that can hold the token. Default: `Authorization: Bearer`.
    pub places: Vec<Place>,
    /// The required `typ` of the header, such as `at+jwt`; case and a leading `application/` are ignored. Default: not
    /// checked.
    pub typ: Option<String>,
    /// What the claims must be.
    pub claims: ClaimRules,
}

impl Default for Jwt {
    fn default() -> Self {
        Self { places: vec![Place::Bearer], typ: None, claims: ClaimRules::default() }
    }
}

/// The keys that tokens are verified with.
#[derive(Clone, Copy, Debug)]
pub enum Trust<'a> {
    /// Credentials of consumers ([`CredentialKind::Jwt`]): the one named by the token's `kid`, or else by its `iss`.
    Credentials,
    /// The key set of an issuer, and the source of the consumer. Set [`ClaimRules::issuers`] and
    /// [`ClaimRules::audiences`] with it; otherwise, tokens that the issuer made for other services are accepted too.
    Issuer(&'a KeySet, &'a ConsumerOf),
}

/// The sender of an issuer's token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConsumerOf {
    /// The consumer whose id is the value of this top-level claim, a string; for example `sub`, `client_id` or `azp`.
    Claim(String),
    /// The consumer with this id, for all tokens of the issuer.
    Id(String),
}

/// The result of a valid token.
#[derive(Clone, Debug)]
pub struct Verified {
    /// The sender.
    pub consumer: Arc<Consumer>,
    /// The position of the credential in [`Consumer::credentials`]; `None` with [`Trust::Issuer`].
    pub credential: Option<usize>,
    /// All claims of the token.
    pub claims: Map<String, Value>,
}

impl Jwt {
    /// Verifies the token of a request. `now_ms` is milliseconds since the Unix epoch.
    ///
    /// # Errors
    /// Why the token is refused. Claims are checked after the signature.
    pub fn verify(
        &self,
        request: &Request<'_>,
        keys: &dyn Keys,
        trust: Trust<'_>,
        now_ms: u64,
    ) -> Result<Verified, Failure> {
        self.verify_token(&place::only(&self.places, request)?, keys, trust, now_ms)
    }

    /// Verifies a token that was found in some other way.
    ///
    /// # Errors
    /// As [`Self::verify`].
    pub fn verify_token(
        &self,
        token: &[u8],
        keys: &dyn Keys,
        trust: Trust<'_>,
        now_ms: u64,
    ) -> Result<Verified, Failure> {
        let token = Compact::parse(token)?;
        let claims = strict_json::object(&token.payload)
            .map_err(|error| Failure::new(Reason::Malformed, format!("the claims of the token: {error}")))?;
        let (consumer, credential) = match trust {
            Trust::Credentials => {
                let issuer = claims::text(&claims, "iss")?;
                let ids = [token.kid.as_deref(), issuer];
                let found = ids.into_iter().flatten().find_map(|id| keys.find(CredentialKind::Jwt, id.as_bytes()));
                // A credential without a key counts as unknown.
                token.verify(found.as_ref().and_then(|found| found.credential().key.as_ref()), None)?;
                let found = found.expect("without a candidate there is no key, and the token did not verify");
                (Ok(found.consumer), Some(found.credential))
            }
            Trust::Issuer(set, consumer) => {
                token.verify(set.find(token.kid.as_deref()), set.like(token.algorithm.method))?;
                (consumer.find(&claims, keys), None)
            }
        };
        self.check_type(token.typ.as_deref())?;
        self.claims.check(&claims, now_ms)?;
        Ok(Verified { consumer: consumer?, credential, claims })
    }

    fn check_type(&self, found: Option<&str>) -> Result<(), Failure> {
        let Some(wanted) = &self.typ else { return Ok(()) };
        match found {
            Some(found) if jws::media_type_is(found, wanted) => Ok(()),
            Some(found) => {
                let detail = format!("the token's `typ` is {}; expected `{wanted}`", Excerpt(found.as_bytes()));
                Err(Failure::new(Reason::Unsupported, detail))
            }
            None => Err(Failure::new(Reason::Incomplete, format!("the token has no `typ`; expected `{wanted}`"))),
        }
    }
}

impl ConsumerOf {
    fn find(&self, claims: &Map<String, Value>, keys: &dyn Keys) -> Result<Arc<Consumer>, Failure> {
        let id = match self {
            Self::Id(id) => id,
            Self::Claim(name) => claims::text(claims, name)?
                .ok_or_else(|| Failure::new(Reason::Incomplete, format!("the token has no `{name}`")))?,
        };
        keys.consumer(id)
            .ok_or_else(|| Failure::new(Reason::UnknownKey, format!("there is no consumer {}", Excerpt(id.as_bytes()))))
    }
}

#[cfg(test)]
mod tests;
