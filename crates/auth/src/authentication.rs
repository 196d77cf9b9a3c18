//! What a rule asks of a request: that one of several schemes proves its sender, and who may pass.

use std::sync::Arc;

use crate::password::Attempt;
use crate::{Consumer, Failure, Identity, Keys, Pending, Reason, Request, Scheme};

/// The question with all its options.
#[derive(Clone, Debug)]
pub struct Authentication {
    /// The schemes, asked in order. One that succeeds is enough.
    pub schemes: Vec<Arc<dyn Scheme>>,
    /// The consumer that a request without any credentials counts as; without it such a request is refused.
    pub anonymous: Option<String>,
    /// Who may pass.
    pub admission: Admission,
    /// Whether the request to the upstream loses its credentials.
    pub hides_credentials: bool,
    /// Header fields in which the upstream gets the consumer's id and groups. What the client sends in them is removed.
    pub identity_headers: Option<[String; 2]>,
    /// Whether CORS preflight requests, which never carry credentials, pass without them.
    pub passes_preflights: bool,
    /// Whether a signed request may come only once, and what happens if that cannot be known.
    pub replay: Replay,
    /// How long a signature may be valid, in milliseconds, for what remembers those that may come only once.
    pub window_ms: u64,
    /// The realm in `WWW-Authenticate`.
    pub realm: String,
    /// Whether the attack log gets what was canonicalised for a request that is refused.
    pub debug: bool,
}

/// Who may pass, of those who have proven who they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admission {
    /// Ids of consumers; empty for any.
    pub consumers: Vec<String>,
    /// Groups of which the consumer has to be in one; empty for any.
    pub groups: Vec<String>,
    /// Groups of which the consumer must be in none.
    pub denied_groups: Vec<String>,
}

/// Whether requests may come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// They may.
    Pass,
    /// They may not. `is_open`: pass if the table is full, or has been lost.
    Refuse {
        /// Whether what cannot be told from a replay passes.
        is_open: bool,
    },
}

/// What a request claims by each of the schemes.
pub type Claims<'a> = Vec<Result<Box<dyn Pending + 'a>, Failure>>;

impl Authentication {
    /// Whether some scheme looks at the body.
    #[must_use]
    pub fn reads_body(&self) -> bool {
        self.schemes.iter().any(|scheme| scheme.reads_body())
    }

    /// The user name and password of a request, if a scheme asks for them.
    #[must_use]
    pub fn attempt(&self, request: &Request<'_>, keys: &dyn Keys) -> Option<Attempt> {
        let stand_in = self.schemes.iter().find_map(|scheme| scheme.stand_in())?;
        Attempt::begin(request, keys, stand_in).ok()
    }

    /// Reads what the head of a request claims.
    #[must_use]
    pub fn begin<'a>(&self, request: &Request<'a>, keys: &dyn Keys, now_ms: u64) -> Claims<'a> {
        self.schemes.iter().map(|scheme| scheme.begin(request, keys, now_ms)).collect()
    }

    /// Decides, once the body has passed.
    ///
    /// # Errors
    /// The first failure that is more than missing credentials.
    pub fn finish(&self, claims: Claims<'_>, keys: &dyn Keys) -> Result<Identity, Failure> {
        let mut first: Option<Failure> = None;
        let mut unavailable: Option<Failure> = None;
        for claim in claims {
            let failure = match claim.and_then(|pending| pending.finish(keys)) {
                Ok(identity) => return self.admission.check(&identity.consumer).map(|()| identity),
                Err(failure) => failure,
            };
            if failure.reason == Reason::Unavailable {
                unavailable = Some(failure);
                continue;
            }
            if first.as_ref().is_none_or(|first| first.reason == Reason::Missing) {
                first = Some(failure);
            }
        }
        // A password that is still to be verified may be the right one, whatever the other ways have said.
        let failure = unavailable.or(first).unwrap_or_else(|| Failure::new(Reason::Missing, "no scheme"));
        let Some(anonymous) = self.anonymous.as_ref().filter(|_| failure.reason == Reason::Missing) else {
            return Err(failure);
        };
        let consumer = keys.consumer(anonymous);
        let consumer = consumer.ok_or_else(|| Failure::new(Reason::Missing, "the anonymous consumer is not there"))?;
        self.admission.check(&consumer)?;
        Ok(Identity { consumer, credential: None, nonce: None, claims: None })
    }

    /// Whether a request is a CORS preflight (Fetch standard, 3.3.2) that passes.
    #[must_use]
    pub fn passes_preflight(&self, request: &Request<'_>) -> bool {
        let has = |name: &[u8]| request.values(name).next().is_some();
        self.passes_preflights
            && request.method == b"OPTIONS"
            && has(b"origin")
            && has(b"access-control-request-method")
    }

    /// The values of `WWW-Authenticate`.
    #[must_use]
    pub fn challenges(&self) -> Vec<String> {
        let challenge = |scheme: &Arc<dyn Scheme>| format!("{} realm=\"{}\"", scheme.challenge(), self.realm);
        let mut all: Vec<String> = self.schemes.iter().map(challenge).collect();
        all.dedup();
        all
    }
}

impl Admission {
    /// Whether the consumer may pass.
    ///
    /// # Errors
    /// [`Reason::NotAllowed`].
    pub fn check(&self, consumer: &Consumer) -> Result<(), Failure> {
        let is_in = |groups: &[String]| groups.iter().any(|group| consumer.groups.contains(group));
        let why = if is_in(&self.denied_groups) {
            "the consumer is in a denied group"
        } else if !self.groups.is_empty() && !is_in(&self.groups) {
            "the consumer is in none of the allowed groups"
        } else if !self.consumers.is_empty() && !self.consumers.contains(&consumer.id) {
            "the consumer is not among the allowed ones"
        } else {
            return Ok(());
        };
        Err(Failure::new(Reason::NotAllowed, why))
    }
}

impl PartialEq for Authentication {
    /// Schemes cannot be compared, so only the same one is equal.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}
