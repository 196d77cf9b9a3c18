//! Resources: collections, items, and parts of them.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, Method, Request, Response, StatusCode, header, request};
use axum::response::IntoResponse;
use serde_json::Value;
use weir_resource::ResourceKind;

use super::change::{ChangeRequest, etag};
use super::context::Context;
use super::problem::COLLECTION_METHODS;
use super::query::{Arguments, condition, tags};
use super::{PREFIX, Problem, scope};
use crate::auth::{Role, Scope};
use crate::publish::Operation;
use crate::state::{self, Action, Edit, Held, Key, Match, Target};

/// Methods of a resource.
const ITEM_METHODS: &str = "GET, HEAD, PUT, PATCH, DELETE";
/// Methods of captured files.
const FILE_METHODS: &str = "GET, HEAD";
/// Methods of the settings, which always exist.
const SETTINGS_METHODS: &str = "GET, HEAD, PUT, PATCH";
/// Resources of a page, unless `?limit` says otherwise, and at most.
const PAGE: (u64, u64) = (1_000, 10_000);

/// Handles any method of any resource.
pub(super) async fn resource(State(context): State<Arc<Context>>, request: Request<Body>) -> Response<Body> {
    let (head, body) = request.into_parts();
    answer(&context, head, body).await.unwrap_or_else(IntoResponse::into_response)
}

async fn answer(context: &Context, head: request::Parts, body: Body) -> Result<Response<Body>, Problem> {
    let path = head.uri.path(); // without the prefix, which the router has taken off
    let target = Target::parse(path).ok_or_else(|| {
        let detail = format!("there is nothing at {PREFIX}{path}");
        Problem::new(StatusCode::NOT_FOUND, detail).hint("GET /openapi.json lists all paths")
    })?;
    let allowed = methods(&target);
    if !allowed.split(", ").any(|known| known == head.method.as_str()) {
        let detail = format!("{PREFIX}{path} takes {allowed}, and not {}", head.method);
        return Err(Problem::new(StatusCode::METHOD_NOT_ALLOWED, detail).allow(allowed));
    }
    match (&head.method, &target) {
        (&Method::GET | &Method::HEAD, Target::Resource(key, steps)) => item(context, &head, key, steps),
        (&Method::GET | &Method::HEAD, Target::Collection(kind, upstream)) => {
            collection(context, &head, *kind, upstream.as_deref())
        }
        _ => change(context, head, body, target).await,
    }
}

/// The allowed methods, as in `Allow`.
fn methods(target: &Target) -> &'static str {
    match target {
        _ if target.kind() == ResourceKind::Files => FILE_METHODS,
        Target::Collection(..) => COLLECTION_METHODS,
        Target::Resource(key, steps) if key.kind.is_singleton() && steps.is_empty() => SETTINGS_METHODS,
        Target::Resource(..) => ITEM_METHODS,
    }
}

async fn change(
    context: &Context,
    head: request::Parts,
    body: Body,
    target: Target,
) -> Result<Response<Body>, Problem> {
    let mut how = ChangeRequest::of(context, &head, Role::for_kind(target.kind()))?;
    let condition = condition(&head.headers)?;
    let action = match head.method {
        Method::DELETE => Action::Delete,
        Method::PUT => Action::Put(how.required_body(&head.headers, body).await?),
        Method::PATCH => Action::Patch(how.required_body(&head.headers, body).await?),
        _ => Action::Create(how.required_body(&head.headers, body).await?),
    };
    Ok(how.make(context, Operation::Edits(vec![Edit { target, action, condition }])).await)
}

fn item(context: &Context, head: &request::Parts, key: &Key, steps: &[String]) -> Result<Response<Body>, Problem> {
    Arguments::parse(head.uri.query(), &[])?;
    let (text, revision) = {
        let state = context.shared.state();
        if let Some(scope) = scope::of(head).filter(|scope| !scope.has(key, state.get(key.kind, &key.id))) {
            return Err(scope::beyond(scope, &key.to_string()));
        }
        let missing = || Problem::new(StatusCode::NOT_FOUND, format!("there is no {key}"));
        match (state.shown(key.kind, &key.id), state.get(key.kind, &key.id)) {
            (Some(text), Some(held)) => (text, held.revision),
            _ if key.kind.is_singleton() => ("{}".to_owned(), 0),
            _ => return Err(missing()),
        }
    };
    if tags(&head.headers, &header::IF_NONE_MATCH)?.is_some_and(|tags| match tags {
        Match::Any => true,
        Match::Revisions(revisions) => revisions.contains(&revision),
    }) {
        let mut response = StatusCode::NOT_MODIFIED.into_response();
        response.headers_mut().insert(header::ETAG, etag(revision));
        return Ok(response);
    }
    let text = if steps.is_empty() {
        text
    } else {
        let whole: Value = serde_json::from_str(&text).map_err(Problem::failed)?;
        let part = state::find_nested(&whole, steps);
        let missing = || Problem::new(StatusCode::NOT_FOUND, format!("{key} has no `{}`", steps.join("/")));
        part.ok_or_else(missing)?.to_string()
    };
    Ok(json(text, revision))
}

fn collection(
    context: &Context,
    head: &request::Parts,
    kind: ResourceKind,
    upstream: Option<&str>,
) -> Result<Response<Body>, Problem> {
    let arguments = Arguments::parse(head.uri.query(), &["limit", "after"])?;
    let limit = usize::try_from(arguments.limit(PAGE.0, PAGE.1)?).unwrap_or(usize::MAX);
    let after = arguments.get("after");
    let scope = scope::of(head);
    if let Some(scope) = scope.filter(|scope| !scope.has_kind(kind)) {
        return Err(scope::beyond(scope, &format!("/{kind}")));
    }
    let state = context.shared.state();
    let mut page = Page::default();
    if let Some(upstream) = upstream {
        if state.get(ResourceKind::Upstreams, upstream).is_none() {
            return Err(Problem::new(StatusCode::NOT_FOUND, format!("there is no upstream `{upstream}`")));
        }
        let behind = state.members(upstream).filter(|(id, ..)| after.is_none_or(|after| *id > after));
        for (id, _, held) in behind.take(limit.saturating_add(1)) {
            page.add(id, &held.document.text, limit);
        }
    } else {
        let within = state.iter(kind, after).filter(|(id, held)| is_within(scope, kind, id, held));
        for (id, _) in within.take(limit.saturating_add(1)) {
            page.add(id, &state.shown(kind, id).unwrap_or_default(), limit);
        }
    }
    let revision = state.revision();
    drop(state);
    let next = page.next.as_ref().map(|last| {
        format!(
            "<{PREFIX}{}?limit={limit}&after={last}>; rel=\"next\"",
            Target::Collection(kind, upstream.map(Into::into))
        )
    });
    let mut response = json(page.end(), revision);
    if let Some(link) = next.and_then(|link| HeaderValue::from_str(&link).ok()) {
        response.headers_mut().insert(header::LINK, link);
    }
    Ok(response)
}

/// Whether a client with these limits, if any, may read a resource.
pub(super) fn is_within(scope: Option<&Scope>, kind: ResourceKind, id: &Arc<str>, held: &Held) -> bool {
    scope.is_none_or(|scope| scope.has(&Key { kind, id: id.clone() }, Some(held)))
}

/// Documents by id, as an object; `next` is the last id if there are more.
#[derive(Default)]
struct Page {
    text: String,
    count: usize,
    last: String,
    next: Option<String>,
}

impl Page {
    fn add(&mut self, id: &str, document: &str, limit: usize) {
        if self.count == limit {
            self.next = Some(std::mem::take(&mut self.last));
            return;
        }
        let _ = write!(self.text, "{}\"{id}\":{document}", if self.count == 0 { "{" } else { "," });
        self.count += 1;
        id.clone_into(&mut self.last);
    }

    fn end(mut self) -> String {
        self.text.push_str(if self.count == 0 { "{}" } else { "}" });
        self.text
    }
}

/// A JSON response with its revision as the ETag.
pub(super) fn json(text: String, revision: u64) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::ETAG, etag(revision));
    response
}
