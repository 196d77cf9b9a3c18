//! One turn: one contender under load for a few seconds, with its baseline beside it if paired.

use std::rc::Rc;
use std::time::Duration;

use crate::check;
use crate::rounds::{Contender, Schedule};
use crate::slices::Sampler;
use weir_measure::error::MeasureError;
use weir_measure::load_report::LoadReport;
use weir_measure::process::CpuTime;
use weir_measure::server::Server;
use weir_measure::site::Site;
use weir_measure::syscalls::Counter;
use weir_measure::wrk::{Load, RunningLoad};

/// Length of the warm-up before each turn, in seconds; the least that `wrk` can do.
pub const WARM_UP_SECONDS: u32 = 1;
/// Length of the run that looks whether all answers are right, in seconds: at least 64 requests are to be seen.
const CHECK_SECONDS: u32 = 2;
/// The same for those that need milliseconds for a request; the slowest answers some 30 a second.
const SLOW_CHECK_SECONDS: u32 = 5;
/// Connections to those that need milliseconds for a request: what is half done when a turn ends
/// has cost CPU and is not counted, and must be few among some hundred.
const SLOW_CONNECTIONS: u32 = 4;
/// How long workers must be idle after the warm-up to have noticed that its connections are gone.
const IDLE: Duration = Duration::from_millis(300);
/// How much they may work in that time and count as idle.
const IDLE_NS: u64 = 3_000_000;
/// How often idleness is looked for at most.
const IDLE_TRIES: u32 = 30;

/// The result of a turn.
#[derive(Clone, Debug)]
pub struct Turn {
    /// CPU of the workers per request, in microseconds.
    pub cpu_us: f64,
    /// The same of the baseline, if it ran at the same time.
    pub companion_us: Option<f64>,
    /// The user part, from ticks.
    pub user_us: f64,
    /// The system part, from ticks.
    pub system_us: f64,
    /// Share of the turn that the workers waited for a core.
    pub waiting: f64,
    /// CPU per request of each tenth of a second, in microseconds; none if paired, because the
    /// origin cannot tell whose requests it counts.
    pub slices: Vec<f64>,
    /// The report of the load generator.
    pub load: LoadReport,
}

/// A server under load.
struct Loaded<'l> {
    name: &'l str,
    refused_percent: u8,
    server: &'l Server,
    workers: Vec<u32>,
    before: CpuTime,
    running: RunningLoad,
}

/// Takes a turn, beside the companion if there is one (and the contender is neither it nor the
/// origin).
pub fn take(
    site: &Site,
    contender: &Contender,
    companion: Option<&Contender>,
    schedule: Schedule,
) -> Result<Turn, MeasureError> {
    // The origin works for the companion too, so its own CPU could not be told apart.
    let alone = contender.server.port == site.origin_port;
    let companion = companion.filter(|other| !alone && !Rc::ptr_eq(&other.server, &contender.server));
    let load = load_of(site, contender, schedule, "wrk.out");
    let other_load = companion.map(|other| (other, load_of(site, other, schedule, "wrk-companion.out")));
    Load { seconds: WARM_UP_SECONDS, ..load.clone() }.run()?;
    if let Some((_, load)) = &other_load {
        Load { seconds: WARM_UP_SECONDS, ..load.clone() }.run()?;
    }
    if contender.traffic.slow || contender.traffic.requests.is_some() {
        settle(&contender.server)?;
    }
    let other = other_load.as_ref().map(|(other, load)| Loaded::start(other, load)).transpose()?;
    let own = Loaded::start(contender, &load)?;
    if let Some(other) = other {
        let (own_spent, own_load) = own.end(&mut || Ok(()))?;
        let (other_spent, other_load) = other.end(&mut || Ok(()))?;
        let companion_us = other_spent.run_ns as f64 / 1e3 / other_load.requests as f64;
        return Ok(turn(own_spent, own_load, Some(companion_us), Vec::new()));
    }
    let mut sampler = Sampler::begin(&contender.server, site.origin_port)?;
    let (spent, report) = own.end(&mut || sampler.tick())?;
    Ok(turn(spent, report, None, sampler.end()))
}

/// Waits until the workers have done what the warm-up left to be done: it would count as the turn's.
fn settle(server: &Server) -> Result<(), MeasureError> {
    let mut before = server.cpu()?.run_ns;
    for _ in 0..IDLE_TRIES {
        std::thread::sleep(IDLE);
        let now = server.cpu()?.run_ns;
        if now.saturating_sub(before) < IDLE_NS {
            break;
        }
        before = now;
    }
    Ok(())
}

/// Loads a contender for as long as it takes to be warm.
pub fn warm_up(site: &Site, contender: &Contender, schedule: Schedule) -> Result<(), MeasureError> {
    let load = load_of(site, contender, schedule, "wrk.out");
    Load { seconds: WARM_UP_SECONDS, ..load }.run().map(drop)
}

/// System calls of the workers per request, and wake-ups of others that they cause. The tracepoint costs time, so this is not a measured turn.
pub fn syscalls(site: &Site, contender: &Contender, schedule: Schedule) -> Result<[f64; 2], MeasureError> {
    let load = Load { seconds: WARM_UP_SECONDS, ..load_of(site, contender, schedule, "wrk.out") };
    let counter = Counter::start(&contender.server.workers(), site.placement, site.path("perf.out"))?;
    let report = load.run()?;
    Ok(counter.finish()?.map(|count| count as f64 / report.requests.max(1) as f64))
}

/// Runs the load for a moment: every answer must be the right one.
pub fn check(site: &Site, contender: &Contender, schedule: Schedule) -> Result<(), MeasureError> {
    let seconds = if contender.traffic.slow { SLOW_CHECK_SECONDS } else { CHECK_SECONDS };
    let load = Load { seconds, ..load_of(site, contender, schedule, "wrk-check.out") };
    match load.run()?.trouble(contender.traffic.refused_percent) {
        None => Ok(()),
        Some(trouble) => {
            let kind = contender.traffic.kind.unwrap_or("usual");
            let log = contender.server.error_log();
            Err(MeasureError::wrong(
                &contender.name,
                format!("load {kind}: {trouble}; its error log ends with:\n{log}"),
            ))
        }
    }
}

/// The load of a contender; what `wrk` prints goes to a file of this name.
pub fn load_of(site: &Site, contender: &Contender, schedule: Schedule, output: &str) -> Load {
    Load {
        url: format!("http://127.0.0.1:{}/", contender.traffic.port.unwrap_or(contender.server.port)),
        connections: if contender.traffic.slow { SLOW_CONNECTIONS } else { schedule.connections },
        seconds: schedule.seconds,
        traffic: contender.traffic,
        core: site.placement.load,
        nice: site.placement.nice,
        script: site.path(contender.traffic.script()),
        output: site.path(output),
    }
}

fn turn(spent: CpuTime, load: LoadReport, companion_us: Option<f64>, slices: Vec<f64>) -> Turn {
    let per_request = |nanoseconds: u64| nanoseconds as f64 / 1e3 / load.requests as f64;
    Turn {
        cpu_us: per_request(spent.run_ns),
        companion_us,
        user_us: per_request(spent.user_ns),
        system_us: per_request(spent.system_ns),
        waiting: spent.wait_ns as f64 / 1e3 / load.duration_us.max(1) as f64,
        slices,
        load,
    }
}

impl<'l> Loaded<'l> {
    fn start(contender: &'l Contender, load: &Load) -> Result<Self, MeasureError> {
        let server = &contender.server;
        server.empty_logs()?;
        let (workers, before) = (server.workers(), server.cpu()?);
        let refused_percent = contender.traffic.refused_percent;
        Ok(Self { name: &contender.name, refused_percent, server, workers, before, running: load.start()? })
    }

    /// Waits for the end of the load and looks whether all went well.
    fn end(
        self,
        meanwhile: &mut dyn FnMut() -> Result<(), MeasureError>,
    ) -> Result<(CpuTime, LoadReport), MeasureError> {
        let Self { name, refused_percent, server, workers, before, running } = self;
        let report = running.finish(meanwhile)?;
        let spent = server.cpu()?.since(before);
        let wrong =
            |what: &str| MeasureError::wrong(name, format!("{what}; its error log ends with:\n{}", server.error_log()));
        if let Some(trouble) = report.trouble(refused_percent) {
            return Err(wrong(&trouble));
        }
        if workers != server.workers() {
            return Err(wrong("a worker died under load"));
        }
        for path in &server.logs {
            check::log(name, path, report.requests)?;
        }
        server.empty_logs()?;
        Ok((spent, report))
    }
}
