//! What there is: workers, everything that is configured, whether all is well.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Response, Uri, header};
use serde_json::json;
use weir_resource::ResourceKind;

use super::context::Context;
use super::query::Arguments;
use super::{Problem, openapi as document, resource, scope};
use crate::auth::{Peer, Role};
use crate::metrics::{ScrapedState, WorkerState};
use crate::shared::Shared;
use crate::workers::{slots, state_name};

/// Refused changes of a page, unless `?limit` says otherwise, and at most.
const PAGE: (u64, u64) = (100, 1_000);

pub(super) async fn workers(State(context): State<Arc<Context>>) -> Response<Body> {
    let (revision, digest) = {
        let state = context.shared.state();
        (state.revision(), state.digest())
    };
    let workers = context.regions.report(revision, digest);
    let mut text = json!({"revision": revision, "digest": format!("{digest:016x}"), "workers": workers});
    let stale = context.shared.stale().clone();
    if !stale.is_empty() {
        text["stale"] = json!(stale);
    }
    let text = text.to_string();
    resource::json(text, revision)
}

/// Everything, or what is within the limits of the client.
pub(super) async fn state(State(shared): State<Shared>, request: Request) -> Response<Body> {
    let (head, _) = request.into_parts();
    let scope = scope::of(&head);
    let state = shared.state();
    let settings = state.shown(ResourceKind::Settings, "").filter(|_| scope.is_none());
    let mut text = format!("{{\"settings\":{}", settings.as_deref().unwrap_or("{}"));
    for kind in document::kinds_with_paths() {
        let _ = write!(text, ",\"{kind}\":{{");
        let within = state.iter(kind, None).filter(|(id, held)| resource::is_within(scope, kind, id, held));
        for (n, (id, _)) in within.enumerate() {
            let shown = state.shown(kind, id).unwrap_or_default();
            let _ = write!(text, "{}\"{id}\":{shown}", if n == 0 { "" } else { "," });
        }
        text.push('}');
    }
    text.push('}');
    resource::json(text, state.revision())
}

pub(super) async fn audit(State(shared): State<Shared>, uri: Uri) -> Result<Response<Body>, Problem> {
    let limit = Arguments::parse(uri.query(), &["limit"])?.limit(PAGE.0, PAGE.1)?;
    let refused = shared.store().refused(limit).map_err(Problem::failed)?;
    let revision = shared.state().revision();
    Ok(resource::json(json!({"refused": refused}).to_string(), revision))
}

/// Administrators also learn the state directory, which commands that open it themselves ask for.
pub(super) async fn healthz(State(context): State<Arc<Context>>, peer: Option<Extension<Peer>>) -> Response<Body> {
    let revision = context.shared.state().revision();
    let mut health = json!({
        "status": "ok", "revision": revision, "version": env!("CARGO_PKG_VERSION"),
        "uptime_ms": u64::try_from(context.started.elapsed().as_millis()).unwrap_or(u64::MAX),
    });
    if peer.is_some_and(|Extension(peer)| peer.role >= Role::Admin) {
        let directory = std::path::absolute(&context.state_dir).unwrap_or_else(|_| context.state_dir.clone());
        health["state_directory"] = directory.to_string_lossy().into();
    }
    if let Some(recovered) = &context.recovered {
        health["status"] = "recovered".into();
        health["recovered"] = recovered.as_str().into();
    }
    let stale = context.shared.stale().clone();
    if !stale.is_empty() {
        health["stale"] = json!(stale);
    }
    resource::json(health.to_string(), revision)
}

pub(super) async fn metrics(State(context): State<Arc<Context>>) -> Response<Body> {
    let revision = context.shared.state().revision();
    let mut workers = Vec::new();
    for region in context.regions.all() {
        workers.extend(slots(&region).map(|(_, slot)| WorkerState {
            state: state_name(slot.state()),
            behind: revision.saturating_sub(slot.applied()),
        }));
    }
    workers.retain(|worker| worker.state != "free");
    // nginx makes it; without nginx there is nothing to count.
    let ledger = weir_ledger::Control::open(&context.runtime).ok();
    let inspectors = ledger.as_ref().map(weir_ledger::Control::inspectors).unwrap_or_default();
    let topics = ledger.as_ref().map(weir_ledger::Control::topics);
    let ledger = ledger.map(|ledger| ledger.workers()).unwrap_or_default();
    let outside = ScrapedState { workers: &workers, ledger: &ledger, inspectors: &inspectors, topics: topics.as_ref() };
    let text = context.shared.metrics.render(outside);
    let mut response = Response::new(Body::from(text));
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

pub(super) async fn openapi() -> Response<Body> {
    let mut response = Response::new(Body::from(document::text()));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
