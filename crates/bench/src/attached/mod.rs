//! What being profiled costs: the scenario `profile`.
//!
//! One loaded nginx, four conditions: no profiler, no profiler again, `weir profile` at 99 Hz, and
//! `perf record --call-graph dwarf` at 99 Hz. Interleaved in rounds like every comparison here; the
//! second of the two idle conditions tells how much of a ratio is the machine's mood. A profiler is
//! attached before the warm-up and stays until the turn is over; its own CPU is counted during the
//! turn, after it has read symbols and tables, and its memory at its largest.

mod profiler;
mod report;

use std::rc::Rc;
use std::time::Instant;

use crate::choice::{self, Skipped};
use crate::rounds::{Contender, Schedule, interleaved};
use crate::turn::{self, Turn};
use crate::{check, variants};
use weir_measure::error::MeasureError;
use weir_measure::host::Host;
use weir_measure::nginx;
use weir_measure::site::Site;
use weir_measure::wrk::Traffic;

use self::profiler::{PROFILERS, Profiler, Spent};
use self::report::Report;

/// The row that all ratios refer to.
const BASELINE: &str = "none";

/// A turn with a profiler attached, or without.
struct Measured {
    turn: Turn,
    spent: Option<Spent>,
}

/// Runs it and prints the table.
pub fn run(site: &Site, only: &[String], schedule: Schedule, host: Host) -> Result<Report, MeasureError> {
    let _origin = nginx::start_origin(site)?;
    let parts = nginx::NginxParts { directory: site.directory_of("profiled")?, ..nginx::NginxParts::default() };
    let server = Rc::new(nginx::start_proxy(site, "profiled", parts)?);
    check::duty("profiled", variants::Duty::Pass, server.port)?;
    let contender = Contender { name: "nginx".into(), baseline: "nginx".into(), server, traffic: Traffic::default() };
    let (profilers, skipped) = chosen(only)?;
    let names: Vec<&str> = profilers.iter().map(|profiler| profiler.name).collect();
    let measured = interleaved(&names, schedule, |index| take(site, &contender, profilers[index], schedule))?;
    let report = Report::new(host, &profilers, &measured, skipped);
    print!("{}", report.text());
    Ok(report)
}

fn take(site: &Site, contender: &Contender, profiler: &Profiler, schedule: Schedule) -> Result<Measured, MeasureError> {
    let attached = profiler.attach(site, &contender.server)?;
    // Without a profiler too there is a pause, and this: turns differ by the profiler alone. The load
    // warms the profiler up as well: it meets the stacks that it will meet.
    turn::warm_up(site, contender, schedule)?;
    let Some(mut attached) = attached else {
        return Ok(Measured { turn: turn::take(site, contender, None, schedule)?, spent: None });
    };
    let (before, start) = (attached.cpu()?, Instant::now());
    let turn = turn::take(site, contender, None, schedule)?;
    let spent = attached.spent(before, start.elapsed())?;
    attached.end()?;
    Ok(Measured { turn, spent: Some(spent) })
}

/// The chosen profilers, always with the baseline, and why the others are missing.
fn chosen(only: &[String]) -> Result<(Vec<&'static Profiler>, Vec<String>), MeasureError> {
    let wanted = choice::chosen(PROFILERS, only, "profiler", |row| row.name, |row| row.name == BASELINE)?;
    let mut skipped = Skipped::default();
    let mut profilers = Vec::new();
    for profiler in wanted {
        profilers.extend(skipped.unless_missing(profiler.name, profiler.installed().map(|()| profiler))?);
    }
    Ok((profilers, skipped.0))
}
