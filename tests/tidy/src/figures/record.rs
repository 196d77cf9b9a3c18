//! A record of the bench: `bench/results/SCENARIO.json`.

use std::path::PathBuf;

use serde_json::Value;
use time::OffsetDateTime;

use super::cell::number_of;

/// The results of a scenario.
pub(super) struct Record<'n> {
    name: &'n str,
    results: Value,
}

impl<'n> Record<'n> {
    pub(super) fn read(name: &'n str) -> Self {
        let path = PathBuf::from(format!("bench/results/{name}.json"));
        let results =
            serde_json::from_str(&crate::read(&path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self { name, results }
    }

    /// What stands in the record under a name: rows, or a single object.
    pub(super) fn part(&self, list: &str) -> &Value {
        self.results.get(list).unwrap_or_else(|| panic!("{}.json has no `{list}`", self.name))
    }

    /// The row of a list that has all these values; `None` if it was not measured.
    pub(super) fn row(&self, list: &str, keys: &[Key]) -> Option<&Value> {
        let part = self.part(list);
        let rows = part.as_array().map_or(std::slice::from_ref(part), Vec::as_slice);
        rows.iter().find(|row| keys.iter().all(|(name, value)| is(&row[*name], value)))
    }

    /// A single value as text: a number, or the length of a list.
    pub(super) fn figure(&self, pointer: &str) -> Option<String> {
        number_of(self.results.pointer(pointer)?)
    }

    /// Where, when and from which commit the record is, with a link from a document that is `up` from the root.
    pub(super) fn source(&self, up: &str) -> String {
        let (name, host) = (self.name, self.results.get("host").unwrap_or(&self.results));
        let started = host["started"].as_i64().and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok());
        let date = started.expect("a record says when it began").date();
        let commit = host["commit"].as_str().expect("a record says which commit was measured");
        let machine = match host["cpu"].as_str() {
            Some(cpu) => format!(", {} cores of {cpu}", host["cores"]),
            None => String::new(),
        };
        format!("[{name}.json]({up}bench/results/{name}.json), {date}, commit {commit}{machine}")
    }
}

/// The name of a field and the text of its value, or several between `|`.
pub(super) type Key = (&'static str, &'static str);

fn is(value: &Value, text: &str) -> bool {
    match value {
        Value::String(own) => text.split('|').any(|one| own == one),
        other => text.parse().is_ok_and(|number: Value| *other == number),
    }
}
