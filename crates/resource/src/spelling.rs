//! Documents that differ only in how they are written: `1.2` and `"1.2"`.
//!
//! The checker reads a leaf by its text, and where a kind of value has to be a number or a text it refuses the other. Two
//! valid documents that differ only in this therefore mean the same.

use serde_json::Value;

/// Whether two valid documents have the same keys and items, and leaves with the same text.
#[must_use]
pub fn reads_alike(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let alike = |(key, value): (&String, &Value)| other.get(key).is_some_and(|other| reads_alike(value, other));
            one.len() == other.len() && one.iter().all(alike)
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| reads_alike(one, other))
        }
        (Value::String(text), leaf @ (Value::Number(_) | Value::Bool(_)))
        | (leaf @ (Value::Number(_) | Value::Bool(_)), Value::String(text)) => {
            let leaf = leaf.to_string();
            leaf == *text
        }
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn leaves_are_compared_by_their_text() {
        for (one, other, want) in [
            (json!({"min": 1.2, "list": ["3"]}), json!({"min": "1.2", "list": [3]}), true),
            (json!({"on": "true"}), json!({"on": true}), true),
            (json!({"min": 1.2}), json!({"min": "1.20"}), false),
            (json!({"a": null}), json!({"a": "null"}), false),
            (json!({"a": 1}), json!({"a": 1, "b": 2}), false),
            (json!([1, 2]), json!([2, 1]), false),
        ] {
            assert_eq!((reads_alike(&one, &other), reads_alike(&other, &one)), (want, want), "{one} {other}");
        }
    }
}
