//! Responses by status.

use serde_json::{Map, Value, json};
use weir_resource::ResourceKind;

use super::component::document;
use super::endpoint::{Answer, Endpoint};
use super::link;
use super::own::reference;

/// Problems and their causes.
const PROBLEMS: &[(u16, &str)] = &[
    (400, "The request is malformed: its body is not JSON, or a parameter has an invalid value."),
    (401, "The token is missing or unknown, or has expired. Only over TCP."),
    (403, "The role or the limits of the token do not allow the request. Only over TCP."),
    (404, "The resource does not exist."),
    (405, "The path does not support the method."),
    (
        409,
        "The change conflicts with the current state, a worker refused it and it was rolled back everywhere, or a request \
         with the same idempotency key is being processed.",
    ),
    (410, "The revision is no longer kept."),
    (
        412,
        "The resource is not at the revision of `If-Match`, it exists despite `If-None-Match: *`, or another revision than \
         the expected one is the newest.",
    ),
    (413, "The body is too large."),
    (415, "The media type of the body is not JSON."),
    (
        422,
        "The change is invalid, and all errors are listed; or the idempotency key stands for another request. Nothing was \
         changed.",
    ),
    (429, "Too many changes are waiting, too many clients are watching, or too many requests were rejected."),
    (500, "An internal error of control."),
    (503, "Control is starting or stopping, or the requested data is unavailable."),
    (507, "The disk is full. Nothing was changed."),
];

/// Problems of every endpoint, beside 401, 403 and 429 where authentication is needed.
const ANYWHERE: &[u16] = &[400, 405, 500];
const WITH_TOKEN: &[u16] = &[401, 403, 429];

/// The problems as components.
pub(super) fn problems() -> Value {
    let one = |(status, description): &(u16, &str)| {
        let mut response = json!({
            "description": description,
            "content": {"application/problem+json": {"schema": reference("Problem")}},
        });
        if let Some(headers) = problem_headers(*status) {
            response["headers"] = headers;
        }
        (name(*status), response)
    };
    PROBLEMS.iter().map(one).collect::<Map<_, _>>().into()
}

fn problem_headers(status: u16) -> Option<Value> {
    let (name, description) = match status {
        409 => ("Retry-After", "Seconds to wait, if a request with the same key is being processed."),
        401 => ("WWW-Authenticate", "The authentication scheme."),
        405 => ("Allow", "The supported methods."),
        429 => ("Retry-After", "Seconds to wait before trying again."),
        _ => return None,
    };
    Some(json!({name: {"description": description, "schema": {"type": "string"}}}))
}

fn name(status: u16) -> String {
    format!("Problem{status}")
}

/// The responses of an endpoint.
pub(super) fn responses(endpoint: &Endpoint, kind: Option<ResourceKind>, path: &str) -> Value {
    let mut all: Map<String, Value> = Map::new();
    for (status, answer) in endpoint.answers {
        let mut response = success(*status, *answer, kind);
        if *status == 201
            && let Some(links) = link::links(endpoint, path)
        {
            response["links"] = links;
        }
        all.insert(status.to_string(), response);
    }
    let token: &[u16] = if endpoint.role.is_some() { WITH_TOKEN } else { &[] };
    for status in ANYWHERE.iter().chain(token).chain(endpoint.problems) {
        let problem = json!({"$ref": format!("#/components/responses/{}", name(*status))});
        all.entry(status.to_string()).or_insert(problem);
    }
    all.into()
}

fn success(status: u16, answer: Answer, kind: Option<ResourceKind>) -> Value {
    if status == 304 {
        return json!({"description": "The resource still has the ETag of `If-None-Match`."});
    }
    let (description, media_type, schema) = match answer {
        Answer::Document => ("The document.", "application/json", document(kind)),
        Answer::Documents => (
            "The documents by id.",
            "application/json",
            json!({"type": "object", "additionalProperties": document(kind)}),
        ),
        Answer::Rule => ("The rule.", "application/json", json!({"type": "object"})),
        Answer::Schema("Change") if status == 202 => {
            ("Stored and published; not every worker has acknowledged it yet.", "application/json", reference("Change"))
        }
        Answer::Schema("Change") if status == 201 => {
            ("Applied; the resource is new.", "application/json", reference("Change"))
        }
        Answer::Schema("Change") => ("Applied.", "application/json", reference("Change")),
        Answer::Schema(name) => ("The requested data.", "application/json", reference(name)),
        Answer::Events => (
            "Events `revision`, each with a revision as its data and the revision's number as its id.",
            "text/event-stream",
            json!({"type": "string"}),
        ),
        Answer::Metrics => ("The metrics.", "text/plain", json!({"type": "string"})),
        Answer::Backup => ("The backup.", crate::backup::MEDIA_TYPE, json!({"type": "string", "format": "binary"})),
    };
    let mut response = json!({"description": description, "content": {media_type: {"schema": schema}}});
    if matches!(answer, Answer::Document | Answer::Rule | Answer::Schema("Change")) {
        response["headers"] = json!({
            "ETag": {"description": "The revision, in quotes.", "schema": {"type": "string", "pattern": "^\"[0-9]+\"$"}},
        });
    }
    response
}
