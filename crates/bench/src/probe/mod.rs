//! The scenario `probe`: what an agent costs the business traffic of a Java application, per request, for Weir's probe and
//! for others.
//!
//! A JVM compiles the same code differently from start to start, by more than a good probe costs. So the unit is the fork:
//! in each round the three services of `probe/shop` are started anew for each row with its agent, and warmed up. A machine's
//! speed varies by more than that, by half within seconds where neighbours use its memory. So the forks of a round are then
//! loaded all at once, and ratios are taken to the fork without an agent in the same seconds: turns, even of one second,
//! spread twice as far. Connections pause before they send, so that there is CPU time for all: a fork that gets more orders
//! by chance than the others has fewer microseconds for each. CPU time is the ticks of whole processes, not `schedstat` of
//! threads: it keeps that of threads that have ended, and includes the collector's. The JIT compiler's is taken out: under
//! this load it goes on for minutes, and would be half of what is measured.

pub mod planted;
mod report;
mod rows;
mod shop;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::choice::{self, Skipped};
use crate::rounds::Schedule;
use report::{ProbeResults, ProbeRow};
use rows::{BASELINE, ROWS, Row};
use shop::{Fork, Stores};
use weir_measure::error::MeasureError;
use weir_measure::host::Host;
use weir_measure::load_report::LoadReport;
use weir_measure::random::Random;
use weir_measure::rounds::{self, Turns};
use weir_measure::site::{Site, write_results};
use weir_measure::statistics::Summary;
use weir_measure::wrk::{Load, RunningLoad, Traffic};

/// Connections of the load.
pub const CONNECTIONS: u32 = 200;
/// Forks of each row unless `--rounds` says otherwise.
pub const FORKS: u32 = 20;
/// Seconds of each fork's measurement unless `--seconds` says otherwise.
pub const SECONDS: u32 = 72;
/// Seconds of one joint load. Short, so that the median of some is not moved by one that the machine disturbed.
const SLICE_SECONDS: u32 = 6;
/// How long the orders under way at the end of a load take to end.
const SETTLE: Duration = Duration::from_millis(300);
/// Connections and seconds of the loads before it, in which the JIT compiles what is hot. With few connections its threads
/// get their share of the CPU.
const WARM_UP: [(u32, u32); 2] = [(16, 15), (CONNECTIONS, 20)];
/// How many failed forks end a run.
const FAILURES: u32 = 3;
/// By how much the share of shadow orders may miss the load's, as a part of it.
const SHARE_TOLERANCE: f64 = 0.2;

/// What a fork, or one of its loads, has taken.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Measured {
    /// From the start of the JVMs to the first answered order, seconds.
    startup_s: f64,
    /// CPU time of the three JVMs per order, microseconds.
    cpu_us: f64,
    /// The same, divided by that of the fork without an agent: median of the loads.
    cpu_ratio: f64,
    /// 99th percentile of the response time, microseconds.
    p99_us: f64,
    /// Bytes allocated per order.
    bytes: f64,
    /// Orders per second.
    rate: f64,
}

/// The forks of a round, by row.
type Round = BTreeMap<String, Measured>;

/// A fork that has been warmed up.
struct Running {
    fork: Fork,
    slices: Vec<Measured>,
}

/// Starts the forks, loads them, and writes the results after each round.
struct Forks<'a> {
    site: &'a Site,
    stores: Stores,
    rows: &'a [&'static Row],
    schedule: Schedule,
    /// By row; `None` if a fork has failed in this round.
    running: Vec<Option<Running>>,
    failures: u32,
    results: ProbeResults,
    output: Option<&'a Path>,
}

impl Turns for Forks<'_> {
    type Turn = ();

    /// One after the other is started; the number after the last row's stands for all.
    fn order(&mut self, random: &mut Random) -> Vec<usize> {
        self.running = self.rows.iter().map(|_| None).collect();
        let loads = self.schedule.seconds.div_ceil(SLICE_SECONDS) as usize;
        random.order(self.rows.len()).into_iter().chain(std::iter::repeat_n(self.rows.len(), loads)).collect()
    }

    fn name(&self, index: usize) -> String {
        self.rows.get(index).map_or("all", |row| row.name).into()
    }

    fn take(&mut self, index: usize, _copy: usize) -> Result<(), MeasureError> {
        let Some(row) = self.rows.get(index) else { return self.load_all() };
        let outcome = started(self.site, &self.stores, row, self.schedule);
        let outcome = outcome.map(|fork| self.running[index] = Some(fork));
        self.judge(index, outcome)
    }

    fn end_round(&mut self) -> Result<(), MeasureError> {
        for index in 0..self.rows.len() {
            let outcome = self.running[index].as_mut().map_or(Ok(()), |running| running.fork.check(self.rows[index]));
            self.judge(index, outcome)?;
        }
        let mut round = Round::new();
        let base = self.rows.iter().position(|row| row.name == BASELINE).and_then(|index| self.running[index].as_ref());
        let base = base.map_or_else(Vec::new, |running| running.slices.clone());
        for (row, running) in self.rows.iter().zip(std::mem::take(&mut self.running)) {
            let Some(mut slices) = running.map(|running| running.slices) else { continue };
            slices.iter_mut().zip(&base).for_each(|(own, base)| own.cpu_ratio = own.cpu_us / base.cpu_us);
            let of = |value: fn(&Measured) -> f64, digits: f64| {
                let summary = Summary::of(&slices.iter().map(value).collect::<Vec<_>>());
                summary.map_or(f64::NAN, |summary| (summary.median * digits).round() / digits)
            };
            let fork = Measured {
                startup_s: of(|it| it.startup_s, 1e3),
                cpu_us: of(|it| it.cpu_us, 10.0),
                cpu_ratio: of(|it| it.cpu_ratio, 1e4),
                p99_us: of(|it| it.p99_us, 1.0),
                bytes: of(|it| it.bytes, 1.0),
                rate: of(|it| it.rate, 1.0),
            };
            eprintln!("{:<18} {:6.0} us of CPU an order, x {:.3}", row.name, fork.cpu_us, fork.cpu_ratio);
            if !base.is_empty() {
                round.insert(row.name.into(), fork);
            }
        }
        self.results.rounds.push(round);
        self.results.rows = ROWS.iter().filter_map(|row| ProbeRow::of(row.name, &self.results.rounds)).collect();
        write_results(self.output, &self.results)
    }
}

impl Forks<'_> {
    /// Loads all forks at once.
    fn load_all(&mut self) -> Result<(), MeasureError> {
        let mut loads = Vec::new();
        for (row, running) in self.rows.iter().zip(&self.running) {
            let reading = running.as_ref().map(|running| Reading::of(&self.stores, row, &running.fork)).transpose()?;
            loads.push(reading.map(|reading| (reading, None)));
        }
        for ((row, running), load) in self.rows.iter().zip(&self.running).zip(&mut loads) {
            if let (Some(running), Some((_, load))) = (running, load) {
                let full = self::load(self.site, &running.fork, row, self.schedule, SLICE_SECONDS);
                *load = Some(Load { script: self.site.path(shop::PACED), ..full }.start()?);
            }
        }
        let mut reports = Vec::new();
        for load in loads {
            let finished = |(reading, load): (Reading, Option<RunningLoad>)| Some((reading, load?));
            let finished = load.and_then(finished).map(|(reading, load)| Ok((reading, load.finish(&mut || Ok(()))?)));
            reports.push(finished.transpose()?);
        }
        std::thread::sleep(SETTLE);
        for (index, report) in reports.into_iter().enumerate() {
            if let (Some(running), Some((reading, report))) = (&mut self.running[index], report) {
                let slice = slice(&self.stores, self.rows[index], &running.fork, reading, &report);
                let outcome = slice.map(|slice| running.slices.push(slice));
                self.judge(index, outcome)?;
            }
        }
        Ok(())
    }

    /// Ends a fork that has failed; the run as well if it is one too many, so that one fault does not end hours of rounds.
    fn judge(&mut self, index: usize, outcome: Result<(), MeasureError>) -> Result<(), MeasureError> {
        match outcome {
            Err(error @ MeasureError::Wrong { .. }) if self.failures + 1 < FAILURES => {
                self.failures += 1;
                self.running[index] = None;
                eprintln!("a fork of this round is left out: {error}");
                Ok(())
            }
            outcome => outcome,
        }
    }
}

/// Measures the chosen rows (all if `only` is empty), after the rounds that `output` has if it is to `resume`.
pub fn run(
    site: &Site,
    only: &[String],
    schedule: Schedule,
    host: Host,
    output: Option<&Path>,
    resume: bool,
) -> Result<(), MeasureError> {
    let mut skipped = Skipped::default();
    let mut rows: Vec<&Row> = Vec::new();
    for row in choice::chosen(ROWS, only, "row", |row| row.name, |row| row.name == BASELINE)? {
        rows.extend(skipped.unless_missing(row.name, row.agent.options().map(|_| row))?);
    }
    let rounds = match (resume, output) {
        (false, _) => Vec::new(),
        (true, Some(file)) => report::rounds(file)?,
        (true, None) => {
            return Err(MeasureError::Usage("--resume with --only needs --output, the file to go on with".into()));
        }
    };
    let results = ProbeResults { scenario: "probe".into(), host, rows: Vec::new(), rounds, skipped: skipped.0 };
    let stores = Stores::start(site)?;
    let running = Vec::new();
    let mut forks = Forks { site, stores, rows: &rows, schedule, running, failures: 0, results, output };
    let seconds = WARM_UP.iter().map(|(_, seconds)| seconds).sum::<u32>();
    rounds::run(&mut forks, schedule.rounds, seconds, &mut Random::new(schedule.seed))?;
    print!("{}", forks.results.text());
    crate::records::tell("probe", &forks.results, false);
    forks.results.check()
}

/// Loads a fork until its code is compiled.
fn warm_up(site: &Site, fork: &Fork, row: &Row, schedule: Schedule) -> Result<(), MeasureError> {
    WARM_UP.into_iter().try_for_each(|(connections, seconds)| {
        let schedule = Schedule { connections: connections.min(schedule.connections), ..schedule };
        load(site, fork, row, schedule, seconds).run().map(|_| ())
    })
}

/// Orders for a fork.
fn load(site: &Site, fork: &Fork, row: &Row, schedule: Schedule, seconds: u32) -> Load {
    Load {
        url: format!("http://127.0.0.1:{}/", fork.gateway),
        connections: schedule.connections,
        seconds,
        traffic: Traffic { kind: row.load, ..Traffic::default() },
        core: None,
        nice: site.placement.nice,
        script: site.path(shop::SCRIPT),
        output: site.path(&format!("wrk-{}.out", row.name)),
    }
}

/// Starts a fork and warms it up.
fn started(site: &Site, stores: &Stores, row: &Row, schedule: Schedule) -> Result<Running, MeasureError> {
    let mut fork = Fork::start(site, stores, row)?;
    fork.prepare(row)?;
    warm_up(site, &fork, row, schedule)?;
    Ok(Running { fork, slices: Vec::new() })
}

/// What has been counted of a fork so far.
struct Reading {
    cpu_ns: u64,
    allocated: u64,
    /// Business and shadow orders.
    orders: [u64; 2],
}

impl Reading {
    fn of(stores: &Stores, row: &Row, fork: &Fork) -> Result<Self, MeasureError> {
        Ok(Self { cpu_ns: fork.cpu_ns()?, allocated: fork.allocated()?, orders: stores.orders(row)? })
    }
}

/// What a load has taken since `before`. Orders are counted in the databases, with those under way when the load ends.
fn slice(
    stores: &Stores,
    row: &Row,
    fork: &Fork,
    before: Reading,
    report: &LoadReport,
) -> Result<Measured, MeasureError> {
    if let Some(trouble) = report.trouble(0) {
        return Err(MeasureError::wrong(row.name, format!("{trouble}; {}", fork.said())));
    }
    let now = Reading::of(stores, row, fork)?;
    let [business, shadow] = [0, 1].map(|kind| (now.orders[kind] - before.orders[kind]) as f64);
    let (orders, wanted) = (business + shadow, f64::from(row.shadow_percent) / 100.0);
    let share = shadow / orders;
    if (share - wanted).abs() > wanted * SHARE_TOLERANCE {
        let message = format!("{share:.3} of the orders are in the shadow database, expected {wanted:.3}");
        return Err(MeasureError::wrong(row.name, message));
    }
    Ok(Measured {
        startup_s: fork.startup.as_secs_f64(),
        cpu_us: now.cpu_ns.saturating_sub(before.cpu_ns) as f64 / 1e3 / orders,
        cpu_ratio: f64::NAN,
        p99_us: report.p99_us as f64,
        bytes: now.allocated.saturating_sub(before.allocated) as f64 / orders,
        rate: report.rate(),
    })
}
