//! `weir replay`: recorded requests against a policy, without nginx.
//!
//! The engine knows nothing of nginx, so what runs here is what runs in a worker: the same plan
//! over the same kind of transaction. What nginx would have done before (refuse a malformed
//! request, resolve `..` in paths) is done here as far as rules see it. The response's phases are
//! not run, because a recorded request has no origin to answer it.

mod attack_log;
mod explained;
mod har;
mod policies;
mod raw;
mod recorded;
mod run;
mod show;
mod source;
mod stopwatch;

pub(crate) use explained::run as explain;
pub(crate) use source::Lines;

use std::process::ExitCode;

use weir_rules::Phase;

use self::run::Replayer;
use self::source::Source;
use super::rules::Chosen;
use crate::Failure;
use crate::arguments::Replay;

pub(crate) fn run(replay: &Replay) -> Result<ExitCode, Failure> {
    let chosen = Chosen::load(&replay.source)?;
    let replayer = Replayer::new(&chosen, replay);
    let (mut count, mut reads_response) = (0, false);
    for request in Source::open(&replay.file)? {
        let request = request?;
        let replayed = replayer.replay(&request)?;
        count += 1;
        reads_response |= replayed.policies.plan.has(Phase::Response);
        if replay.json {
            println!("{}", show::as_value(&replayer, count, &request, &replayed));
        } else {
            print!("{}", show::as_text(&replayer, count, &request, &replayed));
        }
    }
    if count == 0 {
        return Err(Failure::new(format!("{}: there is no request in it", replay.file.display()))
            .hint("it takes raw HTTP requests, a HAR file, or lines of Weir's attack log"));
    }
    if !replay.json {
        print!("{}", show::notes(&replayer, count, reads_response));
    }
    Ok(ExitCode::SUCCESS)
}
