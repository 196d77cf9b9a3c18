//! The JSON Schema (draft 2020-12) of a policy file, for editors, made from the table.

use serde_json::{Map, Value, json};

use crate::action::ACTIONS;
use crate::table::{CLIENT_ADDRESS, EXCLUSION, GEO, Kind, LIST, Need, POLICY, ROOT, RULE, Resource, SELECTOR};

/// Resources with a definition of their own.
static DEFINED: [&Resource; 7] = [&CLIENT_ADDRESS, &GEO, &LIST, &POLICY, &SELECTOR, &RULE, &EXCLUSION];

/// The schema of a policy file.
#[must_use]
pub fn json_schema() -> Value {
    let mut root = resource(&ROOT);
    let mut definitions: Map<String, Value> = DEFINED.iter().map(|one| (one.name.to_owned(), resource(one))).collect();
    definitions.insert("action".to_owned(), action());
    definitions.extend(ACTIONS.iter().map(|kind| (kind.resource.name.to_owned(), resource(kind.resource))));
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!("Weir policy");
    root["$defs"] = Value::Object(definitions);
    root
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

fn resource(resource: &Resource) -> Value {
    let properties: Map<String, Value> = resource
        .keys
        .iter()
        .map(|key| {
            let mut value = kind(&key.kind);
            let default = if let Need::Default(text) = key.need { format!(" Default: {text}.") } else { String::new() };
            value["description"] = json!(format!("{}{default}", key.doc));
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
    let alternatives = alternatives(resource.name);
    if !alternatives.is_null() {
        mapping["oneOf"] = alternatives;
    }
    match resource.short.and_then(|short| resource.key(short)) {
        Some(short) => json!({ "anyOf": [mapping, kind(&short.kind)], "description": resource.doc }),
        None => mapping,
    }
}

/// Keys of which exactly one must be there.
fn alternatives(name: &str) -> Value {
    let choices: &[&str] = match name {
        "policy" => &["rules", "selectors"],
        "rule" => &["actions", "action"],
        "exclusion" => &["rule", "tag"],
        "list" => &["addresses", "strings", "integers", "file"],
        _ => return Value::Null,
    };
    choices.iter().map(|key| json!({ "required": [key] })).collect()
}

fn action() -> Value {
    let bare = |resource: &Resource| resource.keys.iter().all(|key| key.need != Need::Required);
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

fn kind(of: &Kind) -> Value {
    match of {
        // Numbers and booleans are taken as written.
        Kind::Text | Kind::HeaderValue => json!({ "type": ["string", "number", "boolean"] }),
        Kind::Word(word) => json!({
            "type": ["string", "number", "boolean"],
            "pattern": word.pattern(),
            "maxLength": word.max_bytes(),
        }),
        Kind::Condition | Kind::Value | Kind::File => json!({ "type": "string", "minLength": 1 }),
        Kind::Integer(low, high) => json!({ "type": "integer", "minimum": low, "maximum": high }),
        Kind::Choice(choices) => json!({ "enum": choices.iter().map(|(name, _)| *name).collect::<Vec<_>>() }),
        Kind::OneOf(numbers) => json!({ "enum": numbers }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::RuleIds => {
            let one = json!({ "anyOf": [
                { "type": "integer", "minimum": 0 },
                { "type": "string", "pattern": "^[0-9]+( *- *[0-9]+)?$" },
            ] });
            json!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1 }] })
        }
        Kind::Network => json!({ "type": "string", "pattern": "^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$" }),
        Kind::Rate => json!({ "type": "string", "pattern": "^[0-9]+ */ *[0-9]*(ms|s|m|h|d)$" }),
        Kind::HeaderName => json!({ "type": "string", "pattern": "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$" }),
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
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
