//! The schema against the examples, the guide and what the walker refuses.

mod agreement;

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;

use regex_automata::meta::Regex;

use serde_json::{Map, json};
use weir_policy::{json_schema as policy_schema, parse_document};

use super::*;

fn parse(text: &str) -> Value {
    parse_document(text, Path::new("p.yaml")).unwrap()
}

/// Whether a pattern of the schema, compiled once, is found in a text.
fn matches(pattern: &str, text: &str) -> bool {
    thread_local!(static COMPILED: RefCell<HashMap<String, Regex>> = RefCell::default());
    COMPILED.with_borrow_mut(|known| {
        known.entry(pattern.to_owned()).or_insert_with(|| Regex::new(pattern).unwrap()).is_match(text)
    })
}

/// The part of JSON Schema that the schema uses; a keyword that is not known here
/// is a fault of this test.
fn fits(schema: &Value, root: &Value, value: &Value) -> bool {
    let list = |rule: &Value| rule.as_array().unwrap().clone();
    schema.as_object().unwrap().iter().all(|(keyword, rule)| match keyword.as_str() {
        "$ref" => fits(root.pointer(rule.as_str().unwrap().trim_start_matches('#')).unwrap(), root, value),
        "anyOf" => list(rule).iter().any(|one| fits(one, root, value)),
        "oneOf" => list(rule).iter().filter(|one| fits(one, root, value)).count() == 1,
        "enum" => list(rule).contains(value),
        "type" => {
            let types = rule.as_array().cloned().unwrap_or_else(|| vec![rule.clone()]);
            types.iter().any(|name| is(name.as_str().unwrap(), value))
        }
        "required" => value
            .as_object()
            .is_none_or(|object| list(rule).iter().all(|key| object.contains_key(key.as_str().unwrap()))),
        "properties" => value.as_object().is_none_or(|object| {
            object.iter().all(|(key, item)| rule.get(key).is_none_or(|schema| fits(schema, root, item)))
        }),
        "additionalProperties" => value.as_object().is_none_or(|object| {
            let known = |key: &String| schema.get("properties").is_some_and(|known| known.get(key).is_some());
            let fits = |item: &Value| if rule.is_object() { fits(rule, root, item) } else { rule == &json!(true) };
            object.iter().all(|(key, item)| known(key) || fits(item))
        }),
        "propertyNames" => {
            value.as_object().is_none_or(|object| object.keys().all(|key| fits(rule, root, &json!(key))))
        }
        "items" => value.as_array().is_none_or(|items| items.iter().all(|item| fits(rule, root, item))),
        "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= rule.as_u64().unwrap()),
        "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap()),
        "maximum" => value.as_f64().is_none_or(|number| number <= rule.as_f64().unwrap()),
        "minLength" => value.as_str().is_none_or(|text| text.len() as u64 >= rule.as_u64().unwrap()),
        "maxLength" => value.as_str().is_none_or(|text| text.len() as u64 <= rule.as_u64().unwrap()),
        "maxItems" => value.as_array().is_none_or(|items| items.len() as u64 <= rule.as_u64().unwrap()),
        "maxProperties" => value.as_object().is_none_or(|keys| keys.len() as u64 <= rule.as_u64().unwrap()),
        "pattern" => value.as_str().is_none_or(|text| matches(rule.as_str().unwrap(), text)),
        "default" | "description" | "title" | "$schema" | "$defs" => true,
        other => panic!("the schema uses `{other}`, which this test does not know"),
    })
}

fn is(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("unknown type {other}"),
    }
}

#[test]
fn the_schema_takes_the_examples_and_the_guide() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut texts: Vec<String> = std::fs::read_dir(root.join("examples"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    for guide in ["docs/policy.md", "docs/gateway.md"] {
        let guide = std::fs::read_to_string(root.join(guide)).unwrap();
        texts.extend(guide.split("```yaml\n").skip(1).map(|block| block.split("```").next().unwrap().to_owned()));
    }
    assert!(texts.len() > 7);
    let (policy, state) = (policy_schema(), state_schema());
    for text in texts {
        // A guide may show a part of a state file, which a policy file cannot have.
        let document = parse(&text);
        assert!(fits(&policy, &policy, &document) || fits(&state, &state, &document), "{text}");
    }
}

#[test]
fn the_schema_refuses_what_the_walker_refuses() {
    let schema = policy_schema();
    let rule = |rest: &str| format!("policies: [{{id: p, rules: [{{id: a, when: ssl, {rest}}}]}}]");
    for (text, good) in [
        (rule("action: log"), true),
        (rule("action: {log: }"), true),
        (rule("actions: [block, {block: 404}, {allow: all}, {tag: t}, {rate_limit: 5/m}, {redirect: '\"/\"'}]"), true),
        (rule("action: log, actions: [log]"), false),
        (rule("score: 1"), false),
        (rule("action: log, score: -1"), false),
        (rule("action: log, sore: 1"), false),
        (rule("action: blok"), false),
        (rule("action: tag"), false),
        (rule("action: {block: {status: 99}}"), false),
        (rule("action: {block: {state: 403}}"), false),
        (rule("action: {log: , block: }"), false),
        (rule("action: {redirect: {to: x, status: 200}}"), false),
        (rule("action: {set_header: {name: X}}"), false),
        ("policies: []".into(), false),
        ("{}".into(), false),
        ("policies: [{id: p}]".into(), false),
        (format!("lists: {{a: {{strings: [x], integers: [1]}}}}\n{}", rule("action: log")), false),
        (format!("lists: {{a: {{kind: strings, file: x}}}}\n{}", rule("action: log")), true),
        (format!("geo: x.mmdb\n{}", rule("action: log")), true),
        (format!("client_address: {{from: forwarded}}\n{}", rule("action: log")), false),
    ] {
        assert_eq!(fits(&schema, &schema, &parse(&text)), good, "{text}");
    }
}

#[test]
fn every_reference_leads_somewhere() {
    let of_kinds = ResourceKind::ALL.into_iter().map(json_schema);
    for schema in of_kinds.chain([policy_schema(), state_schema()]) {
        let text = schema.to_string();
        let names: Vec<&str> = text.split("#/$defs/").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        for name in names {
            assert!(schema["$defs"][name].get("description").is_some(), "{name}");
        }
    }
}
