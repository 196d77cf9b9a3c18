//! Authentication and authorization of requests.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, Response, StatusCode, Uri, header};
use serde_json::json;
use time::OffsetDateTime;

use super::failures::{Failures, WINDOW_S};
use super::{Admission, Peer, Role, Tokens};
use crate::metrics::Metrics;

/// The connection that a request came over.
#[derive(Clone, Debug)]
pub enum Origin {
    /// The Unix socket, whose permissions decide who can connect.
    Unix(Peer),
    /// TCP.
    Tcp {
        /// The address of the client.
        remote: SocketAddr,
        /// The CN of the client certificate, which one of the configured authorities has signed.
        certificate: Option<Arc<str>>,
    },
}

/// A rejected request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    /// 401 or 403.
    pub status: u16,
    /// The reason.
    pub reason: Cow<'static, str>,
    /// The client, if it is known.
    pub actor: Option<Arc<str>>,
    /// The address of the client.
    pub remote: SocketAddr,
    /// The method.
    pub method: Method,
    /// The path, without the query.
    pub path: String,
}

/// Admits or rejects requests.
pub struct Access {
    tokens: Tokens,
    failures: Failures,
    metrics: Arc<Metrics>,
    audit: Box<dyn Fn(Denied) + Send + Sync>,
}

/// Longest bearer token, in bytes; the tokens of `weir token` have 69.
const MAX_TOKEN_BYTES: usize = 256;

/// The path of the health check.
const HEALTH_CHECK: &str = "/healthz";

/// How many bytes of a path are recorded in the audit.
const MAX_AUDITED_PATH: usize = 200;

impl Access {
    /// Access by the token file of a directory. `audit` is called for each rejected request and must not block.
    #[must_use]
    pub fn new(dir: &Path, metrics: Arc<Metrics>, audit: Box<dyn Fn(Denied) + Send + Sync>) -> Self {
        Self { tokens: Tokens::new(dir), failures: Failures::new(), metrics, audit }
    }

    /// The metrics that count rejected requests.
    pub(crate) fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// The client of a request; `None` for the health check, which needs no authentication. What the
    /// client may do is decided where it is done, by what was found there, and not by the path as text.
    ///
    /// # Errors
    /// The response to a rejected request: 401, 403 if a browser was made to send it, or 429 after many of those.
    pub fn admit<B>(&self, origin: &Origin, request: &Request<B>) -> Result<Option<Peer>, Box<Response<Body>>> {
        let (remote, certificate) = match origin {
            Origin::Unix(peer) => return Ok(Some(peer.clone())),
            Origin::Tcp { remote, certificate } => (*remote, certificate.as_deref()),
        };
        if request.uri().path() == HEALTH_CHECK {
            return Ok(None);
        }
        let peer = match bearer(request) {
            Ok(Some(token)) => admitted(self.tokens.of_token(token), "token", "the token is not known"),
            Ok(None) => match certificate.map(|name| self.tokens.of_certificate(name)) {
                Some(admission) => {
                    let unknown = "no role was granted to the certificate, and there is no token";
                    admitted(admission, "role of the certificate", unknown)
                }
                None => Err("there is no token".into()),
            },
            Err(reason) => Err(reason.into()),
        };
        let (status, reason, actor) = match peer {
            Ok(peer) if is_cross_site(request) => {
                (StatusCode::FORBIDDEN, "the request comes from a page of another site".into(), Some(peer.actor))
            }
            Ok(peer) => return Ok(Some(peer)),
            Err(reason) => (StatusCode::UNAUTHORIZED, reason, None),
        };
        let denied = Denied::new(status, reason, actor, remote, request.method(), request.uri());
        Err(Box::new(self.deny(denied, None)))
    }

    /// Counts and audits a response that says that the role or the limits of a client of TCP do not allow the request.
    pub fn forbidden(
        &self,
        origin: &Origin,
        peer: Peer,
        (method, uri): (&Method, &Uri),
        response: Response<Body>,
    ) -> Response<Body> {
        let Origin::Tcp { remote, .. } = origin else { return response };
        let reason = "the role or the limits of the client do not allow it";
        let denied = Denied::new(StatusCode::FORBIDDEN, reason.into(), Some(peer.actor), *remote, method, uri);
        self.deny(denied, Some(response))
    }

    /// Counts and audits a rejected request. Its response is `ready`, or says the reason.
    fn deny(&self, denied: Denied, ready: Option<Response<Body>>) -> Response<Body> {
        let counter = if denied.status == 403 { &self.metrics.forbidden } else { &self.metrics.unauthenticated };
        counter.add(1);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        if !self.failures.count(denied.remote.ip(), now.as_secs()) {
            let detail = "too many requests of this address were not let in; try again later";
            let mut response = problem(StatusCode::TOO_MANY_REQUESTS, detail);
            response.headers_mut().insert(header::RETRY_AFTER, WINDOW_S.into());
            return response;
        }
        let response = match (ready, denied.status) {
            (Some(response), _) => response,
            (None, 403) => problem(StatusCode::FORBIDDEN, &denied.reason),
            (None, _) => {
                let role = match denied.path.as_str() {
                    "/api/v1/probes" if !denied.method.is_safe() => Role::Probe,
                    _ if denied.method.is_safe() => Role::Read,
                    _ => Role::Edit,
                };
                let detail = format!(
                    "{}; send `Authorization: Bearer TOKEN` with a token of role `{role}` \
                    (`weir token create NAME --role {role}`)",
                    denied.reason
                );
                let mut response = problem(StatusCode::UNAUTHORIZED, &detail);
                let challenge = header::HeaderValue::from_static("Bearer realm=\"weir\"");
                response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
                response
            }
        };
        (self.audit)(denied);
        response
    }
}

impl Denied {
    fn new(
        status: StatusCode,
        reason: Cow<'static, str>,
        actor: Option<Arc<str>>,
        remote: SocketAddr,
        method: &Method,
        uri: &Uri,
    ) -> Self {
        let path = uri.path().chars().take(MAX_AUDITED_PATH).collect();
        Self { status: status.as_u16(), reason, actor, remote, method: method.clone(), path }
    }
}

/// The client, or the reason why it is not admitted.
fn admitted(admission: Admission, what: &str, unknown: &'static str) -> Result<Peer, Cow<'static, str>> {
    match admission {
        Admission::Admitted(peer) => Ok(peer),
        Admission::Expired(until) => Err(format!("the {what} expired on {} UTC", date(until)).into()),
        Admission::Unknown => Err(unknown.into()),
    }
}

/// Seconds since 1970 as `2026-01-31 12:00`.
fn date(seconds: u64) -> String {
    let time = i64::try_from(seconds).ok().and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok());
    let Some(time) = time else { return seconds.to_string() };
    let (year, month, day) = (time.year(), u8::from(time.month()), time.day());
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}", time.hour(), time.minute())
}

/// Whether a browser says that a page of another site made it send a change. Browsers set these
/// headers themselves; programs send neither.
fn is_cross_site<B>(request: &Request<B>) -> bool {
    if request.method().is_safe() {
        return false;
    }
    let text = |headers: &HeaderMap, name| {
        headers.get(name).map(|value: &header::HeaderValue| value.to_str().unwrap_or("?").to_owned())
    };
    let headers = request.headers();
    let foreign_site =
        text(headers, "sec-fetch-site").is_some_and(|site| !["same-origin", "none"].contains(&site.as_str()));
    let host = text(headers, "host").or_else(|| request.uri().authority().map(ToString::to_string));
    let foreign_origin = text(headers, "origin").is_some_and(|origin| {
        let own = origin.split_once("://").map(|(_, host)| host);
        own.is_none() || own.map(str::to_ascii_lowercase) != host.map(|host| host.to_ascii_lowercase())
    });
    foreign_site || foreign_origin
}

/// The token of a request, if it has one.
fn bearer<B>(request: &Request<B>) -> Result<Option<&str>, &'static str> {
    let Some(value) = request.headers().get(header::AUTHORIZATION) else { return Ok(None) };
    let wrong = "the header Authorization is not `Bearer TOKEN`";
    let (scheme, token) = value.to_str().ok().and_then(|value| value.split_once(' ')).ok_or(wrong)?;
    let token = token.trim();
    if scheme.eq_ignore_ascii_case("bearer") && (1..=MAX_TOKEN_BYTES).contains(&token.len()) {
        Ok(Some(token))
    } else {
        Err(wrong)
    }
}

/// A response of type `application/problem+json` (RFC 9457).
fn problem(status: StatusCode, detail: &str) -> Response<Body> {
    let title = status.canonical_reason().unwrap_or_default();
    let body = json!({"type": "about:blank", "title": title, "status": status.as_u16(), "detail": detail});
    let response = Response::builder().status(status).header(header::CONTENT_TYPE, "application/problem+json");
    response.body(Body::from(body.to_string())).expect("a status and a constant header are a response")
}

impl std::fmt::Debug for Access {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Access").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
