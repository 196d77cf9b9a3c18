//! One file for each subcommand.

mod bench;
mod check;
mod completions;
mod cost;
mod docs;
mod log_level;
mod replay;
mod rules;
mod schema;
mod silence;
mod status;
mod tune;

use std::process::ExitCode;

use crate::arguments::{Arguments, Command};
use crate::{Failure, up};

/// Carries out a command.
pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let runtime = arguments.runtime.as_path();
    let done = match arguments.command {
        Command::Check(check) => return check::run(&check),
        Command::Bench(bench) => return bench::run(&bench),
        Command::Replay(replay) => return replay::run(&replay),
        Command::Rules(rules) => rules::run(&rules),
        Command::Tune(tune) => return tune::run(&tune),
        Command::Up(up) => up::run(&up),
        Command::Schema => schema::run(),
        Command::Status(format) => status::run(runtime, format.json),
        Command::Silence { switch } => silence::run(runtime, switch),
        Command::Cost(cost) => cost::run(runtime, &cost),
        Command::LogLevel { level } => log_level::run(runtime, level),
        Command::Docs(docs) => docs::run(&docs),
        Command::Completions { shell } => completions::run(shell),
        Command::Version => {
            println!("weir {}", env!("CARGO_PKG_VERSION"));
            Ok(())
        }
    };
    done.map(|()| ExitCode::SUCCESS)
}
