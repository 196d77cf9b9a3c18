//! Lays out the rows of `top`: columns as wide as necessary, and the name as wide as there is room.

use super::{GroupBy, Row, TopOptions};
use crate::amount::counted;
use crate::amount::{Amounts, share};
use crate::graph::text::fit;

/// Minimum width of the name column, even if the line then exceeds the terminal.
const LEAST_NAME: usize = 24;
/// Maximum width of the module column.
const MOST_MODULE: usize = 28;

pub(super) fn table(rows: &[Row], more: usize, options: &TopOptions, amounts: &Amounts) -> String {
    if rows.is_empty() {
        return "no samples\n".into();
    }
    let (name, one) = match options.by {
        GroupBy::Function => ("FUNCTION", "function"),
        GroupBy::Line => ("FUNCTION:LINE", "line"),
        GroupBy::Module => ("MODULE", "module"),
        GroupBy::Thread => ("THREAD", "thread"),
    };
    let columns = columns(rows, options.by, amounts);
    let names = Column { heading: name, right: false, cells: rows.iter().map(|row| row.name.clone()).collect() };
    let used: usize = columns.iter().map(|column| column.width() + 2).sum();
    let room = options.width.saturating_sub(used).max(LEAST_NAME).min(names.width());
    let mut text = String::new();
    // The name comes after the numbers and before the notes on it.
    let (numbers, notes): (Vec<&Column>, Vec<&Column>) = columns.iter().partition(|column| column.right);
    for line in 0..=rows.len() {
        let mut out = String::new();
        numbers.iter().for_each(|column| out.push_str(&column.cell(line)));
        let cell = if line == 0 { name.to_owned() } else { fit(&names.cells[line - 1], room) };
        out.push_str(&format!("{cell:<room$}  "));
        notes.iter().for_each(|column| out.push_str(&column.cell(line)));
        text.push_str(out.trim_end());
        text.push('\n');
    }
    if more > 0 {
        text.push_str(&format!("and {}\n", counted(more as u64, &format!("more {one}"))));
    }
    text
}

struct Column {
    heading: &'static str,
    right: bool,
    cells: Vec<String>,
}

impl Column {
    fn width(&self) -> usize {
        self.cells.iter().map(|cell| cell.chars().count()).chain([self.heading.len()]).max().unwrap_or_default()
    }

    /// The heading for line 0.
    fn cell(&self, line: usize) -> String {
        let text = line.checked_sub(1).map_or(self.heading, |row| &self.cells[row]);
        let width = self.width();
        if self.right { format!("{text:>width$}  ") } else { format!("{text:<width$}  ") }
    }
}

fn columns(rows: &[Row], by: GroupBy, amounts: &Amounts) -> Vec<Column> {
    let column = |heading, right, cell: &dyn Fn(&Row) -> String| Column {
        heading,
        right,
        cells: rows.iter().map(cell).collect(),
    };
    let number = |heading, cell: &dyn Fn(&Row) -> String| column(heading, true, cell);
    let mut all = vec![
        number("SELF", &|row| amounts.weight(row.self_weight)),
        number("SELF %", &|row| percent(row.self_weight, amounts.total)),
    ];
    if by != GroupBy::Thread {
        all.push(number("TOTAL", &|row| amounts.weight(row.total)));
        all.push(number("TOTAL %", &|row| percent(row.total, amounts.total)));
    }
    if amounts.requests.is_some() {
        let each = |row: &Row| amounts.per_request(row.self_weight).unwrap_or_default();
        all.push(number("SELF/REQUEST", &|row| each(row).trim_end_matches(" per request").to_owned()));
    }
    if rows.iter().any(|row| row.line.is_some()) {
        let line = |row: &Row| {
            row.line.map_or(String::new(), |(line, weight)| format!("{line} ({} %)", percent(weight, row.total)))
        };
        all.push(column("HOTTEST LINE", false, &line));
    }
    if rows.iter().any(|row| !row.module.is_empty()) {
        all.push(column("MODULE", false, &|row| fit(&row.module, MOST_MODULE)));
    }
    all
}

fn percent(part: u64, whole: u64) -> String {
    share(part, whole).trim_end_matches(" %").to_owned()
}
