//! The rounds: every variant takes its turns, and what they measured becomes an outcome.

use super::design::{Design, Set, Shape};
use super::estimate::{Estimate, PairCost, Round, estimate, interactions};
use super::interval::rank_correlation;
use super::ledger::{LedgerSums, look};
use super::load::Load;
use super::outcome::{AGREEMENT, Agreement, Outcome, PairRow, PartRow, Unit};
use super::part::Part;
use super::stage::Stage;
use weir_measure::error::MeasureError;
use weir_measure::host::Host;
use weir_measure::random::Random;
use weir_measure::rounds::{self, Turns};

/// Most parts whose pairs are looked at, the most entangled ones.
const ENTANGLED: usize = 4;
/// How many slices without a request may follow each other.
const PAUSES: u32 = 3;
/// Share of refused requests whose change is worth a note.
const REFUSED: f64 = 0.005;

/// The plan of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The subject, as a label.
    pub of: String,
    /// The unit of a part, as a label.
    pub by: String,
    /// The parts.
    pub parts: Vec<Part>,
    /// The variants of the comparison.
    pub shape: Shape,
    /// Rounds.
    pub rounds: u32,
    /// Whether pairs are looked at.
    pub pairs: bool,
    /// The unit of costs.
    pub unit: Unit,
    /// Seed of the orders and the resamples.
    pub seed: u64,
    /// The machine.
    pub host: Host,
}

/// A run, with the results of its turns so far.
struct Runner<'r> {
    plan: &'r Plan,
    design: Design,
    stage: &'r mut dyn Stage,
    load: &'r mut Load,
    tally: Tally,
    random: Random,
}

/// What turns count besides CPU time.
#[derive(Default)]
struct Tally {
    sums: LedgerSums,
    /// Requests and refused ones, by variant.
    answered: Vec<(u64, u64)>,
}

/// Runs a plan.
pub fn run(plan: &Plan, stage: &mut dyn Stage, load: &mut Load) -> Result<Outcome, MeasureError> {
    let design = Design::new(plan.parts.len(), plan.shape);
    let mut runner = Runner { plan, design, stage, load, tally: Tally::default(), random: Random::new(plan.seed) };
    // Whatever does not start shows before the first of many minutes.
    for variant in 0..runner.design.variants().len() {
        runner.enter(variant, 0)?;
    }
    let rounds = runner.rounds(&[])?;
    let found = estimate(&runner.design, &rounds, plan.seed)
        .ok_or_else(|| MeasureError::Usage("nothing was measured; there must be a round".into()))?;
    let pairs = if plan.pairs { runner.entangled(&found) } else { Vec::new() };
    let pairs = match runner.pairs(&pairs) {
        Err(MeasureError::Interrupted) => Vec::new(),
        pairs => pairs?,
    };
    Ok(runner.tally.outcome(plan, &runner.design, &found, &pairs, rounds))
}

/// The outcome of one exact round.
pub fn counted(plan: &Plan, design: &Design, round: Round) -> Result<Outcome, MeasureError> {
    let rounds = vec![round];
    let found =
        estimate(design, &rounds, plan.seed).ok_or_else(|| MeasureError::Usage("nothing was counted".into()))?;
    Ok(Tally::default().outcome(plan, design, &found, &[], rounds))
}

impl Runner<'_> {
    fn enter(&mut self, variant: usize, copy: usize) -> Result<(), MeasureError> {
        weir_measure::interrupt::check_interrupted()?;
        self.stage.enter(variant, copy, &self.design.variants()[variant])
    }

    /// Measures everything in interleaved rounds; only the given pairs and what they are compared with if there are some.
    fn rounds(&mut self, pairs: &[(usize, usize)]) -> Result<Vec<Round>, MeasureError> {
        let mut random = self.random.clone();
        let count = self.plan.rounds;
        let rounds = rounds::run(&mut Rotation { runner: self, pairs }, count, 1, &mut random);
        self.random = random;
        rounds
    }

    /// CPU per request of one turn, in microseconds.
    fn turn(&mut self, variant: usize, copy: usize) -> Result<f64, MeasureError> {
        let mut pauses = 0;
        let (ledger, before, slice) = loop {
            self.enter(variant, copy)?;
            let ledger = self.stage.ledger().filter(|_| self.design.find(Set::All) == Some(variant));
            let before = look(ledger.as_deref());
            match self.load.slice(self.stage) {
                // Traffic that pauses does not end what has taken many minutes.
                Err(MeasureError::Missing(_)) if pauses < PAUSES => pauses += 1,
                slice => break (ledger, before, slice.map_err(|error| self.explained(variant, error))?),
            }
        };
        if let (Some(before), Some(after)) = (before, look(ledger.as_deref())) {
            self.tally.sums.add(&before, &after);
        }
        let answered = &mut self.tally.answered;
        answered.resize(self.design.variants().len().max(answered.len()), (0, 0));
        answered[variant].0 += slice.requests;
        answered[variant].1 += slice.refused;
        Ok(slice.cpu_ns as f64 / 1e3 / slice.requests as f64)
    }

    fn explained(&self, variant: usize, error: MeasureError) -> MeasureError {
        match (error, self.stage.explain()) {
            (MeasureError::Program { program, message }, log) => {
                let name = self.design.name(variant, &self.plan.parts);
                let end = if log.is_empty() { String::new() } else { format!("; its error log ends with:\n{log}") };
                MeasureError::Program { program, message: format!("{message} (variant {name}){end}") }
            }
            (error, _) => error,
        }
    }

    /// Pairs of the parts that share more with others than all do, the most entangled first.
    fn entangled(&self, found: &Estimate) -> Vec<(usize, usize)> {
        let shared = found.shared.map_or(0.0, |shared| shared.value);
        let excess = |part: usize| found.parts[part].overlap.map_or(0.0, |overlap| (overlap.value - shared).abs());
        let significant = |part: &usize| found.parts[*part].overlap.is_some_and(|overlap| overlap.is_significant());
        let mut parts: Vec<usize> = (0..found.parts.len()).filter(significant).collect();
        parts.sort_by(|a, b| excess(*b).total_cmp(&excess(*a)));
        parts.truncate(ENTANGLED);
        parts.sort_unstable();
        let behind = |at: usize| parts[at + 1..].iter().map(move |other| (at, *other));
        (0..parts.len()).flat_map(|at| behind(at).map(|(at, other)| (parts[at], other)).collect::<Vec<_>>()).collect()
    }

    fn pairs(&mut self, pairs: &[(usize, usize)]) -> Result<Vec<PairCost>, MeasureError> {
        // Of two parts the pair is everything, and nothing new would be measured.
        if pairs.is_empty() || self.design.parts < 3 {
            return Ok(Vec::new());
        }
        for &(one, other) in pairs {
            let variant = self.design.index(Set::Pair(one, other));
            self.enter(variant, 0)?;
        }
        eprintln!("{} of parts with common work", weir_policy::counted(pairs.len(), "pair"));
        let rounds = self.rounds(pairs)?;
        Ok(interactions(&self.design, pairs, &rounds, self.plan.seed))
    }
}

/// The variants as they take turns.
struct Rotation<'t, 'r> {
    runner: &'t mut Runner<'r>,
    pairs: &'t [(usize, usize)],
}

impl Turns for Rotation<'_, '_> {
    type Turn = f64;

    fn order(&mut self, random: &mut Random) -> Vec<usize> {
        match self.pairs {
            [] => self.runner.design.round(random),
            pairs => self.runner.design.pair_round(pairs, random),
        }
    }

    fn name(&self, variant: usize) -> String {
        self.runner.design.name(variant, &self.runner.plan.parts)
    }

    fn take(&mut self, variant: usize, copy: usize) -> Result<f64, MeasureError> {
        self.runner.turn(variant, copy)
    }

    fn end_round(&mut self) -> Result<(), MeasureError> {
        self.runner.stage.round_ends()
    }

    fn keeps_finished_rounds(&self) -> bool {
        true
    }
}

impl Tally {
    fn refused(&self, design: &Design, set: Set) -> f64 {
        let (requests, refused) =
            design.find(set).and_then(|variant| self.answered.get(variant)).copied().unwrap_or_default();
        refused as f64 / requests.max(1) as f64
    }

    fn outcome(
        &self,
        plan: &Plan,
        design: &Design,
        found: &Estimate,
        pairs: &[PairCost],
        rounds: Vec<Round>,
    ) -> Outcome {
        let parts = &plan.parts;
        let ledger = self.sums.of(parts);
        let mut rows: Vec<PartRow> = (parts.iter().zip(&found.parts).enumerate())
            .map(|(index, (part, cost))| PartRow {
                name: part.name.clone(),
                rules: part.rules.len(),
                cost: cost.cost,
                without: cost.without,
                alone: cost.alone,
                ledger: ledger.as_ref().map(|costs| costs[index]),
                refused: self.refused(design, Set::Without(index)) - self.refused(design, Set::All),
            })
            .collect();
        rows.sort_by(|a, b| b.cost.value.total_cmp(&a.cost.value));
        let agreement = found.total.map(|total| found.sum.value / total.value);
        let costs: Vec<f64> = found.parts.iter().map(|part| part.cost.value).collect();
        let pair = |pair: &PairCost| PairRow {
            one: parts[pair.one].name.clone(),
            other: parts[pair.other].name.clone(),
            interaction: pair.interaction,
        };
        Outcome {
            of: plan.of.clone(),
            by: plan.by.clone(),
            unit: plan.unit,
            host: plan.host.clone(),
            method: super::method(plan.shape),
            all: found.all,
            none: found.none,
            total: found.total,
            shared: found.shared,
            sum: found.sum,
            agreement,
            notes: Self::notes(found, agreement, &rows, self.refused(design, Set::All)),
            parts: rows,
            interactions: pairs.iter().map(pair).collect(),
            ledger: ledger.map(|ledger| Agreement {
                told_apart: found.told_apart.len(),
                alike: found.told_apart.iter().filter(|(dear, cheap)| ledger[*dear] > ledger[*cheap]).count(),
                rank_correlation: rank_correlation(&costs, &ledger),
                sum: ledger.iter().sum(),
            }),
            requests: self.answered.iter().map(|(requests, _)| requests).sum(),
            rounds: rounds.len(),
            variants: (0..design.variants().len()).map(|variant| design.name(variant, parts)).collect(),
            measured: rounds,
        }
    }

    fn notes(found: &Estimate, agreement: Option<f64>, rows: &[PartRow], refused: f64) -> Vec<String> {
        let mut notes = Vec::new();
        if refused > REFUSED {
            notes.push(format!("{:.1} % of the requests were refused with everything on", refused * 100.0));
        }
        for row in rows.iter().filter(|row| row.refused.abs() > REFUSED) {
            notes.push(format!(
                "{:.1} % fewer requests are refused without {}; its figures include what those cost at the origin",
                -row.refused * 100.0,
                row.name
            ));
        }
        if found.total.is_some_and(|total| !total.is_significant()) {
            notes.push("the total cost is not significant; use more --rounds".into());
        } else if agreement.is_some_and(|agreement| (agreement - 1.0).abs() > AGREEMENT) {
            let held = found.total.is_some_and(|total| (found.sum.low..=found.sum.high).contains(&total.value));
            // Only rules can be grouped.
            let larger = match rows.iter().any(|row| row.rules > 0) {
                true => "larger parts (--by group, --group PREFIX) agree better, and ",
                false => "",
            };
            notes.push(if held {
                "the interval of the sum contains the total; use more --rounds to see whether they agree".into()
            } else {
                format!(
                    "the costs do not add up to the total: three or more parts share the same work; {larger}`without` is \
                     what leaving a part out saves"
                )
            });
        }
        notes
    }
}
