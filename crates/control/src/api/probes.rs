//! Probes in JVMs: they register here, and what is asked of one is handed on to it.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{Response, StatusCode, header, request};
use serde_json::{Value, json};

use super::change::check;
use super::context::Context;
use super::query::{Arguments, tags};
use super::{PREFIX, Problem, body, resource};
use crate::auth::{Peer, Role};
use crate::client::Method;
use crate::log;
use crate::probes::{ProbeError, Probes, RegisterError};
use crate::shared::now_ms;
use crate::state::Match;
use crate::store::StoredShadow;

/// What can be done with a probe.
pub(super) const ACTIONS: [&str; 5] = ["arm", "disarm", "silence", "wake", "mask"];

/// Longest body, in bytes: what a probe takes as well.
const MAX_BODY: usize = 256 << 10;

/// Seconds after which a probe registers again.
const HEARTBEAT_S: u64 = 10;

type Answered = Result<Response<Body>, Problem>;

pub(super) async fn list(State(context): State<Arc<Context>>) -> Response<Body> {
    answer(&context, &json!({"probes": context.probes.list()}))
}

/// The answer has the shadow configuration of the application, unless the probe has this revision. There are passwords in
/// it, which the roles `read` and `edit` must not see.
pub(super) async fn register(State(context): State<Arc<Context>>, request: Request) -> Answered {
    let (head, body) = request.into_parts();
    let refused = |problem| refused(&context, &head, problem);
    let role = head.extensions.get::<Peer>().map(|peer| peer.role);
    if !matches!(role, Some(Role::Probe | Role::Admin)) {
        return Err(refused(Problem::forbidden(Role::Probe)));
    }
    let about = object(&head, body).await.map_err(refused)?;
    let failed = |error: RegisterError| match error {
        RegisterError::Invalid(detail) => Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail),
        RegisterError::Taken(..) => Problem::new(StatusCode::CONFLICT, error.to_string())
            .hint("JVMs in containers need host names of their own; one that was restarted is taken a little later"),
    };
    let id = context.probes.register(&about).map_err(failed).map_err(refused)?;
    let mut registered = json!({"id": id, "heartbeat_s": HEARTBEAT_S});
    let app = about["app"].as_str().unwrap_or_default();
    let newest = context.shared.store().shadow(app, None).map_err(Problem::failed)?;
    if let Some(newest) = newest.filter(|newest| about["shadow_revision"] != newest.revision) {
        registered["shadow"] = serde_json::from_str(&newest.body).map_err(Problem::failed)?;
        registered["shadow_revision"] = newest.revision.into();
    }
    Ok(answer(&context, &registered))
}

pub(super) async fn one(State(context): State<Arc<Context>>, Path(id): Path<String>) -> Answered {
    forward(&context, &id, (Method::Get, "/v1/probe"), None).await
}

pub(super) async fn cost(State(context): State<Arc<Context>>, Path(id): Path<String>) -> Answered {
    forward(&context, &id, (Method::Get, "/v1/cost"), None).await
}

pub(super) async fn act(
    State(context): State<Arc<Context>>,
    Path((id, action)): Path<(String, String)>,
    request: Request,
) -> Answered {
    let (head, body) = request.into_parts();
    let refused = |problem| refused(&context, &head, problem);
    let actor = editor(&head, Role::Edit).map_err(refused)?;
    if !ACTIONS.contains(&action.as_str()) {
        let nothing = Problem::new(StatusCode::NOT_FOUND, format!("there is no action `{}`", action.escape_debug()));
        return Err(refused(nothing.hint(&format!("there are: {}", ACTIONS.join(", ")))));
    }
    let mut body = object(&head, body).await.map_err(refused)?;
    if body.get("why").is_none() {
        body["why"] = format!("by {actor}").into();
    }
    let done = forward(&context, &id, (Method::Post, &format!("/v1/{action}")), Some(&body)).await.map_err(refused)?;
    if action != "mask" {
        log::info!(
            "{actor}: {action} {}of probe {id}",
            body["plugin"].as_str().map_or_else(String::new, |p| format!("{p} "))
        );
    }
    Ok(done)
}

/// For admins only: it has passwords of shadow databases.
pub(super) async fn shadow(State(context): State<Arc<Context>>, Path(app): Path<String>, request: Request) -> Answered {
    let (head, _) = request.into_parts();
    editor(&head, Role::Admin).map_err(|problem| refused(&context, &head, problem))?;
    let wanted = Arguments::parse(head.uri.query(), &["revision"])?.number("revision")?;
    let (found, kept) = {
        let store = context.shared.store();
        (store.shadow(&app, wanted).map_err(Problem::failed)?, store.shadows(&app).map_err(Problem::failed)?)
    };
    let missing =
        || Problem::new(StatusCode::NOT_FOUND, format!("{} has no such shadow configuration", app.escape_debug()));
    let found = found.ok_or_else(missing)?;
    let mut shown = row(&found);
    shown["app"] = app.into();
    shown["shadow"] = serde_json::from_str(&found.body).map_err(Problem::failed)?;
    shown["revisions"] = kept.iter().map(row).collect();
    Ok(resource::json(shown.to_string(), found.revision))
}

/// Stores the next revision, and hands it to the application's probes. Those that cannot be reached get it with their
/// next registration.
pub(super) async fn set_shadow(
    State(context): State<Arc<Context>>,
    Path(app): Path<String>,
    request: Request,
) -> Answered {
    let (head, body) = request.into_parts();
    let refused = |problem| refused(&context, &head, problem);
    let actor = editor(&head, Role::Admin).map_err(refused)?;
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    if !(1..=128).contains(&app.len()) || !app.bytes().all(is_name) {
        return Err(refused(Problem::malformed(
            "an application's name has 1 to 128 letters, digits, `.`, `_` and `-`",
        )));
    }
    let shadow = object(&head, body).await.map_err(refused)?;
    let wanted = tags(&head.headers, &header::IF_MATCH)?;
    let revision = {
        let mut store = context.shared.store();
        let before = store.shadow(&app, None).map_err(Problem::failed)?.map_or(0, |newest| newest.revision);
        if matches!(&wanted, Some(Match::Revisions(all)) if !all.contains(&before)) {
            let stale = Problem::new(StatusCode::PRECONDITION_FAILED, format!("{app} is at revision {before}"));
            drop(store);
            return Err(refused(stale.hint("read it again, and send its ETag with If-Match")));
        }
        let (revision, actor) = (before + 1, actor.clone());
        let stored = StoredShadow { revision, time_ms: now_ms(), actor, body: shadow.to_string() };
        store.add_shadow(&app, &stored).map_err(Problem::failed)?;
        revision
    };
    context.shared.flusher.dirty();
    log::info!("{actor}: shadow configuration {revision} of {app}");
    let pushes: Vec<_> = (context.probes.of_app(&app).into_iter())
        .map(|id| tokio::spawn(push(context.probes.clone(), id, shadow.clone(), revision)))
        .collect();
    let mut probes = Vec::new();
    for push in pushes {
        probes.extend(push.await.ok());
    }
    Ok(resource::json(json!({"app": app, "revision": revision, "probes": probes}).to_string(), revision))
}

async fn push(probes: Probes, id: String, shadow: Value, revision: u64) -> Value {
    let number = revision.to_string();
    let call = probes.call(&id, (Method::Put, "/v1/shadow"), Some(&shadow), &[("weir-revision", &number)]).await;
    match call {
        Ok(answer) if answer.status < 300 => {
            json!({"id": id, "result": "applied", "state": answer.body["state"], "check": answer.body["check"]})
        }
        Ok(answer) => json!({"id": id, "result": "refused", "detail": answer.body["detail"]}),
        Err(error) => json!({"id": id, "result": "pending", "detail": error.to_string()}),
    }
}

fn row(shadow: &StoredShadow) -> Value {
    json!({"revision": shadow.revision, "time_ms": shadow.time_ms, "actor": shadow.actor})
}

async fn forward(context: &Context, id: &str, (method, path): (Method, &str), body: Option<&Value>) -> Answered {
    let answered = context.probes.call(id, (method, path), body, &[]).await.map_err(|error| {
        let status = match error {
            ProbeError::Unknown(_) => StatusCode::NOT_FOUND,
            ProbeError::Late(..) | ProbeError::Unreachable(..) => StatusCode::SERVICE_UNAVAILABLE,
        };
        Problem::new(status, error.to_string()).hint("`weir probes` lists those that are there")
    })?;
    if answered.status < 300 {
        return Ok(answer(context, &answered.body));
    }
    let status = StatusCode::from_u16(answered.status).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
    // The probe does not know its own token any more: another one has its port.
    let status = if status == StatusCode::UNAUTHORIZED { StatusCode::SERVICE_UNAVAILABLE } else { status };
    let mut problem = Problem::new(status, answered.body["detail"].as_str().unwrap_or("the probe refuses it"));
    for key in ["hint", "check"].into_iter().filter(|key| !answered.body[*key].is_null()) {
        problem = problem.with(key, answered.body[key].clone());
    }
    Err(problem)
}

/// A body that is a JSON object; an empty one is an empty object.
async fn object(head: &request::Parts, body: Body) -> Result<Value, Problem> {
    let bytes = body::collect(body, MAX_BODY).await?;
    let given = body::json(&head.headers, &bytes)?.unwrap_or_else(|| json!({}));
    if given.is_object() { Ok(given) } else { Err(Problem::malformed("the body is not a JSON object")) }
}

/// The client, if it has the role.
fn editor(head: &request::Parts, needed: Role) -> Result<String, Problem> {
    let peer = head.extensions.get::<Peer>();
    check(peer.map(|peer| peer.role), needed)?;
    Ok(peer.map_or_else(|| "?".to_owned(), |peer| peer.actor.to_string()))
}

/// Notes a refused request in the audit.
fn refused(context: &Context, head: &request::Parts, problem: Problem) -> Problem {
    let actor = head.extensions.get::<Peer>().map_or_else(|| "?".to_owned(), |peer| peer.actor.to_string());
    let what = format!("{} {PREFIX}{}", head.method, head.uri.path());
    context.shared.audit(&actor, &what, problem.status().as_u16(), &problem.line());
    problem
}

fn answer(context: &Context, value: &Value) -> Response<Body> {
    let revision = context.shared.state().revision();
    resource::json(value.to_string(), revision)
}
