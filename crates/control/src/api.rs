//! The HTTP API: parsing of requests and rendering of responses.
//!
//! Resources are not routes of the router: their paths can name any part of a document, so one handler parses them.
//! Every error is answered as a problem (RFC 9457).

mod backup;
mod bans;
mod body;
mod change;
mod context;
mod cost;
pub mod openapi;
mod probes;
mod problem;
mod query;
mod resource;
mod revisions;
mod scope;
mod status;
mod transaction;
mod unique_json;
mod watch;

use std::sync::Arc;

use axum::Router;
use axum::http::{StatusCode, Uri};
use axum::middleware::from_fn;
use axum::routing::{any, delete, get, post, put};

pub(crate) use context::Context;
pub use problem::Problem;

/// The prefix of all paths of resources.
pub const PREFIX: &str = "/api/v1";

/// The router of all requests.
pub(crate) fn router(context: Arc<Context>) -> Router {
    // Paths that tell of the whole gateway, or change it.
    let whole = Router::new()
        .route("/revisions", get(revisions::list))
        .route("/revisions/{revision}", get(revisions::one))
        .route("/revisions/{revision}/diff", get(revisions::diff))
        .route("/revisions/{revision}/rollback", post(revisions::rollback))
        .route("/watch", get(watch::watch))
        .route("/workers", get(status::workers))
        .route("/cost", get(cost::cost))
        .route("/cost/history", get(cost::history))
        .route("/audit", get(status::audit))
        .route("/backup", get(backup::make))
        .route("/restore", post(backup::restore))
        .route("/bans", get(bans::list))
        .route("/bans", post(bans::add))
        .route("/bans/{network}", delete(bans::remove))
        .route("/probes", get(probes::list))
        .route("/probes/{probe}", get(probes::one))
        .route("/probes/{probe}/cost", get(probes::cost))
        .route("/probes/{probe}/{action}", post(probes::act))
        .route("/shadow/{app}", get(probes::shadow))
        .route("/shadow/{app}", put(probes::set_shadow))
        .route_layer(from_fn(scope::only_unlimited));
    let v1 = whole
        .route("/transactions", post(transaction::post))
        .route("/state", get(status::state))
        .route("/{*path}", any(resource::resource))
        .route_layer(from_fn(scope::only_readers))
        .route("/probes", post(probes::register).route_layer(from_fn(scope::only_unlimited)))
        .fallback(nothing)
        .method_not_allowed_fallback(not_allowed);
    Router::new()
        .route("/metrics", get(status::metrics))
        .route_layer(from_fn(scope::only_unlimited))
        .route("/openapi.json", get(status::openapi))
        .route_layer(from_fn(scope::only_readers))
        .nest(PREFIX, v1)
        .route("/healthz", get(status::healthz))
        .fallback(nothing)
        .method_not_allowed_fallback(not_allowed)
        .with_state(context)
}

async fn nothing(uri: Uri) -> Problem {
    let detail = format!("there is nothing at {}", uri.path());
    Problem::new(StatusCode::NOT_FOUND, detail).hint("GET /openapi.json lists all paths")
}

async fn not_allowed(uri: Uri) -> Problem {
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, format!("{} does not take this method", uri.path()))
}
