//! `bench/results/hostile.json`, and the same as a table.

use std::fmt::Write as _;

use serde::Serialize;
use weir_measure::host::Host;

/// The cost of one request at one paranoia level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostileRow {
    /// The request.
    pub name: String,
    /// Paranoia level.
    pub paranoia: u8,
    /// Length of the request with its head.
    pub bytes: usize,
    /// Median CPU time of the worker for one request, milliseconds.
    pub ms: f64,
    /// The same of the bare proxy.
    pub bare_ms: f64,
}

/// What the file holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostileResults {
    /// `hostile`.
    pub scenario: String,
    /// Where it ran.
    pub host: Host,
    /// The rows: all paranoia levels of a request one after the other.
    pub rows: Vec<HostileRow>,
}

impl HostileResults {
    /// The same, rounded to what the measurement can tell.
    #[must_use]
    pub fn rounded(mut self) -> Self {
        for value in self.rows.iter_mut().flat_map(|row| [&mut row.ms, &mut row.bare_ms]) {
            *value = (*value * 1000.0).round() / 1000.0;
        }
        self
    }

    /// A line for each request, with a column for each paranoia level.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("{:<20} {:>9} {:>9}", "CPU ms of a request", "bytes", "bare");
        let mut name = "";
        for row in self.rows.iter().take_while(|row| row.name == self.rows[0].name) {
            let _ = write!(text, " {:>9}", format!("pl{}", row.paranoia));
        }
        for row in &self.rows {
            if row.name != name {
                name = &row.name;
                let _ = write!(text, "\n{name:<20} {:>9} {:>9.2}", row.bytes, row.bare_ms);
            }
            let _ = write!(text, " {:>9.2}", row.ms);
        }
        text + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_a_line_and_a_level_a_column() {
        let row = |name: &str, paranoia, ms| HostileRow { name: name.into(), paranoia, bytes: 9, ms, bare_ms: 0.5 };
        let rows = vec![row("a", 1, 1.0), row("a", 2, 2.00049), row("b", 1, 3.0), row("b", 2, 4.0)];
        let host = Host::here("1", true, String::new());
        let results = HostileResults { scenario: "hostile".into(), host, rows }.rounded();
        let text = results.text();
        let lines: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines, [["a", "9", "0.50", "1.00", "2.00"], ["b", "9", "0.50", "3.00", "4.00"]]);
        assert!(text.starts_with("CPU ms of a request") && results.rows[1].ms == 2.0, "{text}");
    }
}
