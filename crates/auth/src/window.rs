//! Timestamps, and how far from now they may be.

use time::{Date, Month, PrimitiveDateTime, Time, UtcOffset};

use crate::{Failure, Reason};

/// How far a timestamp may be from now if nothing else is said: five minutes, as Slack and Stripe recommend.
pub const TOLERANCE_MS: u64 = 300_000;
/// The most digits of a number of seconds or milliseconds: enough for the year 5138, and for no overflow.
const MAX_DIGITS: usize = 14;

/// How a timestamp is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeFormat {
    /// Seconds since the Unix epoch.
    Seconds,
    /// Milliseconds since the Unix epoch.
    Milliseconds,
    /// `2016-01-01 12:00:00` in China, eight hours ahead of UTC.
    China,
}

impl TimeFormat {
    /// All of them with their names as options.
    pub const NAMES: &'static [(&'static str, Self)] =
        &[("seconds", Self::Seconds), ("milliseconds", Self::Milliseconds), ("china", Self::China)];

    /// Milliseconds since the Unix epoch.
    fn read(self, text: &[u8]) -> Option<u64> {
        match self {
            Self::Seconds => number(text)?.checked_mul(1000),
            Self::Milliseconds => number(text),
            Self::China => {
                let [y0, y1, y2, y3, b'-', o0, o1, b'-', d0, d1, b' ', h0, h1, b':', m0, m1, b':', s0, s1] = *text
                else {
                    return None;
                };
                let two = |digits: [u8; 2]| number(&digits).map(|number| number as u8);
                let month = Month::try_from(two([o0, o1])?).ok()?;
                let date = Date::from_calendar_date(number(&[y0, y1, y2, y3])? as i32, month, two([d0, d1])?).ok()?;
                let time = Time::from_hms(two([h0, h1])?, two([m0, m1])?, two([s0, s1])?).ok()?;
                let seconds = PrimitiveDateTime::new(date, time).assume_offset(china()).unix_timestamp();
                u64::try_from(seconds).ok()?.checked_mul(1000)
            }
        }
    }

    /// A time as text.
    #[must_use]
    pub fn write(self, ms: u64) -> String {
        match self {
            Self::Seconds => (ms / 1000).to_string(),
            Self::Milliseconds => ms.to_string(),
            Self::China => {
                let seconds = i64::try_from(ms / 1000).expect("a 64-bit number of milliseconds");
                let Ok(utc) = time::OffsetDateTime::from_unix_timestamp(seconds) else { return String::new() };
                let Some(at) = utc.checked_to_offset(china()) else { return String::new() };
                let (date, clock) = (at.date(), at.time());
                let (year, month, day) = (date.year(), u8::from(date.month()), date.day());
                format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}", clock.hour(), clock.minute(), clock.second())
            }
        }
    }
}

fn china() -> UtcOffset {
    UtcOffset::from_hms(8, 0, 0).expect("an offset below a day")
}

fn number(digits: &[u8]) -> Option<u64> {
    let fits = (1..=MAX_DIGITS).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    fits.then(|| digits.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0')))
}

/// A format, and the time around now in which a timestamp is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The format.
    pub format: TimeFormat,
    /// The largest distance from now, into the past and into the future, in milliseconds.
    pub tolerance_ms: u64,
}

impl Default for Window {
    fn default() -> Self {
        Self { format: TimeFormat::Seconds, tolerance_ms: TOLERANCE_MS }
    }
}

impl Window {
    /// The time that a text states, in milliseconds since the Unix epoch.
    ///
    /// # Errors
    /// [`Reason::Malformed`], [`Reason::Expired`] or [`Reason::NotYet`].
    pub fn check(&self, text: &[u8], now_ms: u64) -> Result<u64, Failure> {
        let signed_ms = self.format.read(text).ok_or_else(|| {
            let names = TimeFormat::NAMES.iter().find(|(_, format)| *format == self.format);
            let name = names.map_or("", |(name, _)| *name);
            Failure::new(Reason::Malformed, format!("the timestamp is not in the format `{name}`"))
        })?;
        let off = |reason, ahead: &str| {
            let (by, bound) = (signed_ms.abs_diff(now_ms), self.tolerance_ms);
            Err(Failure::new(reason, format!("the timestamp is {by} ms {ahead} now, the bound is {bound}")))
        };
        if signed_ms.saturating_add(self.tolerance_ms) < now_ms {
            return off(Reason::Expired, "before");
        }
        if signed_ms > now_ms.saturating_add(self.tolerance_ms) {
            return off(Reason::NotYet, "after");
        }
        Ok(signed_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_read_as_they_are_written() {
        for (_, format) in TimeFormat::NAMES {
            for ms in [0, 951_782_400_000, 1_451_620_800_000, 4_102_444_799_000] {
                assert_eq!(format.read(format.write(ms).as_bytes()), Some(ms), "{format:?}");
            }
        }
        // The timestamp of the example of the Taobao Open Platform.
        assert_eq!(TimeFormat::China.read(b"2016-01-01 12:00:00"), Some(1_451_620_800_000));
    }

    #[test]
    fn what_is_no_timestamp_is_refused() {
        let texts = [
            "",
            "-1",
            "+1",
            " 1",
            "1 ",
            "1.0",
            "1e3",
            "999999999999999",
            "18446744073709551616",
            "१",
            "2016-02-30 12:00:00",
            "2016-01-01T12:00:00",
            "2016-01-01 24:00:00",
            "2016-13-01 12:00:00",
            "2016-01-01 12:00:0",
            "1969-12-31 00:00:00",
        ];
        for text in texts {
            for (name, format) in TimeFormat::NAMES {
                assert_eq!(format.read(text.as_bytes()), None, "{name} {text:?}");
            }
        }
    }

    #[test]
    fn the_window_is_closed_on_both_sides() {
        let window = Window { format: TimeFormat::Milliseconds, tolerance_ms: 10 };
        let reasons = [(89, Some(Reason::Expired)), (90, None), (110, None), (111, Some(Reason::NotYet))];
        for (ms, reason) in reasons {
            let found = window.check(ms.to_string().as_bytes(), 100);
            assert_eq!(found.err().map(|failure| failure.reason), reason, "{ms}");
        }
    }
}
