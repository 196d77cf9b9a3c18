//! "Did you mean": the nearest of the names that exist.

/// Beyond this distance a suggestion confuses more than it helps.
const MAX_DISTANCE: usize = 3;

/// The name nearest to `given` by edit distance, if any is near.
#[must_use]
pub fn nearest<'n>(given: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    names
        .into_iter()
        .map(|name| (distance(given.as_bytes(), name.as_bytes()), name))
        .filter(|(distance, name)| *distance <= MAX_DISTANCE && *distance < name.len())
        .min()
        .map(|(_, name)| name)
}

/// Levenshtein distance, one row at a time.
fn distance(from: &[u8], to: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let substituted = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_is_recognised_and_nonsense_is_not() {
        assert_eq!(nearest("user_agnet", ["user_agent", "uri"]), Some("user_agent"));
        assert_eq!(nearest("qqqqqq", ["user_agent", "uri"]), None);
    }
}
