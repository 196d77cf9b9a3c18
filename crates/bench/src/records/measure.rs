//! Figures that can get worse, and their changes.

use std::fmt;

use serde_json::Value;

/// A figure of a row. Larger is worse, unless it says otherwise.
pub(super) struct Measure {
    name: &'static str,
    /// Fields with the ends of its interval, where rows have one.
    interval: Option<(&'static str, &'static str)>,
    /// Whether it is a ratio to something measured at the same time, so that machines do not matter.
    pub(super) is_relative: bool,
    more_is_better: bool,
}

const fn ratio(name: &'static str, low: &'static str, high: &'static str) -> Measure {
    Measure { name, interval: Some((low, high)), is_relative: true, more_is_better: false }
}

const fn amount(name: &'static str) -> Measure {
    Measure { name, interval: None, is_relative: false, more_is_better: false }
}

/// All figures that are compared. Times of which a row also has the ratio are left to the ratio.
pub(super) const MEASURES: &[Measure] = &[
    ratio("ratio", "ratio_low|ratio_min", "ratio_high|ratio_max"),
    ratio("cpu_ratio", "cpu_ratio_low", "cpu_ratio_high"),
    ratio("overhead_ratio", "overhead_low", "overhead_high"),
    Measure { name: "of_nchan", interval: None, is_relative: true, more_is_better: true },
    Measure { name: "startup_ratio", interval: None, is_relative: true, more_is_better: false },
    amount("syscalls_per_request"),
    amount("worker_pss_kib"),
    amount("memory_bytes_per_idle_subscriber"),
    amount("bytes_per_request"),
    amount("ms"),
    amount("added_ms"),
    amount("p99_us"),
];

impl Measure {
    /// The change from one row to another; `None` if either lacks the figure, or it is zero.
    pub(super) fn change(&self, row: &str, old: &Value, new: &Value) -> Option<Change> {
        // Tails of closed loops are queues, not times; rows with a floor have one request at a time, or a fixed rate.
        if self.name == "p99_us" && old["ratio_p50"].is_null() {
            return None;
        }
        let value = |row: &Value| row[self.name].as_f64().filter(|value| *value > 0.0);
        let (before, after) = (value(old)?, value(new)?);
        let interval = |row: &Value| {
            let (low, high) = self.interval?;
            let end = |names: &str| names.split('|').find_map(|name| row[name].as_f64());
            end(low).zip(end(high))
        };
        let is_clear = match (interval(old), interval(new)) {
            (Some(old), Some(new)) => old.1 < new.0 || new.1 < old.0,
            _ => true,
        };
        let figure = self.name;
        let more_is_better = self.more_is_better;
        Some(Change { row: row.to_owned(), figure, before, after, is_clear, more_is_better })
    }
}

/// A figure in two records.
#[derive(Debug)]
pub(super) struct Change {
    row: String,
    figure: &'static str,
    before: f64,
    after: f64,
    /// Whether the intervals do not touch.
    pub(super) is_clear: bool,
    more_is_better: bool,
}

impl Change {
    /// How many times worse the figure is.
    pub(super) fn factor(&self) -> f64 {
        if self.more_is_better { self.before / self.after } else { self.after / self.before }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { row, figure, before, after, .. } = self;
        write!(out, "{row}: {figure} {before:.3} -> {after:.3} ({:+.0} %)", (after / before - 1.0) * 100.0)
    }
}
