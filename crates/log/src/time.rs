//! Times in logs: ISO 8601, UTC, milliseconds. A second is formatted once per worker.

use std::cell::Cell;

use crate::json;

/// Writes times, and remembers the text of the last second.
pub struct Timestamps(Cell<(u64, [u8; 20])>);

impl Timestamps {
    /// Remembers no second yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(Cell::new((u64::MAX, [0; 20])))
    }

    /// Writes milliseconds since 1970 as a JSON string such as `"2026-01-31T12:00:00.123Z"`.
    #[inline]
    pub fn write(&self, out: &mut Vec<u8>, ms: u64) {
        let second = ms / 1000;
        let mut cached = self.0.get();
        if cached.0 != second {
            cached = (second, format(second));
            self.0.set(cached);
        }
        out.push(b'"');
        out.extend_from_slice(&cached.1);
        json::padded::<3>(out, ms % 1000);
        out.extend_from_slice(b"Z\"");
    }
}

impl Default for Timestamps {
    fn default() -> Self {
        Self::new()
    }
}

/// `YYYY-MM-DDThh:mm:ss.` of a second since 1970. The date is Howard Hinnant's `civil_from_days`.
fn format(second: u64) -> [u8; 20] {
    let days = (second / 86_400) as i64 + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let mut text = Vec::with_capacity(20);
    json::padded::<4>(&mut text, year as u64);
    for (mark, number) in [
        (b'-', month as u64),
        (b'-', day as u64),
        (b'T', second / 3600 % 24),
        (b':', second / 60 % 60),
        (b':', second % 60),
    ] {
        text.push(mark);
        json::padded::<2>(&mut text, number);
    }
    text.push(b'.');
    text.try_into().expect("four digits, five times mark and two digits, a point")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right_around_leap_days_and_ends_of_years() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_007, "2000-02-29T00:00:00.007Z"),
            (1_709_251_199_999, "2024-02-29T23:59:59.999Z"),
            (1_735_689_599_000, "2024-12-31T23:59:59.000Z"),
            (4_102_444_800_000, "2100-01-01T00:00:00.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            let mut out = Vec::new();
            Timestamps::new().write(&mut out, ms);
            assert_eq!(String::from_utf8(out), Ok(format!("\"{text}\"")));
        }
    }
}
