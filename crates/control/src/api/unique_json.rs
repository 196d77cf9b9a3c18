//! JSON in which no object has a key twice. `serde_json::Value` keeps the last of them, so that a slip in a document
//! would go unnoticed.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use weir_policy::pointer;

/// Why a text is not taken.
#[derive(Debug)]
pub(super) enum JsonError {
    /// It is not JSON.
    Syntax(serde_json::Error),
    /// An object has a key twice: the JSON pointer of the second.
    Duplicate(String),
}

/// Reads a value. Nesting is bounded by `serde_json`, at 128 levels.
pub(super) fn parse(bytes: &[u8]) -> Result<Value, JsonError> {
    let duplicate = RefCell::default();
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = Unique(&duplicate).deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    let steps: Vec<String> = duplicate.into_inner();
    value.map_err(|error| match steps.is_empty() {
        true => JsonError::Syntax(error),
        false => {
            let mut path = String::new();
            steps.iter().rev().for_each(|step| pointer::push(&mut path, step));
            JsonError::Duplicate(path)
        }
    })
}

/// Reads a value and notes where a key is given twice: the steps to it, the last one first.
#[derive(Clone, Copy)]
struct Unique<'s>(&'s RefCell<Vec<String>>);

impl Unique<'_> {
    /// Notes a step on the way back from a duplicate.
    fn back(self, step: impl ToString) {
        let mut steps = self.0.borrow_mut();
        if !steps.is_empty() {
            steps.push(step.to_string());
        }
    }
}

impl<'de> DeserializeSeed<'de> for Unique<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unique<'_> {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element_seed(self).inspect_err(|_| self.back(all.len()))? {
            all.push(item);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(key) = pairs.next_key::<String>()? {
            if all.contains_key(&key) {
                self.0.borrow_mut().push(key);
                return Err(A::Error::custom("a key is given twice"));
            }
            let value = pairs.next_value_seed(self).inspect_err(|_| self.back(&key))?;
            all.insert(key, value);
        }
        Ok(Value::Object(all))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_given_twice_is_led_to() {
        for (text, pointer) in [
            (r#"{"a": 1, "a": 2}"#, "/a"),
            (r#"{"a": {"b": 1}, "c": [0, {"b/c": 1, "d": 1, "b/c": 1}]}"#, "/c/1/b~1c"),
            (r#"{"a": 1, "\u0061": 2}"#, "/a"),
            (r#"[[], [{"": 1, "": 1}]]"#, "/1/0/"),
        ] {
            let found = parse(text.as_bytes());
            assert!(matches!(&found, Err(JsonError::Duplicate(at)) if at == pointer), "{text}: {found:?}");
        }
    }

    #[test]
    fn everything_else_is_as_serde_json_has_it() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        for text in [
            r#"{"a": {"a": {"a": [1, -1, 1.5, 1e300, 18446744073709551615, true, null, "ä\n"]}}, "b": {}}"#,
            r#"{"a": 1} x"#,
            r#"{"a": 1"#,
            "",
            "\"\\ud800\"",
            &deep,
        ] {
            let want = serde_json::from_str::<Value>(text).map_err(|error| error.to_string());
            let have = parse(text.as_bytes()).map_err(|error| match error {
                JsonError::Syntax(error) => error.to_string(),
                JsonError::Duplicate(at) => at,
            });
            assert_eq!(have, want, "{text}");
        }
    }
}
