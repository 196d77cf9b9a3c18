//! Cells: values of a row as text. Fields are names, or JSON pointers into the row.

use serde_json::Value;

/// Text of a cell; empty where the field is missing or `null`.
pub(super) enum Cell {
    /// Three digits or so, thousands apart; of a list, how many entries it has.
    Number(&'static str),
    /// The same of a multiple of the field, in a larger or smaller unit.
    Scaled(&'static str, f64),
    /// A ratio.
    Ratio(&'static str),
    /// A ratio whose differences are fractions of a per cent.
    Fine(&'static str),
    /// From one ratio to another.
    Range(&'static str, &'static str),
    /// The same as [`Cell::Fine`].
    FineRange(&'static str, &'static str),
    /// CPU time per request, and its ratio to the baseline.
    Cpu,
    /// The names in a list.
    Names(&'static str),
}

impl Cell {
    pub(super) fn of(&self, row: &Value) -> String {
        let field = |name: &str| row.get(name).or_else(|| row.pointer(name)).unwrap_or(&Value::Null);
        let with = |name: &str, text: fn(f64) -> String| field(name).as_f64().map(text).unwrap_or_default();
        let plain = |name: &str| number_of(field(name)).unwrap_or_default();
        let range = |low: &str, high: &str, text: fn(f64) -> String| {
            if field(low).is_null() { String::new() } else { format!("{} to {}", with(low, text), with(high, text)) }
        };
        match self {
            Self::Number(name) => plain(name),
            Self::Scaled(name, by) => field(name).as_f64().map(|value| number(value * by)).unwrap_or_default(),
            Self::Ratio(name) => with(name, ratio),
            Self::Fine(name) => with(name, fine),
            Self::Range(low, high) => range(low, high, ratio),
            Self::FineRange(low, high) => range(low, high, fine),
            Self::Cpu => format!("{} ({} x)", with("cpu_us_per_request", number), with("ratio", ratio)),
            Self::Names(name) => {
                let names: Vec<_> = field(name).as_array().into_iter().flatten().filter_map(Value::as_str).collect();
                if names.is_empty() { "none".to_owned() } else { format!("`{}`", names.join("`, `")) }
            }
        }
    }
}

/// A number as text: counts, also of the entries of a list, in full, other figures with three digits or so, thousands apart.
pub(super) fn number_of(value: &Value) -> Option<String> {
    if let Value::Array(list) = value {
        return Some(list.len().to_string());
    }
    value.as_f64().map(if value.is_u64() { thousands } else { number })
}

fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => thousands(value),
        size if size < 1.0 => format!("{value:.2}"),
        _ => format!("{value:.1}"),
    }
}

fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    format!("{}{}", if value < 0.0 { "-" } else { "" }, groups.join(","))
}

/// A second decimal below ten.
fn ratio(value: f64) -> String {
    if value >= 1000.0 {
        return thousands(value);
    }
    let decimals = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.decimals$}")
}

fn fine(value: f64) -> String {
    format!("{value:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn cells_round_as_people_read() {
        let row = json!({"cpu_us_per_request": 2963.669, "ratio": 9.996, "low": 0.8, "high": 151.78, "none": null,
            "of": {"median": 1.0042}, "found": ["a", "b"], "count": 10000, "whole": 30.0});
        for (cell, text) in [
            (Cell::Cpu, "2,964 (10.00 x)"),
            (Cell::Range("low", "high"), "0.80 to 152"),
            (Cell::Number("none"), ""),
            (Cell::Range("none", "high"), ""),
            (Cell::Fine("/of/median"), "1.004"),
            (Cell::Scaled("low", 1000.0), "800"),
            (Cell::Number("count"), "10,000"),
            (Cell::Number("whole"), "30.0"),
            (Cell::Scaled("whole", 50.0), "1,500"),
            (Cell::Names("found"), "`a`, `b`"),
            (Cell::Names("none"), "none"),
            (Cell::Number("found"), "2"),
        ] {
            assert_eq!(cell.of(&row), text);
        }
    }
}
