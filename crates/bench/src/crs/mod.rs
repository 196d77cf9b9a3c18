//! The scenario `crs`: what the Core Rule Set costs in everyone's hands.
//!
//! Every load is a comparison of its own with bare nginx in it. Before it is timed, each variant
//! is sent every variety of the load and must let all pass, or refuse all if they are attacks.

mod coraza;
mod growth;
mod report;
mod transport;
pub mod variants;

use std::path::Path;
use std::rc::Rc;

use report::{CrsResults, LoadRow};
use variants::{BASELINE, Engine, VARIANTS, Variant};

use crate::choice::{self, Skipped};
use crate::report::Row;
use crate::rounds::{self, Contender, Schedule};
use crate::turn;
use weir_measure::error::MeasureError;
use weir_measure::host::Host;
use weir_measure::nginx;
use weir_measure::server::Server;
use weir_measure::site::Site;
use weir_measure::wrk::Traffic;

/// The loads of `bench/load/crs.lua`, and how many requests of a hundred all but bare nginx must refuse.
const LOADS: &[(&str, u8)] = &[
    ("get", 0),
    ("get-cookies", 0),
    ("form", 0),
    ("form-fresh", 0),
    ("json", 0),
    ("upload", 0),
    ("attack", 100),
    ("mixed", 2),
];
/// What can be measured by itself: a load, or one of the groups that follow them.
pub const PARTS: [&str; 10] =
    ["get", "get-cookies", "form", "form-fresh", "json", "upload", "attack", "mixed", GROWTH, TRANSPORTS];
const GROWTH: &str = "growth";
const TRANSPORTS: &str = "transports";

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'c> {
    /// Only these variants and bare nginx; all if empty.
    pub rows: &'c [String],
    /// Only these of [`PARTS`]; all if empty.
    pub parts: &'c [String],
    /// Whether there is to be a growth group, if no parts are named.
    pub growth: bool,
    /// Where a checkout of CRS 4 may be.
    pub checkout: &'c Path,
}

impl Choice<'_> {
    fn has(&self, part: &str) -> bool {
        let group = part == GROWTH || part == TRANSPORTS;
        if self.parts.is_empty() { self.growth || !group } else { self.parts.iter().any(|own| own == part) }
    }
}

/// A variant that runs as a row of the results.
struct Running {
    variant: &'static Variant,
    name: String,
    baseline: String,
    server: Rc<Server>,
}

/// Runs what is chosen.
pub fn run(site: &Site, choice: &Choice<'_>, schedule: Schedule, host: Host) -> Result<CrsResults, MeasureError> {
    let _origin = nginx::start_origin(site)?;
    let mut skipped = Skipped::default();
    let mut running = Vec::new();
    for variant in chosen(choice.rows)? {
        let is_weir = matches!(variant.kind, Engine::Weir { .. });
        for (name, baseline) in rounds::builds(site, variant.name, is_weir, BASELINE) {
            if let Some(server) = skipped.unless_missing(&name, variant.start(site, &name, choice.checkout))? {
                running.push(Running { variant, name, baseline, server: Rc::new(server) });
            }
        }
    }
    let mut rows = Vec::new();
    for &(load, attacks) in LOADS.iter().filter(|(load, _)| choice.has(load)) {
        eprintln!("load {load}");
        rows.extend(measure(site, load, attacks, &running, schedule)?);
    }
    let usual = running.iter().any(|row| row.name == variants::USUAL);
    let growth = if usual && choice.has(GROWTH) { growth::run(site, &running, schedule)? } else { Vec::new() };
    let transports = if usual && choice.has(TRANSPORTS) { transport::run(site, schedule)? } else { Vec::new() };
    let results = CrsResults { scenario: "crs".into(), host, rows, growth, transports, skipped: skipped.0 };
    print!("{}", results.text());
    Ok(results)
}

fn measure(
    site: &Site,
    load: &'static str,
    attacks: u8,
    running: &[Running],
    schedule: Schedule,
) -> Result<Vec<LoadRow>, MeasureError> {
    let contenders: Vec<Contender> = running
        .iter()
        .map(|Running { variant, name, baseline, server }| Contender {
            name: name.clone(),
            baseline: baseline.clone(),
            server: Rc::clone(server),
            traffic: Traffic {
                kind: Some(load),
                refused_percent: if variant.refuses() { attacks } else { 0 },
                slow: matches!(variant.kind, Engine::ModSecurity | Engine::Coraza),
                ..Traffic::default()
            },
        })
        .collect();
    let rows = counted(site, &contenders, schedule)?;
    Ok(rows.into_iter().map(|row| LoadRow { load: load.to_owned(), row }).collect())
}

/// Checks, measures, and counts system calls where that is possible.
fn counted(site: &Site, contenders: &[Contender], schedule: Schedule) -> Result<Vec<Row>, MeasureError> {
    contenders.iter().try_for_each(|contender| turn::check(site, contender, schedule))?;
    let mut rows = rounds::run(site, contenders, schedule)?;
    for (row, contender) in rows.iter_mut().zip(contenders) {
        match turn::syscalls(site, contender, schedule) {
            Ok([calls, wakes]) => {
                (row.syscalls_per_request, row.wakes_per_request) = (Some(calls), Some(wakes));
            }
            Err(MeasureError::Missing(reason)) => eprintln!("system calls are not counted: {reason}"),
            Err(error) => return Err(error),
        }
    }
    Ok(rows)
}

/// The chosen rows of the table, in its order, always with the baseline.
fn chosen(only: &[String]) -> Result<Vec<&'static Variant>, MeasureError> {
    choice::chosen(VARIANTS, only, "variant", |variant| variant.name, |variant| variant.name == BASELINE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_load_is_a_part_and_groups_come_with_everything_or_by_name() {
        assert!(LOADS.iter().map(|(load, _)| *load).eq(PARTS[..LOADS.len()].iter().copied()));
        let named = [TRANSPORTS.to_owned()];
        let choice = |parts, growth| Choice { rows: &[], parts, growth, checkout: Path::new("") };
        assert!(choice(&named, false).has(TRANSPORTS) && !choice(&named, true).has("get"));
        assert!(choice(&[], false).has("get") && !choice(&[], false).has(GROWTH) && choice(&[], true).has(GROWTH));
    }
}
