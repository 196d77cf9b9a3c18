//! `weir-tools`: the commands of `weir` that a first run does not need. `weir` hands its arguments to this program, which
//! stands beside it; help and completions are in `weir` itself.
//!
//! There is no library in this package, so that `make run` can build the others' libraries with its features, and
//! `make test` need not compile their dependencies again.

use std::process::ExitCode;

use weir_cli::{Arguments, Command, Failure};

mod answered;
mod baseline;
mod diagnose;
mod docs;
mod inspector;
mod profile;
mod reference;

// The bounds of arguments are written down where the sampler is not linked.
const _: () = assert!(
    weir_cli::arguments::MOST_HZ == weir_sample::MOST_HZ
        && weir_cli::arguments::LEAST_STACK == weir_sample::LEAST_STACK
        && weir_cli::arguments::MOST_STACK == weir_sample::MOST_STACK
);

fn main() -> ExitCode {
    weir_cli::main(|arguments| run(&arguments))
}

fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let runtime = arguments.runtime.as_path();
    match &arguments.command {
        Command::Baseline(baseline) => return baseline::run(runtime, baseline),
        Command::Profile(profile) => profile::run(runtime, profile),
        Command::Diagnose(diagnose) => diagnose::run(runtime, diagnose),
        Command::Inspector(inspector) => inspector::run(inspector),
        Command::Docs(docs) => docs::run(docs),
        _ => Err(Failure::new("weir-tools has no such command").hint("run weir with the same arguments")),
    }
    .map(|()| ExitCode::SUCCESS)
}
