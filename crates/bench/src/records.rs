//! Two records of a scenario, row by row: what got worse, before anything else.
//!
//! A growth row once went from 1.28 times bare nginx to 7.48 in a record that was committed and not read, so `make bench`
//! compares each run with the committed record. Records differ in shape, so rows are compared as JSON: the fields that
//! say what a row is about are its name, and [`MEASURES`] says which others can get worse.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use serde::Serialize;
use serde_json::Value;
use weir_measure::error::MeasureError;

mod measure;
mod rows;

use self::measure::{Change, MEASURES};
use self::rows::Row;

/// By how much a figure must differ to be told.
const TOLERANCE: f64 = 0.05;

/// The comparison of two records.
#[derive(Debug)]
pub struct Comparison {
    /// Why absolute figures are left out, if they are.
    note: Option<String>,
    /// Figures that got worse: their intervals do not touch, or neither has one.
    worse: Vec<Change>,
    /// Figures whose medians got worse while the intervals overlap.
    unclear: Vec<Change>,
    better: Vec<Change>,
    missing: Vec<String>,
    added: Vec<String>,
    same: usize,
}

impl Comparison {
    /// Compares results with those of an older record.
    #[must_use]
    pub fn of(old: &Value, new: &Value) -> Self {
        let note = other_machine(old, new);
        let (before, after) = (rows::of(old), rows::of(new));
        let named = |rows: &[Row<'_>], name: &str| rows.iter().any(|row| row.name == name);
        let unpaired = |rows: &[Row<'_>], others: &[Row<'_>]| -> Vec<String> {
            rows.iter().map(|row| row.name.clone()).filter(|name| !named(others, name)).collect()
        };
        let mut comparison = Self {
            worse: Vec::new(),
            unclear: Vec::new(),
            better: Vec::new(),
            missing: unpaired(&before, &after),
            added: unpaired(&after, &before),
            same: 0,
            note,
        };
        for row in &after {
            let Some(earlier) = before.iter().find(|earlier| earlier.name == row.name) else { continue };
            for measure in MEASURES.iter().filter(|measure| measure.is_relative || comparison.note.is_none()) {
                let Some(change) = measure.change(&row.name, earlier.value, row.value) else { continue };
                let list = match change.factor() {
                    factor if factor > 1.0 + TOLERANCE && change.is_clear => &mut comparison.worse,
                    factor if factor > 1.0 + TOLERANCE => &mut comparison.unclear,
                    factor if factor < 1.0 / (1.0 + TOLERANCE) && change.is_clear => &mut comparison.better,
                    _ => {
                        comparison.same += 1;
                        continue;
                    }
                };
                list.push(change);
            }
        }
        for list in [&mut comparison.worse, &mut comparison.unclear, &mut comparison.better] {
            list.sort_by(|a, b| b.factor().total_cmp(&a.factor()));
        }
        comparison
    }

    /// Whether any figure got worse beyond doubt.
    #[must_use]
    pub fn got_worse(&self) -> bool {
        !self.worse.is_empty()
    }

    /// What got worse first, for people.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut list = |title: &str, changes: &[Change]| {
            if !changes.is_empty() {
                // Writing to a String cannot fail.
                let _ = writeln!(text, "{title}");
                changes.iter().for_each(|change| text.push_str(&format!("  {change}\n")));
            }
        };
        list("worse by more than 5 %:", &self.worse);
        list("perhaps worse, the intervals overlap:", &self.unclear);
        list("better by more than 5 %:", &self.better);
        for (title, names) in [("no longer measured", &self.missing), ("new", &self.added)] {
            if !names.is_empty() {
                let _ = writeln!(text, "{title}: {}", names.join(", "));
            }
        }
        let _ = writeln!(text, "within 5 %: {} figures", self.same);
        self.note.iter().for_each(|note| text.push_str(&format!("{note}\n")));
        text
    }
}

/// Why times and rates of two records cannot be compared.
fn other_machine(old: &Value, new: &Value) -> Option<String> {
    let of = |record: &Value| ["cpu", "cores", "nginx"].map(|field| record["host"][field].clone());
    let (before, after) = (of(old), of(new));
    let text = |host: &[Value; 3]| format!("{} ({} cores, nginx {})", host[0], host[1], host[2]).replace('"', "");
    (before != after)
        .then(|| format!("only ratios are compared: the records are of {} and {}", text(&before), text(&after)))
}

/// Compares two files, prints what changed, and says whether nothing got worse.
pub fn compare_files(old: &Path, new: &Path) -> Result<bool, MeasureError> {
    let comparison = Comparison::of(&read(old)?, &read(new)?);
    print!("{}", comparison.text());
    Ok(!comparison.got_worse())
}

fn read(path: &Path) -> Result<Value, MeasureError> {
    let bytes = std::fs::read(path).map_err(MeasureError::file(path))?;
    serde_json::from_slice(&bytes)
        .map_err(|error| MeasureError::program("weir-bench compare", format!("{}: {error}", path.display())))
}

/// Prints how results differ from the committed record of their scenario, if there is one. Of a run that is not `whole`,
/// rows that are missing are not told.
pub fn tell(scenario: &str, results: &impl Serialize, whole: bool) {
    let path = format!("HEAD:bench/results/{scenario}.json");
    let shown = Command::new("git").args(["show", &path]).output();
    let committed = shown.ok().filter(|output| output.status.success());
    let old = committed.and_then(|output| serde_json::from_slice::<Value>(&output.stdout).ok());
    if let Some((old, new)) = old.zip(serde_json::to_value(results).ok()) {
        let mut comparison = Comparison::of(&old, &new);
        if !whole {
            comparison.missing.clear();
        }
        print!("\ncompared with the committed record ({path}):\n{}", comparison.text());
    }
}

#[cfg(test)]
mod tests;
