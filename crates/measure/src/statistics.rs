//! Medians and what surrounds them.
//!
//! A shared machine disturbs upwards only: a round that lost its cache to a neighbour is
//! slower, none is faster than the code. Means follow such rounds, medians do not. The
//! interval of the median is the order-statistics one (binomial, no distribution assumed), so
//! with seven rounds the 95 % interval is nearly the whole range, which is the honest answer.

use serde::Serialize;

/// Confidence that the interval of a median is meant to have.
pub const CONFIDENCE: f64 = 0.95;

/// A sample boiled down.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The middle value; the mean of the two middle ones of an even number.
    pub median: f64,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// Lower end of the interval that holds the true median with [`CONFIDENCE`].
    pub low: f64,
    /// Upper end of that interval.
    pub high: f64,
    /// How many values there were.
    pub count: usize,
}

impl Summary {
    /// Boils a sample down; `None` if it is empty. NaN is not allowed in a sample.
    #[must_use]
    pub fn of(sample: &[f64]) -> Option<Self> {
        let mut sorted = sample.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let rank = interval_rank(sorted.len());
        Some(Self {
            median: middle(&sorted),
            min,
            max,
            low: sorted[rank],
            high: sorted[sorted.len() - 1 - rank],
            count: sorted.len(),
        })
    }
}

/// The median; not a number of an empty sample.
pub fn median(sample: &[f64]) -> f64 {
    let mut sorted = sample.to_vec();
    sorted.sort_by(f64::total_cmp);
    if sorted.is_empty() { f64::NAN } else { middle(&sorted) }
}

fn middle(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[half] } else { (sorted[half - 1] + sorted[half]) / 2.0 }
}

/// How many values may be cut off at each end so that the rest still covers the median with
/// [`CONFIDENCE`]: one less than the largest `k` with
/// `2 * P(Binomial(n, 1/2) <= k - 1) <= 1 - CONFIDENCE` (the sign test's interval). Zero where
/// even the whole range does not reach it (fewer than six values).
fn interval_rank(count: usize) -> usize {
    let mut term = 0.5f64.powi(i32::try_from(count).unwrap_or(i32::MAX));
    let mut cumulative = 0.0;
    let mut rank = 0;
    for below in 0..count / 2 {
        cumulative += term;
        if 2.0 * cumulative > 1.0 - CONFIDENCE {
            break;
        }
        rank = below + 1;
        term *= (count - below) as f64 / (below + 1) as f64;
    }
    rank.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn median(sample: &[f64]) -> Option<f64> {
        Summary::of(sample).map(|summary| summary.median)
    }

    #[test]
    fn medians_of_odd_and_even_samples() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[7.0]), Some(7.0));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn one_disturbed_round_does_not_move_the_median() {
        let quiet = Summary::of(&[10.0, 10.1, 9.9, 10.0, 10.2, 9.8, 10.0]).unwrap();
        let disturbed = Summary::of(&[10.0, 10.1, 9.9, 10.0, 10.2, 9.8, 500.0]).unwrap();
        assert!((quiet.median - disturbed.median).abs() < 0.11);
        assert_eq!(disturbed.max, 500.0);
    }

    /// Ranks from the table of the sign test (Conover, Practical Nonparametric Statistics, A3).
    #[test]
    fn interval_ranks_are_those_of_the_sign_test() {
        for (count, cut) in [(3, 0), (5, 0), (6, 0), (7, 0), (8, 0), (9, 1), (12, 2), (15, 3), (20, 5), (25, 7)] {
            let sample: Vec<f64> = (0..count).map(f64::from).collect();
            let summary = Summary::of(&sample).unwrap();
            assert_eq!(summary.low, f64::from(cut), "n = {count}");
            assert_eq!(summary.high, f64::from(count - 1 - cut), "n = {count}");
        }
    }
}
