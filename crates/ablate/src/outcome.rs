//! What a run found, for JSON, table and chart. Figures are per request.

use serde::{Deserialize, Serialize};

use super::interval::Interval;
use weir_measure::host::Host;

/// Within what share of the total the costs should add up.
pub const AGREEMENT: f64 = 0.15;

/// The unit of costs, per request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Microseconds of CPU.
    CpuUs,
    /// Instructions of the engine.
    Instructions,
}

impl Unit {
    /// For headings.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::CpuUs => "CPU per request in us, with 95 % intervals",
            Self::Instructions => "Instructions of the engine per request, counted",
        }
    }

    /// A figure with its interval; what was counted has none.
    #[must_use]
    pub fn figure(self, interval: Interval) -> String {
        match self {
            Self::CpuUs => format!("{:.2} ({:.2} to {:.2})", interval.value, interval.low, interval.high),
            Self::Instructions => format!("{:.0}", interval.value),
        }
    }
}

/// The result of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// What was ablated: a policy file, a gateway or configurations.
    pub of: String,
    /// The unit of a part.
    pub by: String,
    /// The unit of the figures.
    pub unit: Unit,
    /// The machine and the schedule.
    pub host: Host,
    /// How costs and intervals were made.
    pub method: String,
    /// Everything on.
    pub all: Interval,
    /// Everything off, unless variants only lack something.
    pub none: Option<Interval>,
    /// Everything less nothing.
    pub total: Option<Interval>,
    /// What the parts need together once.
    pub shared: Option<Interval>,
    /// All costs and the shared one.
    pub sum: Interval,
    /// `sum / total`.
    pub agreement: Option<f64>,
    /// The parts, the dearest first.
    pub parts: Vec<PartRow>,
    /// How pairs of parts work on each other, where it matters.
    pub interactions: Vec<PairRow>,
    /// Agreement with the ledger.
    pub ledger: Option<Agreement>,
    /// Remarks on the reliability of the run.
    pub notes: Vec<String>,
    /// Requests over all measured slices.
    pub requests: u64,
    /// Rounds.
    pub rounds: usize,
    /// Names of the variants.
    pub variants: Vec<String>,
    /// What each round measured, in its order: numbers of variants with their figures, for those who
    /// would estimate otherwise.
    pub measured: Vec<Vec<(usize, f64)>>,
}

/// A part.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PartRow {
    /// Its name.
    pub name: String,
    /// Number of its rules.
    pub rules: usize,
    /// Its cost.
    pub cost: Interval,
    /// The saving without it.
    pub without: Interval,
    /// Its cost alone.
    pub alone: Option<Interval>,
    /// Its cost by the ledger.
    pub ledger: Option<f64>,
    /// Change of the share of refused requests when it is left out.
    pub refused: f64,
}

/// Two parts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PairRow {
    /// The first part of the pair.
    pub one: String,
    /// The other.
    pub other: String,
    /// How much more they cost together than one by one.
    pub interaction: Interval,
}

/// Agreement with another way to measure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Agreement {
    /// Spearman's rank correlation of the parts.
    pub rank_correlation: Option<f64>,
    /// Pairs of parts whose costs the rounds can tell apart.
    pub told_apart: usize,
    /// Those of them that it orders alike.
    pub alike: usize,
    /// The sum over the parts.
    pub sum: f64,
}

impl Outcome {
    /// Whether parts are made of rules; plugins of a probe are not.
    pub(crate) fn has_rules(&self) -> bool {
        self.parts.iter().any(|part| part.rules > 0)
    }

    /// Rounds figures to what the measurement can tell, for files.
    #[must_use]
    pub fn rounded(mut self) -> Self {
        let thousandth = |value: &mut f64| *value = (*value * 1000.0).round() / 1000.0;
        let interval = |interval: &mut Interval| {
            [&mut interval.value, &mut interval.low, &mut interval.high].into_iter().for_each(thousandth);
        };
        [&mut self.all, &mut self.sum].into_iter().for_each(interval);
        [&mut self.none, &mut self.total, &mut self.shared].into_iter().flatten().for_each(interval);
        self.agreement.iter_mut().for_each(thousandth);
        for part in &mut self.parts {
            [&mut part.cost, &mut part.without].into_iter().chain(part.alone.as_mut()).for_each(interval);
            part.ledger.iter_mut().for_each(thousandth);
            thousandth(&mut part.refused);
        }
        self.interactions.iter_mut().for_each(|pair| interval(&mut pair.interaction));
        if let Some(ledger) = &mut self.ledger {
            ledger.rank_correlation.iter_mut().for_each(thousandth);
            thousandth(&mut ledger.sum);
        }
        self.measured.iter_mut().flatten().for_each(|(_, value)| thousandth(value));
        self
    }
}
