//! The comparison of servers under load: every contender once per round, in an order drawn anew each time.
//!
//! A ratio is taken within a round, a few seconds apart, and the median over rounds is reported. Before
//! its turn a contender is warmed up, because it has slept through the others' turns with a cold cache.
//!
//! Where even a few seconds are too far apart, turns can be paired: the baseline is loaded at
//! the same time on the same core, the scheduler deals the core out to both in slices of a few
//! milliseconds, and whatever the machine does meets both. The two share caches then, which
//! costs both a little; with several sessions at work on one machine, the ratio of the same
//! build varied by a tenth instead of by half.

use std::fmt;
use std::rc::Rc;

use crate::report::Row;
use crate::slices;
use crate::turn::{self, Turn, WARM_UP_SECONDS};
use weir_measure::error::MeasureError;
use weir_measure::random::Random;
use weir_measure::rounds::{self, Turns};
use weir_measure::server::Server;
use weir_measure::site::{REFERENCE, Site};
use weir_measure::statistics::Summary;
use weir_measure::wrk::Traffic;

/// A server in the comparison, with its load.
#[derive(Clone, Debug)]
pub struct Contender {
    /// Its name in the results.
    pub name: String,
    /// Name of the contender that its ratio refers to.
    pub baseline: String,
    /// The server under load.
    pub server: Rc<Server>,
    /// Its load.
    pub traffic: Traffic,
}

/// The rows that one variant gives: its own, and beside a reference build one of the same name with
/// [`REFERENCE`] behind it, which the ratio of its own then refers to. Each with its baseline.
pub fn builds(site: &Site, name: &str, is_weir: bool, baseline: &str) -> Vec<(String, String)> {
    match &site.reference {
        Some(_) if is_weir => {
            let reference = format!("{name}{REFERENCE}");
            vec![(reference.clone(), baseline.to_owned()), (name.to_owned(), reference)]
        }
        _ => vec![(name.to_owned(), baseline.to_owned())],
    }
}

/// The length and number of turns.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// Rounds.
    pub rounds: u32,
    /// Seconds of a measured turn.
    pub seconds: u32,
    /// Connections of the load.
    pub connections: u32,
    /// Whether the baseline is loaded at the same time, on the same core.
    pub paired: bool,
    /// Start of the generator that draws the orders.
    pub seed: u64,
}

impl fmt::Display for Schedule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rounds, seconds, connections, paired, seed } = self;
        let paired = if *paired { ", paired" } else { "" };
        write!(formatter, "{rounds} rounds of {seconds} s, {connections} connections{paired}, seed {seed}")
    }
}

/// Runs all rounds and returns a row per contender, in the given order.
pub fn run(site: &Site, contenders: &[Contender], schedule: Schedule) -> Result<Vec<Row>, MeasureError> {
    turns(site, contenders, schedule, |_| Ok(())).map(|turns| rows(contenders, &turns))
}

/// Runs all rounds and returns the turns of each contender. `prepare` is called before each turn with the contender's
/// number.
pub fn turns(
    site: &Site,
    contenders: &[Contender],
    schedule: Schedule,
    mut prepare: impl FnMut(usize) -> Result<(), MeasureError>,
) -> Result<Vec<Vec<Turn>>, MeasureError> {
    let names: Vec<&str> = contenders.iter().map(|contender| contender.name.as_str()).collect();
    interleaved(&names, schedule, |index| {
        prepare(index)?;
        let contender = &contenders[index];
        let companion = contenders.iter().find(|other| other.name == contender.baseline);
        turn::take(site, contender, companion.filter(|_| schedule.paired), schedule)
    })
}

/// The row of each contender.
pub fn rows(contenders: &[Contender], turns: &[Vec<Turn>]) -> Vec<Row> {
    let rows = contenders.iter().zip(turns).map(|(contender, own)| {
        let base = contenders.iter().position(|other| other.name == contender.baseline);
        row(contender, own, base.map(|index| turns[index].as_slice()))
    });
    rows.collect()
}

fn row(contender: &Contender, own: &[Turn], base: Option<&[Turn]>) -> Row {
    let of = |value: &dyn Fn(&Turn) -> f64| {
        Summary::of(&own.iter().map(value).collect::<Vec<_>>()).expect("a schedule has at least one round")
    };
    let ratios = base.map(|base| {
        own.iter().zip(base).map(|(own, base)| own.cpu_us / own.companion_us.unwrap_or(base.cpu_us)).collect::<Vec<_>>()
    });
    let cpu = of(&|turn| turn.cpu_us);
    let quiet =
        |turns: &[Turn]| slices::quiet(&turns.iter().flat_map(|turn| turn.slices.iter().copied()).collect::<Vec<_>>());
    let quiet_us = quiet(own);
    let ratio = ratios.as_deref().and_then(Summary::of);
    Row {
        name: contender.name.clone(),
        cpu_us_per_request: cpu.median,
        ratio: ratio.map(|ratio| ratio.median),
        rps: of(&|turn| turn.load.rate()).median,
        p50_us: of(&|turn| turn.load.p50_us as f64).median,
        p99_us: of(&|turn| turn.load.p99_us as f64).median,
        cpu_us_min: cpu.min,
        cpu_us_max: cpu.max,
        ratio_min: ratio.map(|ratio| ratio.min),
        ratio_max: ratio.map(|ratio| ratio.max),
        ratio_low: ratio.map(|ratio| ratio.low),
        ratio_high: ratio.map(|ratio| ratio.high),
        cpu_us_quiet: quiet_us,
        ratio_quiet: quiet_us.zip(base.and_then(quiet)).map(|(own, base)| own / base),
        user_us: of(&|turn| turn.user_us).median,
        system_us: of(&|turn| turn.system_us).median,
        syscalls_per_request: None,
        wakes_per_request: None,
        waiting_share: of(&|turn| turn.waiting).median,
        requests: own.iter().map(|turn| turn.load.requests).sum(),
        rounds: own.len(),
    }
}

/// Lets everyone take a turn in each round; what that gave, by their numbers.
pub fn interleaved<T>(
    names: &[&str],
    schedule: Schedule,
    take: impl FnMut(usize) -> Result<T, MeasureError>,
) -> Result<Vec<Vec<T>>, MeasureError> {
    let mut all: Vec<Vec<T>> = names.iter().map(|_| Vec::new()).collect();
    let seconds = schedule.seconds + WARM_UP_SECONDS;
    let mut everyone = Everyone { names, take };
    for (index, turn) in
        rounds::run(&mut everyone, schedule.rounds, seconds, &mut Random::new(schedule.seed))?.into_iter().flatten()
    {
        all[index].push(turn);
    }
    Ok(all)
}

/// Contenders that take one turn in each round.
struct Everyone<'n, F> {
    names: &'n [&'n str],
    take: F,
}

impl<T, F: FnMut(usize) -> Result<T, MeasureError>> Turns for Everyone<'_, F> {
    type Turn = T;

    fn order(&mut self, random: &mut Random) -> Vec<usize> {
        random.order(self.names.len())
    }

    fn name(&self, index: usize) -> String {
        self.names[index].to_owned()
    }

    fn take(&mut self, index: usize, _copy: usize) -> Result<T, MeasureError> {
        (self.take)(index)
    }
}
