//! What has changed, when, by whom; and back.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{Request, Response, StatusCode, Uri};
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use weir_gateway::resource::CapturedFile;
use weir_resource::ResourceKind;

use super::change::ChangeRequest;
use super::context::Context;
use super::query::{Arguments, no_condition};
use super::{Problem, resource};
use crate::auth::{Peer, Role};
use crate::publish::{Operation, lines};
use crate::shared::Shared;
use crate::state::redacted;
use crate::store::Revision;

/// What the message of a rollback begins with; the revision follows.
const BACK: &str = "back to revision ";
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
    peer: Option<Extension<Peer>>,
) -> Result<Response<Body>, Problem> {
    let row = find(&shared, &revision)?;
    let mut lines = match peer {
        Some(Extension(peer)) if peer.role >= Role::Admin => lines_of_lists(&shared, &row).await?,
        _ => HashMap::new(),
    };
    let mut diff = summary(&row)?;
    let changes = row.parsed().map_err(Problem::failed)?.into_iter().map(|change| {
        let side = |text: Option<&RawValue>| {
            text.and_then(|text| serde_json::from_str(&redacted(change.kind, text.get())).ok()).unwrap_or(Value::Null)
        };
        let path = change.key().to_string();
        let lines = lines.remove(&path);
        let mut shown = json!({"path": path, "old": side(change.old), "new": side(change.new)});
        if let Some(lines) = lines {
            shown["lines"] = lines;
        }
        shown
    });
    diff["changes"] = changes.collect();
    Ok(resource::json(diff.to_string(), row.revision))
}

/// Lines that came and went in files of lists, by the path of the file among resources.
async fn lines_of_lists(shared: &Shared, row: &Revision) -> Result<HashMap<String, Value>, Problem> {
    let Some(uses) = shared.uses() else { return Ok(HashMap::new()) };
    let file = |text: Option<&RawValue>| serde_json::from_str::<CapturedFile>(text?.get()).ok();
    let changes = row.parsed().map_err(Problem::failed)?;
    let changes = changes.iter().filter(|change| change.kind == ResourceKind::Files);
    let files = changes.filter_map(|change| Some((change.key().to_string(), file(change.old)?, file(change.new)?)));
    let lists: Vec<_> = files.filter(|(_, _, new)| lines::is_list(&uses, new.path.as_ref())).collect();
    let objects = shared.objects.clone();
    let compare = move || {
        let compared = |(path, old, new)| Some((path, lines::of_lists(&objects, &old, &new)?.shown()));
        lists.into_iter().filter_map(compared).collect()
    };
    // Contents are read, of up to some megabytes.
    tokio::task::spawn_blocking(compare).await.map_err(Problem::failed)
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
        if let Some(body) = how.body(&head.headers, body).await? {
            let body: Message = serde_json::from_value(body).map_err(|error| {
                Problem::malformed(format!("this is no message: {error}")).hint(r#"{"message": "why"}"#)
            })?;
            how.message(body.message);
        }
        how.prefix_message(format!("{BACK}{revision}"));
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
