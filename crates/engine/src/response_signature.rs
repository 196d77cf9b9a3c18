//! Signatures of responses: the origin proves that the answer is its own, and whole.
//!
//! The claim is taken from the head of the response. If it is about the body, too, the caller holds the response back and
//! brings the body to [`Outcome::decide_response`].

use std::sync::Arc;

use weir_auth::message::base::Response as SignedResponse;
use weir_auth::message::{MessageSignatures, Options};
use weir_auth::{Failure, Identity, Keys, Pending, Reason, Request};
use weir_http::Transaction;

use crate::action::MAX_FINDINGS;
use crate::{Decision, Finding, Outcome, Response, RuleIndex, Verdict};

/// What is asked of responses.
#[derive(Debug)]
pub struct ResponseSignature {
    /// For responses with a body.
    whole: MessageSignatures,
    /// For those without: there is nothing that a digest could be compared with.
    head: MessageSignatures,
    reads_body: bool,
    /// The consumer that must have signed; `None` for any.
    consumer: Option<String>,
    /// The longest body that is held back.
    max_body: usize,
    /// What the client gets instead of a response that does not prove its origin.
    refusal: Arc<Response>,
}

/// A response whose body is still to come.
pub(crate) struct ResponseClaim {
    asked: Arc<ResponseSignature>,
    pending: Box<dyn Pending>,
    rule: RuleIndex,
    detect: bool,
}

impl ResponseSignature {
    /// With these options for the signature.
    ///
    /// # Errors
    /// Components that do not exist, labels and tags that no signature can have.
    pub fn new(options: Options, consumer: Option<String>, max_body: usize) -> Result<Self, String> {
        const DIGEST: &str = "content-digest";
        let required = options.required.iter().filter(|part| *part != DIGEST).cloned().collect();
        let reads_body = options.required.iter().any(|part| part == DIGEST);
        let head = MessageSignatures::new(Options { required, ..options.clone() })?;
        let refusal = Arc::new(Response { status: 502, ..Response::default() });
        Ok(Self { whole: MessageSignatures::new(options)?, head, reads_body, consumer, max_body, refusal })
    }

    /// What the client gets instead of a response that does not prove its origin.
    pub(crate) fn refusal(&self) -> Arc<Response> {
        Arc::clone(&self.refusal)
    }

    /// Takes the claim of a response; `None` if its head has proven everything.
    ///
    /// # Errors
    /// What is missing or wrong.
    pub(crate) fn begin(
        self: &Arc<Self>,
        transaction: &Transaction<'_>,
        keys: &dyn Keys,
        now_ms: u64,
        (rule, detect): (RuleIndex, bool),
    ) -> Result<Option<ResponseClaim>, Failure> {
        let request = Request::of(transaction);
        let response = transaction.response().ok_or_else(|| Failure::new(Reason::Missing, "there is no response"))?;
        let has_body = transaction.head.method != b"HEAD" && !matches!(response.status, 100..200 | 204 | 304);
        let scheme = if has_body { &self.whole } else { &self.head };
        let signed = SignedResponse { status: response.status, headers: response.headers };
        let pending = scheme.verify_response(&request, signed, keys, now_ms)?;
        if has_body && self.reads_body {
            return Ok(Some(ResponseClaim { asked: Arc::clone(self), pending, rule, detect }));
        }
        self.admit(pending.finish(keys)?).map(|()| None)
    }

    fn admit(&self, identity: Identity) -> Result<(), Failure> {
        if self.consumer.as_ref().is_some_and(|wanted| *wanted != identity.consumer.id) {
            let why = format!("it is signed by `{}`", identity.consumer.id);
            return Err(Failure::new(Reason::NotAllowed, why));
        }
        Ok(())
    }
}

impl PartialEq for ResponseSignature {
    /// Schemes cannot be compared, so only the same one is equal.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Outcome<'_> {
    /// How many bytes of the response's body signatures have to see, one more than may be there; `None` for none.
    #[must_use]
    pub fn signed_response_bytes(&self) -> Option<usize> {
        self.response_claims.iter().map(|claim| claim.asked.max_body.saturating_add(1)).max()
    }

    /// Verifies signatures over the body of the response, of which `is_whole` says whether that is all of it.
    pub fn decide_response(&mut self, body: &[u8], is_whole: bool, keys: Option<&dyn Keys>) -> Decision {
        for ResponseClaim { asked, mut pending, rule, detect } in std::mem::take(&mut self.response_claims) {
            let decided = match keys {
                _ if body.len() > asked.max_body => {
                    let why = format!("the body is longer than {} bytes (`max_body`)", asked.max_body);
                    Err(Failure::new(Reason::TooLarge, why))
                }
                Some(keys) if is_whole => {
                    pending.absorb(body);
                    pending.finish(keys).and_then(|identity| asked.admit(identity))
                }
                _ => Err(Failure::new(Reason::BodyChanged, "the body ended early")),
            };
            let Err(failure) = decided else { continue };
            if self.findings.len() < MAX_FINDINGS {
                let (action, reason) = ("verify_response", failure.to_string());
                self.findings.push(Finding { rule, action, detected_only: detect, reason, ..Finding::default() });
            }
            let verdict = if detect { Verdict::Detect } else { Verdict::Block };
            if verdict > self.verdict {
                (self.verdict, self.decided_by) = (verdict, Some(rule));
            }
            if !detect {
                return Decision::Respond(asked.refusal());
            }
        }
        Decision::Continue
    }
}
