//! Tables of figures in documents, generated from the records in `bench/results`.
//!
//! A table stands between two markers, the first of which names it. `make docs` writes it and a tidy test compares it,
//! because figures that people copied were older than the record, and kinder.

use std::path::Path;
use std::{fs, io};

mod cell;
mod record;
mod table;
mod tables;

const BEGIN: &str = "<!-- figures: ";
const END: &str = "<!-- end of figures -->\n";

/// A single figure in a sentence stands between `<!-- figure: RECORD POINTER -->` and this.
const FIGURE: &str = "<!-- figure: ";
const FIGURE_END: &str = "<!-- -->";

/// The documents whose tables of figures are all generated.
pub const DOCUMENTS: [&str; 2] = ["README.md", "docs/performance.md"];

/// The text of a document with current tables.
///
/// # Errors
///
/// If a marker names no table or no figure, or its end is missing.
///
/// # Panics
///
/// If a record lacks a row that a table shows.
pub fn document(text: &str, path: &Path) -> Result<String, String> {
    let up = "../".repeat(path.components().count().saturating_sub(1));
    let mut pieces = text.split(BEGIN);
    let mut current = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let name = piece.split([' ', ';']).next().unwrap_or_default();
        let (Some((marker, _)), Some((_, after))) = (piece.split_once('\n'), piece.split_once(END)) else {
            return Err(format!("the table `{name}` has no end: {}", END.trim_end()));
        };
        let table = tables::named(name).ok_or_else(|| format!("there is no table `{name}`"))?;
        current += &format!("{BEGIN}{marker}\n\n{}\n{END}{after}", table.text(&up));
    }
    let mut pieces = current.split(FIGURE);
    let mut whole = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let parts = piece.split_once(" -->").zip(piece.split_once(FIGURE_END));
        let Some(((of, _), (_, after))) = parts else { return Err(format!("a figure has no end: {FIGURE_END}")) };
        let (record, pointer) =
            of.split_once(' ').ok_or_else(|| format!("`{of}` is not a record and a JSON pointer"))?;
        let figure =
            record::Record::read(record).figure(pointer).ok_or_else(|| format!("{record}.json has no {pointer}"))?;
        whole += &format!("{FIGURE}{of} -->{figure}{FIGURE_END}{after}");
    }
    Ok(whole)
}

/// Lines of a document that show figures in a table outside the markers.
#[must_use]
pub fn copied(text: &str) -> Vec<String> {
    let mut inside = false;
    let mut copied = Vec::new();
    for (number, line) in text.lines().enumerate() {
        inside = line.starts_with(BEGIN) || inside && line != END.trim_end();
        // The first cell names the row, and a link is not a figure.
        let cells = line.strip_prefix('|').and_then(|rest| rest.split_once('|')).map(|(_, cells)| cells);
        let has_figure =
            cells.is_some_and(|cells| !cells.contains("](") && cells.contains(|c: char| c.is_ascii_digit()));
        if has_figure && !inside {
            copied.push(format!("{}: {line}", number + 1));
        }
    }
    copied
}

/// Writes the tables into every document.
///
/// # Errors
///
/// If a document has a marker that is wrong, or cannot be written.
pub fn write() -> io::Result<()> {
    for path in crate::files().iter().filter(|path| path.extension().is_some_and(|end| end == "md")) {
        let text = crate::read(path);
        let current = document(&text, path)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {error}", path.display())))?;
        if current != text {
            fs::write(crate::root().join(path), current)?;
        }
    }
    Ok(())
}
