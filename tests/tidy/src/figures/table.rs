//! The shape of a table: which rows of a record it shows, and with which cells.

use serde_json::Value;

use super::cell::Cell;
use super::record::{Key, Record};

/// A column: its title, what picks the row besides the line's own keys, and its cell.
pub(super) struct Column(pub &'static str, pub &'static [Key], pub Cell);

/// A line: its label, and what picks its row.
pub(super) struct Line(pub &'static str, pub &'static [Key]);

/// Lines from one list of a record.
pub(super) struct Part {
    pub record: &'static str,
    pub list: &'static str,
    pub lines: &'static [Line],
}

/// A table of figures.
pub(super) struct Table {
    pub name: &'static str,
    /// Title of the column with the labels.
    pub title: &'static str,
    pub columns: &'static [Column],
    pub parts: &'static [Part],
}

impl Table {
    /// The table and its sources, for a document that is `up` from the root.
    pub(super) fn text(&self, up: &str) -> String {
        let titles: Vec<&str> = self.columns.iter().map(|column| column.0).collect();
        let mut text = format!("| {} | {} |\n|{}\n", self.title, titles.join(" | "), " --- |".repeat(titles.len() + 1));
        let mut sources: Vec<(String, Vec<u64>)> = Vec::new();
        for part in self.parts {
            let record = Record::read(part.record);
            let mut rounds = Vec::new();
            for line in part.lines {
                let rows = self.columns.iter().map(|column| column.row(&record, part.list, line));
                let rows: Vec<Option<&Value>> = rows.collect();
                assert!(rows.iter().any(Option::is_some), "{}: no row for {}", self.name, line.0);
                rounds.extend(rows.iter().flatten().filter_map(|row| rounds_of(row)));
                // Empty where nothing was measured.
                let cell =
                    |(column, row): (&Column, &Option<&Value>)| row.map(|row| column.2.of(row)).unwrap_or_default();
                let cells: Vec<String> = self.columns.iter().zip(&rows).map(cell).collect();
                text += &format!("| {} | {} |\n", line.0, cells.join(" | "));
            }
            let source = record.source(up);
            match sources.iter_mut().find(|(other, _)| *other == source) {
                Some((_, all)) => all.extend(rounds),
                None => sources.push((source, rounds)),
            }
        }
        let sources: Vec<String> = sources.into_iter().map(|(source, rounds)| source + &spelt(&rounds)).collect();
        format!("{text}\nFrom {}.\n", sources.join("; "))
    }
}

impl Column {
    fn row<'r>(&self, record: &'r Record<'_>, list: &str, line: &Line) -> Option<&'r Value> {
        let keys: Vec<Key> = line.1.iter().chain(self.1).copied().collect();
        record.row(list, &keys)
    }
}

/// In how many rounds a row was measured.
fn rounds_of(row: &Value) -> Option<u64> {
    row["rounds"].as_u64().filter(|rounds| *rounds > 0)
}

fn spelt(rounds: &[u64]) -> String {
    match (rounds.iter().min(), rounds.iter().max()) {
        (Some(least), Some(most)) if least == most => format!(", {most} rounds"),
        (Some(least), Some(most)) => format!(", {least} to {most} rounds"),
        _ => String::new(),
    }
}
