//! Times for people.

use time::OffsetDateTime;

/// Milliseconds since 1970 as `2026-01-31 12:00:00`, UTC; nothing for an invalid time.
pub fn utc(ms: u64) -> String {
    let second = i64::try_from(ms / 1000).unwrap_or(i64::MAX);
    let Ok(at) = OffsetDateTime::from_unix_timestamp(second) else { return String::new() };
    let (hour, minute, second) = at.to_hms();
    format!("{:04}-{:02}-{:02} {hour:02}:{minute:02}:{second:02}", at.year(), u8::from(at.month()), at.day())
}

#[cfg(test)]
mod tests {
    use super::utc;

    #[test]
    fn times_are_utc() {
        assert_eq!(utc(951_827_696_789), "2000-02-29 12:34:56");
        assert_eq!(utc(u64::MAX), "");
    }
}
