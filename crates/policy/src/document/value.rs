//! A document of a file as JSON, as it is sent to the API.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Number, Value};

use super::{Class, Kind, Node, Scalar, parse, quoted};
use crate::PolicyErrors;
use crate::error::Reporter;
use crate::source::Source;

/// Reads one document as people type it, without checking what it says: YAML, which JSON is part of.
///
/// # Errors
/// If it is neither, or if a mapping has a key twice.
pub fn parse_document(text: &str, path: &Path) -> Result<Value, PolicyErrors> {
    let source = Source::new(path.display().to_string(), text);
    let mut reporter = Reporter::default();
    match parse(&source) {
        Ok(root) => {
            unique_keys(&root, &source, &mut reporter);
            reporter.finish(Some(value(&root)))
        }
        Err(error) => {
            reporter.syntax(&source, error);
            reporter.finish(None)
        }
    }
}

/// Reports keys that a mapping has twice. Recursion is bounded by the depth of documents, and the work by the number of
/// their values.
fn unique_keys(node: &Node, source: &Source, reporter: &mut Reporter) {
    match &node.kind {
        Kind::Sequence(items) => items.iter().for_each(|item| unique_keys(item, source, reporter)),
        Kind::Mapping(pairs) => {
            let mut seen = HashMap::new();
            for (key, item) in pairs {
                let text = key.as_scalar().map_or("", |scalar| &scalar.text);
                if let Some(first) = seen.insert(text, key.at) {
                    let hint = format!("the first is on line {}; keep one of them", source.position(first).line);
                    reporter.at(source, key.at, format!("{} is given twice", quoted(text)), Some(hint));
                }
                unique_keys(item, source, reporter);
            }
        }
        Kind::Scalar(_) => {}
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_given_twice_is_one_error_at_its_place() {
        for (text, places) in [
            ("{weight: 1, weight: 2}", &["a:1:13: \"weight\" is given twice"][..]),
            ("x: {a: 1}\ny: [{b: 1, c: 1, 'b': 2}]\n", &["a:2:18: \"b\" is given twice"]),
            ("{a: 1, a: 2, a: 3}", &["a:1:8: \"a\"", "a:1:14: \"a\""]),
            ("x: &x {a: 1, a: 2}\ny: *x\n", &["a:1:14: \"a\""]),
        ] {
            let errors = parse_document(text, Path::new("a")).unwrap_err();
            let errors: Vec<String> = errors.errors().iter().map(ToString::to_string).collect();
            assert_eq!(errors.len(), places.len(), "{text}: {errors:?}");
            assert!(errors.iter().zip(places).all(|(error, place)| error.starts_with(place)), "{text}: {errors:?}");
        }
        assert!(parse_document("{a: {b: 1}, c: {b: 1}}", Path::new("a")).is_ok());
    }
}
