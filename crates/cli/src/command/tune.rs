//! `weir tune`: from findings that somebody calls false positives to the narrowest exclusions.
//!
//! An exclusion names the rule, the one value that it must not look at, and the path. A whole rule,
//! or a value on every page, would be shorter and open more than the finding asks for. The log is
//! read twice: first for what is named, then for what else the exclusions would silence, so that
//! memory does not grow with what attackers send.

mod apply;
mod choice;
mod edit;
mod exclusion;
mod groups;
mod log;
mod path_scope;
mod show;
mod target;

use std::process::ExitCode;

use self::choice::Choice;
use self::groups::Groups;
use self::log::Log;
use crate::Failure;
use crate::arguments::Tune;

pub(crate) fn run(tune: &Tune) -> Result<ExitCode, Failure> {
    let choice = Choice::new(tune)?;
    let log = Log::open(&tune.log)?;
    let mut groups = Groups::default();
    for entry in log.entries()? {
        groups.see(&entry?.1, &choice)?;
    }
    groups.check(&log, &choice)?;
    let mut proposal = groups.propose();
    let mut entries = log.entries()?;
    for entry in entries.by_ref() {
        proposal.count(&entry?.1, &choice);
    }
    proposal.unread_lines = entries.skipped;
    if tune.json {
        println!("{}", show::as_value(&proposal, &choice));
    } else {
        print!("{}", show::as_text(&proposal, &choice));
    }
    if !tune.apply.is_empty() {
        let applied = apply::apply(&tune.apply, &proposal.exclusions, tune.into.as_deref(), tune.dry_run)?;
        eprint!("{applied}");
    }
    Ok(ExitCode::SUCCESS)
}
