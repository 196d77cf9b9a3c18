//! What being profiled costs: the scenario `profile`.
//!
//! One loaded nginx, four conditions: nobody looks, nobody looks again, `weir profile` at 99 Hz, and
//! `perf record --call-graph dwarf` at 99 Hz. Interleaved in rounds like every comparison here; the
//! second of the two idle conditions tells how much of a ratio is the machine's mood. A profiler is
//! attached before the warm-up and stays until the turn is over; its own CPU is counted during the
//! turn, after it has read symbols and tables, and its memory at its largest.

mod profiler;
mod report;

use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

use crate::error::LabError;
use crate::random::Random;
use crate::report::Host;
use crate::rounds::{Contender, Progress, Schedule};
use crate::site::Site;
use crate::turn::{self, Turn};
use crate::wrk::Traffic;
use crate::{check, nginx, variants};

use self::profiler::{PROFILERS, Profiler, Spent};
use self::report::Report;

/// What all ratios refer to.
const BASELINE: &str = "none";

/// A turn with a profiler attached, or without.
struct Measured {
    turn: Turn,
    spent: Option<Spent>,
}

/// Runs it, prints the table, and writes the results if `output` says where.
pub fn run(
    site: &Site,
    only: &[String],
    schedule: Schedule,
    host: Host,
    output: Option<&Path>,
) -> Result<bool, LabError> {
    let _origin = nginx::start_origin(site)?;
    let parts = nginx::Parts { directory: site.directory_of("profiled")?, ..nginx::Parts::default() };
    let server = Rc::new(nginx::start_proxy(site, "profiled", parts)?);
    check::duty("profiled", variants::Duty::Pass, server.port)?;
    let contender = Contender { name: "nginx".into(), baseline: "nginx".into(), server, traffic: Traffic::default() };
    let (profilers, skipped) = chosen(only)?;
    let mut measured: Vec<Vec<Measured>> = profilers.iter().map(|_| Vec::new()).collect();
    let mut random = Random::new(schedule.seed);
    let mut progress = Progress::new(profilers.len() * schedule.rounds as usize, schedule.seconds + 1);
    for round in 1..=schedule.rounds {
        for index in random.order(profilers.len()) {
            progress.step(round, schedule.rounds, profilers[index].name);
            measured[index].push(take(site, &contender, profilers[index], schedule)?);
        }
    }
    progress.end();
    let report = Report::new(host, &profilers, &measured, skipped);
    print!("{}", report.text());
    if let Some(path) = output {
        report.write(path)?;
        eprintln!("written to {}", path.display());
    }
    Ok(true)
}

fn take(site: &Site, contender: &Contender, profiler: &Profiler, schedule: Schedule) -> Result<Measured, LabError> {
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
fn chosen(only: &[String]) -> Result<(Vec<&'static Profiler>, Vec<String>), LabError> {
    if let Some(unknown) = only.iter().find(|name| PROFILERS.iter().all(|profiler| profiler.name != **name)) {
        let names: Vec<&str> = PROFILERS.iter().map(|profiler| profiler.name).collect();
        return Err(LabError::Usage(format!("no profiler is named {unknown}; there are {}", names.join(", "))));
    }
    let wanted = |profiler: &&Profiler| {
        only.is_empty() || profiler.name == BASELINE || only.iter().any(|name| name == profiler.name)
    };
    let mut skipped = Vec::new();
    let mut profilers: Vec<&'static Profiler> = PROFILERS.iter().filter(wanted).collect();
    profilers.retain(|profiler| match profiler.missing() {
        None => true,
        Some(reason) => {
            eprintln!("{} is skipped: {reason}", profiler.name);
            skipped.push(format!("{}: {reason}", profiler.name));
            false
        }
    });
    Ok((profilers, skipped))
}
