//! `--only`: some rows of a scenario's table, and why others are skipped.

use weir_measure::error::MeasureError;

/// The rows named by `only` in the table's order, always with the `needed` ones, which ratios refer to; all
/// of them if none is named. `what` is what a row is called in an error.
pub fn chosen<'t, T>(
    table: &'t [T],
    only: &[String],
    what: &str,
    name: impl Fn(&T) -> &str,
    needed: impl Fn(&T) -> bool,
) -> Result<Vec<&'t T>, MeasureError> {
    let named = |row: &T| only.iter().any(|own| own == name(row));
    if let Some(unknown) = only.iter().find(|own| table.iter().all(|row| name(row) != **own)) {
        let names: Vec<&str> = table.iter().map(&name).collect();
        return Err(MeasureError::Usage(format!("there is no {what} named {unknown}, only {}", names.join(", "))));
    }
    Ok(table.iter().filter(|row| only.is_empty() || needed(row) || named(row)).collect())
}

/// What could not be measured here, and why, as files of results have it.
#[derive(Debug, Default)]
pub struct Skipped(pub Vec<String>);

impl Skipped {
    /// The value, or `None` and a line on stderr if something that it needs is not installed.
    pub fn unless_missing<T>(
        &mut self,
        name: &str,
        result: Result<T, MeasureError>,
    ) -> Result<Option<T>, MeasureError> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(MeasureError::Missing(reason)) => {
                eprintln!("{name} is skipped: {reason}");
                self.0.push(format!("{name}: {reason}"));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_keeps_what_is_needed_and_refuses_unknown_names() {
        let choose = |only: &[&str]| {
            let only: Vec<String> = only.iter().map(ToString::to_string).collect();
            chosen(&["a", "b", "c"], &only, "row", |row| row, |row| *row == "a").map(|rows| rows.len())
        };
        assert_eq!(choose(&["b"]).unwrap(), 2);
        assert_eq!(choose(&[]).unwrap(), 3);
        assert_eq!(choose(&["d"]).unwrap_err().to_string(), "there is no row named d, only a, b, c");
    }

    #[test]
    fn only_what_is_missing_is_skipped() {
        let mut skipped = Skipped::default();
        assert_eq!(skipped.unless_missing("a", Ok(1)).unwrap(), Some(1));
        assert_eq!(skipped.unless_missing("b", Err::<u8, _>(MeasureError::Missing("gone".into()))).unwrap(), None);
        assert_eq!(skipped.0, ["b: gone"]);
        assert!(skipped.unless_missing("c", Err::<u8, _>(MeasureError::Interrupted)).is_err());
    }
}
