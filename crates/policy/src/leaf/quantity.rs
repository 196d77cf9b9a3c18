//! Times, sizes, shares and ranges of status codes, as people write them.

type Hint = Option<&'static str>;

/// A number and the unit behind it.
fn split(text: &str) -> Option<(u64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    Some((text[..digits].parse().ok()?, &text[digits..]))
}

/// `250ms`, `5s`, `1m`, `1h`, `1d` in ms; `0` for none.
pub(crate) fn duration(text: &str, low: u64, high: u64) -> Result<u64, Hint> {
    let (number, unit) = split(text).ok_or(None)?;
    let unit = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "" | ".0" if number == 0 => 1,
        "" => return Err(Some("a unit is missing: ms, s, m, h or d")),
        _ => return Err(Some("the units are ms, s, m, h and d")),
    };
    number.checked_mul(unit).filter(|ms| (low..=high).contains(ms)).ok_or(None)
}

/// `512`, `128k`, `1m`, `2g` in bytes.
pub(crate) fn size(text: &str, low: u64, high: u64) -> Result<u64, Hint> {
    let whole = whole(text).and_then(|number| u64::try_from(number).ok()).map(|number| (number, ""));
    let (number, unit) = whole.or_else(|| split(text)).ok_or(None)?;
    let shift = match unit {
        "" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        _ => return Err(Some("the units are k, m and g")),
    };
    number.checked_mul(1 << shift).filter(|bytes| (low..=high).contains(bytes)).ok_or(None)
}

/// Percent as parts of 10,000, rounded.
pub(crate) fn per_10000(text: &str) -> Result<u32, Hint> {
    let begins = text.as_bytes().first().is_some_and(u8::is_ascii_digit);
    let percent: f64 = text.parse().ok().filter(|_| begins).ok_or(None)?;
    if !(0.01..=100.0).contains(&percent) {
        return Err((percent == 0.0).then_some("the least is 0.01; for nothing at all, remove what it is a share of"));
    }
    // Between 1 and 10,000 by the test above.
    Ok((percent * 100.0).round() as u32)
}

/// `200` or `200-399`.
pub(crate) fn statuses(text: &str) -> Result<(u16, u16), Hint> {
    let status = |text: &str| {
        let number: u16 = text.parse().ok()?;
        (text.len() == 3 && (100..=599).contains(&number)).then_some(number)
    };
    let (low, high) = match (text.split_once('-'), whole(text)) {
        (Some((low, high)), _) => (status(low).ok_or(None)?, status(high).ok_or(None)?),
        (None, Some(number)) => (status(&number.to_string()).ok_or(None)?, status(&number.to_string()).ok_or(None)?),
        (None, None) => return Err(None),
    };
    if low <= high { Ok((low, high)) } else { Err(Some("the lower one is the first")) }
}

/// A number without a fraction: `5`, `5.0`, `5e0`.
pub(crate) fn whole(text: &str) -> Option<i64> {
    if let Ok(number) = text.parse::<i64>() {
        return Some(number);
    }
    /// Beyond it not every integer has a `f64`.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let begins = text.trim_start_matches(['-', '+']).as_bytes().first().is_some_and(u8::is_ascii_digit);
    let number: f64 = text.parse().ok().filter(|_| begins)?;
    (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, ms) in
            [("250ms", 250), ("5s", 5000), ("1m", 60_000), ("2h", 7_200_000), ("1d", 86_400_000), ("0", 0), ("0s", 0)]
        {
            assert_eq!(duration(text, 0, u64::MAX), Ok(ms), "{text}");
        }
        for text in ["", "5", "s", "5 s", "-5s", "5.5s", "5w", "99999999999999999999s", "999999999999999d"] {
            assert!(duration(text, 0, u64::MAX).is_err(), "{text}");
        }
        assert!(duration("0s", 1, 10).is_err() && duration("11ms", 1, 10).is_err());
    }

    #[test]
    fn sizes_are_powers_of_two() {
        for (text, bytes) in
            [("0", 0), ("512", 512), ("512.0", 512), ("128k", 131_072), ("1m", 1 << 20), ("2G", 2 << 30)]
        {
            assert_eq!(size(text, 0, u64::MAX), Ok(bytes), "{text}");
        }
        for text in ["", "-1", "1.5m", "1mb", "k", "99999999999g"] {
            assert!(size(text, 0, 1 << 40).is_err(), "{text}");
        }
        assert!(size("3k", 4096, 8192).is_err() && size("4k", 4096, 8192).is_ok() && size("9k", 4096, 8192).is_err());
    }

    #[test]
    fn shares_and_statuses() {
        for (text, parts) in [("100", Ok(10_000)), ("0.01", Ok(1)), ("12.345", Ok(1235)), ("1e1", Ok(1000))] {
            assert_eq!(per_10000(text), parts, "{text}");
        }
        for text in ["0", "100.1", "-1", "NaN", "inf", "x"] {
            assert!(per_10000(text).is_err(), "{text}");
        }
        assert_eq!(
            (statuses("200"), statuses("200-399"), statuses("2e2")),
            (Ok((200, 200)), Ok((200, 399)), Ok((200, 200)))
        );
        for text in ["", "99", "600", "399-200", "200-", "0200-300", "200 - 300", "-200"] {
            assert!(statuses(text).is_err(), "{text}");
        }
    }
}
