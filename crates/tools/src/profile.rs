//! `weir profile`: where running processes spend their CPU, without touching them.
//!
//! Sampling itself is `weir-sample`, drawing `weir-profile`; here is who, how long, and where to.

mod convert;
mod diff;
mod output;
mod progress;
mod requests;
mod target;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use weir_sample::{Options, Recorded, ResolvedTarget, Session};

use self::output::{Profiles, Writer};
use self::progress::ProgressLine;
use self::requests::Requests;
use weir_cli::Failure;
use weir_cli::arguments::{Backend, Profile, ProfileCommand, Record};

pub(crate) fn run(runtime: &Path, profile: &Profile) -> Result<(), Failure> {
    match &profile.other {
        Some(ProfileCommand::Convert(convert)) => convert::run(convert),
        Some(ProfileCommand::Diff(diff)) => diff::run(diff),
        None => record(runtime, &profile.record),
    }
}

fn record(runtime: &Path, record: &Record) -> Result<(), Failure> {
    // What cannot be written shall fail now and not after ten seconds.
    let mut writer = Writer::new(&record.output)?;
    let found = target::find(record)?;
    if !writer.writes() && record.output.top.is_none() {
        writer.add_default(&found.title, found.pids.first().copied())?;
    }
    let (recorded, requests) = sample(runtime, &found, record)?;
    let mut profiles = Profiles { all: [recorded.on_cpu, recorded.off_cpu].into_iter().flatten().collect() };
    let seen = profiles.all.iter().flat_map(|profile| profile.threads.iter().map(|thread| thread.pid));
    let processes: BTreeSet<u32> = found.pids.iter().copied().chain(seen).collect();
    profiles.set_requests(requests.of(processes));
    if profiles.all.iter().all(|profile| profile.samples.is_empty()) && profiles.has_no_calls() {
        return Err(Failure::new(format!("there are no samples: {} used no CPU time", found.title))
            .hint("put it under load, or record its waits with --off-cpu"));
    }
    profiles.show(&record.output);
    writer.write(&profiles)
}

fn sample(runtime: &Path, found: &ResolvedTarget, record: &Record) -> Result<(Recorded, Requests), Failure> {
    let duration = Duration::from_secs_f64(record.duration);
    let options = Options {
        frequency_hz: record.hz,
        duration: Some(duration),
        on_cpu: true,
        off_cpu: record.off_cpu.map(|ms| Duration::from_secs_f64(ms / 1000.0)),
        system_calls: record.syscalls,
        stack_bytes: record.stack_bytes,
        lua: !record.no_lua,
        backend: match record.backend {
            Backend::Auto => weir_sample::Backend::Auto,
            Backend::Ebpf => weir_sample::Backend::Ebpf,
            Backend::PerfEvent => weir_sample::Backend::PerfEvent,
        },
    };
    let mut session = Session::start(found, &options).map_err(target::failure)?;
    let mut line = ProgressLine::new(&found.title, duration);
    // Requests are counted as long as samples are taken: loading programs and finding names take seconds, too.
    let mut requests = Requests::begin(runtime, record)?;
    session.watch(weir_measure::interrupt::catch_once(), &mut |progress| line.show(progress));
    requests.end();
    let recorded = session.recorded();
    line.clear();
    Ok((recorded, requests))
}
