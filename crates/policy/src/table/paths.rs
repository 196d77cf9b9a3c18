//! Names of files within documents: they are relative to the file that a person wrote, and absolute in a gateway.

use std::path::Path;

use serde_json::Value;

use super::{Kind, Resource};
use crate::action;
use crate::files::is_url;

/// Makes names of files in a document absolute, from a folder. What the document should not have stays as it is.
pub fn absolute(document: &mut Value, table: &Resource, folder: &Path) {
    match document {
        Value::Object(keys) => {
            for (name, value) in keys {
                if let Some(key) = table.keys.iter().find(|key| key.name == name) {
                    of_kind(value, &key.kind, folder);
                }
            }
        }
        short => {
            let key = table.short.and_then(|name| table.keys.iter().find(|key| key.name == name));
            let _ = key.map(|key| of_kind(short, &key.kind, folder));
        }
    }
}

fn of_kind(value: &mut Value, kind: &Kind, folder: &Path) {
    match (kind, value) {
        (Kind::File, Value::String(name)) if is_url(Path::new(name)) => {}
        (Kind::File, Value::String(name)) => *name = folder.join(&*name).to_string_lossy().into_owned(),
        (Kind::List(item, _), Value::Array(items)) => items.iter_mut().for_each(|value| of_kind(value, item, folder)),
        // One item stands for a list of it.
        (Kind::List(item, _), value) => of_kind(value, item, folder),
        (Kind::Map(_, item), Value::Object(pairs)) => {
            pairs.iter_mut().for_each(|(_, value)| of_kind(value, item, folder));
        }
        (Kind::Resource(table) | Kind::Switch(table), value) => absolute(value, table, folder),
        (Kind::AtMost(kind, _), value) => of_kind(value, kind, folder),
        (Kind::Action, Value::Object(pairs)) => {
            for (name, parameters) in pairs {
                let _ = action::find(name).map(|kind| absolute(parameters, kind.resource, folder));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::table::{GEO, LIST, POLICY_DOCUMENT, RULE_SET_DOCUMENT};

    #[test]
    fn relative_names_begin_at_the_folder() {
        let crs = json!({"path": "crs", "before": ["b.conf", "/c.conf"]});
        let actions = json!([{"crs": crs}, {"rule_set": {"files": ["r/*.conf"]}}, "block", {"crs": "short"}]);
        let policy = json!({"rules": [{"id": "a", "when": "true", "actions": actions}]});
        for (table, mut document, pointer, expected) in [
            (&LIST, json!({"kind": "strings", "file": "a.txt"}), "/file", "/etc/weir/a.txt"),
            (&LIST, json!({"kind": "strings", "file": "/a.txt"}), "/file", "/a.txt"),
            (&LIST, json!({"strings": ["a.txt"]}), "/strings/0", "a.txt"),
            (&GEO, json!("a.mmdb"), "", "/etc/weir/a.mmdb"),
            (&GEO, json!({"asn": "b.mmdb"}), "/asn", "/etc/weir/b.mmdb"),
            (&RULE_SET_DOCUMENT, json!({"files": ["x", "y"]}), "/files/1", "/etc/weir/y"),
            (&POLICY_DOCUMENT, policy.clone(), "/rules/0/actions/0/crs/path", "/etc/weir/crs"),
            (&POLICY_DOCUMENT, policy.clone(), "/rules/0/actions/0/crs/before/0", "/etc/weir/b.conf"),
            (&POLICY_DOCUMENT, policy.clone(), "/rules/0/actions/1/rule_set/files/0", "/etc/weir/r/*.conf"),
            (&POLICY_DOCUMENT, policy, "/rules/0/actions/3/crs", "/etc/weir/short"),
            (&GEO, json!("https://a.example/b"), "", "https://a.example/b"),
        ] {
            absolute(&mut document, table, Path::new("/etc/weir"));
            assert_eq!(document.pointer(pointer), Some(&json!(expected)), "{document}");
        }
    }
}
