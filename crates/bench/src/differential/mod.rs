//! The same rules as libmodsecurity, on generated requests.
//!
//! The regression cases ask for one rule each and say nothing of the other two hundred. Here a
//! request is given to both engines, in process, and the whole sets of rules are compared.

mod compare;
mod engine;
mod escape;
mod generate;
mod mutate;
mod payloads;
mod request;
mod seeds;
mod shrink;
mod weir;
mod words;

use std::io::{IsTerminal, Write};
use std::path::Path;

use clap::Args;

use compare::Comparison;
use engine::{Engine as _, ModSecurity};
use generate::Generator;
use request::Request;

use crate::conformance::engine::{Engine, RuleSource, modsecurity_rules};
use crate::conformance::{ConformanceArguments, case};
use weir_measure::error::MeasureError;
use weir_measure::interrupt::check_interrupted;
use weir_measure::site::{Site, write, write_results};

/// Seed if none is asked for.
const SEED: u64 = 20_261_122;
/// Paranoia level if none is asked for.
const PARANOIA: u8 = 2;
/// How often progress is shown, in requests.
const SHOW_EVERY: usize = 100;

/// Arguments of the scenario.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Differential")]
pub struct DifferentialArguments {
    /// Requests to compare
    #[arg(long, default_value_t = 20_000, value_name = "N")]
    pub requests: usize,
    /// Share of the requests, in per cent, that must have the same rules
    #[arg(long, default_value_t = 99.5, value_name = "PERCENT")]
    pub least: f64,
}

/// Compares. `Ok(false)` if the two agree too seldom.
pub fn run(
    site: &Site,
    arguments: &DifferentialArguments,
    common: &ConformanceArguments,
    seed: Option<u64>,
    output: Option<&Path>,
) -> Result<bool, MeasureError> {
    let (seed, paranoia) = (seed.unwrap_or(SEED), common.paranoia.unwrap_or(PARANOIA));
    let directory = site.directory_of("differential")?;
    let (setup, rules) = (directory.join("crs-setup.conf"), directory.join("rules.conf"));
    let crs = RuleSource::packaged();
    write(&setup, &crs.setup(paranoia)?)?;
    write(&rules, &modsecurity_rules("DetectionOnly", &crs.directory, &setup))?;
    let mut modsecurity = ModSecurity::start(&directory, &rules)?;
    let mut other: Box<dyn engine::Engine> = match common.engine {
        Engine::Weir => weir::open(&directory, &setup, paranoia)?,
        Engine::Nginx => return Err(MeasureError::Usage("nginx alone has no rules to compare".into())),
        Engine::Modsecurity => Box::new(ModSecurity::start(&site.directory_of("differential-again")?, &rules)?),
    };
    let cases = if common.cases.exists() { case::load(&common.cases)? } else { Vec::new() };
    let payloads = payloads::collect(&cases);
    let seeds = seeds::collect(&cases);
    eprintln!("{} requests, {} attacks and {} cases to begin with", arguments.requests, payloads.len(), seeds.len());
    let mut generator = Generator::new(seed, payloads, seeds);
    let mut comparison = Comparison::new(seed, paranoia);
    let live = std::io::stderr().is_terminal();
    for number in 0..arguments.requests {
        check_interrupted()?;
        if live && number % SHOW_EVERY == 0 {
            let _ = write!(std::io::stderr(), "\r\x1b[K{number}/{}", arguments.requests);
        }
        let request = generator.request();
        comparison.add(&request, modsecurity.rules(&request)?, other.rules(&request)?);
    }
    if live {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
    smallest(&mut comparison, &mut modsecurity, other.as_mut())?;
    print!("{}", comparison.text());
    write_results(output, &comparison)?;
    Ok(comparison.agreement >= arguments.least)
}

/// Finds the smallest request for the first example of each rule and side.
fn smallest(
    comparison: &mut Comparison,
    modsecurity: &mut ModSecurity,
    other: &mut dyn engine::Engine,
) -> Result<(), MeasureError> {
    for (&rule, difference) in &mut comparison.differences {
        for only in ["modsecurity", "weir"] {
            let Some(example) = difference.examples.iter_mut().find(|example| example.only == only) else { continue };
            check_interrupted()?;
            let mut differs = |request: &Request| {
                let sides = (modsecurity.rules(request)?.contains(&rule), other.rules(request)?.contains(&rule));
                Ok(sides == (only == "modsecurity", only == "weir"))
            };
            example.smallest = Some(shrink::shrink(&example.original, &mut differs)?.shown());
        }
    }
    Ok(())
}
