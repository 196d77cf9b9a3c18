//! Schema and checker agree: documents made at random from the schema, as test tools make them, and the same
//! with something broken.
//!
//! What the schema takes, the checker refuses for no reason of shape: not for a key, a type, a number out of
//! its bounds. (It may still refuse what no schema can say: a path with `..`, a sticky route without a split.)
//! What the checker takes, the schema takes.

use proptest::strategy::{Strategy, ValueTree};
use proptest::string::string_regex;
use proptest::test_runner::TestRunner;

use super::*;
use crate::{Fault, check};

/// Documents of each kind.
const ROUNDS: usize = 500;

struct Maker {
    root: Value,
    runner: TestRunner,
}

impl Maker {
    /// A number below `end`.
    fn below(&mut self, end: usize) -> usize {
        (0..end).new_tree(&mut self.runner).unwrap().current()
    }

    fn pick<'v>(&mut self, items: &'v [Value]) -> &'v Value {
        let at = self.below(items.len());
        &items[at]
    }

    /// A document that fits.
    fn make(&mut self, schema: &Value) -> Value {
        if let Some(path) = schema.get("$ref").and_then(Value::as_str) {
            let target = self.root.pointer(path.trim_start_matches('#')).unwrap().clone();
            return self.make(&target);
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return self.pick(values).clone();
        }
        if let Some(choices) = schema.get("anyOf").and_then(Value::as_array) {
            let choice = self.pick(choices).clone();
            return self.make(&choice);
        }
        // Actions: one of several whole schemas.
        if let (Some(choices), None) = (schema.get("oneOf").and_then(Value::as_array), schema.get("type")) {
            let choice = self.pick(choices).clone();
            return self.make(&choice);
        }
        let names = match &schema["type"] {
            Value::Array(names) => self.pick(names).clone(),
            name => name.clone(),
        };
        match names.as_str().unwrap() {
            "object" => self.object(schema),
            "array" => {
                let least = schema["minItems"].as_u64().unwrap_or_default() as usize;
                let count = least + self.below(3);
                (0..count).map(|_| self.make(&schema["items"])).collect()
            }
            "string" => self.string(schema).into(),
            "boolean" => json!(self.below(2) == 1),
            "null" => Value::Null,
            "integer" => {
                let low = schema["minimum"].as_i64().unwrap_or_default();
                let high = schema["maximum"].as_i64().unwrap_or(i64::MAX);
                let small = low.max(0).saturating_add(self.below(9) as i64).min(high);
                [json!(low), json!(high), json!(small), json!(small as f64)][self.below(4)].clone()
            }
            "number" => json!(0.5 + self.below(90) as f64),
            other => panic!("unknown type {other}"),
        }
    }

    fn object(&mut self, schema: &Value) -> Value {
        let mut object = Map::new();
        if let Some(names) = schema.get("propertyNames") {
            for _ in 0..self.below(3) {
                let name = self.make(names);
                let item = self.make(&schema["additionalProperties"]);
                object.insert(name.as_str().map_or_else(|| name.to_string(), str::to_owned), item);
            }
            return object.into();
        }
        let list = |key: &str| schema.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        let mut wanted = list("required");
        let choices: Vec<Value> = list("oneOf").iter().map(|one| one["required"][0].clone()).collect();
        if !choices.is_empty() {
            wanted.push(self.pick(&choices).clone());
        }
        for (key, property) in schema["properties"].as_object().unwrap() {
            let is_wanted = wanted.contains(&json!(key));
            if is_wanted || (!choices.contains(&json!(key)) && self.below(4) == 0) {
                object.insert(key.clone(), self.make(property));
            }
        }
        object.into()
    }

    fn string(&mut self, schema: &Value) -> String {
        let Some(pattern) = schema.get("pattern").and_then(Value::as_str) else {
            return ["a", "1 b", "ü"][self.below(3)].to_owned();
        };
        let inner = pattern.strip_prefix('^').and_then(|rest| rest.strip_suffix('$')).unwrap_or(pattern);
        let strategy = string_regex(inner).unwrap();
        let most = schema["maxLength"].as_u64().unwrap_or(u64::MAX) as usize;
        // The shortest of a few tries is soon short enough.
        let made =
            (0..64).map(|_| strategy.new_tree(&mut self.runner).unwrap().current()).find(|text| text.len() <= most);
        made.unwrap_or_else(|| panic!("nothing short enough for {pattern}"))
    }

    /// Breaks something, or nothing.
    fn mutate(&mut self, value: &mut Value) {
        let deeper = self.below(3) > 0;
        match value {
            Value::Object(keys) if deeper && !keys.is_empty() => {
                let at = self.below(keys.len());
                let key = keys.keys().nth(at).unwrap().clone();
                match self.below(5) {
                    0 => drop(keys.remove(&key)),
                    1 => drop(keys.insert("unknown".into(), json!(1))),
                    _ => self.mutate(keys.get_mut(&key).unwrap()),
                }
            }
            Value::Array(items) if deeper && !items.is_empty() => {
                let at = self.below(items.len());
                self.mutate(&mut items[at]);
            }
            _ => {
                let others = [
                    json!(null),
                    json!(true),
                    json!(0),
                    json!(-1),
                    json!(1e300),
                    json!(2.5),
                    json!(""),
                    json!("a"),
                    json!("/a b"),
                    json!("5s"),
                    json!([]),
                    json!(["a"]),
                    json!({}),
                    json!({"a": "b"}),
                    json!("a\nb"),
                    json!(404),
                ];
                *value = others[self.below(others.len())].clone();
            }
        }
    }
}

/// Whether a fault is one that a schema can tell.
fn of_shape(fault: &Fault, document: &Value) -> bool {
    let message = fault.message.as_str();
    let is_text = document.pointer(&fault.pointer).is_some_and(Value::is_string);
    let is_name = document.pointer(&fault.pointer).is_some() && message.contains("for a name in");
    message.starts_with("unknown key")
        || message.contains("needs one of")
        || (message.starts_with("expected") && !is_text && !is_name)
}

#[test]
fn schema_and_checker_agree() {
    for kind in ResourceKind::ALL {
        let root = json_schema(kind);
        let mut maker = Maker { root: root.clone(), runner: TestRunner::deterministic() };
        let id = match kind {
            ResourceKind::Settings => "",
            ResourceKind::Members => "app/x",
            _ => "x",
        };
        let mut taken = 0;
        for round in 0..2 * ROUNDS {
            let mut document = maker.make(&root);
            if round >= ROUNDS {
                maker.mutate(&mut document);
            }
            let fits = fits(&root, &root, &document);
            assert!(fits || round >= ROUNDS, "{kind}: {document}");
            match check(kind, id, document.to_string().as_bytes()) {
                Ok(_) => {
                    taken += usize::from(round < ROUNDS);
                    assert!(fits, "{kind}: the checker takes, the schema does not: {document}");
                }
                Err(faults) if fits => {
                    let shape = faults.iter().find(|fault| of_shape(fault, &document));
                    assert!(shape.is_none(), "{kind}: the schema takes {document}, but {shape:?}");
                }
                Err(_) => {}
            }
        }
        println!("{kind}: {taken} of {ROUNDS}");
        assert!(taken > ROUNDS / 50 || kind == ResourceKind::Certificates, "{kind}: only {taken} documents are right");
    }
}
