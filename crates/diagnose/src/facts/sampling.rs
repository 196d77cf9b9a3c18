//! A sampling session: on-CPU, off-CPU, and system calls.

use std::time::Duration;

use weir_sample::{SampleError, Session, Target, find};

use super::collect::Options;

/// Minimum duration of a wait sampled with its stack. Shorter waits are scheduling, and there are too many of them.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);

/// Starts sampling a process, with its workers if it is an nginx's master.
pub(super) fn start(pid: u32, options: &Options) -> Result<Session, SampleError> {
    let found = find(&Target::Pid(pid))?;
    let options = weir_sample::Options {
        frequency_hz: options.frequency_hz,
        duration: Some(options.duration),
        on_cpu: true,
        off_cpu: Some(SHORTEST_WAIT),
        system_calls: true,
        lua: true,
        ..weir_sample::Options::default()
    };
    Session::start(&found, &options)
}
