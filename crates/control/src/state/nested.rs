//! Parts of a document: fields of objects by name, elements of arrays by their `id` or, if none has it, by number.

use serde_json::Value;

/// The part that the steps lead to.
#[must_use]
pub fn find<'v>(value: &'v Value, steps: &[String]) -> Option<&'v Value> {
    steps.iter().try_fold(value, |value, step| match value {
        Value::Object(object) => object.get(step),
        Value::Array(array) => array.get(element(array, step)?),
        _ => None,
    })
}

/// Sets a part. Its parent must exist; the part itself need not.
pub(super) fn put(value: &mut Value, steps: &[String], new: Value) -> Result<(), NotFound> {
    let (last, parent) = parent(value, steps)?;
    match parent {
        Value::Object(object) => {
            object.insert(last.clone(), new);
        }
        Value::Array(array) => match element(array, last) {
            Some(index) => array[index] = with_id(new, last, &array[index]),
            None if new.is_object() => array.push(with_id(new, last, &Value::Object(identified(last)))),
            None => return Err(NotFound),
        },
        _ => return Err(NotFound),
    }
    Ok(())
}

/// Removes a part.
pub(super) fn remove(value: &mut Value, steps: &[String]) -> Result<(), NotFound> {
    let (last, parent) = parent(value, steps)?;
    match parent {
        Value::Object(object) => object.remove(last).map(drop).ok_or(NotFound),
        Value::Array(array) => {
            let index = element(array, last).ok_or(NotFound)?;
            array.remove(index);
            Ok(())
        }
        _ => Err(NotFound),
    }
}

/// The path leads nowhere.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotFound;

fn parent<'v, 's>(value: &'v mut Value, steps: &'s [String]) -> Result<(&'s String, &'v mut Value), NotFound> {
    let (last, before) = steps.split_last().ok_or(NotFound)?;
    let parent = before.iter().try_fold(value, |value, step| match value {
        Value::Object(object) => object.get_mut(step),
        Value::Array(array) => element(array, step).and_then(|index| array.get_mut(index)),
        _ => None,
    });
    parent.map(|parent| (last, parent)).ok_or(NotFound)
}

fn element(array: &[Value], step: &str) -> Option<usize> {
    let by_id = array.iter().position(|value| value.get("id").and_then(Value::as_str) == Some(step));
    by_id.or_else(|| step.parse().ok().filter(|index| *index < array.len()))
}

/// An element that was named by its id keeps the id, even if the new value lacks it.
fn with_id(mut new: Value, id: &str, old: &Value) -> Value {
    if let (Value::Object(object), Some(Value::String(known))) = (&mut new, old.get("id"))
        && known == id
    {
        object.entry("id").or_insert_with(|| id.into());
    }
    new
}

fn identified(id: &str) -> serde_json::Map<String, Value> {
    serde_json::Map::from_iter([("id".to_owned(), Value::from(id))])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn steps(path: &str) -> Vec<String> {
        path.split('/').map(str::to_owned).collect()
    }

    #[test]
    fn parts_are_put_and_removed_by_name_by_id_and_by_number() {
        let start = json!({"rules": [{"id": "r1", "if": "a"}, {"id": "r2", "if": "b"}], "split": [{"weight": 1}]});
        let cases = [
            ("rules/r1/if", json!("x"), "/rules/0/if", json!("x")),
            ("rules/r2", json!({"if": "y"}), "/rules/1", json!({"id": "r2", "if": "y"})),
            ("rules/r3", json!({"if": "z"}), "/rules/2", json!({"id": "r3", "if": "z"})),
            ("split/0/weight", json!(5), "/split/0/weight", json!(5)),
            ("mode", json!("on"), "/mode", json!("on")),
        ];
        for (path, new, pointer, expected) in cases {
            let mut value = start.clone();
            put(&mut value, &steps(path), new).expect(path);
            assert_eq!(value.pointer(pointer), Some(&expected), "{path}");
            remove(&mut value, &steps(path)).expect(path);
            assert_eq!(find(&value, &steps(path)), None, "{path}");
        }
        for nowhere in ["rules/r9/if", "x/y", "split/0/weight/deep", "rules/r9/x/y"] {
            assert_eq!(put(&mut start.clone(), &steps(nowhere), json!(1)), Err(NotFound), "{nowhere}");
            assert_eq!(remove(&mut start.clone(), &steps(nowhere)), Err(NotFound), "{nowhere}");
        }
    }
}
