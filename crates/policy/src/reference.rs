//! A mapping with known keys as a section of a reference page.

use std::fmt::Write;

use crate::table::{Key, Kind, Resource};

/// Appends the section: the keys with their values, defaults and meanings.
pub fn section(page: &mut String, level: &str, resource: &Resource) {
    let _ = write!(page, "\n{level} {}\n\n{}\n", resource.name, resource.doc);
    if resource.keys.is_empty() {
        return;
    }
    page.push_str("\n| key | value | default | meaning |\n| --- | --- | --- | --- |\n");
    for key in resource.keys {
        let default = key.need.default().map_or("**required**".to_owned(), cell);
        let _ =
            writeln!(page, "| `{}` | {} | {default} | {} |", key.name, cell(&key.kind.summary()), cell(&meaning(key)));
    }
}

fn meaning(key: &Key) -> String {
    let Kind::Choice(choices) = &key.kind else { return key.doc.to_owned() };
    let choices: Vec<String> = choices.iter().map(|(name, doc)| format!("`{name}`: {doc}")).collect();
    format!("{} {}.", key.doc, choices.join("; "))
}

/// A bar inside a table's cell would end it.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
