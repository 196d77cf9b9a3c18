//! JSON Schemas (draft 2020-12), made from the tables.

use serde_json::{Map, Value, json};
use weir_gateway::resource::ResourceKind;

use crate::action::ACTIONS;
use crate::leaf::{MAX_HEADER_BYTES, MAX_TEXT_BYTES};
use crate::table::{
    CLIENT_ADDRESS, CONSUMER, CONSUMER_TABLES, EXCLUSION, GEO, INSPECTOR, INSPECTOR_TABLES, Kind, LIST, MAX_ID_BYTES,
    Need, POLICY, POLICY_DOCUMENT, ROOT, RULE, Resource, SELECTOR, Word,
};

/// Resources with a definition of their own.
static DEFINED: [&Resource; 10] =
    [&CLIENT_ADDRESS, &GEO, &LIST, &CONSUMER, &INSPECTOR, &POLICY, &POLICY_DOCUMENT, &SELECTOR, &RULE, &EXCLUSION];

/// The schema of a policy file.
#[must_use]
pub fn json_schema() -> Value {
    whole(&ROOT, "Weir policy", &[])
}

/// The schema of a resource with the definitions that it needs, and no others. Beside those of policies, it may
/// need some of `more`.
#[must_use]
pub fn whole(of: &'static Resource, title: &str, more: &[&'static Resource]) -> Value {
    let mut root = resource(of);
    let mut definitions = Map::new();
    let mut wanted = names(&root);
    // Ends: each name is defined once, and there are as many as resources.
    while let Some(name) = wanted.pop() {
        if !definitions.contains_key(&name) {
            let definition = define(&name, more);
            wanted.extend(names(&definition));
            definitions.insert(name, definition);
        }
    }
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!(title);
    root["$defs"] = Value::Object(definitions);
    root
}

/// Names that a schema refers to.
fn names(schema: &Value) -> Vec<String> {
    match schema {
        Value::Object(keys) => {
            let own = keys.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix(DEFINITIONS));
            own.map(str::to_owned).into_iter().chain(keys.values().flat_map(names)).collect()
        }
        Value::Array(items) => items.iter().flat_map(names).collect(),
        _ => Vec::new(),
    }
}

/// Where definitions stand.
const DEFINITIONS: &str = "#/$defs/";

fn define(name: &str, more: &[&'static Resource]) -> Value {
    let actions = ACTIONS.iter().map(|kind| kind.resource);
    let all =
        DEFINED.into_iter().chain(CONSUMER_TABLES).chain(INSPECTOR_TABLES).chain(more.iter().copied()).chain(actions);
    match all.into_iter().find(|one| one.name == name) {
        Some(one) => resource(one),
        None => action(),
    }
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("{DEFINITIONS}{name}") })
}

fn resource(resource: &Resource) -> Value {
    let properties: Map<String, Value> = resource
        .keys
        .iter()
        .map(|key| {
            let mut value = kind(&key.kind);
            let default = key.need.default().map_or(String::new(), |text| format!(" Default: {text}."));
            value["description"] = json!(format!("{}{default}", key.doc));
            if let Need::Value(text) = key.need {
                value["default"] = literal(&key.kind, text);
            }
            (key.name.to_owned(), value)
        })
        .collect();
    let required: Vec<&str> =
        resource.keys.iter().filter(|key| key.need == Need::Required).map(|key| key.name).collect();
    let mut mapping = json!({
        "type": "object",
        "description": resource.doc,
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        mapping["required"] = json!(required);
    }
    if !resource.one_of.is_empty() {
        mapping["oneOf"] = resource.one_of.iter().map(|key| json!({ "required": [key] })).collect();
    }
    match resource.short.and_then(|short| resource.key(short)) {
        Some(short) => json!({ "anyOf": [mapping, kind(&short.kind)], "description": resource.doc }),
        None => mapping,
    }
}

fn action() -> Value {
    let bare =
        |resource: &Resource| resource.one_of.is_empty() && resource.keys.iter().all(|key| key.need != Need::Required);
    let words: Vec<&str> =
        ACTIONS.iter().map(|kind| kind.resource).filter(|one| bare(one)).map(|one| one.name).collect();
    let mut choices = vec![json!({ "enum": words })];
    for kind in ACTIONS {
        let name = kind.resource.name;
        let parameters = if bare(kind.resource) {
            json!({ "anyOf": [reference(name), { "type": "null" }] })
        } else {
            reference(name)
        };
        choices.push(json!({
            "type": "object",
            "description": kind.resource.doc,
            "properties": { name: parameters },
            "required": [name],
            "additionalProperties": false,
        }));
    }
    json!({ "description": "An action: its name, or a mapping of its name to its parameters.", "oneOf": choices })
}

/// Integers up to here are exact everywhere (RFC 7493, section 2.2).
const MAX_NUMBER: u64 = (1 << 53) - 1;

/// A default as it would be written.
fn literal(kind: &Kind, text: &str) -> Value {
    match kind {
        Kind::Integer(..) | Kind::OneOf(_) | Kind::Flag | Kind::Switch(_) | Kind::Percent => {
            serde_json::from_str(text).unwrap_or_default()
        }
        _ => json!(text),
    }
}

fn kind(of: &Kind) -> Value {
    match of {
        // Numbers and booleans are taken as written.
        Kind::Text | Kind::Condition | Kind::Value => {
            json!({ "type": ["string", "number", "boolean"], "maxLength": MAX_TEXT_BYTES })
        }
        Kind::File => json!({ "type": ["string", "number", "boolean"], "pattern": r"^[^\u0000]*$" }),
        Kind::HeaderValue => json!({
            "type": ["string", "number", "boolean"],
            "pattern": r"^[^\u0000-\u0008\u000a-\u001f\u007f]*$",
            "maxLength": MAX_HEADER_BYTES,
        }),
        Kind::Word(word) => {
            let text = json!({ "type": "string", "pattern": word.pattern(), "maxLength": word.max_bytes() });
            match word {
                Word::Id | Word::Revision => {
                    json!({ "anyOf": [text, { "type": "number", "minimum": 0, "maximum": MAX_NUMBER }, { "type": "boolean" }] })
                }
                Word::List | Word::Variable => text,
            }
        }
        Kind::Integer(low, high) => json!({ "type": "integer", "minimum": low, "maximum": high }),
        Kind::Choice(choices) => {
            // YAML takes `500` for a number, and it is as good.
            let number = |name: &str| serde_json::from_str::<serde_json::Number>(name).ok();
            let names = choices.iter().map(|(name, _)| json!(name));
            let numbers = choices.iter().filter_map(|(name, _)| number(name)).map(Value::Number);
            json!({ "enum": names.chain(numbers).collect::<Vec<_>>() })
        }
        Kind::OneOf(numbers) => json!({ "enum": numbers }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::RuleIds => {
            let one = json!({ "anyOf": [
                { "type": "integer", "minimum": 0, "maximum": MAX_NUMBER },
                { "type": "string", "pattern": "^[0-9]+( *- *[0-9]+)?$" },
            ] });
            json!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1 }] })
        }
        Kind::Network => json!({ "type": "string", "pattern": "^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$" }),
        Kind::Rate => json!({ "type": "string", "pattern": "^[0-9]+ */ *[0-9]*(ms|s|m|h|d)$" }),
        Kind::HeaderName => {
            json!({ "type": "string", "pattern": "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$", "maxLength": MAX_ID_BYTES })
        }
        Kind::List(inner, needs_one) => {
            let mut list = json!({ "type": "array", "items": kind(inner) });
            if *needs_one {
                list["minItems"] = json!(1);
            }
            list
        }
        Kind::Map(names, inner) => {
            json!({ "type": "object", "propertyNames": kind(names), "additionalProperties": kind(inner) })
        }
        Kind::Resource(resource) => reference(resource.name),
        Kind::Action => reference("action"),
        Kind::Form(form) => {
            json!({ "type": "string", "pattern": form.pattern, "minLength": 1, "maxLength": form.max_bytes })
        }
        Kind::Id(of) => json!({ "type": "string", "pattern": of.id_pattern(), "maxLength": MAX_ID_BYTES }),
        Kind::Duration(low, _) => {
            let time = json!({ "type": "string", "pattern": "^[0-9]{1,9}(ms|s|m|h|d)$" });
            if *low > 0 { time } else { json!({ "anyOf": [time, { "enum": [0, "0"] }] }) }
        }
        Kind::Size(low, high) => json!({ "anyOf": [
            { "type": "integer", "minimum": low, "maximum": high },
            { "type": "string", "pattern": "^[0-9]{1,13}[kKmMgG]?$" },
        ] }),
        Kind::Percent => json!({ "anyOf": [
            { "type": "number", "minimum": 0.01, "maximum": 100 },
            { "type": "string", "pattern": "^[0-9]{1,3}([.][0-9]{1,9})?$" },
        ] }),
        Kind::Statuses => json!({ "anyOf": [
            { "type": "integer", "minimum": 100, "maximum": 599 },
            { "type": "string", "pattern": "^[1-5][0-9]{2}(-[1-5][0-9]{2})?$" },
        ] }),
        Kind::Switch(resource) => json!({ "anyOf": [reference(resource.name), { "type": "boolean" }] }),
        Kind::AtMost(inner, most) => {
            let mut schema = kind(inner);
            let bound = if schema["type"] == "array" { "maxItems" } else { "maxProperties" };
            schema[bound] = json!(most);
            schema
        }
        Kind::Policies => json!({ "anyOf": [
            { "type": "array", "items": reference(POLICY.name), "maxItems": crate::MAX_POLICIES },
            {
                "type": "object",
                "propertyNames": kind(&Kind::Id(ResourceKind::Policies)),
                "additionalProperties": reference(POLICY_DOCUMENT.name),
            },
        ] }),
    }
}
