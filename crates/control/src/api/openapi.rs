//! The API as an OpenAPI 3.1 document: made of the table of endpoints and of the tables that documents are checked
//! against, so that it says what is true.
//!
//! Annotations on handlers were the alternative (`utoipa`); they describe Rust's types, and what the API takes is
//! described by the tables of the policy, with short forms and defaults, already.

mod component;
mod endpoint;
mod example;
mod link;
mod own;
mod parameter;
mod response;

use std::sync::LazyLock;

use bytes::Bytes;
use serde_json::{Map, Value, json};
use weir_resource::ResourceKind;

pub use endpoint::{Answer, Body, ENDPOINTS, Endpoint, KindScope};
pub use parameter::Parameter;

/// Kinds whose resources have paths that begin with their own id: neither the settings nor members of upstreams.
pub fn kinds_with_paths() -> impl Iterator<Item = ResourceKind> {
    ResourceKind::written().filter(|kind| !kind.is_singleton() && kind.parent().is_none())
}

/// The document, made when it is first asked for.
#[must_use]
pub fn document() -> &'static Value {
    static DOCUMENT: LazyLock<Value> = LazyLock::new(make);
    &DOCUMENT
}

/// The same as text.
#[must_use]
pub fn text() -> Bytes {
    static TEXT: LazyLock<Bytes> = LazyLock::new(|| document().to_string().into());
    TEXT.clone()
}

fn make() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for endpoint in ENDPOINTS {
        for (kind, path) in endpoint.paths() {
            let operation = operation(endpoint, kind, &path);
            let item = paths.entry(path).or_insert_with(|| json!({}));
            item[endpoint.method.to_ascii_lowercase()] = operation;
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Weir",
            "version": env!("CARGO_PKG_VERSION"),
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            "description": "Changes of a running gateway. Each is checked, compiled in a sandbox if need be, stored, \
                and answered when every worker has it. Parts of documents have paths as well, beyond those that are \
                listed: fields by name, elements of lists by their `id` or number, as in \
                `/api/v1/routes/a/timeouts/read`.",
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "Over TCP. The Unix socket needs none: its file's permissions decide.",
                },
            },
            "schemas": component::schemas(),
            "responses": response::problems(),
        },
    })
}

/// Every method and path there is, kinds written out: `("GET", "/api/v1/sites/{id}")`.
pub fn routes() -> impl Iterator<Item = (&'static str, String)> {
    ENDPOINTS.iter().flat_map(|endpoint| endpoint.paths().into_iter().map(|(_, path)| (endpoint.method, path)))
}

fn operation(endpoint: &Endpoint, kind: Option<ResourceKind>, path: &str) -> Value {
    let named = endpoint.parameters.iter().map(|parameter| parameter.describe());
    let in_path = path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'));
    let in_path = in_path.map(|name| parameter::in_path(name, kind));
    let summary = match kind {
        Some(kind) => {
            endpoint.summary.replace("{kind}", kind.singular()).replace("{kinds}", &kind.plural().replace('_', " "))
        }
        None => endpoint.summary.to_owned(),
    };
    let role = endpoint.role.map_or("none", |role| role.as_str());
    let mut operation = json!({
        "operationId": identifier(endpoint.method, path),
        "summary": summary,
        "description": format!("Role: {role}."),
        "x-weir-role": role,
        "tags": [kind.map_or("control", ResourceKind::plural)],
        "parameters": in_path.chain(named).collect::<Vec<Value>>(),
        "responses": response::responses(endpoint, kind, path),
    });
    if let Some(body) = component::body(endpoint.body, kind) {
        operation["requestBody"] = body;
    }
    if endpoint.role.is_none() {
        operation["security"] = json!([]);
    }
    operation
}

/// A name for an operation that generated clients can use: `put_upstreams_id_members_member`.
fn identifier(method: &str, path: &str) -> String {
    let path = path.strip_prefix("/api/v1").unwrap_or(path);
    let words: Vec<&str> = path.split(['/', '{', '}', '.']).filter(|word| !word.is_empty()).collect();
    format!("{}_{}", method.to_ascii_lowercase(), words.join("_"))
}

#[cfg(test)]
mod tests;
