//! Many changes, all or none.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Request, Response, StatusCode, header};
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::Value;
use weir_resource::ResourceKind;

use super::change::ChangeRequest;
use super::context::Context;
use super::query::no_condition;
use super::{PREFIX, Problem};
use crate::auth::Role;
use crate::publish::{Operation, Refresh};
use crate::state::{Action, Condition, Edit, Match, Target};

/// Changes of one transaction at most: everything that a full state has.
const MAX_CHANGES: usize = 200_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Transaction {
    changes: Vec<Change>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    refresh: Option<Wanted>,
    /// Identifies the request in place of the body, for the idempotency key.
    #[serde(default)]
    intent: Option<String>,
}

/// Resources whose files are captured anew.
#[derive(Deserialize)]
#[serde(untagged)]
enum Wanted {
    /// All, or none beside those that are written.
    All(bool),
    /// Paths of resources.
    Named(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    method: String,
    path: String,
    #[serde(default)]
    body: Option<Value>,
    #[serde(default)]
    if_match: Option<String>,
}

pub(super) async fn post(State(context): State<Arc<Context>>, request: Request<Body>) -> Response<Body> {
    let (head, body) = request.into_parts();
    let prepared = async {
        no_condition(&head.headers, "each change of a transaction has an `if_match` of its own")?;
        let mut how = ChangeRequest::of(&context, &head, Role::Edit)?;
        let body = how.required_body(&head.headers, body).await?;
        let transaction: Transaction = serde_json::from_value(body).map_err(|error| {
            Problem::malformed(format!("this is no transaction: {error}"))
                .hint(r#"{"changes": [{"method": "PUT", "path": "/upstreams/app", "body": {}}], "message": "why"}"#)
        })?;
        if transaction.changes.len() > MAX_CHANGES {
            let detail = format!("a transaction has at most {MAX_CHANGES} changes");
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail));
        }
        if let Some(intent) = &transaction.intent {
            how.stand_for(intent);
        }
        how.message(transaction.message);
        how.refresh(match transaction.refresh {
            None | Some(Wanted::All(false)) => Refresh::Written,
            Some(Wanted::All(true)) => Refresh::All,
            Some(Wanted::Named(paths)) => {
                let key = |(n, path): (usize, String)| match Target::parse(&path) {
                    Some(Target::Resource(key, steps)) if steps.is_empty() => Ok(key),
                    _ => Err(Problem::malformed(format!("/refresh/{n}: there is no resource at `{path}`"))),
                };
                Refresh::Named(paths.into_iter().enumerate().map(key).collect::<Result<_, _>>()?)
            }
        });
        let changes = transaction.changes.into_iter().enumerate();
        let edits = changes.map(|(n, change)| edit(n, change)).collect::<Result<Vec<Edit>, Problem>>()?;
        Ok((how, edits))
    };
    match prepared.await {
        Ok((how, edits)) => done(how.make(&context, Operation::Edits(edits)).await),
        Err(problem) => problem.into_response(),
    }
}

/// A transaction of one change that makes something is answered like every other transaction.
fn done(mut response: Response<Body>) -> Response<Body> {
    if response.status() == StatusCode::CREATED {
        *response.status_mut() = StatusCode::OK;
        response.headers_mut().remove(header::LOCATION);
    }
    response
}

fn edit(n: usize, change: Change) -> Result<Edit, Problem> {
    let bad = |what: String| Problem::malformed(format!("/changes/{n}: {what}"));
    let path = change.path.strip_prefix(PREFIX).unwrap_or(&change.path);
    let target = Target::parse(path).ok_or_else(|| bad(format!("there is nothing at `{path}`")))?;
    if target.kind() == ResourceKind::Files {
        return Err(bad(format!("`{path}` is captured from a file; change the file, and refresh what names it")));
    }
    let needs = |body: Option<Value>| body.ok_or_else(|| bad(format!("{} needs a body", change.method)));
    let action = match change.method.to_ascii_uppercase().as_str() {
        "PUT" => Action::Put(needs(change.body)?),
        "PATCH" => Action::Patch(needs(change.body)?),
        "POST" => Action::Create(needs(change.body)?),
        "DELETE" => Action::Delete,
        other => return Err(bad(format!("`{other}` is none of PUT, PATCH, POST, DELETE"))),
    };
    let matches = match change.if_match.as_deref() {
        None => None,
        Some("*") => Some(Match::Any),
        Some(tag) => {
            let revision = tag.trim_matches('"').parse();
            Some(Match::Revisions(vec![revision.map_err(|_| bad(format!("`{tag}` is no ETag")))?]))
        }
    };
    Ok(Edit { target, action, condition: Condition { matches, absent: false } })
}
