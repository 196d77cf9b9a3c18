//! The scenario `probe`: what an agent costs the business traffic of a Java application, per request, for Weir's probe and
//! for others.
//!
//! A JVM compiles the same code differently from start to start, by more than a good probe costs. So the unit is the fork:
//! in each turn the three services of `probe/shop` are started anew with the row's agent, warmed up, loaded and stopped, and
//! ratios are taken to the fork without an agent in the same round. CPU time is the ticks of whole processes, not
//! `schedstat` of threads: it keeps that of threads that have ended, and includes the JIT's and the collector's.

pub mod planted;
mod report;
mod rows;
mod shop;

use crate::choice::{self, Skipped};
use crate::rounds::{self, Schedule};
use report::{ProbeResults, ProbeRow};
use rows::{BASELINE, ROWS, Row};
use shop::{Fork, Stores};
use weir_measure::error::MeasureError;
use weir_measure::host::Host;
use weir_measure::site::Site;
use weir_measure::wrk::{Load, Traffic};

/// Connections of the load, as in story 2.
pub const CONNECTIONS: u32 = 200;
/// Forks of each row unless `--rounds` says otherwise.
pub const FORKS: u32 = 20;
/// Seconds of each measurement unless `--seconds` says otherwise.
pub const SECONDS: u32 = 10;
/// Seconds of load before it, in which the JIT compiles what is hot.
const WARM_UP_SECONDS: u32 = 20;
/// By how much the share of shadow orders may miss the load's, as a part of it.
const SHARE_TOLERANCE: f64 = 0.2;
/// How much more a request must allocate for a row to count as tracing.
const TRACED: f64 = 1.01;

/// One fork's measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
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

/// Measures the chosen rows (all if `only` is empty).
pub fn run(site: &Site, only: &[String], schedule: Schedule, host: Host) -> Result<ProbeResults, MeasureError> {
    let mut skipped = Skipped::default();
    let mut rows: Vec<&Row> = Vec::new();
    for row in choice::chosen(ROWS, only, "row", |row| row.name, |row| row.name == BASELINE)? {
        rows.extend(skipped.unless_missing(row.name, row.agent.options().map(|_| row))?);
    }
    let stores = Stores::start(site)?;
    let names: Vec<&str> = rows.iter().map(|row| row.name).collect();
    let forks = rounds::interleaved(&names, schedule, |index| measure(site, &stores, rows[index], schedule))?;
    let base = names.iter().position(|name| *name == BASELINE).expect("the baseline is always chosen");
    let lines: Vec<ProbeRow> =
        rows.iter().zip(&forks).map(|(row, own)| ProbeRow::of(row.name, own, &forks[base])).collect();
    for (row, line) in rows.iter().zip(&lines) {
        if row.traces && line.bytes_per_request < lines[base].bytes_per_request * TRACED {
            return Err(MeasureError::wrong(row.name, "allocates as little as no agent: it does not trace"));
        }
    }
    let results = ProbeResults { scenario: "probe".into(), host, rows: lines, skipped: skipped.0 };
    print!("{}", results.text());
    Ok(results)
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

/// Starts a fork, loads and stops it.
fn measure(site: &Site, stores: &Stores, row: &Row, schedule: Schedule) -> Result<Measured, MeasureError> {
    let mut fork = Fork::start(site, stores, row)?;
    fork.prepare(row)?;
    load(site, &fork, row, schedule, WARM_UP_SECONDS).run()?;
    let (cpu, allocated, shadow) = (fork.cpu()?, fork.allocated()?, stores.shadow_orders()?);
    let report = load(site, &fork, row, schedule, schedule.seconds).run()?;
    let (cpu, allocated) = (fork.cpu()?.since(cpu), fork.allocated()?.saturating_sub(allocated));
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
    Ok(Measured {
        startup_s: fork.startup.as_secs_f64(),
        cpu_us: (cpu.user_ns + cpu.system_ns) as f64 / 1e3 / orders,
        p99_us: report.p99_us as f64,
        bytes: allocated as f64 / orders,
        rate: report.rate(),
    })
}
