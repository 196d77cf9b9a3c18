//! Interleaved rounds: every contender once per round, in an order drawn anew each time.
//!
//! Machines drift: a neighbour starts a build, the clock is throttled. A comparison that runs
//! one contender for a minute and then the next compares minutes. Here a ratio is taken within
//! a round, a few seconds apart, and the median over rounds is reported. Before its turn a
//! contender is warmed up, because it has slept through the others' turns with a cold cache.
//!
//! Where even a few seconds are too far apart, turns can be paired: the baseline is loaded at
//! the same time on the same core, the scheduler deals the core out to both in slices of a few
//! milliseconds, and whatever the machine does meets both. The two share caches then, which
//! costs both a little; with several sessions at work on one machine, the ratio of the same
//! build varied by a tenth instead of by half.

use std::io::{IsTerminal, Write};
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::error::LabError;
use crate::random::Random;
use crate::report::Row;
use crate::server::Server;
use crate::site::Site;
use crate::slices;
use crate::statistics::Summary;
use crate::turn::{self, Turn, WARM_UP_SECONDS};
use crate::wrk::Traffic;

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
    /// What it is loaded with.
    pub traffic: Traffic,
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
    /// Whether the baseline is loaded at the same time, on the same core.
    pub paired: bool,
    /// Start of the generator that draws the orders.
    pub seed: u64,
}

/// Runs all rounds and returns a row per contender, in the given order.
pub fn run(site: &Site, contenders: &[Contender], schedule: Schedule) -> Result<Vec<Row>, LabError> {
    let mut turns: Vec<Vec<Turn>> = vec![Vec::new(); contenders.len()];
    let mut random = Random::new(schedule.seed);
    let mut progress = Progress::new(contenders.len() * schedule.rounds as usize, schedule.seconds);
    for round in 1..=schedule.rounds {
        for index in random.order(contenders.len()) {
            let contender = &contenders[index];
            progress.step(round, schedule.rounds, &contender.name);
            let companion = contenders.iter().find(|other| other.name == contender.baseline);
            turns[index].push(turn::take(site, contender, companion.filter(|_| schedule.paired), schedule)?);
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

fn row(contender: &Contender, own: &[Turn], base: Option<&[Turn]>) -> Row {
    let of = |value: &dyn Fn(&Turn) -> f64| {
        Summary::of(&own.iter().map(value).collect::<Vec<_>>()).expect("a schedule has at least one round")
    };
    let ratios = base.map(|base| {
        own.iter().zip(base).map(|(own, base)| own.cpu_us / own.companion_us.unwrap_or(base.cpu_us)).collect::<Vec<_>>()
    });
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

/// Remaining time, on stderr.
pub struct Progress {
    started: Instant,
    done: usize,
    total: usize,
    each: Duration,
    live: bool,
}

impl Progress {
    /// Of so many turns of so many seconds.
    pub fn new(total: usize, seconds: u32) -> Self {
        let each = Duration::from_secs(u64::from(seconds + WARM_UP_SECONDS)) + OVERHEAD;
        Self { started: Instant::now(), done: 0, total, each, live: std::io::stderr().is_terminal() }
    }

    /// Says which turn begins.
    pub fn step(&mut self, round: u32, rounds: u32, name: &str) {
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

    /// Clears the line.
    pub fn end(&self) {
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
        let mut random = Random::new(7);
        let orders: Vec<Vec<usize>> = (0..20).map(|_| random.order(11)).collect();
        for order in &orders {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..11).collect::<Vec<_>>());
        }
        assert!(orders.iter().collect::<std::collections::HashSet<_>>().len() > 15);
    }
}
