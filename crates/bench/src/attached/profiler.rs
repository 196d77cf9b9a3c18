//! The profilers, one row each: their command lines, and the CPU and memory that they take.

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use weir_measure::child::{self, Child, Launch};
use weir_measure::error::MeasureError;
use weir_measure::process::{self, CpuTime};
use weir_measure::server::Server;
use weir_measure::site::Site;

/// Samples per second on each CPU, of every profiler.
const HZ: &str = "99";
/// How long a profiler may take to write what it has when it is asked to end.
const END_LIMIT: Duration = Duration::from_secs(60);
/// How long it may take until it samples.
const START: Duration = Duration::from_secs(2);

/// A profiler.
#[derive(Debug)]
pub struct Profiler {
    /// Its name in the results.
    pub name: &'static str,
    /// The program and its arguments for processes and an output file; `None` attaches no profiler.
    command: Option<Command>,
}

type Command = fn(&[u32], &str) -> Result<(OsString, Vec<String>), MeasureError>;

/// The table.
pub const PROFILERS: &[Profiler] = &[
    Profiler { name: super::BASELINE, command: None },
    Profiler { name: "none-again", command: None },
    Profiler { name: "weir", command: Some(weir) },
    Profiler { name: "perf-dwarf", command: Some(perf) },
];

fn weir(workers: &[u32], file: &str) -> Result<(OsString, Vec<String>), MeasureError> {
    let mut arguments: Vec<String> = ["profile", "--hz", HZ, "--duration", "3600"].map(String::from).into();
    workers.iter().for_each(|pid| arguments.extend(["--pid".into(), pid.to_string()]));
    arguments.extend(["-o".into(), format!("{file}.weir.json.gz")]);
    Ok((crate::weir::command()?.into_os_string(), arguments))
}

fn perf(workers: &[u32], file: &str) -> Result<(OsString, Vec<String>), MeasureError> {
    let pids = workers.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let arguments = ["record", "-e", "cpu-clock", "-F", HZ, "--call-graph", "dwarf", "-p", &pids, "-o", file];
    Ok(("perf".into(), arguments.map(String::from).into()))
}

/// What a profiler has spent on itself.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    /// CPU as a share of one core, during the turn.
    pub own_cpu: f64,
    /// Largest resident memory so far, in MiB.
    pub rss_mib: f64,
}

/// A profiler at work.
pub struct Attached {
    name: &'static str,
    child: Child,
}

impl Profiler {
    /// An error if it is not installed.
    pub fn installed(&self) -> Result<(), MeasureError> {
        match self.name == "perf-dwarf" && child::installed("perf").is_none() {
            true => Err(MeasureError::Missing("perf is not installed; the package linux-perf has it".into())),
            false => Ok(()),
        }
    }

    /// Starts it on a server's workers and waits until it samples.
    pub fn attach(&self, site: &Site, server: &Server) -> Result<Option<Attached>, MeasureError> {
        let Some(command) = self.command else {
            std::thread::sleep(START);
            return Ok(None);
        };
        let file = site.path(&format!("profile-{}", self.name));
        let (program, arguments) = command(&server.workers(), &file.to_string_lossy())?;
        let mut child = Child::start(Launch {
            program: OsStr::new(&program),
            arguments: arguments.into_iter().map(OsString::from).collect(),
            environment: Vec::new(),
            core: None,
            nice: site.placement.nice,
            output: site.path(&format!("profile-{}.out", self.name)),
        })?;
        std::thread::sleep(START);
        child.expect_running()?;
        Ok(Some(Attached { name: self.name, child }))
    }
}

impl Attached {
    /// CPU time that it has spent so far.
    pub fn cpu(&self) -> Result<CpuTime, MeasureError> {
        CpuTime::of(self.child.id())
    }

    /// CPU and memory that it has taken since.
    pub fn spent(&mut self, before: CpuTime, elapsed: Duration) -> Result<Spent, MeasureError> {
        self.child.expect_running()?;
        let own = self.cpu()?.since(before).run_ns;
        Ok(Spent {
            own_cpu: own as f64 / 1e9 / elapsed.as_secs_f64(),
            rss_mib: process::peak_rss_kib(self.child.id())? as f64 / 1024.0,
        })
    }

    /// Ends it as Ctrl-C does, so that it writes what it has.
    pub fn end(mut self) -> Result<(), MeasureError> {
        self.child.signal(libc::SIGINT);
        let status = self.child.wait(END_LIMIT)?;
        // perf ends by the signal after it has written.
        if status.success() || self.name == "perf-dwarf" {
            return Ok(());
        }
        Err(MeasureError::program(self.name, format!("{status}\n{}", self.child.said())))
    }
}
