//! Examples of what requests say: a small gateway, whose parts fit together. Tests check them against the tables.

use serde_json::{Value, json};
use weir_resource::Kind;

use super::endpoint::Body;

/// The id of the example of a kind.
pub(super) const fn id(kind: Kind) -> &'static str {
    match kind {
        Kind::Settings => "",
        Kind::Sites => "shop",
        Kind::Routes => "catalogue",
        Kind::Upstreams => "app",
        Kind::Members => "a",
        Kind::Certificates => "shop.example",
        Kind::Lists => "office",
        Kind::Policies => "base",
        Kind::RuleSets => "own",
    }
}

/// The id of the rule in the example of a policy.
pub(super) const RULE: &str = "no-dot-env";

/// A document; none for certificates, as any would expire.
pub(super) fn document(kind: Kind) -> Option<Value> {
    Some(match kind {
        Kind::Settings => json!({"client_address": {"trusted": ["10.0.0.0/8"]}}),
        Kind::Sites => json!({"hosts": ["shop.example", "*.shop.example"]}),
        Kind::Routes => json!({"site": "shop", "path": {"prefix": "/catalogue"}, "to": "app"}),
        Kind::Upstreams => json!({"balance": "ewma", "members": {"a": "127.0.0.1:8081"}}),
        Kind::Members => json!({"address": "127.0.0.1:8082", "weight": 2}),
        Kind::Certificates => return None,
        Kind::Lists => json!({"addresses": ["192.0.2.0/24", "2001:db8::1"]}),
        Kind::Policies => json!({"mode": "on", "rules": [rule(RULE)]}),
        Kind::RuleSets => json!({"rules": "SecRule REQUEST_URI \"@contains /.git\" \"id:1,phase:1,deny\""}),
    })
}

fn rule(id: &str) -> Value {
    json!({"id": id, "when": "http.request.uri.path eq \"/.env\"", "action": "block"})
}

fn patch(kind: Kind) -> Option<Value> {
    Some(match kind {
        Kind::Settings => json!({"client_address": null}),
        Kind::Sites => json!({"tls": {"min_version": "1.3"}}),
        Kind::Routes => json!({"timeouts": {"read": "10s"}}),
        Kind::Upstreams => json!({"balance": "round_robin", "members": {"a": {"drain": true}}}),
        Kind::Members => json!({"weight": 0}),
        Kind::Lists => json!({"addresses": ["192.0.2.0/24"]}),
        Kind::Policies => json!({"mode": "detect"}),
        Kind::Certificates | Kind::RuleSets => return None,
    })
}

/// What a request has as its body.
pub(super) fn body(body: Body, kind: Option<Kind>) -> Option<Value> {
    match body {
        Body::None => None,
        Body::Document => kind.and_then(document),
        Body::Created => kind.and_then(|kind| {
            let mut document = document(kind)?;
            document["id"] = id(kind).into();
            Some(document)
        }),
        Body::Rule => Some(rule(RULE)),
        Body::Patch => kind.and_then(patch),
        Body::RulePatch => Some(json!({"action": "log"})),
        Body::Transaction => Some(json!({
            "message": "the shop's application has moved",
            "changes": [
                {"method": "PUT", "path": "/sites/shop", "body": document(Kind::Sites)},
                {"method": "PUT", "path": "/upstreams/app", "body": document(Kind::Upstreams)},
                {"method": "PATCH", "path": "/upstreams/app/members/a", "body": {"weight": 5}},
                {"method": "PUT", "path": "/routes/catalogue", "body": document(Kind::Routes)},
            ],
        })),
        Body::Message => Some(json!({"message": "as it was before the sale"})),
    }
}
