//! `weir ablate`: what each part of a policy costs, by switching it off under load.
//!
//! The measuring is `weir_ablate`'s; here are the command line, the files, and the running
//! gateway as a place to measure in.

mod gateway;
mod guard;
mod journal;
pub(super) mod probe;
mod restore;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use weir_ablate::{self as ablate, Cut, LoadChoice, Options, Outcome};

pub(crate) use guard::run as guard;

use crate::arguments::{Ablate, Arguments, NamedState};
use crate::{Failure, state_directory};

/// Rounds and seconds of a slice, unless said otherwise.
const ROUNDS: u32 = 30;
const SECONDS: f64 = 0.25;

pub(crate) fn run(arguments: &Arguments, ablate: &Ablate) -> Result<ExitCode, Failure> {
    if ablate.restore {
        return restore::command(&journal_directory(arguments, ablate)?);
    }
    writable(ablate.json.as_deref())?;
    writable(ablate.html.as_deref())?;
    let cut = Cut { by: ablate.by, groups: ablate.group.clone(), only: ablate.only.clone() };
    let options = options(ablate);
    if ablate.probe {
        let outcome = probe::run(arguments, ablate, &options)?;
        show(&outcome, ablate)?;
        println!("{}", probe::dearest(&outcome));
        return Ok(ExitCode::SUCCESS);
    }
    if ablate.which.is_given() || ablate.edges {
        return Err(Failure::new("--app, --pid, --probe-dir and --edges are for probes").hint("with --probe"));
    }
    let outcome = match (&ablate.policy, &ablate.nginx_conf) {
        (Some(policy), _) if ablate.instructions => {
            let weir = std::env::current_exe()?;
            ablate::instructions(policy, &weir, &cut, &options).map_err(Failure::new)?
        }
        (Some(policy), _) => ablate::policy(policy, &cut, &options).map_err(Failure::new)?,
        (_, Some(base)) => ablate::configurations(base, &ablate.variant, &options).map_err(Failure::new)?,
        _ => gateway::run(arguments, ablate, &cut, &options)?,
    };
    show(&outcome, ablate)?;
    Ok(ExitCode::SUCCESS)
}

/// The directory of the journal, which is on this machine even if control is on another.
fn journal_directory(arguments: &Arguments, ablate: &Ablate) -> Result<PathBuf, Failure> {
    let own = NamedState { named: Some(state_directory::DEFAULT.into()) };
    let is_own = arguments.is_remote() && ablate.state.named.is_none();
    state_directory::of(arguments, if is_own { &own } else { &ablate.state })
}

fn options(ablate: &Ablate) -> Options {
    let default =
        if (ablate.live || ablate.probe) && ablate.url.is_none() { LoadChoice::Live } else { LoadChoice::Mix };
    Options {
        load: ablate.load.clone().unwrap_or(default),
        url: ablate.url.clone(),
        connections: usize::from(ablate.connections),
        rounds: ablate.rounds.unwrap_or(if ablate.probe { probe::ROUNDS } else { ROUNDS }),
        seconds: ablate.seconds.unwrap_or(if ablate.probe { probe::SECONDS } else { SECONDS }),
        pairs: !ablate.no_pairs,
        seed: ablate.seed.unwrap_or_else(clock_seed),
        module: ablate.module.clone(),
        // A gateway that runs has its own placing.
        no_pin: ablate.no_pin || ablate.live || ablate.probe,
        nice: ablate.nice,
    }
}

/// A result that cannot be written is found out before the minutes that it takes.
fn writable(path: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = path else { return Ok(()) };
    let file = fs::File::options().create(true).append(true).open(path);
    file.map(drop).map_err(|error| Failure::new(format!("{}: {error}", path.display())))
}

fn show(outcome: &Outcome, ablate: &Ablate) -> Result<(), Failure> {
    print!("{}", ablate::table(outcome));
    let write = |path: &Path, text: String| {
        fs::write(path, text).map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
        eprintln!("written to {}", path.display());
        Ok::<(), Failure>(())
    };
    if let Some(path) = &ablate.json {
        let text = serde_json::to_string_pretty(&outcome.clone().rounded()).map_err(Failure::new)?;
        write(path, text + "\n")?;
    }
    if let Some(path) = &ablate.html {
        write(path, ablate::html(outcome))?;
    }
    Ok(())
}

fn clock_seed() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(1, |since| u64::try_from(since.as_nanos() & u128::from(u64::MAX)).unwrap_or(1))
}
