//! `weir bench`: arguments, and what each scenario does.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use clap::{Args, ValueEnum};

use crate::child;
use crate::conformance::ConformanceArguments;
use crate::differential::DifferentialArguments;
use crate::error::LabError;
use crate::placement::Placement;
use crate::report::{GrowthRow, Host, Results, table};
use crate::rounds::Schedule;
use crate::site::Site;
use crate::{comparison, growth, nginx, stories};

/// The module's file name after a build.
const MODULE: &str = "libngx_http_weir_module.so";
/// Where builds lie, besides the directory of the running command.
const BUILDS: &[&str] = &["target/release", "target/quick"];
/// Rounds of the growth groups: fewer, because the differences they look for are large.
const GROWTH_ROUNDS: u32 = 3;

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scenario {
    /// Story 1's pipeline in all variants, then growth
    Rs,
    /// Cost against the number of rules, list entries and body bytes
    Growth,
    /// Millions of mixed requests and hundreds of reloads: does anything grow?
    Soak,
    /// CRS's own regression cases on nginx: does the engine find what they expect?
    Conformance,
    /// The Core Rule Set in nginx with ModSecurity and with Weir, and in Coraza
    Crs,
    /// Generated requests: the same rules as libmodsecurity?
    Differential,
    /// Story 1: a WAF engine in Lua that copies variables, before and after, and what `weir diagnose` says
    Story1,
    /// Story 3: no keep-alive, builds without optimisation, and what `weir diagnose` says of each
    Story3,
    /// Story 5: a signature check that sorts in Lua, and what `weir diagnose` says of it
    Story5,
    /// What being profiled costs: nobody, `weir profile`, perf
    Profile,
    /// Changes until they are live, messages between workers, and the peers' ways to do both
    Events,
}

/// Arguments of `weir bench`.
#[derive(Clone, Debug, Args)]
pub struct BenchArguments {
    /// What to measure
    #[arg(value_enum, default_value = "rs")]
    pub scenario: Scenario,
    /// Only these variants (and nginx); nothing is written unless --output says where
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    pub only: Vec<String>,
    /// Rounds; each measures every variant once
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// Seconds of each measurement
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=600))]
    pub seconds: u32,
    /// Keep-alive connections of the load
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=4000))]
    pub connections: u32,
    /// The module to measure (default: WEIR_MODULE, or the newest build under target/)
    #[arg(long, value_name = "FILE")]
    pub module: Option<PathBuf>,
    /// File for the results (default: bench/results/SCENARIO.json)
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Leave the placing on cores to the scheduler
    #[arg(long)]
    pub no_pin: bool,
    /// Nice value of everything that is started; below 0 needs root and keeps neighbours out
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(-20..=19))]
    pub nice: i32,
    /// Load the baseline at the same time on the same core: steadier ratios on a crowded machine
    #[arg(long)]
    pub paired: bool,
    /// Leave out the growth rows of the scenarios rs and crs
    #[arg(long)]
    pub no_growth: bool,
    /// Only the rows with data traffic of the scenario events, quiet and beside changes
    #[arg(long)]
    pub under_load: bool,
    /// Directory for a profile of each case of a story
    #[arg(long, value_name = "DIR")]
    pub profiles: Option<PathBuf>,
    /// Keep the temporary directory with configurations and logs
    #[arg(long)]
    pub keep: bool,
    /// Share of the soak's requests and reloads
    #[arg(long, default_value_t = 1.0)]
    pub scale: f64,
    /// Seed of the random orders (default: from the clock)
    #[arg(long)]
    pub seed: Option<u64>,
    /// What the scenarios conformance and differential ask
    #[command(flatten)]
    pub conformance: ConformanceArguments,
    /// What only the scenario differential asks
    #[command(flatten)]
    pub differential: DifferentialArguments,
}

/// Runs it. `Ok(false)` if it ran and its verdict is bad.
pub fn run(arguments: &BenchArguments) -> Result<bool, LabError> {
    child::catch_interrupts();
    let (version, module_directory) = nginx::describe()?;
    let placing = if arguments.no_pin { Placement::default() } else { Placement::pinned() };
    let placement = Placement { nice: arguments.nice, ..placing };
    let mut site = Site::create(placement, find_module(arguments.module.as_deref())?, module_directory)?;
    if arguments.keep {
        eprintln!("everything is kept in {}", site.keep().display());
    }
    if arguments.scenario == Scenario::Conformance {
        return crate::conformance::run(&site, &arguments.conformance, arguments.output.as_deref());
    }
    if arguments.scenario == Scenario::Differential {
        let output = arguments.output.clone().unwrap_or_else(|| results_path(Scenario::Differential));
        let (own, common) = (&arguments.differential, &arguments.conformance);
        return crate::differential::run(&site, own, common, arguments.seed, Some(&output));
    }
    let schedule = Schedule {
        rounds: arguments.rounds,
        seconds: arguments.seconds,
        connections: arguments.connections,
        paired: arguments.paired,
        seed: arguments.seed.unwrap_or_else(clock_seed),
    };
    let words = match arguments.scenario {
        Scenario::Soak => format!("scale {}", arguments.scale),
        _ => format!(
            "{} rounds of {} s, {} connections{}, seed {}",
            schedule.rounds,
            schedule.seconds,
            schedule.connections,
            if schedule.paired { ", paired" } else { "" },
            schedule.seed
        ),
    };
    let host = Host::here(&version, placement.tested.is_some(), words);
    let output = arguments
        .output
        .clone()
        .or_else(|| (arguments.only.is_empty() && !arguments.under_load).then(|| results_path(arguments.scenario)));
    let results = match arguments.scenario {
        Scenario::Rs => rs(&site, arguments, schedule, host)?,
        Scenario::Growth => growth_only(&site, schedule, host)?,
        Scenario::Conformance | Scenario::Differential => unreachable!("it has ended above"),
        Scenario::Events => {
            let (only, under_load) = (&arguments.only, arguments.under_load);
            return crate::events::run(&site, only, under_load, schedule, host, output.as_deref());
        }
        Scenario::Story1 | Scenario::Story3 | Scenario::Story5 => {
            let story = stories::of(arguments.scenario);
            let files = stories::Files { results: output.as_deref(), profiles: arguments.profiles.as_deref() };
            return stories::run(&site, story, &arguments.only, schedule, host, files);
        }
        Scenario::Profile => return crate::attached::run(&site, &arguments.only, schedule, host, output.as_deref()),
        Scenario::Crs => return crs(&site, arguments, schedule, host, output.as_deref()),
        Scenario::Soak => return crate::soak::run(&site, arguments.scale, host, output.as_deref()),
    };
    if let Some(path) = output {
        results.write(&path)?;
        eprintln!("written to {}", path.display());
    }
    Ok(true)
}

fn rs(site: &Site, arguments: &BenchArguments, schedule: Schedule, host: Host) -> Result<Results, LabError> {
    let origin = Rc::new(nginx::start_origin(site)?);
    let (rows, mut skipped) = comparison::run(site, &origin, &arguments.only, schedule)?;
    print!("{}", table(&rows));
    let mut results = Results { scenario: "rs".into(), host, rows, growth: Vec::new(), skipped: Vec::new() };
    if arguments.only.is_empty() && !arguments.no_growth {
        if site.module.is_some() {
            results.growth = grown(site, schedule)?;
        } else {
            skipped.push("growth: Weir's module has not been built".into());
        }
    }
    results.skipped = skipped;
    Ok(results)
}

fn crs(
    site: &Site,
    arguments: &BenchArguments,
    schedule: Schedule,
    host: Host,
    output: Option<&Path>,
) -> Result<bool, LabError> {
    let growth = arguments.only.is_empty() && !arguments.no_growth;
    let results = crate::crs::run(site, &arguments.only, growth, schedule, host)?;
    print!("{}", results.text());
    print!("\n{}", table(results.growth.iter().map(|row| &row.row)));
    if let Some(path) = output {
        results.write(path)?;
        eprintln!("written to {}", path.display());
    }
    Ok(true)
}

fn growth_only(site: &Site, schedule: Schedule, host: Host) -> Result<Results, LabError> {
    let _origin = nginx::start_origin(site)?;
    let growth = grown(site, schedule)?;
    Ok(Results { scenario: "growth".into(), host, rows: Vec::new(), growth, skipped: Vec::new() })
}

fn grown(site: &Site, schedule: Schedule) -> Result<Vec<GrowthRow>, LabError> {
    let rows = growth::run(site, Schedule { rounds: schedule.rounds.min(GROWTH_ROUNDS), ..schedule })?;
    print!("\n{}", table(rows.iter().map(|row| &row.row)));
    Ok(rows)
}

/// The module to measure: as asked, else the one that was built with this command, else the
/// newest build.
pub(crate) fn find_module(asked: Option<&Path>) -> Result<Option<PathBuf>, LabError> {
    let asked = asked.map(Path::to_owned).or_else(|| std::env::var_os("WEIR_MODULE").map(PathBuf::from));
    if let Some(path) = asked {
        // nginx resolves relative paths against its own prefix.
        return std::fs::canonicalize(&path).map(Some).map_err(LabError::file(path));
    }
    let beside = std::env::current_exe().ok().and_then(|path| path.parent().map(|directory| directory.join(MODULE)));
    if let Some(path) = beside.filter(|path| path.exists()) {
        return Ok(Some(path));
    }
    let built = |path: &PathBuf| std::fs::metadata(path).and_then(|data| data.modified()).ok();
    let builds = BUILDS.iter().map(|directory| Path::new(directory).join(MODULE));
    let newest = builds.filter(|path| built(path).is_some()).max_by_key(built);
    newest.map(|path| std::fs::canonicalize(&path).map_err(LabError::file(path))).transpose()
}

fn results_path(scenario: Scenario) -> PathBuf {
    let name = scenario.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
    PathBuf::from("bench/results").join(name + ".json")
}

fn clock_seed() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64)
}
