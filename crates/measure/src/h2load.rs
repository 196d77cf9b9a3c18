//! `h2load`, nghttp2's load generator: for HTTP/2, and for runs that others can repeat.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use crate::child::{Child, Launch};
use crate::error::MeasureError;
use crate::load_report::LoadReport;
use crate::placement::Placement;

/// How many pages a load goes round.
pub const PAGES: u32 = 40;

/// Answers by the class of their status: 2xx, 3xx, 4xx and 5xx.
pub type Classes = [u64; 4];

/// Runs it to its end with the given arguments; what it prints goes to the file `output`.
pub fn run(
    arguments: &[String],
    placement: Placement,
    output: &Path,
    limit: Duration,
) -> Result<Classes, MeasureError> {
    let mut child = start(arguments, placement.load, placement.nice, output)?;
    let status = child.wait(limit)?;
    let said = child.said();
    classes(&said).ok_or_else(|| MeasureError::program("h2load", format!("{status}, and no summary:\n{said}")))
}

/// Starts it.
pub fn start(arguments: &[String], core: Option<usize>, nice: i32, output: &Path) -> Result<Child, MeasureError> {
    Child::start(Launch {
        program: OsStr::new("h2load"),
        arguments: arguments.iter().map(Into::into).collect(),
        environment: Vec::new(),
        core,
        nice,
        output: output.to_owned(),
    })
}

/// The arguments of a load for some seconds, with a browser's headers, that logs every request. `rate` is that of all
/// connections together; without `streams` it speaks HTTP/1.1.
#[must_use]
pub fn arguments(log: &Path, connections: u32, seconds: u32, streams: Option<u32>, rate: Option<u32>) -> Vec<String> {
    let headers = [
        "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0",
        "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
        "Accept-Language: en-GB,en;q=0.8,de;q=0.5",
        "Referer: https://www.example.com/",
        "Cookie: sid=0123456789abcdef0123456789abcdef; theme=light; consent=1",
    ];
    let version = streams.map_or_else(|| "--h1".into(), |streams| format!("-m{streams}"));
    let mut arguments = vec![format!("-c{connections}"), format!("-D{seconds}"), version];
    arguments.push(format!("--log-file={}", log.display()));
    arguments.extend(rate.map(|rate| format!("--rps={}", f64::from(rate) / f64::from(connections))));
    arguments.extend(headers.iter().map(|header| format!("-H{header}")));
    arguments
}

/// What the log says: lines of the start in microseconds, the status, and the time until the answer in microseconds.
#[must_use]
pub fn report(log: &str) -> Option<LoadReport> {
    let mut took = Vec::new();
    let (mut first, mut last, mut bad_statuses) = (u64::MAX, 0, 0);
    for line in log.lines() {
        let mut fields = line.split('\t');
        let start: u64 = fields.next()?.parse().ok()?;
        // Requests without an answer have -1.
        let status: i32 = fields.next()?.parse().ok()?;
        let time: u64 = fields.next()?.parse().ok()?;
        (first, last) = (first.min(start), last.max(start + time));
        bad_statuses += u64::from(!(0..400).contains(&status));
        took.push(time);
    }
    took.sort_unstable();
    let percentile =
        |share: f64| took.get(((took.len() as f64 * share) as usize).min(took.len().saturating_sub(1))).copied();
    Some(LoadReport {
        requests: took.len() as u64,
        duration_us: last.saturating_sub(first),
        bytes: 0,
        p50_us: percentile(0.5)?,
        p90_us: percentile(0.9)?,
        p99_us: percentile(0.99)?,
        max_us: percentile(1.0)?,
        failed_connects: 0,
        failed_reads: 0,
        failed_writes: 0,
        bad_statuses,
        timeouts: 0,
    })
}

/// `status codes: 1500 2xx, 0 3xx, 1 4xx, 0 5xx`.
fn classes(text: &str) -> Option<Classes> {
    let line = text.lines().find_map(|line| line.strip_prefix("status codes: "))?;
    let mut counts = line.split(',').filter_map(|part| part.trim().split(' ').next()?.parse().ok());
    Some([counts.next()?, counts.next()?, counts.next()?, counts.next()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_read() {
        let text = "finished in 1s\nrequests: 1505 total\nstatus codes: 1498 2xx, 0 3xx, 2 4xx, 5 5xx\ntraffic: 1";
        assert_eq!(classes(text), Some([1498, 0, 2, 5]));
        assert_eq!(classes("usage: h2load"), None);
    }

    #[test]
    fn the_log_becomes_a_report() {
        let read = report("1000\t200\t30\n1500\t403\t500\n1200\t200\t20\n").unwrap();
        assert_eq!((read.requests, read.duration_us, read.bad_statuses), (3, 1000, 1));
        assert_eq!((read.p50_us, read.max_us), (30, 500));
        assert_eq!(report(""), None);
        assert_eq!(report("no log"), None);
    }

    #[test]
    fn a_rate_is_shared_by_the_connections() {
        let words = arguments(Path::new("/tmp/log"), 16, 3, None, Some(2000));
        assert!(words.contains(&"--h1".to_owned()) && words.contains(&"--rps=125".to_owned()), "{words:?}");
    }
}
