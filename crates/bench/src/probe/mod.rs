//! The scenario `probe`: what an agent costs the business traffic of a Java application, per request, for Weir's probe and
//! for others.
//!
//! A JVM compiles the same code differently from start to start, by more than a good probe costs. So the unit is the fork:
//! in each turn the three services of `probe/shop` are started anew with the row's agent, warmed up, loaded and stopped, and
//! ratios are taken to the fork without an agent in the same round. CPU time is the ticks of whole processes, not
//! `schedstat` of threads: it keeps that of threads that have ended, and includes the collector's. The JIT compiler's is
//! taken out: under this load it goes on for minutes, and would be half of what is measured.

pub mod planted;
mod report;
mod rows;
mod shop;

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::choice::{self, Skipped};
use crate::rounds::Schedule;
use report::{ProbeResults, ProbeRow};
use rows::{BASELINE, ROWS, Row};
use shop::{Fork, Stores};
use weir_measure::error::MeasureError;
use weir_measure::host::Host;
use weir_measure::random::Random;
use weir_measure::rounds::{self, Turns};
use weir_measure::site::{Site, write_results};
use weir_measure::wrk::{Load, Traffic};

/// Connections of the load, as in story 2.
pub const CONNECTIONS: u32 = 200;
/// Forks of each row unless `--rounds` says otherwise.
pub const FORKS: u32 = 20;
/// Seconds of each measurement unless `--seconds` says otherwise.
pub const SECONDS: u32 = 10;
/// Connections and seconds of the loads before it, in which the JIT compiles what is hot. With few connections its threads
/// get their share of the CPU.
const WARM_UP: [(u32, u32); 2] = [(16, 20), (CONNECTIONS, 25)];
/// How many forks may be started for one turn.
const ATTEMPTS: u32 = 3;
/// By how much the share of shadow orders may miss the load's, as a part of it.
const SHARE_TOLERANCE: f64 = 0.2;

/// One fork's measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Measured {
    /// From the start of the JVMs to the first answered order, seconds.
    startup_s: f64,
    /// CPU time of the three JVMs per order, microseconds.
    cpu_us: f64,
    /// 99th percentile of the response time, microseconds.
    p99_us: f64,
    /// Bytes allocated per order.
    bytes: f64,
    /// Orders per second.
    rate: f64,
}

/// The forks of a round, by row.
type Round = BTreeMap<String, Measured>;

/// Takes the turns, and writes the results after each round.
struct Forks<'a> {
    site: &'a Site,
    stores: Stores,
    rows: &'a [&'static Row],
    schedule: Schedule,
    round: Round,
    results: ProbeResults,
    output: Option<&'a Path>,
}

impl Turns for Forks<'_> {
    type Turn = ();

    fn order(&mut self, random: &mut Random) -> Vec<usize> {
        random.order(self.rows.len())
    }

    fn name(&self, index: usize) -> String {
        self.rows[index].name.into()
    }

    fn take(&mut self, index: usize, _copy: usize) -> Result<(), MeasureError> {
        let row = self.rows[index];
        let fork = measure(self.site, &self.stores, row, self.schedule)?;
        eprintln!("{:<18} {:6.0} us of CPU for each of {:.0} orders/s", row.name, fork.cpu_us, fork.rate);
        self.round.insert(row.name.into(), fork);
        Ok(())
    }

    fn end_round(&mut self) -> Result<(), MeasureError> {
        self.results.rounds.push(std::mem::take(&mut self.round));
        self.results.rows = ROWS.iter().filter_map(|row| ProbeRow::of(row.name, &self.results.rounds)).collect();
        write_results(self.output, &self.results)
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
    let mut forks = Forks { site, stores, rows: &rows, schedule, round: Round::new(), results, output };
    let seconds = schedule.seconds + WARM_UP.iter().map(|(_, seconds)| seconds).sum::<u32>();
    rounds::run(&mut forks, schedule.rounds, seconds, &mut Random::new(schedule.seed))?;
    print!("{}", forks.results.text());
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
        output: site.path("wrk.out"),
    }
}

/// Measures a fork; another one if it failed, so that one fault does not end hours of rounds.
fn measure(site: &Site, stores: &Stores, row: &Row, schedule: Schedule) -> Result<Measured, MeasureError> {
    let mut attempt = 1;
    loop {
        match attempted(site, stores, row, schedule) {
            Err(error @ MeasureError::Wrong { .. }) if attempt < ATTEMPTS => {
                eprintln!("attempt {attempt} of {ATTEMPTS}: {error}");
                attempt += 1;
            }
            outcome => return outcome,
        }
    }
}

/// Starts a fork, loads and stops it.
fn attempted(site: &Site, stores: &Stores, row: &Row, schedule: Schedule) -> Result<Measured, MeasureError> {
    let mut fork = Fork::start(site, stores, row)?;
    fork.prepare(row)?;
    warm_up(site, &fork, row, schedule)?;
    let (cpu, allocated, shadow) = (fork.cpu_ns()?, fork.allocated()?, stores.shadow_orders()?);
    let report = load(site, &fork, row, schedule, schedule.seconds).run()?;
    let (cpu, allocated) = (fork.cpu_ns()?.saturating_sub(cpu), fork.allocated()?.saturating_sub(allocated));
    if let Some(trouble) = report.trouble(0) {
        return Err(MeasureError::wrong(row.name, format!("{trouble}; {}", fork.said())));
    }
    let orders = report.requests as f64;
    let share = (stores.shadow_orders()? - shadow) as f64 / orders;
    let wanted = f64::from(row.shadow_percent) / 100.0;
    if (share - wanted).abs() > wanted * SHARE_TOLERANCE {
        let message = format!("{share:.3} of the orders are in the shadow database, expected {wanted:.3}");
        return Err(MeasureError::wrong(row.name, message));
    }
    fork.check_and_stop(row)?;
    let rounded = |value: f64, digits: f64| (value * digits).round() / digits;
    Ok(Measured {
        startup_s: rounded(fork.startup.as_secs_f64(), 1e3),
        cpu_us: rounded(cpu as f64 / 1e3 / orders, 10.0),
        p99_us: report.p99_us as f64,
        bytes: (allocated as f64 / orders).round(),
        rate: rounded(report.rate(), 10.0),
    })
}
