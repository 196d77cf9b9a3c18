//! The rows of a record: objects in its lists, named by the fields that say what they are about.

use serde_json::Value;

/// Fields that tell rows apart, in the order in which they are shown.
const KEYS: &[&str] = &["of", "load", "share", "size", "paranoia", "case", "name", "profiler", "plugin", "traffic"];

/// A row with its name.
pub(super) struct Row<'v> {
    pub(super) name: String,
    pub(super) value: &'v Value,
}

/// All rows of a record, with the list in front of their names unless it is `rows`.
pub(super) fn of(record: &Value) -> Vec<Row<'_>> {
    let lists = record.as_object().into_iter().flatten().filter_map(|(list, value)| Some((list, value.as_array()?)));
    let rows = lists.flat_map(|(list, values)| {
        let rows = values.iter().filter_map(move |value| Some(Row { name: name(list, value)?, value }));
        rows.filter(|row| !row.name.is_empty())
    });
    rows.collect()
}

fn name(list: &str, row: &Value) -> Option<String> {
    let row = row.as_object()?;
    let part = |key: &&str| match row.get(*key)? {
        Value::String(text) => Some(text.clone()),
        number @ Value::Number(_) => Some(number.to_string()),
        _ => None,
    };
    let parts: Vec<String> = KEYS.iter().filter_map(part).collect();
    let prefix = (list != "rows" && !parts.is_empty()).then(|| list.to_owned());
    Some(prefix.into_iter().chain(parts).collect::<Vec<_>>().join(" "))
}
