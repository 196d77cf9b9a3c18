//! Tables on the terminal: columns as wide as their widest cell, numbers to the right.

pub use weir_profile::amount::{counted, grouped};

/// The alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Align {
    /// For text.
    Left,
    /// For numbers.
    Right,
}

/// Sets rows below headings. Cells must be free of colour codes, whose bytes have no width.
pub fn render(columns: &[(&str, Align)], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([columns[column].0.chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let headings: Vec<String> = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
    let mut text = String::new();
    for row in std::iter::once(&headings).chain(rows) {
        let mut line = String::new();
        for ((cell, &(_, align)), &width) in row.iter().zip(columns).zip(&widths) {
            let pad = " ".repeat(width - cell.chars().count());
            let (before, after) = if align == Align::Right { (pad.as_str(), "") } else { ("", pad.as_str()) };
            line.push_str(&format!("{before}{cell}{after}  "));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Nanoseconds as microseconds with a precision that fits their size.
pub fn microseconds(ns: f64) -> String {
    let us = ns / 1000.0;
    if us >= 100.0 {
        format!("{us:.0}")
    } else if us >= 1.0 {
        format!("{us:.2}")
    } else {
        format!("{us:.3}")
    }
}

/// A size: `12 bytes`, `3 KiB`, `1.5 MiB`.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => counted(bytes, "byte"),
        1024..1_048_576 => format!("{} KiB", bytes.div_ceil(1024)),
        _ => format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20)),
    }
}

/// A part of a whole as a percentage; `-` if there is no whole.
pub fn percent(part: f64, whole: f64) -> String {
    if whole <= 0.0 { "-".into() } else { format!("{:.1}", part / whole * 100.0) }
}

/// Milliseconds as `3d 4h`, `5m 6s`, `7.8s`.
pub fn duration(ms: u64) -> String {
    let s = ms / 1000;
    match s {
        0..60 => format!("{}.{}s", s, ms % 1000 / 100),
        60..3600 => format!("{}m {}s", s / 60, s % 60),
        3600..86_400 => format!("{}h {}m", s / 3600, s / 60 % 60),
        _ => format!("{}d {}h", s / 86_400, s / 3600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [vec!["ä".into(), "1".into()], vec!["long".into(), "1,000".into()]];
        let text = render(&[("NAME", Align::Left), ("N", Align::Right)], &rows);
        assert_eq!(text, "NAME      N\nä         1\nlong  1,000\n");
    }

    #[test]
    fn numbers_read_well() {
        let cases = [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")];
        for (number, want) in cases {
            assert_eq!(grouped(number), want);
        }
        assert_eq!([1, 2048, 3 << 19].map(size), ["1 byte", "2 KiB", "1.5 MiB"]);
        assert_eq!([0, 1, 2].map(|number| counted(number, "rule")), ["0 rules", "1 rule", "2 rules"]);
        assert_eq!(["policy", "process", "key"].map(|one| counted(2, one)), ["2 policies", "2 processes", "2 keys"]);
        assert_eq!([microseconds(123_456.0), microseconds(1_500.0), microseconds(12.0)], ["123", "1.50", "0.012"]);
        assert_eq!([percent(1.0, 8.0), percent(1.0, 0.0)], ["12.5", "-"]);
        let times = [(7_890, "7.8s"), (306_000, "5m 6s"), (3_600_000, "1h 0m"), (273_600_000, "3d 4h")];
        for (ms, want) in times {
            assert_eq!(duration(ms), want);
        }
    }
}
