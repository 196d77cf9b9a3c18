//! `h2load`, nghttp2's load generator: for HTTP/2, and for runs that others can repeat.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use crate::child::{Child, Launch};
use crate::error::MeasureError;
use crate::placement::Placement;

/// Answers by the class of their status: 2xx, 3xx, 4xx and 5xx.
pub type Classes = [u64; 4];

/// Runs it to its end with the given arguments; what it prints goes to the file `output`.
pub fn run(
    arguments: &[String],
    placement: Placement,
    output: &Path,
    limit: Duration,
) -> Result<Classes, MeasureError> {
    let mut child = Child::start(Launch {
        program: OsStr::new("h2load"),
        arguments: arguments.iter().map(Into::into).collect(),
        environment: Vec::new(),
        core: placement.load,
        nice: placement.nice,
        output: output.to_owned(),
    })?;
    let status = child.wait(limit)?;
    let said = child.said();
    classes(&said).ok_or_else(|| MeasureError::program("h2load", format!("{status}, and no summary:\n{said}")))
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
}
