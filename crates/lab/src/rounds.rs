//! Interleaved rounds: every contender once per round, in an order drawn anew each time.
//!
//! Machines drift: a neighbour starts a build, the clock is throttled. A comparison that runs
//! one contender for a minute and then the next compares minutes. Here a ratio is taken within
//! a round, a few seconds apart, and the median over rounds is reported. Before its turn a
//! contender is warmed up, because it has slept through the others' turns with a cold cache.

use std::io::{IsTerminal, Write};
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::check;
use crate::error::LabError;
use crate::report::Row;
use crate::server::Server;
use crate::site::Site;
use crate::slices::{self, Sampler};
use crate::statistics::Summary;
use crate::wrk::{Load, LoadReport};

/// Length of the warm-up before each turn, in seconds; the least that `wrk` can do.
pub const WARM_UP_SECONDS: u32 = 1;
/// What a turn takes beyond its load: starting `wrk` twice, reading /proc, emptying logs.
const OVERHEAD: Duration = Duration::from_millis(250);

/// One line of the comparison.
#[derive(Clone, Debug)]
pub struct Contender {
    /// Its name in the results.
    pub name: String,
    /// Name of the contender that its ratio refers to.
    pub baseline: String,
    /// Who is loaded and measured.
    pub server: Rc<Server>,
    /// Size of the bodies; the script's form if `None`.
    pub body_bytes: Option<usize>,
}

/// How long and how often.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// Rounds.
    pub rounds: u32,
    /// Seconds of a measured turn.
    pub seconds: u32,
    /// Connections of the load.
    pub connections: u32,
    /// Start of the generator that draws the orders.
    pub seed: u64,
}

/// What one turn of one contender gave.
#[derive(Clone, Debug)]
pub struct Turn {
    /// CPU of the workers per request, in microseconds.
    pub cpu_us: f64,
    /// The user part, from ticks.
    pub user_us: f64,
    /// The system part, from ticks.
    pub system_us: f64,
    /// Share of the turn that the workers waited for a core.
    pub waiting: f64,
    /// CPU per request of each tenth of a second, in microseconds.
    pub slices: Vec<f64>,
    /// What the load generator saw.
    pub load: LoadReport,
}

/// Runs all rounds and returns a row per contender, in the given order.
pub fn run(site: &Site, contenders: &[Contender], schedule: Schedule) -> Result<Vec<Row>, LabError> {
    let mut turns: Vec<Vec<Turn>> = vec![Vec::new(); contenders.len()];
    let mut random = schedule.seed | 1;
    let mut progress = Progress::new(contenders.len() * schedule.rounds as usize, schedule.seconds);
    for round in 1..=schedule.rounds {
        for index in shuffled(contenders.len(), &mut random) {
            let contender = &contenders[index];
            progress.step(round, schedule.rounds, &contender.name);
            turns[index].push(turn(site, contender, schedule)?);
        }
    }
    progress.end();
    Ok(contenders
        .iter()
        .zip(&turns)
        .map(|(contender, own)| {
            let base = contenders.iter().position(|other| other.name == contender.baseline);
            row(contender, own, base.map(|index| turns[index].as_slice()))
        })
        .collect())
}

/// One measured turn.
fn turn(site: &Site, contender: &Contender, schedule: Schedule) -> Result<Turn, LabError> {
    let server = &contender.server;
    let load = Load {
        port: server.port,
        connections: schedule.connections,
        seconds: schedule.seconds,
        body_bytes: contender.body_bytes,
        core: site.placement.load,
        nice: site.placement.nice,
        script: site.path("load.lua"),
        output: site.path("wrk.out"),
    };
    Load { seconds: WARM_UP_SECONDS, ..load.clone() }.run(&mut || Ok(()))?;
    server.empty_logs()?;
    let before = server.cpu()?;
    let workers = server.workers();
    let mut sampler = Sampler::begin(server, site.origin_port)?;
    let report = load.run(&mut || sampler.tick())?;
    let spent = server.cpu()?.since(before);
    if let Some(trouble) = report.trouble() {
        return Err(LabError::wrong(
            &contender.name,
            format!("{trouble}; its error log ends with:\n{}", server.error_log()),
        ));
    }
    if workers != server.workers() {
        return Err(LabError::wrong(&contender.name, format!("a worker died under load:\n{}", server.error_log())));
    }
    for path in &server.logs {
        check::log(&contender.name, path, report.requests)?;
    }
    server.empty_logs()?;
    let per_request = |nanoseconds: u64| nanoseconds as f64 / 1e3 / report.requests as f64;
    Ok(Turn {
        cpu_us: per_request(spent.run_ns),
        user_us: per_request(spent.user_ns),
        system_us: per_request(spent.system_ns),
        waiting: spent.wait_ns as f64 / 1e3 / report.duration_us.max(1) as f64,
        slices: sampler.end(),
        load: report,
    })
}

fn row(contender: &Contender, own: &[Turn], base: Option<&[Turn]>) -> Row {
    let of = |value: &dyn Fn(&Turn) -> f64| {
        Summary::of(&own.iter().map(value).collect::<Vec<_>>()).expect("a schedule has at least one round")
    };
    let ratios = base.map(|base| own.iter().zip(base).map(|(own, base)| own.cpu_us / base.cpu_us).collect::<Vec<_>>());
    let cpu = of(&|turn| turn.cpu_us);
    let quiet =
        |turns: &[Turn]| slices::quiet(&turns.iter().flat_map(|turn| turn.slices.iter().copied()).collect::<Vec<_>>());
    let quiet_us = quiet(own);
    let ratio = ratios.as_deref().and_then(Summary::of);
    Row {
        name: contender.name.clone(),
        cpu_us_per_request: cpu.median,
        ratio: ratio.map(|ratio| ratio.median),
        rps: of(&|turn| turn.load.rate()).median,
        p50_us: of(&|turn| turn.load.p50_us as f64).median,
        p99_us: of(&|turn| turn.load.p99_us as f64).median,
        cpu_us_min: cpu.min,
        cpu_us_max: cpu.max,
        ratio_min: ratio.map(|ratio| ratio.min),
        ratio_max: ratio.map(|ratio| ratio.max),
        ratio_low: ratio.map(|ratio| ratio.low),
        ratio_high: ratio.map(|ratio| ratio.high),
        cpu_us_quiet: quiet_us,
        ratio_quiet: quiet_us.zip(base.and_then(quiet)).map(|(own, base)| own / base),
        user_us: of(&|turn| turn.user_us).median,
        system_us: of(&|turn| turn.system_us).median,
        waiting_share: of(&|turn| turn.waiting).median,
        requests: own.iter().map(|turn| turn.load.requests).sum(),
        rounds: own.len(),
    }
}

/// The numbers below `count` in an order drawn by Fisher and Yates from an xorshift generator.
fn shuffled(count: usize, random: &mut u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        order.swap(last, usize::try_from(*random % (last as u64 + 1)).unwrap_or(0));
    }
    order
}

/// Remaining time, on stderr.
struct Progress {
    started: Instant,
    done: usize,
    total: usize,
    each: Duration,
    live: bool,
}

impl Progress {
    fn new(total: usize, seconds: u32) -> Self {
        let each = Duration::from_secs(u64::from(seconds + WARM_UP_SECONDS)) + OVERHEAD;
        Self { started: Instant::now(), done: 0, total, each, live: std::io::stderr().is_terminal() }
    }

    fn step(&mut self, round: u32, rounds: u32, name: &str) {
        // From the second turn on, what the earlier ones took says more than the plan.
        let each = match u32::try_from(self.done) {
            Ok(done) if done > 0 => self.started.elapsed() / done,
            _ => self.each,
        };
        let left = (each * u32::try_from(self.total - self.done).unwrap_or(u32::MAX)).as_secs();
        let text = format!("round {round}/{rounds}  {name:<20} {} min {:02} s left", left / 60, left % 60);
        let first_of_round = self.done * rounds as usize / self.total.max(1) + 1 == round as usize
            && self.done.is_multiple_of((self.total / rounds as usize).max(1));
        if self.live {
            let _ = write!(std::io::stderr(), "\r\x1b[K{text}");
        } else if first_of_round {
            eprintln!("round {round}/{rounds}  {} min {:02} s left", left / 60, left % 60);
        }
        self.done += 1;
    }

    fn end(&self) {
        if self.live {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_hold_everyone_once_and_differ() {
        let mut random = 7;
        let orders: Vec<Vec<usize>> = (0..20).map(|_| shuffled(11, &mut random)).collect();
        for order in &orders {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..11).collect::<Vec<_>>());
        }
        assert!(orders.iter().collect::<std::collections::HashSet<_>>().len() > 15);
    }
}
