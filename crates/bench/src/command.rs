//! The command line of `weir-bench`, and what each scenario does.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use clap::builder::PossibleValuesParser;
use clap::{Parser, ValueEnum};
use serde::Serialize;
use weir_measure::error::MeasureError;
use weir_measure::host::Host;
use weir_measure::placement::Placement;
use weir_measure::site::{Site, write_results};
use weir_measure::{nginx, workload};

use crate::conformance::{self, ConformanceArguments};
use crate::differential::{self, DifferentialArguments};
use crate::report::{GrowthRow, Results, table};
use crate::rounds::Schedule;
use crate::{
    attached, comparison, crs, events, files, growth, hostile, inspect, lua, messages, probe, records, signature, soak,
    stories,
};

/// Rounds of the growth groups: fewer, because the differences they look for are large.
const GROWTH_ROUNDS: u32 = 3;

/// Rounds, seconds of a measurement and connections of the load, but for [`Scenario::Signature`] and [`Scenario::Probe`].
const ROUNDS: u32 = 7;
const SECONDS: u32 = 3;
const CONNECTIONS: u32 = 64;

/// The scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scenario {
    /// An address list, a country and 40 rules in every variant of the gateway, then growth
    Rs,
    /// Cost against the number of rules, list entries and body bytes
    Growth,
    /// The Core Rule Set in nginx with ModSecurity and with Weir, and in Coraza
    Crs,
    /// Requests that were made to be dear, one at a time: the worker's CPU time for each
    Hostile,
    /// Changes until they are live, messages between workers, and the peers' ways to do both
    Events,
    /// A list of a million addresses and a geographic database of 60 MB: memory, changes beside them, refreshes
    Files,
    /// Signatures of requests, checked by each scheme of Weir and by Lua with three sorts, then growth
    Signature,
    /// A remote detector that is asked about requests: by `auth_request`, by Weir, and by Lua
    Inspect,
    /// Messages to clients: to a subscriber of another worker, to 10,000 subscribers, and the peers' ways to do it
    Messages,
    /// Agents in a Java shop: CPU, latency, allocation and start-up without one, with Weir's probe and with others
    Probe,
    /// Planted: a Logback plugin with three join points and a chain of listeners; do `weir cost` and `weir ablate` name it?
    #[value(alias = "story2")]
    Linkagent,
    /// What being profiled costs: without a profiler, with `weir profile`, with perf
    Profile,
    /// Planted and diagnosed: a WAF engine in Lua that copies variables, and the same mended
    #[value(alias = "story1")]
    LuaWaf,
    /// Planted and diagnosed: no keep-alive to the upstream, builds without optimisation
    #[value(alias = "story3")]
    NoKeepalive,
    /// Planted and diagnosed: a signature check that sorts in Lua
    #[value(alias = "story5")]
    TableSort,
    /// CRS's own regression cases on nginx: does the engine find what they expect?
    Conformance,
    /// Generated requests: the same rules as libmodsecurity?
    Differential,
    /// Millions of mixed requests and hundreds of reloads: does anything grow?
    Soak,
    /// Two records, OLD and NEW: what got worse by more than 5 %? Exit code 1 if anything did
    Compare,
}

/// Measure Weir beside its peers on this machine.
#[derive(Clone, Debug, Parser)]
#[command(name = "weir-bench", version)]
pub struct Arguments {
    /// The scenario
    #[arg(value_enum, default_value = "rs")]
    pub scenario: Scenario,
    /// The records of the scenario compare: OLD NEW
    #[arg(value_name = "FILE", num_args = 0..=2)]
    pub records: Vec<PathBuf>,
    /// Only these rows (and what their ratios refer to); nothing is written without --output
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    pub only: Vec<String>,
    /// Only these parts of the scenario crs; nothing is written without --output
    #[arg(long, value_delimiter = ',', value_name = "NAME", value_parser = PossibleValuesParser::new(crs::PARTS))]
    pub parts: Vec<String>,
    /// Rounds; each measures every variant once (default: 7; scenario probe: 20, linkagent: 12)
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: Option<u32>,
    /// Seconds of each measurement (default: 3; scenario probe: 10)
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=600))]
    pub seconds: Option<u32>,
    /// Keep-alive connections of the load (default: 64; scenario signature: 500; scenarios probe and linkagent: 200)
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=4000))]
    pub connections: Option<u32>,
    /// The module to measure (default: WEIR_MODULE, the one beside this program, or the newest build under target/)
    #[arg(long, value_name = "FILE")]
    pub module: Option<PathBuf>,
    /// Another build of the module: in the scenarios rs, crs, signature and inspect every row of Weir runs with it too, as
    /// NAME-reference, and the ratio of NAME refers to that row
    #[arg(long, value_name = "FILE")]
    pub reference: Option<PathBuf>,
    /// File for the results (default: bench/results/SCENARIO.json)
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Add the rounds of the scenario probe to those that the file of results has
    #[arg(long)]
    pub resume: bool,
    /// Leave the placing on cores to the scheduler
    #[arg(long)]
    pub no_pin: bool,
    /// Nice value of everything that is started; below 0 needs root and keeps neighbours out
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(-20..=19))]
    pub nice: i32,
    /// Load the baseline at the same time on the same core: steadier ratios on a crowded machine
    #[arg(long)]
    pub paired: bool,
    /// Leave out the growth rows of the scenarios rs, crs and signature
    #[arg(long)]
    pub no_growth: bool,
    /// Only the rows with data traffic of the scenario events, quiet and beside changes
    #[arg(long)]
    pub under_load: bool,
    /// Directory for a profile of each planted case
    #[arg(long, value_name = "DIR")]
    pub profiles: Option<PathBuf>,
    /// Keep the temporary directory with configurations and logs
    #[arg(long)]
    pub keep: bool,
    /// Share of the soak's requests and reloads, such as 0.1
    #[arg(long, default_value_t = 1.0)]
    pub scale: f64,
    /// Seed of the random orders (default: from the clock)
    #[arg(long)]
    pub seed: Option<u64>,
    /// Arguments of the scenarios conformance and differential
    #[command(flatten)]
    pub conformance: ConformanceArguments,
    /// Arguments of the scenario differential
    #[command(flatten)]
    pub differential: DifferentialArguments,
}

/// Runs a scenario. `Ok(false)` if it ran and its verdict is bad.
pub fn run(arguments: &Arguments) -> Result<bool, MeasureError> {
    match (arguments.scenario, arguments.records.as_slice()) {
        (Scenario::Compare, [old, new]) => return records::compare_files(old, new),
        (Scenario::Compare, _) => {
            return Err(MeasureError::program(
                "weir-bench compare",
                "expected two records: weir-bench compare OLD NEW",
            ));
        }
        (_, []) => {}
        (_, [file, ..]) => {
            let error = format!("unexpected argument {}; only compare takes files", file.display());
            return Err(MeasureError::program("weir-bench", error));
        }
    }
    let mut site = Site::prepare(Placement::new(arguments.nice, arguments.no_pin), arguments.module.as_deref())?;
    if let Some(path) = &arguments.reference {
        site.reference = Some(std::fs::canonicalize(path).map_err(MeasureError::file(path))?);
    }
    workload::write(&site)?;
    lua::write_peers(&site)?;
    if arguments.keep {
        eprintln!("everything is kept in {}", site.keep().display());
    }
    let (rounds, seconds, connections) = match arguments.scenario {
        Scenario::Signature => (ROUNDS, SECONDS, signature::CONNECTIONS),
        Scenario::Probe => (probe::FORKS, probe::SECONDS, probe::CONNECTIONS),
        Scenario::Linkagent => (probe::planted::ROUNDS, SECONDS, probe::planted::CONNECTIONS),
        _ => (ROUNDS, SECONDS, CONNECTIONS),
    };
    let schedule = Schedule {
        rounds: arguments.rounds.unwrap_or(rounds),
        seconds: arguments.seconds.unwrap_or(seconds),
        connections: arguments.connections.unwrap_or(connections),
        paired: arguments.paired,
        seed: arguments.seed.unwrap_or_else(clock_seed),
    };
    site.upstream_keepalive = site.upstream_keepalive.max(schedule.connections);
    let host = site.host(match arguments.scenario {
        Scenario::Soak => format!("scale {}", arguments.scale),
        _ => schedule.to_string(),
    });
    let chosen = !(arguments.only.is_empty() && arguments.parts.is_empty());
    let whole = !chosen && !arguments.under_load && arguments.reference.is_none();
    let output = arguments
        .output
        .clone()
        .or_else(|| whole.then(|| PathBuf::from(format!("bench/results/{}.json", name(arguments.scenario)))));
    let (output, only) = (output.as_deref(), arguments.only.as_slice());
    let grow = only.is_empty() && !arguments.no_growth;
    match arguments.scenario {
        Scenario::Rs => written(arguments, output, &rs(&site, only, grow, schedule, host)?.rounded()),
        Scenario::Growth => written(arguments, output, &growth_only(&site, schedule, host)?.rounded()),
        Scenario::Crs => {
            let checkout = &arguments.conformance.cases;
            let choice = crs::Choice { rows: only, parts: &arguments.parts, growth: grow, checkout };
            written(arguments, output, &crs::run(&site, &choice, schedule, host)?.rounded())
        }
        Scenario::Hostile => written(arguments, output, &hostile::run(&site, only, host)?.rounded()),
        Scenario::Events => {
            written(arguments, output, &events::run(&site, only, arguments.under_load, schedule, host)?.rounded())
        }
        Scenario::Files => written(arguments, output, &files::run(&site, schedule, host)?),
        Scenario::Signature => {
            written(arguments, output, &signature::run(&site, only, grow, schedule, host)?.rounded())
        }
        Scenario::Inspect => written(arguments, output, &inspect::run(&site, only, schedule, host)?.rounded()),
        Scenario::Messages => written(arguments, output, &messages::run(&site, only, schedule, host)?.rounded()),
        Scenario::Probe => probe::run(&site, only, schedule, host, output, arguments.resume).map(|()| true),
        Scenario::Linkagent => {
            let results = probe::planted::run(&site, schedule, host)?;
            written(arguments, output, &results)?;
            Ok(results.all_right())
        }
        Scenario::Profile => written(arguments, output, &attached::run(&site, only, schedule, host)?),
        scenario @ (Scenario::LuaWaf | Scenario::NoKeepalive | Scenario::TableSort) => {
            let story = stories::of(&name(scenario));
            let report = stories::run(&site, story, only, schedule, host, arguments.profiles.as_deref())?;
            written(arguments, output, &report)?;
            Ok(report.all_right())
        }
        Scenario::Conformance => conformance::run(&site, &arguments.conformance, arguments.output.as_deref()),
        Scenario::Differential => {
            let (own, common) = (&arguments.differential, &arguments.conformance);
            differential::run(&site, own, common, arguments.seed, output)
        }
        Scenario::Soak => soak::run(&site, arguments.scale, host, output),
        Scenario::Compare => unreachable!("it was handled above"),
    }
}

fn rs(site: &Site, only: &[String], grow: bool, schedule: Schedule, host: Host) -> Result<Results, MeasureError> {
    let origin = Rc::new(nginx::start_origin(site)?);
    let (rows, mut skipped) = comparison::run(site, &origin, only, schedule)?;
    print!("{}", table(&rows));
    let growth = match grow {
        true => skipped.unless_missing("growth", site.weir_module().and_then(|_| grown(site, schedule)))?,
        false => None,
    };
    Ok(Results { scenario: "rs".into(), host, rows, growth: growth.unwrap_or_default(), skipped: skipped.0 })
}

fn growth_only(site: &Site, schedule: Schedule, host: Host) -> Result<Results, MeasureError> {
    let _origin = nginx::start_origin(site)?;
    let growth = grown(site, schedule)?;
    Ok(Results { scenario: "growth".into(), host, rows: Vec::new(), growth, skipped: Vec::new() })
}

fn grown(site: &Site, schedule: Schedule) -> Result<Vec<GrowthRow>, MeasureError> {
    let rows = growth::run(site, Schedule { rounds: schedule.rounds.min(GROWTH_ROUNDS), ..schedule })?;
    print!("\n{}", table(rows.iter().map(|row| &row.row)));
    Ok(rows)
}

/// Tells how results differ from the committed record and writes them, if anywhere; the verdict of a scenario that only
/// measures. Beside a reference build ratios have another meaning.
fn written(arguments: &Arguments, output: Option<&Path>, results: &impl Serialize) -> Result<bool, MeasureError> {
    if arguments.reference.is_none() {
        records::tell(&name(arguments.scenario), results, arguments.only.is_empty() && arguments.parts.is_empty());
    }
    write_results(output, results).map(|()| true)
}

fn name(scenario: Scenario) -> String {
    scenario.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

fn clock_seed() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64)
}
