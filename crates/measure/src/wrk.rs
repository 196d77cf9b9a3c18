//! The load: Debian's `wrk` with our Lua script, and what it reports.
//!
//! `wrk` and not a generator of our own: it has been looked at by many, costs little CPU per
//! request, and everybody can repeat a run by hand. Its closed loop (a connection sends when
//! the last answer came) is right for CPU per request and misleading for latency under a given
//! rate, which the bench's README says.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::child::{Child, Launch};
use crate::error::MeasureError;
use crate::h2load;
use crate::load_report::LoadReport;

/// The script of the request mix: forms as browsers submit them.
pub const MIX: &str = include_str!("../../../bench/load/rs.lua");
/// The scripts, as they lie in `bench/load`: name in the run's directory, and text.
pub const SCRIPTS: [(&str, &str); 2] = [(RS, MIX), (CRS, include_str!("../../../bench/load/crs.lua"))];
/// The script of the RS pipeline.
const RS: &str = "load-rs.lua";
/// The script of the loads that have a kind.
const CRS: &str = "load-crs.lua";
/// The script that sends requests from a file.
pub const FROM_FILE: &str = "load-from-file.lua";
/// The directory of such files in the run's directory.
pub const REQUESTS: &str = "requests";
/// How much longer than asked `wrk` may take before it counts as hung.
const GRACE: Duration = Duration::from_secs(30);
/// After how long an answer counts as missing: more than the 2 seconds of `wrk`, for a machine that is saturated.
const TIMEOUT: &str = "10s";
/// Marks the script's line among what `wrk` prints.
const MARK: &str = "weir-load ";

/// The end of a script, which only reports what `wrk` has seen: for requests that `wrk` makes itself.
#[must_use]
pub fn report_of(script: &str) -> &str {
    script.find("function done(").map_or("", |start| &script[start..])
}

/// The program that makes a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Generator {
    /// `wrk` with a script; HTTP/1.1, as fast as answers come.
    #[default]
    Wrk,
    /// `h2load` with the page of the load `get`.
    H2load {
        /// Streams at a time on a connection of HTTP/2; `None` is HTTP/1.1.
        streams: Option<u32>,
        /// Requests per second of all connections; `None` is as fast as answers come.
        rate: Option<u32>,
    },
}

/// What a load sends, and what must come back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Kind of the requests, one of those in `crs.lua`; the form of `rs.lua` if `None`.
    pub kind: Option<&'static str>,
    /// The file of [`REQUESTS`] from which the script [`FROM_FILE`], which a scenario writes itself, takes requests.
    pub requests: Option<&'static str>,
    /// Size of the bodies; the script's own if `None`.
    pub body_bytes: Option<usize>,
    /// Hosts `site-0.example.com` and so on to go round; `www.example.com` if `None`.
    pub sites: Option<usize>,
    /// How many of a hundred requests must be refused: none, all, or the attacks of a mixture.
    pub refused_percent: u8,
    /// Whether a request takes milliseconds, so that 64 at a time would outlast the run.
    pub slow: bool,
    /// The program that makes it.
    pub generator: Generator,
    /// Port of the server, if it is not its usual one.
    pub port: Option<u16>,
}

impl Traffic {
    /// File name of the script that makes it.
    #[must_use]
    pub fn script(&self) -> &'static str {
        match (self.requests, self.kind) {
            (Some(_), _) => FROM_FILE,
            (None, Some(_)) => CRS,
            (None, None) => RS,
        }
    }

    fn environment(&self, script: &Path) -> Vec<(&'static str, String)> {
        let file = |name| script.with_file_name(REQUESTS).join(name).display().to_string();
        let requests = self.requests.map(|name| ("WEIR_BENCH_REQUESTS", file(name)));
        let kind = self.kind.map(|kind| ("WEIR_BENCH_LOAD", kind.to_owned()));
        let bytes = self.body_bytes.map(|bytes| ("WEIR_BENCH_BODY", bytes.to_string()));
        let sites = self.sites.map(|sites| ("WEIR_BENCH_SITES", sites.to_string()));
        requests.into_iter().chain(kind).chain(bytes).chain(sites).collect()
    }
}

/// A run of `wrk`.
#[derive(Clone, Debug)]
pub struct Load {
    /// URL of the server under load.
    pub url: String,
    /// Concurrent keep-alive connections.
    pub connections: u32,
    /// Length of the run in seconds.
    pub seconds: u32,
    /// The requests.
    pub traffic: Traffic,
    /// Core for the generator.
    pub core: Option<usize>,
    /// Nice value of the generator.
    pub nice: i32,
    /// Where the script has been written.
    pub script: PathBuf,
    /// File for what `wrk` prints.
    pub output: PathBuf,
}

impl Load {
    /// Runs it to its end.
    pub fn run(&self) -> Result<LoadReport, MeasureError> {
        self.start()?.finish(&mut || Ok(()))
    }

    /// Starts it.
    pub fn start(&self) -> Result<RunningLoad, MeasureError> {
        if let Generator::H2load { streams, rate } = self.traffic.generator {
            return self.start_h2load(streams, rate);
        }
        let arguments = [
            "-t1".into(),
            format!("-c{}", self.connections),
            format!("-d{}s", self.seconds),
            "--timeout".into(),
            TIMEOUT.into(),
            "-s".into(),
            self.script.display().to_string(),
            self.url.clone(),
        ];
        let child = Child::start(Launch {
            program: OsStr::new("wrk"),
            arguments: arguments.iter().map(Into::into).collect(),
            environment: self.traffic.environment(&self.script),
            core: self.core,
            nice: self.nice,
            output: self.output.clone(),
        })?;
        Ok(self.running(child, parse))
    }

    fn start_h2load(&self, streams: Option<u32>, rate: Option<u32>) -> Result<RunningLoad, MeasureError> {
        // It appends to the log of an earlier run.
        let log = self.output.with_extension("log");
        let _ = std::fs::remove_file(&log);
        let mut arguments = h2load::arguments(&log, self.connections, self.seconds, streams, rate);
        arguments.extend(
            (1..=h2load::PAGES).map(|page| format!("{}search?q=oak+chair&page={page}&sort=price&lang=en", self.url)),
        );
        let child = h2load::start(&arguments, self.core, self.nice, &self.output)?;
        Ok(RunningLoad { output: log, ..self.running(child, h2load::report) })
    }

    fn running(&self, child: Child, parse: fn(&str) -> Option<LoadReport>) -> RunningLoad {
        let limit = Duration::from_secs(u64::from(self.seconds)) + GRACE;
        RunningLoad { child, output: self.output.clone(), limit, parse }
    }
}

/// A load that is under way.
#[derive(Debug)]
pub struct RunningLoad {
    child: Child,
    output: PathBuf,
    limit: Duration,
    parse: fn(&str) -> Option<LoadReport>,
}

impl RunningLoad {
    /// Waits for its end and calls `meanwhile` again and again.
    pub fn finish(
        mut self,
        meanwhile: &mut dyn FnMut() -> Result<(), MeasureError>,
    ) -> Result<LoadReport, MeasureError> {
        let status = self.child.wait_and(self.limit, meanwhile)?;
        let text = std::fs::read_to_string(&self.output).map_err(MeasureError::file(&self.output))?;
        crate::interrupt::check_interrupted()?;
        (self.parse)(&text).ok_or_else(|| {
            let said = self.child.said();
            MeasureError::program("the load generator", format!("{status}, and no report in its output:\n{said}"))
        })
    }
}

/// Finds the script's line in what `wrk` printed.
fn parse(text: &str) -> Option<LoadReport> {
    let line = text.lines().find_map(|line| line.strip_prefix(MARK))?;
    serde_json::from_str(line).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "Running 3s test @ http://127.0.0.1:20001/\n  1 threads and 64 connections\n\
        Requests/sec:  55000.12\n\
        weir-load {\"requests\":165003,\"duration_us\":3000120,\"bytes\":24750450,\"p50_us\":1100,\"p90_us\":1300,\
        \"p99_us\":2100,\"max_us\":9000,\"failed_connects\":0,\"failed_reads\":0,\"failed_writes\":0,\
        \"bad_statuses\":0,\"timeouts\":0}\n";

    #[test]
    fn the_scripts_line_is_found_among_the_rest() {
        let report = parse(OUTPUT).unwrap();
        assert_eq!((report.requests, report.p50_us, report.p99_us), (165_003, 1100, 2100));
        assert!((report.rate() - 54_998.8).abs() < 0.1, "{}", report.rate());
        assert_eq!(report.trouble(0), None);
    }

    #[test]
    fn scripts_end_with_their_report() {
        for (name, script) in SCRIPTS {
            assert!(report_of(script).contains(MARK), "{name}");
        }
    }

    #[test]
    fn output_without_the_line_is_no_report() {
        assert_eq!(parse("unable to connect to 127.0.0.1:1 Connection refused\n"), None);
        assert_eq!(parse("weir-load {\"requests\":1"), None);
    }

    #[test]
    fn bad_answers_are_named_and_counted() {
        let bad = OUTPUT.replace("\"bad_statuses\":0", "\"bad_statuses\":12");
        let words = parse(&bad).unwrap().trouble(0).unwrap();
        assert!(words.contains("12 answers too many with a status of 400 or more among 165003"), "{words}");
        let words = parse(&bad).unwrap().trouble(100).unwrap();
        assert!(words.contains("164991 answers too many with a status below 400"), "{words}");
        let none = OUTPUT.replace("165003", "0");
        assert_eq!(parse(&none).unwrap().trouble(0).as_deref(), Some("no answer at all"));
    }

    #[test]
    fn of_a_mixture_about_the_attacks_must_be_refused() {
        let refused = |count: u64| LoadReport { bad_statuses: count, ..parse(OUTPUT).unwrap() }.trouble(2);
        assert_eq!((refused(3_300), refused(2_500)), (None, None));
        assert!(refused(0).unwrap().contains("below 400") && refused(5_000).unwrap().contains("400 or more"));
    }
}
