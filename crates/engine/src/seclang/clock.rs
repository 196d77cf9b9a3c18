//! `TIME` and its parts, in UTC as servers should run in.

use std::io::Write;

use bumpalo::Bump;
use weir_rules::seclang::ir::Variable;

use super::number;

/// The value of a clock variable at a time in seconds since 1970; `None` of other variables.
pub(crate) fn part(variable: Variable, now_s: u64, arena: &Bump) -> Option<&[u8]> {
    let (days, second) = ((now_s / 86_400) as i64, now_s % 86_400);
    let (year, month, day) = civil(days);
    let number = match variable {
        Variable::Time => {
            let mut text = [0; 8];
            write!(&mut text[..], "{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
                .expect("eight bytes hold a time of day");
            return Some(arena.alloc_slice_copy(&text));
        }
        Variable::TimeEpoch => now_s as i64,
        Variable::TimeYear => year,
        Variable::TimeMon => month - 1, // from 0, as in C
        Variable::TimeDay => day,
        // 1970-01-01 was a Thursday; Sunday is 0.
        Variable::TimeWday => (days + 4).rem_euclid(7),
        Variable::TimeHour => (second / 3600) as i64,
        Variable::TimeMin => (second / 60 % 60) as i64,
        Variable::TimeSec => (second % 60) as i64,
        _ => return None,
    };
    Some(number::format(number, arena))
}

/// Year, month from 1 and day from 1, of days since 1970-01-01: Howard Hinnant's `civil_from_days`.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_calendar() {
        let arena = Bump::new();
        let at = |variable, now| String::from_utf8(part(variable, now, &arena).unwrap().to_vec()).unwrap();
        // 2024-02-29 12:34:56 UTC, a Thursday.
        let leap = 1_709_210_096;
        assert_eq!(at(Variable::Time, leap), "12:34:56");
        assert_eq!((at(Variable::TimeYear, leap), at(Variable::TimeMon, leap)), ("2024".into(), "1".into()));
        assert_eq!((at(Variable::TimeDay, leap), at(Variable::TimeWday, leap)), ("29".into(), "4".into()));
        assert_eq!(at(Variable::TimeEpoch, 0), "0");
        assert_eq!(at(Variable::TimeWday, 0), "4");
        assert!(part(Variable::Tx, 0, &arena).is_none());
    }
}
