//! Points in time as requests state them, in milliseconds since the Unix epoch: HTTP dates (RFC 9110, section 5.6.7)
//! and the basic form of ISO 8601 in which AWS clients write theirs.
//!
//! Of HTTP dates all three forms are read, since the gateways whose clients come here read them. The name of the day
//! is not compared with the date: it adds nothing to a date that is signed.

use time::{Date, Month, OffsetDateTime, Time};

/// The longest date: `Wednesday, 09-Nov-94 08:49:37 GMT` has 33 bytes.
const MAX_DATE_BYTES: usize = 40;
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// The time of an HTTP date: IMF-fixdate, the form of RFC 850, or that of `asctime`.
#[must_use]
pub fn from_http(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok().filter(|text| text.len() <= MAX_DATE_BYTES)?;
    let mut words = text.split([' ', ',', '-']).filter(|word| !word.is_empty()).skip(1);
    let [second, third, fourth, fifth] = [(); 4].map(|()| words.next());
    let (day, month, year, clock) = match MONTHS.contains(&second?) {
        true => (third?, second?, fifth?, fourth?),
        false if words.next() == Some("GMT") => (second?, third?, fourth?, fifth?),
        false => return None,
    };
    let year = match (year.len(), number(year, 4)?) {
        (4, year) => year,
        // As nginx does: two digits below 70 are of this century.
        (2, year) => year + if year < 70 { 2000 } else { 1900 },
        _ => return None,
    };
    let month = 1 + MONTHS.iter().position(|name| *name == month)? as u32;
    let mut parts = clock.split(':').map(|part| number(part, 2));
    let [hour, minute, second] = [(); 3].map(|()| parts.next().flatten());
    if words.next().is_some() || parts.next().is_some() {
        return None;
    }
    point([year, month, number(day, 2)?, hour?, minute?, second?])
}

/// The time of `20150830T123600Z`.
#[must_use]
pub fn from_basic(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok().filter(|text| text.is_ascii() && text.len() == 16)?;
    let separated = text.as_bytes()[8] == b'T' && text.as_bytes()[15] == b'Z';
    let part = |from: usize, to: usize| number(&text[from..to], 4);
    separated.then(|| point([part(0, 4)?, part(4, 6)?, part(6, 8)?, part(9, 11)?, part(11, 13)?, part(13, 15)?]))?
}

/// An IMF-fixdate: `Sun, 06 Nov 1994 08:49:37 GMT`; `None` after the year 9999.
#[must_use]
pub fn to_http(ms: u64) -> Option<String> {
    let at = moment(ms)?;
    let day = DAYS[usize::from(at.weekday().number_days_from_monday())];
    let month = MONTHS[usize::from(u8::from(at.month())) - 1];
    let (hour, minute, second) = at.to_hms();
    Some(format!("{day}, {:02} {month} {:04} {hour:02}:{minute:02}:{second:02} GMT", at.day(), at.year()))
}

/// `20150830T123600Z`; `None` after the year 9999.
#[must_use]
pub fn to_basic(ms: u64) -> Option<String> {
    let at = moment(ms)?;
    let (hour, minute, second) = at.to_hms();
    let month = u8::from(at.month());
    Some(format!("{:04}{month:02}{:02}T{hour:02}{minute:02}{second:02}Z", at.year(), at.day()))
}

fn moment(ms: u64) -> Option<OffsetDateTime> {
    OffsetDateTime::from_unix_timestamp(i64::try_from(ms / 1000).ok()?).ok()
}

/// Year, month, day, hour, minute, second.
fn point(parts: [u32; 6]) -> Option<u64> {
    let [month, day, hour, minute, second] = [1, 2, 3, 4, 5].map(|part| parts[part] as u8);
    let date = Date::from_calendar_date(parts[0] as i32, Month::try_from(month).ok()?, day).ok()?;
    let at = date.with_time(Time::from_hms(hour, minute, second).ok()?).assume_utc();
    Some(u64::try_from(at.unix_timestamp()).ok()? * 1000)
}

/// A number of at most that many digits.
fn number(text: &str, most: usize) -> Option<u32> {
    let digits = (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 9110, section 5.6.7.
    const EXAMPLE_MS: u64 = 784_111_777_000;

    #[test]
    fn all_three_forms_are_read() {
        for text in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            assert_eq!(from_http(text.as_bytes()), Some(EXAMPLE_MS), "{text}");
        }
        assert_eq!(to_http(EXAMPLE_MS).as_deref(), Some("Sun, 06 Nov 1994 08:49:37 GMT"));
        assert_eq!(from_basic(b"19941106T084937Z"), Some(EXAMPLE_MS));
        assert_eq!(to_basic(EXAMPLE_MS).as_deref(), Some("19941106T084937Z"));
        assert_eq!((to_http(u64::MAX), to_basic(u64::MAX)), (None, None));
    }

    #[test]
    fn anything_else_is_not_a_date() {
        let cases: [&[u8]; 14] = [
            b"",
            b"now",
            b"Sun, 06 Nov 1994 08:49:37",
            b"Sun, 06 Nov 1994 08:49:37 CET",
            b"Sun, 06 Nov 1994 08:49:37 GMT GMT",
            b"Sun, 31 Feb 1994 08:49:37 GMT",
            b"Sun, 06 Nov 1994 24:49:37 GMT",
            b"Sun, 06 Nov 1994 08:49 GMT",
            b"Sun, 06 Nov 1994 08:49:37:01 GMT",
            b"Sun, 06 Nov 199 08:49:37 GMT",
            b"Sun, 257 Nov 1994 08:49:37 GMT",
            b"Sun, 06 Nov 1950 08:49:37 GMT",
            b"Sun, 06 Nov 1994 +8:49:37 GMT",
            b"Sun, 06 Nov 1994 08:49:37 \xff",
        ];
        for case in cases {
            assert_eq!(from_http(case), None, "{}", case.escape_ascii());
        }
        for case in
            ["", "19941106T084937", "19941106 084937Z", "19941306T084937Z", "1994110\u{e9}T08493Z", "+9941106T084937Z"]
        {
            assert_eq!(from_basic(case.as_bytes()), None, "{case}");
        }
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..48)) {
            let _ = (from_http(&bytes), from_basic(&bytes));
        }

        #[test]
        fn what_is_written_is_read(seconds in 0u64..253_402_300_800) {
            let ms = seconds * 1000;
            proptest::prop_assert_eq!(from_http(to_http(ms).unwrap().as_bytes()), Some(ms));
            proptest::prop_assert_eq!(from_basic(to_basic(ms).unwrap().as_bytes()), Some(ms));
        }
    }
}
