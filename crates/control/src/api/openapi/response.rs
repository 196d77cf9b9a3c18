//! What may be answered, status by status.

use serde_json::{Map, Value, json};
use weir_resource::ResourceKind;

use super::component::document;
use super::endpoint::{Answer, Endpoint};
use super::link;
use super::own::reference;

/// Problems and when they come up.
const PROBLEMS: &[(u16, &str)] = &[
    (400, "The request is not understood: its body is not JSON, or a parameter has no such value."),
    (401, "There is no token, or it is not known. Only over TCP."),
    (403, "The token's role is not enough. Only over TCP."),
    (404, "It is not there."),
    (405, "The path has no such method."),
    (409, "It contradicts what is there; or a worker refused it, and it was undone everywhere."),
    (410, "The revision is not kept any more."),
    (412, "It is not at the revision that `If-Match` names, or `If-None-Match: *` and it is there."),
    (413, "The body is too large."),
    (415, "The body is of another media type than JSON."),
    (422, "It is not valid. All errors are there, and nothing was changed."),
    (429, "Too many changes wait, too many clients watch, or too many requests were not let in."),
    (500, "Control has a fault."),
    (503, "Control is starting or ending, or what was asked for cannot be had now."),
    (507, "The disk is full. Nothing was changed."),
];

/// What any request may meet, beside 401, 403 and 429 where somebody has to say who they are.
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
        401 => ("WWW-Authenticate", "How to say who asks."),
        405 => ("Allow", "The methods that there are."),
        429 => ("Retry-After", "In so many seconds it may be better."),
        _ => return None,
    };
    Some(json!({name: {"description": description, "schema": {"type": "string"}}}))
}

fn name(status: u16) -> String {
    format!("Problem{status}")
}

/// What an endpoint may answer.
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
        return json!({"description": "It is still what `If-None-Match` names."});
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
            ("Stored and published; not every worker has answered yet.", "application/json", reference("Change"))
        }
        Answer::Schema("Change") if status == 201 => {
            ("Done; it was not there before.", "application/json", reference("Change"))
        }
        Answer::Schema("Change") => ("Done.", "application/json", reference("Change")),
        Answer::Schema(name) => ("As asked.", "application/json", reference(name)),
        Answer::Events => (
            "Events `revision`, each with a revision as its data and the revision's number as its id.",
            "text/event-stream",
            json!({"type": "string"}),
        ),
        Answer::Metrics => ("The metrics.", "text/plain", json!({"type": "string"})),
    };
    let mut response = json!({"description": description, "content": {media_type: {"schema": schema}}});
    if matches!(answer, Answer::Document | Answer::Rule | Answer::Schema("Change")) {
        response["headers"] = json!({
            "ETag": {"description": "The revision, in quotes.", "schema": {"type": "string", "pattern": "^\"[0-9]+\"$"}},
        });
    }
    response
}
