//! `weir diagnose`: what is wrong with a process, or in a profile of one.

pub(super) mod target;

use std::fs::{self, File};
use std::io::{BufWriter, IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

use weir_diagnose::facts::{Facts, Options};
use weir_diagnose::report::{self, TextStyle};
use weir_diagnose::rules;
use weir_diagnose::saved;

use self::target::{Target, pid_of};
use weir_cli::arguments::Diagnose;
use weir_cli::style::{Stream, Style};
use weir_measure::interrupt;

use crate::answered;
use weir_cli::Failure;

/// Longest file that is read: a profile of ten thousand threads has less.
const MOST_BYTES: u64 = 1 << 30;

pub(crate) fn run(runtime: &Path, diagnose: &Diagnose) -> Result<(), Failure> {
    let look = TextStyle { colours: Style::of(Stream::Out).coloured(), full: diagnose.full };
    if diagnose.list {
        print!("{}", report::table(look));
        return Ok(());
    }
    for id in &diagnose.rule {
        if rules::rule(id).is_none() {
            return Err(Failure::new(format!("there is no rule {id}")).hint("weir diagnose --list shows them"));
        }
    }
    let facts = facts(runtime, diagnose)?;
    if let Some(path) = &diagnose.save {
        save(&facts, path)?;
    }
    let wanted = |rule: &rules::Rule| diagnose.rule.is_empty() || diagnose.rule.iter().any(|id| id == rule.id);
    let diagnosis = report::diagnose(&facts, wanted);
    if diagnose.json {
        println!("{}", serde_json::to_string_pretty(&diagnosis).map_err(Failure::new)?);
    } else {
        print!("{}", report::text(&diagnosis, look));
    }
    Ok(())
}

fn facts(runtime: &Path, diagnose: &Diagnose) -> Result<Facts, Failure> {
    let target = diagnose.target.as_deref().unwrap_or_default();
    match Target::of(target) {
        Target::File(path) => read(path),
        Target::Pid(pid) => watch(runtime, pid, diagnose),
        Target::Name(name) => watch(runtime, pid_of(name)?, diagnose),
    }
}

fn read(path: &Path) -> Result<Facts, Failure> {
    let fail = |error: &dyn std::fmt::Display| Failure::new(format!("{}: {error}", path.display()));
    let length = fs::metadata(path).map_err(|error| fail(&error))?.len();
    if length > MOST_BYTES {
        return Err(fail(&format!("{length} bytes are more than a profile has (at most {MOST_BYTES} are read)")));
    }
    let bytes = fs::read(path).map_err(|error| fail(&error))?;
    saved::read(&bytes).map_err(|error| fail(&error))
}

fn watch(runtime: &Path, pid: u32, diagnose: &Diagnose) -> Result<Facts, Failure> {
    let options = Options {
        duration: Duration::from_secs(diagnose.seconds),
        frequency_hz: diagnose.frequency,
        requests_from: diagnose.requests_from.clone(),
        ..Options::default()
    };
    let patience = diagnose.seconds > 0 && !diagnose.json && std::io::stderr().is_terminal();
    if patience {
        eprint!("watching process {pid} for {} s (Ctrl-C ends it early) ...", diagnose.seconds);
    }
    let facts = answered::collect(runtime, pid, &options, interrupt::catch_once());
    if patience {
        eprint!("\r\x1b[K");
    }
    facts.map_err(|error| Failure::new(error).hint("weir diagnose PID|NAME|FILE"))
}

fn save(facts: &Facts, path: &Path) -> Result<(), Failure> {
    let fail = |error: std::io::Error| Failure::new(format!("{}: {error}", path.display()));
    let mut out = BufWriter::new(File::create(path).map_err(fail)?);
    saved::save(facts, &mut out).map_err(fail)?;
    out.flush().map_err(fail)
}
