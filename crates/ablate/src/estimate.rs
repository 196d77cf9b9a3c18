//! From what rounds measured to what each part costs.
//!
//! Leaving a part out of everything saves `without`; adding it to nothing costs `alone`. The two
//! differ by what the part shares with others. What any one part brings along and all of them
//! together bring only once (reading the request into a transaction) is the *shared* cost: the
//! median of `alone - without` over the parts. A part's cost is the mean of `without` and of `alone`
//! less the shared cost; for two parts this is the Shapley value, and where only pairs share work
//! the costs and the shared cost add up to all minus none. The agreement is reported and
//! not enforced: where three and more parts share one piece of work the sum is too large, and the
//! reader must know.
//!
//! With [`Shape::Halves`], costs and the shared cost are those that fit the levels of all variants best (least squares),
//! and a value counts relative to those measured just before and after it: a machine that others use changes its speed
//! several times in a round.

use super::design::{Design, Set, Shape};
use super::interval::{Interval, RESAMPLES};

use weir_measure::random::Random;
use weir_measure::statistics::median;

/// Share of values cut off at each end before the mean: interrupted slices, and lucky ones.
const TRIM: f64 = 0.25;
/// How many values on either side a value of [`Shape::Halves`] is compared with.
const NEIGHBOURS: usize = 3;

/// What one round measured: variants with their CPU per request, in microseconds. A variant may
/// stand in it several times.
pub type Round = Vec<(usize, f64)>;

/// What a part costs, in microseconds of CPU per request.
#[derive(Clone, Copy, Debug, Default)]
pub struct PartCost {
    /// The saving without it.
    pub without: Interval,
    /// What it costs alone; with [`Shape::Leaving`] there is none.
    pub alone: Option<Interval>,
    /// How much more it costs alone than leaving it out saves.
    pub overlap: Option<Interval>,
    /// The reported cost.
    pub cost: Interval,
}

/// The costs of all parts.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// Everything on.
    pub all: Interval,
    /// Everything off.
    pub none: Option<Interval>,
    /// Everything less nothing.
    pub total: Option<Interval>,
    /// What all parts need together once.
    pub shared: Option<Interval>,
    /// All costs and the shared one.
    pub sum: Interval,
    /// The cost of each part.
    pub parts: Vec<PartCost>,
    /// Pairs of parts, the dearer first, whose costs the rounds can tell apart.
    pub told_apart: Vec<(usize, usize)>,
}

/// How two parts work on each other.
#[derive(Clone, Copy, Debug)]
pub struct PairCost {
    /// The first part.
    pub one: usize,
    /// The second part.
    pub other: usize,
    /// How much more (or, below zero, less) both cost together than one by one.
    pub interaction: Interval,
}

/// All figures of one set of rounds, in one order: what is resampled.
struct Figures {
    all: f64,
    none: f64,
    shared: f64,
    sum: f64,
    /// Without, alone, cost.
    parts: Vec<[f64; 3]>,
}

/// Boils rounds down; `None` without a round that has all variants.
#[must_use]
pub fn estimate(design: &Design, rounds: &[Round], seed: u64) -> Option<Estimate> {
    if rounds.is_empty() {
        return None;
    }
    let table = match design.shape {
        Shape::Halves => Table::of(&rounds.iter().map(steadied).collect::<Vec<_>>(), design.variants().len()),
        Shape::Subsets | Shape::Leaving => Table::of(rounds, design.variants().len()),
    };
    let point = figures(design, &table.levels(&(0..rounds.len()).collect::<Vec<_>>()));
    if !point.sum.is_finite() {
        return None;
    }
    let resampled: Vec<Figures> =
        resamples(rounds.len(), seed).map(|drawn| figures(design, &table.levels(&drawn))).collect();
    let interval =
        |of: &dyn Fn(&Figures) -> f64| Interval::of(of(&point), resampled.iter().map(of).collect(), rounds.len());
    let subsets = design.shape != Shape::Leaving;
    let only = |of: &dyn Fn(&Figures) -> f64| subsets.then(|| interval(of));
    let part = |index: usize| PartCost {
        without: interval(&|figures| figures.parts[index][0]),
        alone: only(&|figures| figures.parts[index][1]),
        overlap: only(&|figures| figures.parts[index][1] - figures.parts[index][0]),
        cost: interval(&|figures| figures.parts[index][2]),
    };
    Some(Estimate {
        all: interval(&|figures| figures.all),
        none: only(&|figures| figures.none),
        total: only(&|figures| figures.all - figures.none),
        shared: only(&|figures| figures.shared),
        sum: interval(&|figures| figures.sum),
        parts: (0..design.parts).map(part).collect(),
        told_apart: told_apart(design.parts, &|one, other| {
            interval(&|figures| figures.parts[one][2] - figures.parts[other][2])
        }),
    })
}

fn told_apart(parts: usize, difference: &dyn Fn(usize, usize) -> Interval) -> Vec<(usize, usize)> {
    let pairs = (0..parts).flat_map(|one| (one + 1..parts).map(move |other| (one, other)));
    let ordered = pairs.filter_map(|(one, other)| {
        let difference = difference(one, other);
        difference.is_significant().then_some(if difference.value > 0.0 { (one, other) } else { (other, one) })
    });
    ordered.collect()
}

/// How the given pairs work on each other, from rounds of [`Design::pair_round`].
#[must_use]
pub fn interactions(design: &Design, pairs: &[(usize, usize)], rounds: &[Round], seed: u64) -> Vec<PairCost> {
    let table = Table::of(rounds, design.variants().len());
    let of = |levels: &[f64], (one, other): (usize, usize)| {
        let level = |set: Set| design.find(set).map_or(f64::NAN, |variant| levels[variant]);
        level(Set::Pair(one, other)) - level(Set::Alone(one)) - level(Set::Alone(other)) + level(Set::None)
    };
    let point = table.levels(&(0..rounds.len()).collect::<Vec<_>>());
    let resampled: Vec<Vec<f64>> = resamples(rounds.len(), seed).map(|drawn| table.levels(&drawn)).collect();
    let cost = |&pair: &(usize, usize)| {
        let samples = resampled.iter().map(|levels| of(levels, pair)).collect();
        PairCost { one: pair.0, other: pair.1, interaction: Interval::of(of(&point, pair), samples, rounds.len()) }
    };
    pairs.iter().map(cost).filter(|pair| pair.interaction.value.is_finite()).collect()
}

fn figures(design: &Design, levels: &[f64]) -> Figures {
    let level = |set: Set| design.find(set).map_or(f64::NAN, |variant| levels[variant]);
    let (all, none) = (level(Set::All), level(Set::None));
    let mut parts: Vec<[f64; 3]> = (0..design.parts)
        .map(|index| [all - level(Set::Without(index)), level(Set::Alone(index)) - none, 0.0])
        .collect();
    let fit = if design.shape == Shape::Halves { fitted(design.variants(), levels) } else { None };
    let shared = match (design.shape, &fit) {
        (_, Some(fit)) => fit[1],
        (Shape::Leaving, _) => 0.0,
        _ => median(&parts.iter().map(|[without, alone, _]| alone - without).collect::<Vec<_>>()),
    };
    for (index, part) in parts.iter_mut().enumerate() {
        part[2] = match (design.shape, &fit) {
            (_, Some(fit)) => fit[2 + index],
            (Shape::Leaving, _) => part[0],
            _ => (part[0] + part[1] - shared) / 2.0,
        };
    }
    Figures { all, none, shared, sum: shared + parts.iter().map(|part| part[2]).sum::<f64>(), parts }
}

/// The cost of nothing, the shared cost and that of each part which fit the levels best. `None` where they are not
/// determined: of one part, what it shares cannot be told from its own.
fn fitted(variants: &[Vec<bool>], levels: &[f64]) -> Option<Vec<f64>> {
    let parts = variants.first()?.len();
    let row =
        |on: &Vec<bool>| [true, on.contains(&true)].into_iter().chain(on.iter().copied()).map(f64::from).collect();
    let rows: Vec<Vec<f64>> = variants.iter().map(row).collect();
    let unknown = parts + 2;
    // The normal equations, with their right side as the last column.
    let mut equations = vec![vec![0.0; unknown + 1]; unknown];
    for (row, level) in rows.iter().zip(levels) {
        for (equation, factor) in equations.iter_mut().zip(row) {
            let values = row.iter().chain([level]);
            equation.iter_mut().zip(values).for_each(|(sum, value)| *sum += factor * value);
        }
    }
    for at in 0..unknown {
        let pivot = (at..unknown).max_by(|&a, &b| equations[a][at].abs().total_cmp(&equations[b][at].abs()))?;
        equations.swap(at, pivot);
        let own = equations[at].clone();
        if own[at].abs() < 1e-9 {
            return None;
        }
        for (other, equation) in equations.iter_mut().enumerate() {
            let factor = if other == at { 0.0 } else { equation[at] / own[at] };
            equation.iter_mut().zip(&own).for_each(|(value, own)| *value -= factor * own);
        }
    }
    Some(equations.iter().enumerate().map(|(at, equation)| equation[unknown] / equation[at]).collect())
}

/// A round in which each value is relative to the median of those around it, and the mean is as before.
fn steadied(round: &Round) -> Round {
    let values: Vec<f64> = round.iter().map(|(_, value)| *value).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let around = |at: usize| {
        let before = &values[at.saturating_sub(NEIGHBOURS)..at];
        let after = &values[at + 1..values.len().min(at + 1 + NEIGHBOURS)];
        median(&[before, after].concat())
    };
    let relative = |(at, (variant, value)): (usize, &(usize, f64))| (*variant, value / around(at) * mean);
    if round.len() > NEIGHBOURS { round.iter().enumerate().map(relative).collect() } else { round.clone() }
}

/// The value of each variant in each round, relative to the round.
///
/// A round beside a busy neighbour is dearer in all its variants by about the same factor, so values
/// are divided by the mean of their round, and multiplied by what a usual round had.
struct Table {
    /// By round, then by variant; not a number where a round lacks a variant.
    rows: Vec<Vec<f64>>,
}

impl Table {
    fn of(rounds: &[Round], variants: usize) -> Self {
        let mut rows: Vec<Vec<f64>> = rounds.iter().map(|round| row(round, variants)).collect();
        let mean = |row: &[f64]| {
            let there: Vec<f64> = row.iter().copied().filter(|value| value.is_finite()).collect();
            there.iter().sum::<f64>() / there.len() as f64
        };
        let means: Vec<f64> = rows.iter().map(|row| mean(row)).collect();
        let usual = median(&means);
        for (row, mean) in rows.iter_mut().zip(&means) {
            row.iter_mut().for_each(|value| *value *= usual / mean);
        }
        Self { rows }
    }

    /// The level of each variant over some rounds.
    fn levels(&self, drawn: &[usize]) -> Vec<f64> {
        let variants = self.rows.first().map_or(0, Vec::len);
        let mut values = Vec::with_capacity(drawn.len());
        (0..variants)
            .map(|variant| {
                values.clear();
                values.extend(drawn.iter().map(|&round| self.rows[round][variant]).filter(|value| value.is_finite()));
                trimmed_mean(&mut values)
            })
            .collect()
    }
}

fn row(round: &Round, variants: usize) -> Vec<f64> {
    let of = |variant: usize| {
        let mut own: Vec<f64> = round.iter().filter(|(at, _)| *at == variant).map(|(_, value)| *value).collect();
        trimmed_mean(&mut own)
    };
    (0..variants).map(of).collect()
}

/// Mean of the middle half; of fewer than four values, of all.
fn trimmed_mean(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let cut = (values.len() as f64 * TRIM) as usize;
    let middle = &values[cut..values.len() - cut];
    middle.iter().sum::<f64>() / middle.len() as f64
}

/// Draws of as many rounds as there are, with repetition.
fn resamples(rounds: usize, seed: u64) -> impl Iterator<Item = Vec<usize>> {
    let mut random = Random::new(seed);
    (0..RESAMPLES).map(move |_| (0..rounds).map(|_| random.below(rounds)).collect())
}

#[cfg(test)]
mod tests;
