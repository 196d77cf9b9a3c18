//! One file for each subcommand.

mod ablate;
pub(crate) mod apply;
mod backup;
mod bans;
mod change;
mod check;
mod completions;
mod control;
mod cost;
mod gateway_files;
mod get;
mod log_level;
mod messages;
mod probes;
mod replay;
mod revisions;
mod rollback;
mod rules;
mod schema;
mod sign;
mod silence;
mod status;
mod token;
pub(crate) mod tools;
mod tune;

use std::process::ExitCode;

use crate::api::Api;
use crate::arguments::{Arguments, Command};
use crate::{Failure, up};

/// Carries out a command.
///
/// # Errors
///
/// If the command fails; some failures have an exit code of their own.
pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let runtime = arguments.runtime.as_path();
    let api = || Api::of(&arguments);
    let done = match &arguments.command {
        Command::Check(check) => return check::run(check),
        Command::Ablate(ablate) => return ablate::run(&arguments, ablate),
        Command::AblateGuard(guard) => ablate::guard(&guard.state),
        Command::Replay(replay) => return replay::run(replay),
        Command::Explain(explain) => replay::explain(explain),
        Command::Sign(sign) => return sign::run(sign),
        Command::Rules(rules) => rules::run(rules),
        Command::Tune(tune) => return tune::run(tune),
        Command::Up(up) => up::run(up),
        Command::Sandbox => return Ok(weir_control::sandbox::child_main()),
        Command::Control(control) => control::run(runtime, control),
        Command::Apply(apply) => apply::run(&api()?, apply),
        Command::Refresh(refresh) => change::refresh(&api()?, refresh),
        Command::Get(get) => get::run(&api()?, get),
        Command::Put(one) => change::put(&api()?, one),
        Command::Patch(one) => change::patch(&api()?, one),
        Command::Delete(one) => change::delete(&api()?, one),
        Command::Revisions(list) => revisions::list(&api()?, list),
        Command::Diff(diff) => revisions::diff(&api()?, diff),
        Command::Rollback(rollback) => rollback::run(&api()?, rollback),
        Command::Ban(one) => bans::ban(&api()?, one),
        Command::Unban(one) => bans::unban(&api()?, one),
        Command::Bans(list) => bans::list(&api()?, list),
        Command::Publish(one) => messages::publish(&api()?, runtime, one),
        Command::Subscribe(one) => messages::subscribe(&api()?, runtime, one),
        Command::Backup(one) => backup::make(&api()?, one),
        Command::Restore(one) => match &one.state {
            Some(state) => backup::install(one, state),
            None => backup::restore(&api()?, one),
        },
        Command::Watch(watch) => revisions::watch(&api()?, watch),
        Command::Token(token) => token::run(&arguments, token),
        Command::Schema { of } => schema::run(*of),
        Command::Probes(probes) => return probes::run(&arguments, probes),
        Command::Status(format) => status::run(&api()?, runtime, format.json),
        Command::Silence { switch } => silence::run(runtime, *switch),
        Command::Cost(cost) => cost::run(&arguments, api, cost),
        Command::LogLevel { level } => log_level::run(runtime, *level),
        Command::Baseline(_)
        | Command::Profile(_)
        | Command::Diagnose(_)
        | Command::Inspector(_)
        | Command::Docs(_) => {
            return Err(tools::run());
        }
        Command::Completions { shell } => completions::run(*shell),
        Command::Version => {
            println!("weir {}", env!("CARGO_PKG_VERSION"));
            Ok(())
        }
    };
    done.map(|()| ExitCode::SUCCESS)
}
