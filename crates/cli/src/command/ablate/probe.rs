//! Ablation of probes in JVMs: plugins, or the probes of a link, are masked by turns under the load that is there.
//!
//! A mask ends by itself unless it is renewed, so no journal and no guard are needed: what a killed run has silenced
//! wakes after some seconds. Edges stay on, because a marked request that no edge sees is served as business traffic;
//! they count the requests, too.

use std::collections::HashMap;
use std::fs;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use weir_ablate::{self as ablate, LoadChoice, MeasureError, Options, Outcome, Part, Stage};

use crate::Failure;
use crate::arguments::{Ablate, Arguments, Cost};
use crate::probe::{Probe, mask, some};
use crate::terminal::shown;
use weir_measure::process::is_compiler;

/// Rounds and seconds of a slice, unless said otherwise. Each change makes the JIT compiler work again.
pub(crate) const ROUNDS: u32 = 12;
pub(crate) const SECONDS: f64 = 2.0;
/// The share of a slice that is waited after a change, before it is measured.
const SETTLE: f64 = 0.5;
/// How long a mask holds beyond what a slice takes.
const SLACK: Duration = Duration::from_secs(5);

/// `weir ablate --probe`: each plugin is a part.
pub(super) fn run(arguments: &Arguments, ablate: &Ablate, options: &Options) -> Result<Outcome, Failure> {
    let jvms = jvms(some(arguments, &ablate.which)?, ablate.edges)?;
    let mut names: Vec<String> = jvms.iter().flat_map(|jvm| jvm.plugins.iter().cloned()).collect();
    names.sort();
    names.dedup();
    names.retain(|name| ablate.only.is_empty() || ablate.only.contains(name));
    if names.is_empty() {
        return Err(Failure::new("no plugin of these probes is on in code that has run").hint("weir probes lists them"));
    }
    let parts = names.into_iter().map(|name| Piece { jvm: None, name }).collect();
    measure(arguments, jvms, parts, ("plugin", ablate.edges), options)
}

/// `weir cost --probe --link`: the probe of each JVM is a part.
pub(crate) fn link(arguments: &Arguments, cost: &Cost) -> Result<Outcome, Failure> {
    let jvms = jvms(some(arguments, &cost.which)?, false)?;
    let parts = jvms.iter().enumerate().map(|(at, jvm)| Piece { jvm: Some(at), name: jvm.probe.name() }).collect();
    let options = Options {
        load: LoadChoice::Live,
        url: None,
        connections: 1,
        rounds: cost.rounds,
        seconds: cost.seconds,
        pairs: false,
        seed: super::clock_seed(),
        module: None,
        no_pin: true,
        nice: 0,
    };
    measure(arguments, jvms, parts, ("JVM", false), &options)
}

/// Says which part costs most, if the rounds can tell.
pub(super) fn dearest(outcome: &Outcome) -> String {
    let figure = |part: &ablate::PartRow| format!("{} us of CPU per request", outcome.unit.figure(part.cost));
    match outcome.parts.first() {
        Some(first) if first.cost.low > 0.0 => format!("dearest: {}, {}", shown(&first.name, 80), figure(first)),
        Some(first) => format!(
            "no {} costs more than the rounds can tell from nothing; the first, {}, costs {}",
            outcome.by,
            shown(&first.name, 80),
            figure(first)
        ),
        None => "nothing was measured".to_owned(),
    }
}

/// What is masked together: a plugin in all JVMs, or all plugins of one.
struct Piece {
    jvm: Option<usize>,
    name: String,
}

struct Jvm {
    probe: Probe,
    /// Plugins that can be masked.
    plugins: Vec<String>,
    /// Whether it has an edge that counts requests.
    counts: bool,
    cpu: Cpu,
}

fn jvms(probes: Vec<Probe>, edges: bool) -> Result<Vec<Jvm>, Failure> {
    let each = probes.into_iter().map(|probe| {
        let about = probe.describe()?;
        if about["state"] != "armed" {
            let name = probe.name();
            return Err(Failure::new(format!(
                "the probe of {name} is not armed: its plugins do nothing that could be measured"
            ))
            .hint("weir probes arm"));
        }
        let plugins = || about["plugins"].as_array().into_iter().flatten().filter(|one| one["state"] == "on");
        let is_edge = |one: &&Value| one["role"] == "edge";
        let named = plugins().filter(|one| edges || !is_edge(one)).filter_map(|one| one["name"].as_str());
        let plugins_on = named.map(str::to_owned).collect();
        Ok(Jvm {
            counts: plugins().any(|one| is_edge(&one)) && !edges,
            plugins: plugins_on,
            probe,
            cpu: Cpu::default(),
        })
    });
    each.collect()
}

fn measure(
    arguments: &Arguments,
    jvms: Vec<Jvm>,
    pieces: Vec<Piece>,
    (by, edges): (&str, bool),
    options: &Options,
) -> Result<Outcome, Failure> {
    let address = match &options.url {
        Some(url) => url.address().map_err(Failure::new)?,
        None => SocketAddr::from(([127, 0, 0, 1], 0)),
    };
    let gateway = weir_ledger::Control::open(&arguments.runtime).ok();
    if options.load == LoadChoice::Live && gateway.is_none() && !jvms.iter().any(|jvm| jvm.counts) {
        return Err(Failure::new("nothing counts requests: no edge of these probes is on, and no gateway runs here")
            .hint("--url sends requests and counts them; --runtime names the directory of a gateway in front"));
    }
    let parts: Vec<Part> = pieces.iter().map(|piece| Part::named(&piece.name)).collect();
    let of = jvms.iter().map(|jvm| jvm.probe.name()).collect::<Vec<_>>().join(", ");
    weir_measure::interrupt::catch();
    let time = Duration::from_secs_f64(options.seconds * 3.0) + SLACK;
    let settle = Duration::from_secs_f64(options.seconds * SETTLE);
    let mut session = Session { jvms, pieces, edges, gateway, address, current: None, time, settle };
    let outcome = ablate::elsewhere(&mut session, of, by.to_owned(), parts, options);
    session.unmask()?;
    outcome.map_err(Failure::new)
}

struct Session {
    jvms: Vec<Jvm>,
    pieces: Vec<Piece>,
    edges: bool,
    gateway: Option<weir_ledger::Control>,
    address: SocketAddr,
    current: Option<usize>,
    /// How long a mask holds.
    time: Duration,
    settle: Duration,
}

impl Session {
    /// The plugins of a JVM that are masked.
    fn off(&self, at: usize, on: &[bool]) -> Vec<&str> {
        let masked = |name: &String| {
            let mut pieces = self.pieces.iter().zip(on).filter(|(_, on)| !**on).map(|(piece, _)| piece);
            pieces.any(|piece| piece.jvm.map_or_else(|| piece.name == *name, |jvm| jvm == at))
        };
        self.jvms[at].plugins.iter().filter(|name| masked(name)).map(String::as_str).collect()
    }

    fn unmask(&self) -> Result<(), Failure> {
        // All are tried; those that do not answer wake by themselves.
        let done: Vec<_> = self.jvms.iter().map(|jvm| jvm.probe.act("mask", &mask(&[], self.time, false))).collect();
        let seconds = self.time.as_secs();
        done.into_iter()
            .collect::<Result<Vec<_>, _>>()
            .map(drop)
            .map_err(|failure| Failure::new(format!("{failure}; its plugins wake by themselves within {seconds} s")))
    }
}

impl Stage for Session {
    fn enter(&mut self, variant: usize, _copy: usize, on: &[bool]) -> Result<(), MeasureError> {
        for at in 0..self.jvms.len() {
            let off = self.off(at, on);
            let done = self.jvms[at].probe.act("mask", &mask(&off, self.time, self.edges));
            let done = done.map_err(|failure| MeasureError::program("probe", failure.to_string()))?;
            let masked: Vec<&str> = done["masked"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            if masked.len() != off.len() {
                let name = self.jvms[at].probe.name();
                let message = format!("{name}: others have switched plugins during the run, which ends here");
                return Err(MeasureError::program("probe", message));
            }
        }
        if self.current.replace(variant) != Some(variant) {
            std::thread::sleep(self.settle);
        }
        Ok(())
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    fn cpu_ns(&mut self) -> Result<u64, MeasureError> {
        self.jvms.iter_mut().try_fold(0, |sum, jvm| Ok(sum + jvm.cpu_ns()?))
    }

    /// Of the application that has most: a request passes one after the other.
    fn requests(&mut self) -> Result<Option<u64>, MeasureError> {
        let mut by_app: HashMap<&str, u64> = HashMap::new();
        for jvm in self.jvms.iter().filter(|jvm| jvm.counts) {
            let report = jvm.probe.cost().map_err(|failure| MeasureError::program("probe", failure.to_string()))?;
            *by_app.entry(&jvm.probe.app).or_default() += report["requests"].as_u64().unwrap_or_default();
        }
        let counted = by_app.into_values().max();
        let by_gateway = || Some(self.gateway.as_ref()?.workers().iter().map(|worker| worker.requests).sum());
        Ok(counted.or_else(by_gateway))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = self.unmask();
        }
    }
}

impl Jvm {
    fn cpu_ns(&mut self) -> Result<u64, MeasureError> {
        if self.probe.user.is_some() {
            return self.cpu.read(self.probe.pid);
        }
        let report = self.probe.cost().map_err(|failure| MeasureError::program("probe", failure.to_string()))?;
        Ok(report["cpu_ns"].as_u64().unwrap_or_default())
    }
}

/// CPU time of a JVM's threads without the JIT compiler's, in nanoseconds: what is switched is compiled again, and that
/// is the measurement's cost and not the plugin's.
#[derive(Default)]
struct Cpu {
    sum: u64,
    last: HashMap<u32, u64>,
}

impl Cpu {
    fn read(&mut self, pid: u32) -> Result<u64, MeasureError> {
        let tasks = format!("/proc/{pid}/task");
        let mut seen = HashMap::new();
        for task in fs::read_dir(&tasks).map_err(MeasureError::file(&tasks))?.filter_map(Result::ok) {
            let Some(tid) = task.file_name().to_str().and_then(|tid| tid.parse().ok()) else { continue };
            // A thread may end between the listing and the reading.
            let Ok(name) = fs::read_to_string(task.path().join("comm")) else { continue };
            let Ok(times) = fs::read_to_string(task.path().join("schedstat")) else { continue };
            if !is_compiler(&name) {
                seen.insert(tid, times.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or_default());
            }
        }
        let more = |(tid, ns): (&u32, &u64)| ns.saturating_sub(self.last.get(tid).copied().unwrap_or_default());
        self.sum += seen.iter().map(more).sum::<u64>();
        self.last = seen;
        Ok(self.sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_grows_by_what_threads_have_used() {
        let mut cpu = Cpu::default();
        let before = cpu.read(std::process::id()).unwrap();
        let start = std::time::Instant::now();
        while start.elapsed() < Duration::from_millis(30) {
            std::hint::black_box(start);
        }
        let after = cpu.read(std::process::id()).unwrap();
        assert!(after > before, "{before} {after}");
        assert!(cpu.read(u32::MAX).is_err());
    }
}
