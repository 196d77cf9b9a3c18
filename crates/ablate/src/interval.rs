//! Intervals by the bootstrap over rounds, and rank correlation.
//!
//! Whole rounds are drawn again, with what all variants had in them, so that the pairing stays and
//! every figure, however it is made of the others, gets an interval the same way. Percentile
//! intervals of few rounds are too short; their ends are moved out as far as Student's t says
//! (the expanded percentile interval: Hesterberg, What teachers should know about the bootstrap,
//! The American Statistician 69, 2015, section 5.3.1).

use serde::{Deserialize, Serialize};

/// How often rounds are drawn again.
pub const RESAMPLES: usize = 800;
/// Two-sided 95 % quantiles of Student's t for 1, 2, ... degrees of freedom.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];
/// The same of the normal distribution.
const NORMAL: f64 = 1.96;

/// A figure with the interval that holds its true value with a confidence of 95 %.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The estimate.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// From the estimate and what resamples of so many rounds gave for it.
    #[must_use]
    pub fn of(value: f64, mut resampled: Vec<f64>, rounds: usize) -> Self {
        resampled.retain(|sample| sample.is_finite());
        resampled.sort_by(f64::total_cmp);
        if resampled.is_empty() {
            return Self { value, low: f64::NEG_INFINITY, high: f64::INFINITY };
        }
        let tail = tail(rounds);
        Self { value, low: quantile(&resampled, tail).min(value), high: quantile(&resampled, 1.0 - tail).max(value) }
    }

    /// Whether it does not hold zero.
    #[must_use]
    pub fn is_significant(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// Share of the resamples beyond each end of the interval.
fn tail(rounds: usize) -> f64 {
    let freedom = rounds.saturating_sub(1).max(1);
    let student = STUDENT.get(freedom - 1).copied().unwrap_or(NORMAL);
    let rounds = rounds.max(2) as f64;
    lower_tail(-student * (rounds / (rounds - 1.0)).sqrt())
}

/// The normal distribution function, for negative arguments (Abramowitz and Stegun, 26.2.17; error
/// below 7.5e-8).
fn lower_tail(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * x.abs());
    let series =
        t * (0.319_381_530 + t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() * series
}

/// A quantile of sorted values, between neighbours by a straight line.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let (below, part) = (place.floor() as usize, place.fract());
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * part
}

/// Spearman's rank correlation, ties at their mean rank; `None` for fewer than three pairs or if one
/// side is all the same.
#[must_use]
pub fn rank_correlation(left: &[f64], right: &[f64]) -> Option<f64> {
    if left.len() != right.len() || left.len() < 3 {
        return None;
    }
    let (left, right) = (ranks(left), ranks(right));
    let middle = (left.len() as f64 + 1.0) / 2.0;
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - middle) * (b - middle)).sum::<f64>();
    let spread = (product(&left, &left) * product(&right, &right)).sqrt();
    (spread > 0.0).then(|| product(&left, &right) / spread)
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let below = |value: f64| values.iter().filter(|other| **other < value).count() as f64;
    let same = |value: f64| values.iter().filter(|other| **other == value).count() as f64;
    values.iter().map(|&value| below(value) + (same(value) + 1.0) / 2.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_shrink_with_fewer_rounds_and_reach_the_usual_ones() {
        assert!((lower_tail(-1.96) - 0.025).abs() < 1e-4, "{}", lower_tail(-1.96));
        assert!((tail(1_000) - 0.025).abs() < 3e-4, "{}", tail(1_000));
        assert!(tail(10) < 0.0095 && tail(10) > 0.008, "{}", tail(10));
        assert!(tail(2) < 1e-12);
    }

    #[test]
    fn intervals_hold_what_they_should() {
        let resampled: Vec<f64> = (0..=1_000).map(f64::from).collect();
        let interval = Interval::of(500.0, resampled, 1_000);
        assert!((interval.low - 25.0).abs() < 1.0 && (interval.high - 975.0).abs() < 1.0, "{interval:?}");
        assert!(interval.is_significant());
        assert!(!Interval::of(0.0, vec![-1.0, 1.0], 5).is_significant());
        assert!(!Interval::of(1.0, vec![], 5).is_significant());
    }

    #[test]
    fn ranks_agree_turn_round_and_tie() {
        for (left, right, want) in [
            (&[1.0, 2.0, 3.0][..], &[10.0, 20.0, 90.0][..], Some(1.0)),
            (&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0], Some(-1.0)),
            (&[1.0, 2.0, 2.0, 3.0], &[1.0, 2.0, 3.0, 4.0], Some(0.948_683_298)),
            (&[1.0, 1.0, 1.0], &[1.0, 2.0, 3.0], None),
            (&[1.0, 2.0], &[1.0, 2.0], None),
        ] {
            let have = rank_correlation(left, right);
            assert_eq!(have.map(|rho| (rho * 1e6).round()), want.map(|rho| (rho * 1e6_f64).round()), "{left:?}");
        }
    }
}
