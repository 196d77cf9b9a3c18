//! Links from the response to a creation to the operations on the new resource, which clients and tests follow.

use serde_json::{Map, Value, json};

use super::endpoint::{Body, Endpoint};
use super::identifier;

/// Methods of the new resource.
const METHODS: [&str; 3] = ["GET", "PATCH", "DELETE"];

/// The links of the response of an endpoint; `None` if it creates nothing.
pub(super) fn links(endpoint: &Endpoint, path: &str) -> Option<Value> {
    // The resource's path, and the parameter that stands in the body.
    let (resource, in_body) = match endpoint.body {
        Body::Document | Body::Rule if endpoint.path.ends_with('}') => (path.to_owned(), None),
        Body::Created => {
            let parameter = if path.contains("{id}") { "member" } else { "id" };
            (format!("{path}/{{{parameter}}}"), Some(parameter))
        }
        _ => return None,
    };
    let names = resource.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'));
    let parameters: Map<String, Value> = names
        .map(|name| {
            let place =
                if in_body == Some(name) { "$request.body#/id".to_owned() } else { format!("$request.path.{name}") };
            (name.to_owned(), place.into())
        })
        .collect();
    let link = |method: &str| {
        let link = json!({"operationId": identifier(method, &resource), "parameters": parameters});
        (method.to_ascii_lowercase(), link)
    };
    Some(METHODS.into_iter().map(link).collect::<Map<_, _>>().into())
}
