//! Load generators that others know: `wrk` and `h2load`, so that a run can be compared with theirs.
//!
//! They run for whole seconds, and what they leave half done at the end has cost CPU and is not
//! counted; with thousands of requests in a turn that is below what rounds differ by.

use std::net::SocketAddr;
use std::time::Duration;

use weir_measure::child;
use weir_measure::error::MeasureError;
use weir_measure::h2load;
use weir_measure::site::write;
use weir_measure::wrk::{self, Traffic};

use super::driver::Slice;
use super::load::Target;

/// How much longer than asked `h2load` may take before it counts as hung.
const GRACE: Duration = Duration::from_secs(30);
/// Seconds of the warm-up before each turn.
const WARM_UP: u32 = 1;
/// The script for `wrk` in the run's directory.
const SCRIPT: &str = "load-ablate.lua";

/// A load generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// `wrk`, with the request mix unless there is a URL.
    Wrk,
    /// `h2load --h1`, which asks for one URL.
    H2load,
}

impl Program {
    /// Name of the program, and of the package that has it.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Wrk => ("wrk", "wrk"),
            Self::H2load => ("h2load", "nghttp2-client"),
        }
    }
}

/// A generator that is installed.
#[derive(Debug)]
pub struct Generator {
    program: Program,
    target: Target,
}

impl Generator {
    /// Looks for it.
    pub fn new(program: Program, target: Target) -> Result<Self, MeasureError> {
        let (name, package) = program.names();
        if child::installed(name).is_none() {
            return Err(MeasureError::Missing(format!(
                "{name} is not installed: `apt-get install {package}` does it; `--load mix` needs no other program"
            )));
        }
        let script = if target.url.is_none() { wrk::MIX } else { wrk::report_of(wrk::MIX) };
        write(&target.directory.join(SCRIPT), script)?;
        Ok(Self { program, target })
    }

    /// A turn after a warm-up.
    pub fn slice(
        &mut self,
        address: SocketAddr,
        cpu_ns: &mut dyn FnMut() -> Result<u64, MeasureError>,
    ) -> Result<Slice, MeasureError> {
        self.run(address, WARM_UP)?;
        let before = cpu_ns()?;
        let slice = self.run(address, (self.target.seconds.ceil() as u32).max(1))?;
        Ok(Slice { cpu_ns: cpu_ns()?.saturating_sub(before), ..slice })
    }

    fn run(&self, address: SocketAddr, seconds: u32) -> Result<Slice, MeasureError> {
        let Target { connections, placement, ref directory, .. } = self.target;
        let url = format!("http://{address}{}", self.target.url.as_ref().map_or("/", |url| url.target.as_str()));
        let output = directory.join("load.out");
        match self.program {
            Program::Wrk => {
                let load = wrk::Load {
                    url,
                    connections: u32::try_from(connections).unwrap_or(u32::MAX),
                    seconds,
                    traffic: Traffic::default(),
                    core: placement.load,
                    nice: placement.nice,
                    script: directory.join(SCRIPT),
                    output,
                };
                let report = load.run()?;
                Ok(Slice { requests: report.requests, refused: report.bad_statuses, cpu_ns: 0 })
            }
            Program::H2load => {
                let words = ["--h1".into(), format!("-c{connections}"), format!("-D{seconds}"), "-t1".into(), url];
                let limit = Duration::from_secs(u64::from(seconds)) + GRACE;
                let classes = h2load::run(&words, placement, &output, limit)?;
                Ok(Slice { requests: classes.iter().sum(), refused: classes[2] + classes[3], cpu_ns: 0 })
            }
        }
    }
}
