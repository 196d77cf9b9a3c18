//! JSON objects without duplicate members, for tokens and key sets.
//!
//! `serde_json` keeps the last of several members with the same name, other parsers keep the first. In a token with two
//! issuers, Weir and the upstream could read different ones. RFC 7515, section 4, and RFC 7519, section 4, allow a parser
//! to refuse duplicates.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::excerpt::Excerpt;

/// Parses a JSON object in UTF-8. `serde_json` limits nesting to 128 levels.
///
/// # Errors
/// What is wrong: not JSON, not an object, or a duplicate member at any depth.
pub fn object(text: &[u8]) -> Result<Map<String, Value>, String> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let value = Strict.deserialize(&mut reader).map_err(|error| error.to_string())?;
    reader.end().map_err(|error| error.to_string())?;
    match value {
        Value::Object(members) => Ok(members),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err("not an object".to_owned())
        }
    }
}

/// Parses a value and refuses duplicate members.
struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(element) = elements.next_element_seed(Self)? {
            array.push(element);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if object.contains_key(&name) {
                return Err(A::Error::custom(format_args!("duplicate member {}", Excerpt(name.as_bytes()))));
            }
            object.insert(name, members.next_value_seed(Self)?);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_what_serde_json_reads() {
        let value = json!({"a": [1, -2, 1.5, true, null, "\u{e9}\n"], "b": {"a": {}}, "": u64::MAX});
        assert_eq!(Value::Object(object(value.to_string().as_bytes()).unwrap()), value);
    }

    #[test]
    fn refuses() {
        let deep = "[".repeat(200);
        let cases: [(&[u8], &str); 9] = [
            (br#"{"a":1,"a":1}"#, "duplicate member `a` at line 1 column 10"),
            (br#"{"a":1,"\u0061":1}"#, "duplicate member `a` at line 1 column 15"),
            (br#"{"b":[{"a":1,"a":2}]}"#, "duplicate member `a` at line 1 column 16"),
            (b"[]", "not an object"),
            (b"{} {}", "trailing characters at line 1 column 4"),
            (b"{\"a\":\"\xff\"}", "invalid unicode code point at line 1 column 7"),
            (b"", "EOF while parsing a value at line 1 column 0"),
            (b"{\"a\":1e999}", "number out of range at line 1 column 10"),
            (deep.as_bytes(), "recursion limit exceeded at line 1 column 128"),
        ];
        for (text, error) in cases {
            assert_eq!(object(text).unwrap_err(), error, "{}", text.escape_ascii());
        }
    }

    proptest! {
        #[test]
        fn takes_any_bytes(bytes: Vec<u8>, text in r#"[{}\[\]":,a1\\ ]{0,40}"#) {
            for text in [&bytes[..], text.as_bytes()] {
                if let Ok(members) = object(text) {
                    prop_assert_eq!(serde_json::from_slice::<Value>(text).unwrap(), Value::Object(members));
                }
            }
        }
    }
}
