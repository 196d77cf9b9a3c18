//! A document of a file as JSON, as it is sent to the API.

use std::path::Path;

use serde_json::{Number, Value};

use super::{Class, Kind, Node, Scalar, parse};
use crate::PolicyErrors;
use crate::error::Reporter;
use crate::source::Source;

/// Reads one document as people type it, without checking what it says: YAML, which JSON is part of.
///
/// # Errors
/// If it is neither.
pub fn parse_document(text: &str, path: &Path) -> Result<Value, PolicyErrors> {
    let source = Source::new(path.display().to_string(), text);
    let mut reporter = Reporter::default();
    match parse(&source) {
        Ok(root) => Ok(value(&root)),
        Err(error) => {
            reporter.at(&source, error.at, error.message, error.hint);
            reporter.finish(None)
        }
    }
}

/// The node as JSON. A number stays one only if JSON would write it in the same way: `1.20` may be a
/// version in a header, and `007` an id. Recursion is bounded by the depth of documents.
pub fn value(node: &Node) -> Value {
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
