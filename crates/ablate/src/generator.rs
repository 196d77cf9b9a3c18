//! Load generators that others know: `wrk` and `h2load`, so that a run can be compared with theirs.
//!
//! They run for whole seconds, and what they leave half done at the end has cost CPU and is not
//! counted; with thousands of requests in a turn that is below what rounds differ by.

use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::driver::Slice;
use super::load::Aim;
use crate::child;
use crate::child::{Child, Launch};
use crate::error::LabError;
use crate::wrk::LoadReport;

/// How much longer than asked one may take before it counts as hung.
const GRACE: Duration = Duration::from_secs(30);
/// Seconds of the warm-up before each turn.
const WARM_UP: u32 = 1;
/// Marks the script's line among what `wrk` prints.
const MARK: &str = "weir-lab ";
/// The end of `bench/load/rs.lua`, for a URL: what is reported, whatever is sent.
const REPORT: &str = r#"function done(summary, latency, _)
  local e = summary.errors
  io.write(string.format(
    'weir-lab {"requests":%d,"duration_us":%d,"bytes":%d,"p50_us":%d,"p90_us":%d,"p99_us":%d,"max_us":%d,'
      .. '"failed_connects":%d,"failed_reads":%d,"failed_writes":%d,"bad_statuses":%d,"timeouts":%d}\n',
    summary.requests, summary.duration, summary.bytes, latency:percentile(50), latency:percentile(90),
    latency:percentile(99), latency.max, e.connect, e.read, e.write, e.status, e.timeout))
end
"#;

/// Which one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `wrk`, with the lab's script unless there is a URL.
    Wrk,
    /// `h2load --h1`, which asks for one URL.
    H2load,
}

impl Kind {
    fn program(self) -> &'static str {
        match self {
            Self::Wrk => "wrk",
            Self::H2load => "h2load",
        }
    }

    fn package(self) -> &'static str {
        match self {
            Self::Wrk => "wrk",
            Self::H2load => "nghttp2-client",
        }
    }
}

/// A generator that is installed.
#[derive(Debug)]
pub struct Generator {
    kind: Kind,
    aim: Aim,
    script: PathBuf,
}

impl Generator {
    /// Looks for it.
    pub fn new(kind: Kind, aim: Aim) -> Result<Self, LabError> {
        if child::installed(kind.program()).is_none() {
            return Err(LabError::Missing(format!(
                "{} is not installed: `apt-get install {}` does it; `--load mix` needs no other program",
                kind.program(),
                kind.package()
            )));
        }
        let script = aim.directory.join("load-ablate.lua");
        let text = if aim.url.is_none() { crate::wrk::SCRIPTS[0].1 } else { REPORT };
        crate::site::write(&script, text)?;
        Ok(Self { kind, aim, script })
    }

    /// A turn after a warm-up.
    pub fn slice(
        &mut self,
        address: SocketAddr,
        cpu_ns: &mut dyn FnMut() -> Result<u64, LabError>,
    ) -> Result<Slice, LabError> {
        self.run(address, WARM_UP)?;
        let before = cpu_ns()?;
        let slice = self.run(address, (self.aim.seconds.ceil() as u32).max(1))?;
        Ok(Slice { cpu_ns: cpu_ns()?.saturating_sub(before), ..slice })
    }

    fn run(&self, address: SocketAddr, seconds: u32) -> Result<Slice, LabError> {
        let output = self.aim.directory.join("load.out");
        let mut child = Child::start(Launch {
            program: OsStr::new(self.kind.program()),
            arguments: self.arguments(address, seconds),
            environment: Vec::new(),
            core: self.aim.placement.load,
            nice: self.aim.placement.nice,
            output: output.clone(),
        })?;
        let status = child.wait(Duration::from_secs(u64::from(seconds)) + GRACE)?;
        let text = std::fs::read_to_string(&output).map_err(LabError::file(&output))?;
        let found = match self.kind {
            Kind::Wrk => of_wrk(&text),
            Kind::H2load => of_h2load(&text),
        };
        found.ok_or_else(|| LabError::program(self.kind.program(), format!("{status}, and no report:\n{text}")))
    }

    fn arguments(&self, address: SocketAddr, seconds: u32) -> Vec<OsString> {
        let target = self.aim.url.as_ref().map_or("/", |url| url.target.as_str());
        let url = format!("http://{address}{target}");
        let connections = self.aim.connections;
        let words = match self.kind {
            Kind::Wrk => vec![
                "-t1".into(),
                format!("-c{connections}"),
                format!("-d{seconds}s"),
                "-s".into(),
                self.script.display().to_string(),
                url,
            ],
            Kind::H2load => {
                vec!["--h1".into(), format!("-c{connections}"), format!("-D{seconds}"), "-t1".into(), url]
            }
        };
        words.into_iter().map(OsString::from).collect()
    }
}

fn of_wrk(text: &str) -> Option<Slice> {
    let line = text.lines().find_map(|line| line.strip_prefix(MARK))?;
    let report: LoadReport = serde_json::from_str(line).ok()?;
    Some(Slice { requests: report.requests, refused: report.bad_statuses, cpu_ns: 0 })
}

/// `requests: 10 total, 10 started, 9 done, ...` and `status codes: 8 2xx, 0 3xx, 1 4xx, 0 5xx`.
fn of_h2load(text: &str) -> Option<Slice> {
    let numbers = |start: &str, unit: &str| -> Option<u64> {
        let rest = text.lines().find_map(|line| line.strip_prefix(start))?;
        rest.split(',').find_map(|part| part.trim().strip_suffix(unit)?.trim().parse().ok())
    };
    let status = |class: &str| numbers("status codes:", class);
    Some(Slice {
        requests: status("2xx")? + status("3xx")? + status("4xx")? + status("5xx")?,
        refused: status("4xx")? + status("5xx")?,
        cpu_ns: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_both_are_read() {
        let wrk = "weir-lab {\"requests\":7,\"duration_us\":1,\"bytes\":1,\"p50_us\":1,\"p90_us\":1,\"p99_us\":1,\
            \"max_us\":1,\"failed_connects\":0,\"failed_reads\":0,\"failed_writes\":0,\"bad_statuses\":2,\"timeouts\":0}";
        assert_eq!(of_wrk(wrk), Some(Slice { requests: 7, refused: 2, cpu_ns: 0 }));
        let h2load = "requests: 120 total, 120 started, 110 done, 100 succeeded, 10 failed, 10 errored, 0 timeout\n\
            status codes: 100 2xx, 5 3xx, 4 4xx, 1 5xx\n";
        assert_eq!(of_h2load(h2load), Some(Slice { requests: 110, refused: 5, cpu_ns: 0 }));
        assert_eq!(of_h2load("usage: h2load"), None);
    }
}
