//! System calls of processes and the wake-ups that they cause, counted by `perf stat` while a load runs.
//!
//! A worker whose peers sleep pays for waking them, as system time of its own writes: the slower the worker, the more
//! often they sleep. Not in the measured turn, because tracepoints cost time.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use crate::child::{Child, Launch, installed};
use crate::error::MeasureError;
use crate::placement::Placement;

const EVENTS: [&str; 2] = ["raw_syscalls:sys_enter", "sched:sched_waking"];
/// How long perf takes to attach.
const ATTACH: Duration = Duration::from_millis(400);
/// How long it may take to write its counts.
const LIMIT: Duration = Duration::from_secs(5);

/// A count under way.
#[derive(Debug)]
pub struct Counter {
    child: Child,
    output: PathBuf,
}

impl Counter {
    /// Begins to count for all threads of `pids`; what perf prints goes to the file `output`.
    /// [`MeasureError::Missing`] without perf.
    pub fn start(pids: &[u32], placement: Placement, output: PathBuf) -> Result<Self, MeasureError> {
        if installed("perf").is_none() {
            return Err(MeasureError::Missing("perf is not installed; the package linux-perf has it".into()));
        }
        let pids = pids.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let child = Child::start(Launch {
            program: OsStr::new("perf"),
            arguments: ["stat", "-x", ",", "-e", &EVENTS.join(","), "-p", &pids].map(Into::into).to_vec(),
            environment: Vec::new(),
            core: placement.load,
            nice: placement.nice,
            output: output.clone(),
        })?;
        std::thread::sleep(ATTACH);
        Ok(Self { child, output })
    }

    /// The numbers of calls and of wake-ups since. [`MeasureError::Missing`] if perf may not count them here.
    pub fn finish(mut self) -> Result<[u64; 2], MeasureError> {
        self.child.signal(libc::SIGINT);
        self.child.wait(LIMIT)?;
        let text = std::fs::read_to_string(&self.output).map_err(MeasureError::file(&self.output))?;
        let missing = || MeasureError::Missing(format!("perf cannot count {EVENTS:?} here: {}", text.trim()));
        let [calls, wakes] = EVENTS.map(|event| parse(&text, event));
        calls.zip(wakes).map(|(calls, wakes)| [calls, wakes]).ok_or_else(missing)
    }
}

/// `1234,,raw_syscalls:sys_enter,...`.
fn parse(text: &str, event: &str) -> Option<u64> {
    text.lines().find(|line| line.contains(event))?.split(',').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_read_and_what_is_not_counted_has_none() {
        let text = "1234,,raw_syscalls:sys_enter,20021,100.00,,\n56,,sched:sched_waking,20021,100.00,,\n";
        assert_eq!(EVENTS.map(|event| parse(text, event)), [Some(1234), Some(56)]);
        assert_eq!(parse("<not supported>,,raw_syscalls:sys_enter,0,100.00,,\n", EVENTS[0]), None);
        assert_eq!(parse("event syntax error: 'raw_syscalls:sys_enter'\n", EVENTS[0]), None);
    }
}
