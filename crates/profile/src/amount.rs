//! Formats weights for people: time in a fitting unit, counts with commas, shares, values per request.

use crate::{Profile, ProfileKind};

/// The meaning of a profile's weights, for display.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    /// What a weight measures.
    pub kind: ProfileKind,
    /// Total weight of the profile.
    pub total: u64,
    /// Requests answered during the profile, if known.
    pub requests: Option<u64>,
}

impl Amounts {
    /// The amounts of a profile.
    #[must_use]
    pub fn of(profile: &Profile) -> Self {
        let total = profile.samples.iter().fold(0_u64, |sum, sample| sum.saturating_add(sample.weight));
        Self { kind: profile.kind, total, requests: profile.meta.requests.filter(|requests| *requests > 0) }
    }

    /// `12.3 ms`, or `1,234` where weights are counts.
    #[must_use]
    pub fn weight(&self, weight: u64) -> String {
        match self.kind {
            ProfileKind::OnCpu | ProfileKind::OffCpu => time(weight as f64),
            ProfileKind::Count => grouped(weight),
        }
    }

    /// `12.34 %` of the total.
    #[must_use]
    pub fn share(&self, weight: u64) -> String {
        share(weight, self.total)
    }

    /// `4.56 µs per request`, if requests are known.
    #[must_use]
    pub fn per_request(&self, weight: u64) -> Option<String> {
        let each = weight as f64 / self.requests? as f64;
        let each = if self.kind == ProfileKind::Count { format!("{each:.2}") } else { time(each) };
        Some(format!("{each} per request"))
    }
}

/// A number of things: `1 entry`, `1,234 entries`.
#[must_use]
pub fn counted(number: u64, one: &str) -> String {
    let many = match one.strip_suffix('y') {
        _ if number == 1 => one.to_owned(),
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ if one.ends_with('s') => format!("{one}es"),
        _ => format!("{one}s"),
    };
    format!("{} {many}", grouped(number))
}

/// A part of a whole: `12.34 %`; `-` if the whole is zero.
#[must_use]
pub fn share(part: u64, whole: u64) -> String {
    if whole == 0 { "-".into() } else { format!("{:.2} %", part as f64 / whole as f64 * 100.0) }
}

/// Nanoseconds in the largest unit that leaves at least 1, with three digits or more.
#[must_use]
pub fn time(ns: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")];
    let (size, unit) = UNITS.into_iter().find(|(size, _)| ns.abs() >= *size).unwrap_or((1.0, "ns"));
    let value = ns / size;
    let digits = match value.abs() {
        _ if value == value.trunc() && unit == "ns" => 0,
        0.0..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

/// An integer with a comma every three digits.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_has_a_unit_that_fits() {
        let cases = [
            (0.0, "0 ns"),
            (0.25, "0.25 ns"),
            (999.0, "999 ns"),
            (1_500.0, "1.50 µs"),
            (12_345_678.0, "12.3 ms"),
            (-2_000_000_000.0, "-2.00 s"),
            (3_600e9, "3600 s"),
        ];
        for (ns, want) in cases {
            assert_eq!(time(ns), want);
        }
    }

    #[test]
    fn shares_and_requests_are_shown_only_where_known() {
        let amounts = Amounts { kind: ProfileKind::OnCpu, total: 2_000_000, requests: Some(100) };
        assert_eq!((amounts.weight(1_000_000), amounts.share(1_000_000)), ("1.00 ms".into(), "50.00 %".into()));
        assert_eq!(amounts.per_request(1_000_000), Some("10.0 µs per request".into()));
        let counts = Amounts { kind: ProfileKind::Count, ..Amounts::default() };
        assert_eq!((counts.weight(1_234_567), counts.share(1)), ("1,234,567".into(), "-".into()));
        assert_eq!(counts.per_request(1), None);
    }
}
