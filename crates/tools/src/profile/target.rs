//! Who is meant: a positional argument is a process id if it is a number, and a name otherwise.

use weir_sample::{ResolvedTarget, SampleError, Target};

use weir_cli::Failure;
use weir_cli::arguments::Record;

/// Finds the processes of a command line.
pub(super) fn find(record: &Record) -> Result<ResolvedTarget, Failure> {
    let targets = targets(record);
    let mut all: Option<ResolvedTarget> = None;
    for target in &targets {
        let found = weir_sample::find(target).map_err(failure)?;
        all = Some(match all {
            Some(all) => all.and(found),
            None => found,
        });
    }
    all.ok_or_else(|| {
        Failure::new("which process?").hint("`weir profile nginx`, `weir profile 4711`, or --all for the whole machine")
    })
}

fn targets(record: &Record) -> Vec<Target> {
    let positional = record.targets.iter().map(|text| match text.parse() {
        Ok(pid) => Target::Pid(pid),
        Err(_) => Target::Name(text.clone()),
    });
    positional
        .chain(record.pid.iter().map(|pid| Target::Pid(*pid)))
        .chain(record.name.iter().map(|name| Target::Name(name.clone())))
        .chain(record.cgroup.iter().map(|path| Target::Cgroup(path.clone())))
        .chain(record.container.iter().map(|id| Target::Container(id.clone())))
        .chain(record.all.then_some(Target::All))
        .collect()
}

/// The sampler's errors say what to do behind a semicolon.
pub(super) fn failure(error: SampleError) -> Failure {
    let text = error.to_string();
    match text.split_once("; ") {
        Some((what, hint)) => Failure::new(what).hint(hint),
        None => Failure::new(text),
    }
}
