//! A document of a file as JSON, as it is sent to the API.

use serde_json::{Number, Value};

use crate::document::{Class, Kind, Node, Scalar};

/// The node as JSON. A number stays one only if JSON would write it in the same way: `1.20` may be a
/// version in a header, and `007` an id. Recursion is bounded by the depth of documents.
pub(super) fn value(node: &Node) -> Value {
    match &node.kind {
        Kind::Sequence(items) => items.iter().map(|item| value(item)).collect(),
        Kind::Mapping(pairs) => {
            let name = |key: &Node| key.as_scalar().map_or(String::new(), |scalar| scalar.text.clone());
            Value::Object(pairs.iter().map(|(key, item)| (name(key), value(item))).collect())
        }
        Kind::Scalar(scalar) => of_scalar(scalar),
    }
}

fn of_scalar(scalar: &Scalar) -> Value {
    let text = scalar.text.as_str();
    let number = match scalar.class() {
        Class::Null => return Value::Null,
        Class::Bool => return Value::Bool(text.eq_ignore_ascii_case("true")),
        Class::Integer(number) => Some(Number::from(number)),
        Class::Float => text.parse().ok().and_then(Number::from_f64),
        Class::Text => None,
    };
    match number.filter(|number| number.to_string() == text) {
        Some(number) => Value::Number(number),
        None => Value::String(text.to_owned()),
    }
}
