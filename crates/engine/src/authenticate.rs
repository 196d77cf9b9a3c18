//! What authentication does besides verifying: refuse replays, change the request.

use weir_auth::{Authentication, Claims, Failure, Identity, Keys, Nonce, Reason, Replay, Request};
use weir_http::{Anomalies, Transaction};

use crate::nonce::{NonceTable, Remembered};

/// Bytes of the canonical form that a log line shows.
const CANONICAL_BYTES: usize = 2048;

/// A change of the request's header fields: the name, and the new value, or `None` to remove the field.
pub(crate) type Change = (String, Option<String>);

/// Gives claims a body that did not pass by: it is in memory, complete or not.
pub(crate) fn absorb_all<'a>(
    asked: &Authentication,
    mut claims: Claims<'a>,
    transaction: &Transaction<'_>,
    is_kept: bool,
) -> Result<Claims<'a>, Failure> {
    let mut schemes = asked.schemes.iter().zip(&claims);
    if !schemes.any(|(scheme, claim)| scheme.reads_body() && claim.is_ok()) {
        return Ok(claims); // no signature looks at it
    }
    if !is_kept {
        return Err(Failure::new(Reason::TooLarge, "the body has passed by and was not kept"));
    }
    if transaction.anomalies().contains(Anomalies::BODY_TRUNCATED) {
        return Err(Failure::new(Reason::TooLarge, "the body was read before the signature, and not completely"));
    }
    claims.iter_mut().flatten().for_each(|claim| claim.absorb(transaction.body()));
    Ok(claims)
}

/// Decides about claims whose body is complete. `window_ms` is the longest time for which some rule accepts a signature.
///
/// # Errors
/// The failure, and what to write about it.
pub(crate) fn decide(
    asked: &Authentication,
    claims: Result<Claims<'_>, Failure>,
    keys: &dyn Keys,
    nonces: Option<&NonceTable<'_>>,
    (own, window_ms): (&mut Vec<Nonce>, u64),
    now_ms: u64,
) -> Result<Identity, (Failure, String)> {
    let mut canonical = Vec::new();
    let decided = claims.and_then(|claims| {
        if asked.debug {
            canonical = claims.iter().flatten().flat_map(|claim| claim.canonical()).take(CANONICAL_BYTES).collect();
        }
        let identity = asked.finish(claims, keys)?;
        unrepeated(asked, &identity, nonces, (own, window_ms), now_ms)?;
        Ok(identity)
    });
    decided.map_err(|failure| {
        let shown = match &canonical[..] {
            [] => String::new(),
            bytes => format!("; canonical form: {}", bytes.escape_ascii()),
        };
        let reason = format!("{failure}{shown}");
        (failure, reason)
    })
}

/// Refuses what has been seen before.
fn unrepeated(
    asked: &Authentication,
    identity: &Identity,
    nonces: Option<&NonceTable<'_>>,
    (own, window_ms): (&mut Vec<Nonce>, u64),
    now_ms: u64,
) -> Result<(), Failure> {
    let (Replay::Refuse { is_open }, Some(nonce)) = (asked.replay, &identity.nonce) else { return Ok(()) };
    if own.contains(nonce) {
        return Ok(()); // an earlier rule has remembered it for this request
    }
    if now_ms > nonce.expires_ms {
        // It was valid when its head came, but a nonce that has expired is not remembered.
        return Err(Failure::new(Reason::Expired, "it expired while the body arrived"));
    }
    let credential = identity.credential.map(|at| identity.consumer.credentials[at].id.as_slice()).unwrap_or_default();
    let remembered = nonces.map_or(Remembered::Full, |table| {
        if nonce.signed_ms.is_some_and(|signed_ms| signed_ms < table.started_ms(now_ms)) {
            return Remembered::Lost;
        }
        // Another rule may accept it for longer.
        let longest_ms = nonce.signed_ms.map_or(0, |signed_ms| signed_ms.saturating_add(window_ms));
        let until_ms = nonce.expires_ms.max(longest_ms);
        table.remember(&[identity.consumer.id.as_bytes(), credential], &nonce.value, until_ms, now_ms)
    });
    let unknown = |why| if is_open { Ok(()) } else { Err(Failure::new(Reason::ReplayUnknown, why)) };
    match remembered {
        Remembered::New => {
            own.push(nonce.clone());
            Ok(())
        }
        Remembered::Known => Err(Failure::new(Reason::Replayed, "this signature has been used before")),
        Remembered::Full => unknown("the table of nonces is full; see weir_nonce_zone"),
        Remembered::Lost => unknown("it was signed before the table of nonces began"),
    }
}

/// Removes what a client must not say itself, tells the upstream who the consumer is, and hides the credentials.
pub(crate) fn changes(asked: &Authentication, identity: Option<&Identity>, request: &Request<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    if let Some([id, groups]) = &asked.identity_headers {
        let consumer = identity.map(|identity| &identity.consumer);
        let joined = consumer.filter(|consumer| !consumer.groups.is_empty()).map(|consumer| consumer.groups.join(","));
        // With `underscores_in_headers on`, any `-` may come as `_`, and some servers take the one for the other.
        let is_like = |name: &[u8], known: &str| {
            let same = |(a, b): (&u8, u8)| a.eq_ignore_ascii_case(&b) || (*a == b'_' && b == b'-');
            name.len() == known.len() && name.iter().zip(known.bytes()).all(same)
        };
        let forged = request.headers.iter().filter(|header| header.name.contains(&b'_'));
        let forged = forged.filter(|header| [id, groups].iter().any(|known| is_like(header.name, known)));
        changes.extend(forged.map(|header| (String::from_utf8_lossy(header.name).into_owned(), None)));
        changes.push((id.clone(), consumer.map(|consumer| consumer.id.clone())));
        changes.push((groups.clone(), joined));
    }
    if identity.is_some() && asked.hides_credentials {
        let fields = asked.schemes.iter().flat_map(|scheme| scheme.credential_fields());
        changes.extend(fields.map(|name| (name.to_owned(), None)));
    }
    changes
}
