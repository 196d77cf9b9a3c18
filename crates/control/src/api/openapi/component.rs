//! Schemas: those of resources, from the tables that check them, and those of control's own responses.

use serde_json::{Value, json};
use weir_resource::{ResourceKind, descriptor, json_schema};

use super::endpoint::Body;
use super::example;
use super::own::{self, reference};

/// A document of a kind.
pub(super) fn document(kind: Option<ResourceKind>) -> Value {
    kind.map_or_else(|| json!({"type": "object"}), |kind| reference(&name(kind)))
}

/// The singular in CamelCase: `RuleSet`.
fn name(kind: ResourceKind) -> String {
    kind.singular().split(' ').map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}

/// The body of a request.
pub(super) fn body(body: Body, kind: Option<ResourceKind>) -> Option<Value> {
    let any = json!({"type": "object"});
    let (media_type, schema) = match body {
        Body::None => return None,
        Body::Document => ("application/json", document(kind)),
        Body::Created => ("application/json", kind.map_or(any, |kind| reference(&created_name(kind)))),
        Body::Rule => ("application/json", json!({"type": "object"})),
        Body::Patch | Body::RulePatch => ("application/merge-patch+json", json!({"type": "object"})),
        Body::Transaction => ("application/json", reference("Transaction")),
        Body::Message => ("application/json", reference("Message")),
        Body::Ban => ("application/json", reference("NewBan")),
        Body::Probe => ("application/json", reference("NewProbe")),
        Body::ProbeAction => ("application/json", reference("ProbeAction")),
        Body::Shadow => ("application/json", any),
        Body::Backup => (crate::backup::MEDIA_TYPE, json!({"type": "string", "format": "binary"})),
    };
    let mut content = json!({"schema": schema});
    if let Some(example) = example(body, kind) {
        content["example"] = example;
    }
    Some(json!({"required": !matches!(body, Body::Message | Body::ProbeAction), "content": {media_type: content}}))
}

/// An example of a request's body.
pub(super) fn example(body: Body, kind: Option<ResourceKind>) -> Option<Value> {
    match body {
        Body::None | Body::Backup => None,
        Body::Document => kind.and_then(example::document),
        Body::Created => kind.and_then(|kind| {
            let mut document = example::document(kind)?;
            document["id"] = descriptor(kind).example.id.into();
            Some(document)
        }),
        Body::Rule => Some(example::rule()),
        Body::Patch => kind.and_then(example::patch),
        Body::RulePatch => Some(json!({"action": "log"})),
        Body::Transaction => Some(json!({
            "message": "the shop's application has moved",
            "changes": [
                {"method": "PUT", "path": "/sites/shop", "body": example::document(ResourceKind::Sites)},
                {"method": "PUT", "path": "/upstreams/app", "body": example::document(ResourceKind::Upstreams)},
                {"method": "PATCH", "path": "/upstreams/app/members/a", "body": {"weight": 5}},
                {"method": "PUT", "path": "/routes/catalogue", "body": example::document(ResourceKind::Routes)},
            ],
        })),
        Body::Ban => Some(json!({"address": "192.0.2.7", "for": "1h", "reason": "guesses passwords"})),
        Body::Probe => Some(json!({
            "app": "shop", "host": "shop-1", "pid": 4242, "address": "127.0.0.1", "port": 40123, "token": "5f3a",
        })),
        Body::ProbeAction => Some(json!({"plugin": "logback"})),
        Body::Shadow => Some(json!({"logback": {"suffix": ".shadow"}})),
        Body::Message => Some(json!({"message": "as it was before the sale"})),
    }
}

fn created_name(kind: ResourceKind) -> String {
    format!("New{}", name(kind))
}

/// The schema of a document with its id in it. A copy, as the schema of a resource allows no other keys.
fn created(kind: ResourceKind, schema: &Value) -> Value {
    // Of a member, its long form: the short one has no place for an id.
    let mut schema = schema.pointer("/anyOf/0").unwrap_or(schema).clone();
    schema["properties"]["id"] = json!({"type": "string", "pattern": kind.id_pattern(), "maxLength": 128});
    match schema.get_mut("required").and_then(Value::as_array_mut) {
        Some(required) => required.push("id".into()),
        None => schema["required"] = json!(["id"]),
    }
    schema
}

/// All schemas.
pub(super) fn schemas() -> Value {
    let mut all = own::schemas();
    for kind in ResourceKind::written() {
        let mut schema = json_schema(kind);
        let definitions = schema.as_object_mut().and_then(|schema| schema.remove("$defs"));
        for (definition, mut schema) in definitions.iter().filter_map(Value::as_object).flatten().map(owned) {
            point_to_components(&mut schema);
            all.insert(component_name(&definition), schema);
        }
        point_to_components(&mut schema);
        if let Some(schema) = schema.as_object_mut() {
            schema.remove("$schema");
            schema.remove("$id");
        }
        if !kind.is_singleton() {
            all.insert(created_name(kind), created(kind, &schema));
        }
        all.insert(name(kind), schema);
    }
    all.into()
}

fn owned((name, schema): (&String, &Value)) -> (String, Value) {
    (name.clone(), schema.clone())
}

/// Names of definitions are prefixed, so that `site` is not taken for `Site` where case is lost.
fn component_name(definition: &str) -> String {
    format!("policy.{definition}")
}

/// Makes `#/$defs/x` mean the component of that definition.
fn point_to_components(value: &mut Value) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                match value.as_str().and_then(|text| text.strip_prefix("#/$defs/")) {
                    Some(definition) if key == "$ref" => *value = reference(&component_name(definition))["$ref"].take(),
                    _ => point_to_components(value),
                }
            }
        }
        Value::Array(array) => array.iter_mut().for_each(point_to_components),
        _ => {}
    }
}
