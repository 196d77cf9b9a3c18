//! What is answered when something is not good: `application/problem+json` (RFC 9457).

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use serde_json::{Map, Value, json};
use weir_resource::Fault;

use crate::auth::Role;
use crate::state::Refusal;

/// Methods of a collection.
pub(super) const COLLECTION_METHODS: &str = "GET, HEAD, POST";

/// Seconds after which a client that was turned away may come back.
const RETRY_AFTER: &str = "1";

/// A problem.
#[derive(Debug)]
pub struct Problem {
    status: StatusCode,
    detail: String,
    errors: Vec<Fault>,
    more: Map<String, Value>,
    allow: Option<&'static str>,
    etag: Option<u64>,
}

/// Titles by status, and names of the types.
const TITLES: &[(u16, &str, &str)] = &[
    (400, "malformed", "The request is malformed"),
    (403, "forbidden", "This client may not do that"),
    (404, "not-found", "There is no such resource"),
    (405, "method-not-allowed", "The method is not allowed"),
    (409, "conflict", "The change conflicts with what is there"),
    (410, "gone", "The revision is not kept any more"),
    (412, "precondition-failed", "The precondition does not hold"),
    (413, "too-large", "The body is too large"),
    (415, "media-type", "The media type is not known"),
    (422, "invalid", "The change is not valid"),
    (429, "busy", "Too many changes are waiting"),
    (500, "failed", "Control has failed"),
    (503, "unavailable", "Control cannot do that now"),
    (507, "full", "There is no space left"),
];

impl Problem {
    /// With a status and what is wrong.
    #[must_use]
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), errors: Vec::new(), more: Map::new(), allow: None, etag: None }
    }

    /// Malformed: 400.
    #[must_use]
    pub fn malformed(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    /// The role is not enough: 403.
    #[must_use]
    pub fn forbidden(needed: Role) -> Self {
        Self::new(StatusCode::FORBIDDEN, format!("this needs the role `{needed}`")).with("needed", needed.as_str())
    }

    /// Our fault: 500.
    #[must_use]
    pub fn failed(error: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(self, hint: &str) -> Self {
        self.with("hint", hint)
    }

    /// Adds a member.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.more.insert(name.to_owned(), value.into());
        self
    }

    /// Adds what is wrong at one place of the body.
    #[must_use]
    pub fn fault(mut self, fault: Fault) -> Self {
        self.errors.push(fault);
        self
    }

    /// Adds the methods that are allowed.
    #[must_use]
    pub fn allow(mut self, methods: &'static str) -> Self {
        self.allow = Some(methods);
        self
    }

    /// The status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// What is wrong, in one line, for the audit.
    #[must_use]
    pub fn line(&self) -> String {
        let first = self.errors.first().map(|fault| format!("{}: {}", fault.pointer, fault.message));
        first.unwrap_or_else(|| self.detail.clone())
    }

    /// The problem of a refused change.
    #[must_use]
    pub fn of(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NotFound(detail) => Self::new(StatusCode::NOT_FOUND, detail),
            Refusal::NotAllowed(detail) => Self::new(StatusCode::METHOD_NOT_ALLOWED, detail).allow(COLLECTION_METHODS),
            Refusal::Exists(key) => Self::new(StatusCode::CONFLICT, format!("{key} exists already"))
                .hint("PUT replaces it, PATCH changes it"),
            Refusal::Precondition(detail, revision) => {
                let mut problem = Self::new(StatusCode::PRECONDITION_FAILED, detail);
                problem.etag = revision;
                problem.hint("read it again, and send its ETag with If-Match")
            }
            Refusal::Unread(_) => Self::failed("the files of a certificate were not read"),
            Refusal::Invalid(errors) => {
                let detail = match errors.as_slice() {
                    [one] => format!("{}: {}", one.pointer, one.message),
                    errors => format!("{} errors; nothing was changed", errors.len()),
                };
                Self { errors, ..Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail) }
            }
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response<Body> {
        let code = self.status.as_u16();
        let known = TITLES.iter().find(|(status, ..)| *status == code);
        let (name, title) = known.map_or(("error", "The request failed"), |(_, name, title)| (*name, *title));
        let mut problem = json!({
            "type": format!("https://weir.dev/problems/{name}"), "title": title, "status": code, "detail": self.detail,
        });
        if !self.errors.is_empty() {
            problem["errors"] = self.errors.iter().map(error).collect();
        }
        if let Value::Object(object) = &mut problem {
            object.extend(self.more);
        }
        let mut response = Response::new(Body::from(problem.to_string()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if matches!(code, 429 | 503) || problem["in_progress"] == true {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER));
        }
        if let Some(methods) = self.allow {
            headers.insert(header::ALLOW, HeaderValue::from_static(methods));
        }
        if let Some(etag) = self.etag.and_then(|revision| HeaderValue::from_str(&format!("\"{revision}\"")).ok()) {
            headers.insert(header::ETAG, etag);
        }
        response
    }
}

/// A fault or a warning in an answer.
pub(super) fn error(fault: &Fault) -> Value {
    let mut error = json!({"pointer": fault.pointer, "message": fault.message});
    for (name, value) in [("expected", &fault.expected), ("found", &fault.found), ("hint", &fault.hint)] {
        if let Some(value) = value {
            error[name] = value.as_str().into();
        }
    }
    error
}
