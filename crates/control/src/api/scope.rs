//! What clients with limits may read: resources within them, and nothing that tells of the whole gateway.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{Response, StatusCode, request};
use axum::middleware::Next;
use axum::response::IntoResponse;

use super::Problem;
use crate::auth::{Peer, Role, Scope};

/// Refuses clients with limits.
pub(super) async fn only_unlimited(request: Request, next: Next) -> Response<Body> {
    match request.extensions().get::<Peer>().and_then(|peer| peer.scope.clone()) {
        Some(scope) => beyond(&scope, request.uri().path()).into_response(),
        None => next.run(request).await,
    }
}

/// Refuses clients that may only register a probe.
pub(super) async fn only_readers(request: Request, next: Next) -> Response<Body> {
    match request.extensions().get::<Peer>().map(|peer| peer.role) {
        Some(Role::Probe) => Problem::forbidden(Role::Read).into_response(),
        _ => next.run(request).await,
    }
}

/// The limits of the client, if there are any.
pub(super) fn of(head: &request::Parts) -> Option<&Scope> {
    head.extensions.get::<Peer>()?.scope.as_deref()
}

/// The answer to a request for what is not within the limits.
pub(super) fn beyond(scope: &Scope, path: &str) -> Problem {
    let detail = format!("the client is limited to {scope}; {path} is not among them");
    Problem::new(StatusCode::FORBIDDEN, detail).hint("`weir token list` shows the limits of each client")
}
