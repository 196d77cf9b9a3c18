//! Ablation: what each rule, group or plugin costs, by switching it off under load.
//!
//! ```text
//! policy ─ parts ─ design: all, none, without each, each alone
//!                     └─ rounds in random order ─ CPU per request of each variant
//!                            └─ estimate: cost, interval, what is shared ─ outcome: table, JSON, chart
//! ```
//! The ledger says what a rule's own evaluation takes. It does not see what a rule does to others:
//! a lane that is only there for it, a body that only it wants read, cache lines. Ablation does, at
//! the price of many minutes of load. `docs/ablate.md` says how to read the figures.

mod access_log;
mod chart;
mod design;
mod driver;
mod estimate;
mod foreign_nginx;
mod generator;
mod instructions;
mod interval;
mod ledger;
mod load;
mod mix;
mod outcome;
mod own_nginx;
mod part;
mod run;
mod show;
mod stage;

use std::path::{Path, PathBuf};

use serde_json::Value;

pub use chart::html;
pub use design::Shape;
pub use interval::Interval;
pub use load::{LoadChoice, Url};
pub use outcome::{Agreement, Outcome, PairRow, PartRow, Unit};
pub use part::{By, MAX_PARTS, Part, Rule, off, parts, policies, rules_of, switch_off};
pub use show::table;
pub use stage::Stage;
pub use weir_measure::error::MeasureError;

use self::foreign_nginx::ForeignNginx;
use self::load::{Load, Target};
use self::own_nginx::OwnNginx;
use self::run::Plan;
use weir_measure::placement::Placement;
use weir_measure::site::Site;
use weir_measure::{child, workload};
use weir_policy::counted;

/// How costs and intervals are made, for readers of a result.
fn method(shape: Shape) -> String {
    let cost = match shape {
        Shape::Halves => {
            "cost and shared by least squares over all variants, shared being in each but none. Values are relative to \
             the six around them"
        }
        _ => {
            "cost = (without + alone - shared) / 2, shared = median of alone - without. Values are relative to their \
             round"
        }
    };
    format!(
        "without = all - all\\{{i}}, alone = {{i}} - none, {cost}; levels are means of the middle half over rounds; \
         95 % intervals by the bootstrap over whole rounds (800 resamples, expanded percentile)"
    )
}

/// The options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The load.
    pub load: LoadChoice,
    /// Target of the load: required for a running gateway and for other configurations of nginx.
    pub url: Option<Url>,
    /// Connections of the load.
    pub connections: usize,
    /// Rounds.
    pub rounds: u32,
    /// Seconds of a slice; `wrk` and `h2load` run for whole ones.
    pub seconds: f64,
    /// Whether pairs of parts that share work are measured too.
    pub pairs: bool,
    /// Seed of the orders.
    pub seed: u64,
    /// Weir's module, if not the newest build.
    pub module: Option<PathBuf>,
    /// Whether placing on cores is left to the scheduler.
    pub no_pin: bool,
    /// Nice value of everything that is started.
    pub nice: i32,
}

/// The division of a policy into parts.
#[derive(Clone, Debug)]
pub struct Cut {
    /// The unit of a part.
    pub by: By,
    /// Prefixes of rule ids, each a part.
    pub groups: Vec<String>,
    /// Only parts of these names.
    pub only: Vec<String>,
}

impl Cut {
    /// Divides the rules of policies.
    pub fn parts(&self, policies: &[(String, &Value)]) -> Result<Vec<Part>, MeasureError> {
        let rules: Vec<Rule> = policies.iter().flat_map(|(id, body)| rules_of(id, body)).collect();
        parts(&rules, self.by, &self.groups, &self.only)
    }

    fn describe(&self) -> String {
        if self.groups.is_empty() { format!("{:?}", self.by).to_lowercase() } else { "group".into() }
    }
}

/// Ablates a policy file on Weir's own nginx.
pub fn policy(path: &Path, cut: &Cut, options: &Options) -> Result<Outcome, MeasureError> {
    if options.load == LoadChoice::Live {
        return Err(MeasureError::Usage("--load live is for a running gateway: use --live".into()));
    }
    let site = site(options)?;
    let of = path.display().to_string();
    let path = &known(path, &site)?;
    let document = read_policy(path)?;
    let parts = cut.parts(&policies(&document))?;
    let mut stage = OwnNginx::new(&site, path, &document, parts.clone())?;
    let mut load = Load::new(&options.load, target(options, &site))?;
    let plan = plan(options, of, cut.describe(), parts, Shape::Subsets, &site);
    run::run(&plan, &mut stage, &mut load)
}

/// Ablates a policy file by counting the engine's instructions with valgrind. `weir` is the command.
pub fn instructions(path: &Path, weir: &Path, cut: &Cut, options: &Options) -> Result<Outcome, MeasureError> {
    let site = site(&Options { no_pin: true, ..options.clone() })?;
    let of = path.display().to_string();
    let path = &known(path, &site)?;
    let document = own_nginx::movable(path, &read_policy(path)?)?;
    let parts = cut.parts(&policies(&document))?;
    let log = match &options.load {
        LoadChoice::Replay { log, .. } => Some(log),
        LoadChoice::Mix => None,
        _ => return Err(MeasureError::Usage("--instructions replays: --load mix or replay:LOG".into())),
    };
    let requests = instructions::requests(log)?;
    let design = design::Design::new(parts.len(), Shape::Subsets);
    let round = instructions::round(&site, weir, &document, &parts, &design, requests)?;
    let plan = plan(options, of, cut.describe(), parts, Shape::Subsets, &site);
    run::counted(&Plan { unit: Unit::Instructions, ..plan }, &design, round)
}

/// Ablates any nginx: the whole configuration, and others that each lack something.
pub fn configurations(base: &Path, variants: &[(String, PathBuf)], options: &Options) -> Result<Outcome, MeasureError> {
    let url = options.url.as_ref().ok_or_else(|| {
        MeasureError::Usage("--nginx-conf needs --url: where the configurations listen, and what is asked for".into())
    })?;
    let address = url.address()?;
    let site = site(options)?;
    let paths: Vec<PathBuf> =
        std::iter::once(base.to_owned()).chain(variants.iter().map(|(_, path)| path.clone())).collect();
    let mut stage = ForeignNginx::new(&site, &paths, address)?;
    let mut load = Load::new(&options.load, target(options, &site))?;
    let parts = variants.iter().map(|(name, _)| Part::named(name)).collect();
    let of = base.display().to_string();
    let plan = plan(options, of, "configuration".into(), parts, Shape::Leaving, &site);
    run::run(&plan, &mut stage, &mut load)
}

/// Ablates a stage of the caller. Interrupts are the caller's to catch first
/// ([`weir_measure::interrupt::catch`]), because it has to restore the policies.
pub fn on(
    stage: &mut dyn Stage,
    of: String,
    cut: &Cut,
    parts: Vec<Part>,
    options: &Options,
) -> Result<Outcome, MeasureError> {
    let site = site(options)?;
    let mut load = Load::new(&options.load, target(options, &site))?;
    let plan = plan(options, of, cut.describe(), parts, Shape::Subsets, &site);
    run::run(&plan, stage, &mut load)
}

/// As [`on`], of parts that are no rules and a stage that is no nginx: nothing of nginx has to be there.
pub fn elsewhere(
    stage: &mut dyn Stage,
    of: String,
    by: String,
    parts: Vec<Part>,
    options: &Options,
) -> Result<Outcome, MeasureError> {
    let site = Site::create(Placement::new(options.nice, options.no_pin), None, PathBuf::new())?;
    let mut load = Load::new(&options.load, target(options, &site))?;
    let plan = plan(options, of, by, parts, Shape::Halves, &site);
    run::run(&plan, stage, &mut load)
}

/// CPU time of processes so far, in nanoseconds.
pub fn cpu_ns(pids: &[u32]) -> Result<u64, MeasureError> {
    pids.iter().try_fold(0, |sum, pid| Ok(sum + weir_measure::process::CpuTime::of(*pid)?.run_ns))
}

/// `rs` is the policy that the bench measures, if there is no such file; else the path.
fn known(path: &Path, site: &Site) -> Result<PathBuf, MeasureError> {
    if path == Path::new(workload::NAME) && !path.is_file() { workload::write(site) } else { Ok(path.to_owned()) }
}

fn read_policy(path: &Path) -> Result<Value, MeasureError> {
    let text = std::fs::read_to_string(path).map_err(MeasureError::file(path))?;
    let refused = |what: String| MeasureError::Usage(format!("{what}\n`weir check {}` says more", path.display()));
    // All errors are reported here, and not by one nginx after the other.
    weir_policy::Snapshot::load(path).map_err(|errors| refused(errors.to_string()))?;
    weir_policy::parse_document(&text, path).map_err(|errors| refused(errors.to_string()))
}

fn site(options: &Options) -> Result<Site, MeasureError> {
    let placement = Placement::new(options.nice, options.no_pin);
    let site = Site::prepare(placement, options.module.as_deref())?;
    // This thread is the load generator.
    if let Some(core) = placement.load {
        child::stay_on(core).map_err(|error| MeasureError::program("sched_setaffinity", error.to_string()))?;
    }
    if placement.nice != 0 {
        child::be_nice(placement.nice).map_err(|error| MeasureError::program("setpriority", error.to_string()))?;
    }
    Ok(site)
}

fn target(options: &Options, site: &Site) -> Target {
    Target {
        url: options.url.clone(),
        connections: options.connections,
        seconds: options.seconds,
        directory: site.path(""),
        placement: site.placement,
    }
}

fn plan(options: &Options, of: String, by: String, parts: Vec<Part>, shape: Shape, site: &Site) -> Plan {
    let Options { rounds, seconds, connections, seed, pairs, .. } = *options;
    let load = match &options.load {
        LoadChoice::Replay { log, rate } => {
            let rate = rate.map_or_else(String::new, |rate| format!(" at {rate} requests/s"));
            format!("replay of {}{rate}", log.display())
        }
        other => format!("{other:?}").to_lowercase(),
    };
    let schedule = format!(
        "{} of {seconds} s slices, {}, load {load}, seed {seed}",
        counted(rounds as usize, "round"),
        counted(connections, "connection")
    );
    let host = site.host(schedule);
    Plan { of, by, parts, shape, rounds, pairs, unit: Unit::CpuUs, seed, host }
}
