//! The action that asks who sent a request: claims taken from the head, the body absorbed, the consumer set.

use std::sync::Arc;

use weir_auth::{Authentication, Claims, Failure, Identity, Keys, Reason, Replay, Request};
use weir_http::{Anomalies, Transaction};

use crate::evaluate::{Context, Pass};
use crate::plan::Rule;
use crate::{HeaderChange, Meter, NonceTable, Outcome, Remembered, Response, Side};

/// Bytes of the canonical form that a log line shows.
const CANONICAL_BYTES: usize = 2048;

/// What the request claims in the first action of a rule that reads the body.
pub(crate) fn begin<'a, M: Meter>(
    rule: &Rule,
    transaction: &Transaction<'a>,
    context: &Context<'_, M>,
) -> Option<Claims<'a>> {
    let mut asked = rule.actions.iter().filter_map(|planned| planned.action.info().authentication);
    let asked = asked.find(|asked| asked.reads_body())?;
    let request = Request::of(transaction);
    (!asked.passes_preflight(&request)).then(|| asked.begin(&request, context.keys.unwrap_or(&Nobody), context.now_ms))
}

/// Finds the consumer and makes the changes to the request that go with it.
///
/// # Errors
/// The reason for the log, and the answer.
pub(crate) fn authenticate<'a, M: Meter>(
    pass: &Pass<'_, 'a, '_>,
    at: u32,
    rule: &Rule,
    asked: &Authentication,
    context: &Context<'_, M>,
    outcome: &mut Outcome<'a>,
) -> Result<(), (String, Arc<Response>)> {
    let transaction = pass.reader.transaction;
    let request = Request::of(transaction);
    let keys = context.keys.unwrap_or(&Nobody);
    if !(context.detect || rule.detect) {
        change_request(asked, None, outcome);
    }
    if asked.passes_preflight(&request) {
        return Ok(());
    }
    let expected =
        outcome.claims.iter().position(|(rule, _)| *rule == at).map(|place| outcome.claims.swap_remove(place));
    let (claims, has_body) = match expected {
        Some((_, claims)) => (claims, true),
        None => (asked.begin(&request, keys, context.now_ms), !asked.reads_body()),
    };
    let is_decoded = pass.plan.inflates && request.values(b"content-encoding").next().is_some();
    let decided = if has_body { Ok(claims) } else { absorb_all(claims, transaction, is_decoded) };
    let mut canonical = Vec::new();
    let decided = decided.and_then(|claims| {
        if asked.debug {
            canonical = claims.iter().flatten().flat_map(|claim| claim.canonical()).take(CANONICAL_BYTES).collect();
        }
        let identity = asked.finish(claims, keys)?;
        unrepeated(asked, &identity, context)?;
        Ok(identity)
    });
    match decided {
        Ok(identity) => {
            if !(context.detect || rule.detect) {
                change_request(asked, Some(&identity), outcome);
            }
            pass.identify(identity);
            Ok(())
        }
        Err(failure) => {
            let mut reason = failure.to_string();
            if !canonical.is_empty() {
                reason.push_str("; canonical form: ");
                reason.push_str(&canonical.escape_ascii().to_string());
            }
            Err((reason, refusal(asked, &failure)))
        }
    }
}

/// Where the body did not pass by: it is in memory, complete or not.
fn absorb_all<'a>(
    mut claims: Claims<'a>,
    transaction: &Transaction<'_>,
    is_decoded: bool,
) -> Result<Claims<'a>, Failure> {
    if is_decoded {
        return Err(Failure::new(Reason::Unsupported, "the body was decoded before the signature was verified"));
    }
    if transaction.anomalies().contains(Anomalies::BODY_TRUNCATED) {
        return Err(Failure::new(Reason::TooLarge, "the body was read before the signature, and not completely"));
    }
    claims.iter_mut().flatten().for_each(|claim| claim.absorb(transaction.body()));
    Ok(claims)
}

/// Refuses what has been seen before.
fn unrepeated<M: Meter>(asked: &Authentication, identity: &Identity, context: &Context<'_, M>) -> Result<(), Failure> {
    let (Replay::Refuse { is_open }, Some(nonce)) = (asked.replay, &identity.nonce) else { return Ok(()) };
    let credential = identity.credential.map(|at| identity.consumer.credentials[at].id.as_slice()).unwrap_or_default();
    let scope = [identity.consumer.id.as_bytes(), credential];
    let remembered = context.nonces.map_or(Remembered::Full, |table: &NonceTable<'_>| {
        if nonce.signed_ms.is_some_and(|signed_ms| signed_ms < table.started_ms(context.now_ms)) {
            return Remembered::Lost;
        }
        table.remember(&scope, &nonce.value, nonce.expires_ms, context.now_ms)
    });
    let unknown = |why| if is_open { Ok(()) } else { Err(Failure::new(Reason::ReplayUnknown, why)) };
    match remembered {
        Remembered::New => Ok(()),
        Remembered::Known => Err(Failure::new(Reason::Replayed, "this signature has been used before")),
        Remembered::Full => unknown("the table of nonces is full; see weir_nonce_zone"),
        Remembered::Lost => unknown("it was signed before the table of nonces began"),
    }
}

/// Removes what the client must not say, and tells the upstream who the consumer is.
fn change_request(asked: &Authentication, identity: Option<&Identity>, outcome: &mut Outcome<'_>) {
    let mut change = |name: &str, value: Option<String>| {
        let (name, value) = (name.as_bytes().to_vec(), value.map(String::into_bytes));
        outcome.header_changes.push(HeaderChange { side: Side::Request, name, value });
    };
    let Some(identity) = identity else {
        asked.identity_headers.iter().flatten().for_each(|name| change(name, None));
        return;
    };
    if asked.hides_credentials {
        for scheme in &asked.schemes {
            scheme.credential_fields().into_iter().for_each(|name| change(name, None));
        }
    }
    if let Some([id, groups]) = &asked.identity_headers {
        change(id, Some(identity.consumer.id.clone()));
        if !identity.consumer.groups.is_empty() {
            change(groups, Some(identity.consumer.groups.join(",")));
        }
    }
}

/// 401 with a challenge for each scheme; 403 for a known consumer that may not pass.
fn refusal(asked: &Authentication, failure: &Failure) -> Arc<Response> {
    if failure.reason == Reason::NotAllowed {
        return Arc::new(Response { status: 403, ..Response::default() });
    }
    let challenge = |value: String| (b"WWW-Authenticate".to_vec(), value.into_bytes());
    let headers = asked.challenges().into_iter().map(challenge).collect();
    Arc::new(Response { status: 401, headers, ..Response::default() })
}

/// No consumers at all.
struct Nobody;

impl Keys for Nobody {
    fn find(&self, _: weir_auth::CredentialKind, _: &[u8]) -> Option<weir_auth::Candidate> {
        None
    }

    fn of_consumer(&self, _: weir_auth::CredentialKind, _: &str) -> Vec<weir_auth::Candidate> {
        Vec::new()
    }

    fn consumer(&self, _: &str) -> Option<Arc<weir_auth::Consumer>> {
        None
    }
}
