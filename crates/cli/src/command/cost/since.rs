//! From where on: a revision, so long ago, or a moment.

use time::{Date, Month, OffsetDateTime, Time};

use crate::Failure;

/// Units of a time, and how many milliseconds they have.
const UNITS: &[(&str, u64)] = &[("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("w", 604_800_000)];

/// The beginning of a history.
#[derive(Debug, PartialEq)]
pub(super) enum Since {
    /// A revision.
    Revision(u64),
    /// Milliseconds since 1970.
    Time(u64),
}

impl Since {
    pub(super) fn parse(text: &str, now_ms: u64) -> Result<Self, Failure> {
        revision(text)
            .or_else(|| ago(text).map(|ms| Self::Time(now_ms.saturating_sub(ms))))
            .or_else(|| moment(text).map(Self::Time))
            .ok_or_else(|| {
                Failure::new(format!("--since {text} is not a revision, a duration or a time"))
                    .hint("12, 90m, 2h, 7d, 2026-01-31 or 2026-01-31T12:00 (UTC)")
            })
    }

    pub(super) fn query(&self) -> String {
        match self {
            Self::Revision(revision) => format!("since={revision}"),
            Self::Time(ms) => format!("since_ms={ms}"),
        }
    }
}

fn revision(text: &str) -> Option<Since> {
    text.parse().ok().map(Since::Revision)
}

fn ago(text: &str) -> Option<u64> {
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let (_, ms) = UNITS.iter().find(|(name, _)| *name == unit)?;
    digits.parse::<u64>().ok()?.checked_mul(*ms)
}

fn moment(text: &str) -> Option<u64> {
    let (date, time) = text.trim_end_matches('Z').split_once(['T', ' ']).unwrap_or((text, "00:00"));
    let mut parts = date.splitn(3, '-');
    let year = parts.next()?.parse().ok()?;
    let month = Month::try_from(parts.next()?.parse::<u8>().ok()?).ok()?;
    let date = Date::from_calendar_date(year, month, parts.next()?.parse().ok()?).ok()?;
    let mut parts = time.splitn(3, ':').map(|part| part.parse::<u8>().ok());
    let time = Time::from_hms(parts.next()??, parts.next()??, parts.next().unwrap_or(Some(0))?).ok()?;
    let seconds = OffsetDateTime::new_utc(date, time).unix_timestamp();
    u64::try_from(seconds).ok()?.checked_mul(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_times_and_moments_are_told_apart() {
        let now = 1_000_000_000_000;
        let cases = [
            ("12", Since::Revision(12)),
            ("90m", Since::Time(now - 5_400_000)),
            ("7d", Since::Time(now - 604_800_000)),
            ("2000-02-29", Since::Time(951_782_400_000)),
            ("2000-02-29T12:34", Since::Time(951_827_640_000)),
            ("2000-02-29 12:34:56", Since::Time(951_827_696_000)),
            ("2000-02-29T12:34:56Z", Since::Time(951_827_696_000)),
        ];
        for (text, expected) in cases {
            assert_eq!(Since::parse(text, now).unwrap(), expected, "{text}");
        }
        for bad in ["", "h", "-1", "12x", "2000-02-30", "2000-02", "2000-02-01T25:00", "99999999999999999w"] {
            let error = Since::parse(bad, now).unwrap_err().to_string();
            assert!(error.contains("is not a revision"), "{bad}: {error}");
        }
    }
}
