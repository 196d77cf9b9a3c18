//! What has changed, when, by whom; and back.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{Request, Response, StatusCode, Uri};
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::change::ChangeRequest;
use super::context::Context;
use super::query::{Arguments, no_condition};
use super::{Problem, body, resource};
use crate::auth::Role;
use crate::publish::Operation;
use crate::shared::Shared;
use crate::state::redacted;
use crate::store::Revision;

/// Revisions of a page, unless `?limit` says otherwise, and at most.
const PAGE: (u64, u64) = (50, 1_000);
/// Resources that a list names of one revision.
const NAMED: usize = 100;

pub(super) async fn list(State(shared): State<Shared>, uri: Uri) -> Result<Response<Body>, Problem> {
    let arguments = Arguments::parse(uri.query(), &["limit", "before"])?;
    let limit = arguments.limit(PAGE.0, PAGE.1)?;
    let before = arguments.number("before")?.unwrap_or(u64::MAX);
    let head = shared.state().revision();
    let rows = shared.store().revisions_before(before, limit).map_err(Problem::failed)?;
    let revisions = rows.iter().map(summary).collect::<Result<Vec<Value>, Problem>>()?;
    Ok(resource::json(json!({"revisions": revisions}).to_string(), head))
}

pub(super) async fn one(State(shared): State<Shared>, Path(revision): Path<String>) -> Result<Response<Body>, Problem> {
    let row = find(&shared, &revision)?;
    Ok(resource::json(summary(&row)?.to_string(), row.revision))
}

pub(super) async fn diff(
    State(shared): State<Shared>,
    Path(revision): Path<String>,
) -> Result<Response<Body>, Problem> {
    let row = find(&shared, &revision)?;
    let mut diff = summary(&row)?;
    let changes = row.parsed().map_err(Problem::failed)?.into_iter().map(|change| {
        let side = |text: Option<&RawValue>| {
            text.and_then(|text| serde_json::from_str(&redacted(change.kind, text.get())).ok()).unwrap_or(Value::Null)
        };
        json!({"path": change.key().to_string(), "old": side(change.old), "new": side(change.new)})
    });
    diff["changes"] = changes.collect();
    Ok(resource::json(diff.to_string(), row.revision))
}

fn find(shared: &Shared, revision: &str) -> Result<Revision, Problem> {
    let number = number(revision)?;
    let (row, oldest) = {
        let store = shared.store();
        (store.revision(number).map_err(Problem::failed)?, store.oldest().map_err(Problem::failed)?)
    };
    row.ok_or_else(|| match oldest {
        Some(oldest) if number < oldest => {
            Problem::new(StatusCode::NOT_FOUND, format!("revision {number} is not kept; the oldest is {oldest}"))
        }
        _ => Problem::new(StatusCode::NOT_FOUND, format!("there is no revision {number}")),
    })
}

fn number(text: &str) -> Result<u64, Problem> {
    text.parse().map_err(|_| Problem::new(StatusCode::NOT_FOUND, "a revision is a whole number from 0".to_owned()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message {
    #[serde(default)]
    message: Option<String>,
}

pub(super) async fn rollback(
    State(context): State<Arc<Context>>,
    Path(revision): Path<String>,
    request: Request<Body>,
) -> Response<Body> {
    let (head, body) = request.into_parts();
    let prepared = async {
        let revision = number(&revision)?;
        no_condition(&head.headers, "look with `weir diff` at what a rollback would undo")?;
        let mut how = ChangeRequest::of(&context, &head, Role::Admin)?;
        let body = body::json(&head.headers, body, context.shared.limits.body).await?;
        if let Some(body) = body {
            let body: Message = serde_json::from_value(body).map_err(|error| {
                Problem::malformed(format!("this is no message: {error}")).hint(r#"{"message": "why"}"#)
            })?;
            how.message(body.message);
        }
        how.message_if_none(|| format!("back to revision {revision}"));
        Ok::<_, Problem>((how, revision))
    };
    match prepared.await {
        Ok((how, revision)) => how.make(&context, Operation::Rollback(revision)).await,
        Err(problem) => problem.into_response(),
    }
}

/// A revision without what changed in its resources.
pub(super) fn summary(row: &Revision) -> Result<Value, Problem> {
    let changes = row.parsed().map_err(Problem::failed)?;
    let changed: Vec<String> = changes.iter().take(NAMED).map(|change| change.key().to_string()).collect();
    let mut summary = json!({
        "revision": row.revision, "time_ms": row.time_ms, "actor": &*row.actor, "message": row.message,
        "changed": changed,
    });
    if changes.len() > NAMED {
        summary["changed_count"] = changes.len().into();
    }
    Ok(summary)
}
