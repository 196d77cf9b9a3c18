//! The scenario `crs`: what the Core Rule Set costs in everyone's hands.
//!
//! Every load is a comparison of its own with bare nginx in it. Before it is timed, each variant
//! is sent every variety of the load and must let all pass, or refuse all if they are attacks.

mod coraza;
mod growth;
mod report;
mod variants;

use std::rc::Rc;

use report::{CrsResults, LoadRow};
use variants::{BASELINE, Engine, VARIANTS, Variant};

use crate::choice::{self, Skipped};
use crate::report::table;
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

/// A variant that runs as a row of the results.
struct Running {
    variant: &'static Variant,
    name: String,
    baseline: String,
    server: Rc<Server>,
}

/// Runs all of it. With `only`, these variants and bare nginx; without growth if `growth` says so.
pub fn run(
    site: &Site,
    only: &[String],
    growth: bool,
    schedule: Schedule,
    host: Host,
) -> Result<CrsResults, MeasureError> {
    let _origin = nginx::start_origin(site)?;
    let mut skipped = Skipped::default();
    let mut running = Vec::new();
    for variant in chosen(only)? {
        let is_weir = matches!(variant.kind, Engine::Weir { .. });
        for (name, baseline) in rounds::builds(site, variant.name, is_weir, BASELINE) {
            if let Some(server) = skipped.unless_missing(&name, variant.start(site, &name))? {
                running.push(Running { variant, name, baseline, server: Rc::new(server) });
            }
        }
    }
    let mut rows = Vec::new();
    for &(load, attacks) in LOADS {
        eprintln!("load {load}");
        rows.extend(measure(site, load, attacks, &running, schedule)?);
    }
    let grown = match growth && running.iter().any(|row| row.name == variants::USUAL) {
        true => growth::run(site, &running, schedule)?,
        false => Vec::new(),
    };
    let results = CrsResults { scenario: "crs".into(), host, rows, growth: grown, skipped: skipped.0 };
    print!("{}\n{}", results.text(), table(results.growth.iter().map(|row| &row.row)));
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
    contenders.iter().try_for_each(|contender| turn::check(site, contender, schedule))?;
    let rows = rounds::run(site, &contenders, schedule)?;
    Ok(rows.into_iter().map(|row| LoadRow { load: load.to_owned(), row }).collect())
}

/// The chosen rows of the table, in its order, always with the baseline.
fn chosen(only: &[String]) -> Result<Vec<&'static Variant>, MeasureError> {
    choice::chosen(VARIANTS, only, "variant", |variant| variant.name, |variant| variant.name == BASELINE)
}
