//! What differs between two documents, said so that people see it at once: one line for each value that came, went or
//! changed, by its path.

use serde_json::Value;

use crate::style::Style;

/// Lines shown of one resource; a policy of a thousand rules that is replaced is not read line by line.
const MAX_LINES: usize = 40;
/// Characters shown of a value.
const MAX_VALUE: usize = 80;

/// A value that differs.
#[derive(Debug, PartialEq)]
pub(crate) struct Difference {
    /// Keys joined by dots; elements of lists by their `id` or their number.
    pub path: String,
    /// The old value.
    pub old: Option<Value>,
    /// The new value.
    pub new: Option<Value>,
}

/// Everything that differs.
pub(crate) fn between(old: Option<&Value>, new: Option<&Value>) -> Vec<Difference> {
    let mut all = Vec::new();
    compare(String::new(), old, new, &mut all);
    all
}

fn compare(path: String, old: Option<&Value>, new: Option<&Value>, all: &mut Vec<Difference>) {
    if old == new || old.zip(new).is_some_and(|(old, new)| weir_resource::reads_alike(old, new)) {
        return;
    }
    let at = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match (old, new) {
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            for (key, value) in old {
                compare(at(key), Some(value), new.get(key), all);
            }
            for (key, value) in new.iter().filter(|(key, _)| !old.contains_key(*key)) {
                compare(at(key), None, Some(value), all);
            }
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) if named(old) && named(new) => {
            let find = |list: &[Value], id: &Value| list.iter().find(|item| item["id"] == *id).cloned();
            for item in old {
                compare(at(&text(&item["id"])), Some(item), find(new, &item["id"]).as_ref(), all);
            }
            for item in new.iter().filter(|item| find(old, &item["id"]).is_none()) {
                compare(at(&text(&item["id"])), None, Some(item), all);
            }
        }
        _ => all.push(Difference { path, old: old.cloned(), new: new.cloned() }),
    }
}

fn named(list: &[Value]) -> bool {
    list.iter().all(|item| item["id"].is_string())
}

/// A value in short.
fn text(value: &Value) -> String {
    let whole = match value {
        Value::String(text) if !text.is_empty() && !text.contains(char::is_control) => text.clone(),
        value => value.to_string(),
    };
    if whole.contains("PRIVATE KEY-----") {
        return "(a private key)".to_owned();
    }
    let cut: String = whole.chars().take(MAX_VALUE).collect();
    if cut.len() < whole.len() { format!("{cut}…") } else { cut }
}

/// For the terminal: a heading with the resource, and its differences below.
pub(crate) fn render(resource: &str, old: Option<&Value>, new: Option<&Value>, style: Style) -> String {
    let mut shown = match (old, new) {
        (None, _) => format!("{}\n", style.green(&format!("+ {resource}"))),
        (_, None) => return format!("{}\n", style.red(&format!("- {resource}"))),
        _ => format!("{}\n", style.yellow(&format!("~ {resource}"))),
    };
    let nothing = Value::Object(serde_json::Map::new());
    let all = between(Some(old.unwrap_or(&nothing)), new);
    for one in all.iter().take(MAX_LINES) {
        let path = if one.path.is_empty() { String::new() } else { format!("{}: ", one.path) };
        let line = match (&one.old, &one.new) {
            (None, Some(new)) => style.green(&format!("+ {path}{}", text(new))),
            (Some(old), None) => style.red(&format!("- {path}{}", text(old))),
            (old, new) => {
                let side = |value: &Option<Value>| value.as_ref().map(text).unwrap_or_default();
                format!("~ {path}{} {} {}", style.red(&side(old)), style.dim("→"), style.green(&side(new)))
            }
        };
        shown.push_str(&format!("    {line}\n"));
    }
    if all.len() > MAX_LINES {
        shown.push_str(&format!("    {}\n", style.dim(&format!("and {} more", all.len() - MAX_LINES))));
    }
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_compared_by_key_and_by_id() {
        let old = json!({"weight": 1, "rules": [{"id": "a", "when": "x"}, {"id": "b"}], "gone": true, "list": [1, 2]});
        let new = json!({"weight": 2, "rules": [{"id": "b"}, {"id": "a", "when": "y"}], "list": [2, 1], "come": null});
        let paths: Vec<String> = between(Some(&old), Some(&new)).into_iter().map(|one| one.path).collect();
        assert_eq!(paths, ["gone", "list", "rules.a.when", "weight", "come"]);
        assert!(between(Some(&old), Some(&old)).is_empty());
        assert!(between(Some(&json!({"min": 1.2})), Some(&json!({"min": "1.2"}))).is_empty());
    }

    #[test]
    fn a_difference_reads_well_and_stays_short() {
        let (old, new) = (json!({"weight": 1}), json!({"weight": 5, "backup": true}));
        let shown = render("upstreams/app/members/a", Some(&old), Some(&new), Style::plain());
        assert_eq!(shown, "~ upstreams/app/members/a\n    ~ weight: 1 → 5\n    + backup: true\n");
        let many: Value =
            (0..100).map(|n| (n.to_string(), json!("x".repeat(500)))).collect::<serde_json::Map<_, _>>().into();
        let shown = render("lists/l", None, Some(&many), Style::plain());
        assert!(shown.starts_with("+ lists/l\n") && shown.ends_with("    and 60 more\n"));
        assert!(shown.lines().all(|line| line.chars().count() < 100));
        assert_eq!(render("lists/l", Some(&many), None, Style::plain()), "- lists/l\n");
        let key = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEISECRET\n";
        for key in [json!(key), json!({"pem": key})] {
            let shown = render("certificates/c", None, Some(&json!({"key": key})), Style::plain());
            assert_eq!(shown, "+ certificates/c\n    + key: (a private key)\n");
        }
    }
}
