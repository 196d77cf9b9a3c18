//! `weir diagnose`: what is wrong with a process, or in a profile of one.

pub(super) mod target;

use std::fs::{self, File};
use std::io::{BufWriter, IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use weir_diagnose::facts::{Facts, Options, collect};
use weir_diagnose::report::{self, Look};
use weir_diagnose::rules;
use weir_diagnose::saved;

use self::target::{Target, pid_of};
use crate::Failure;
use crate::arguments::Diagnose;
use crate::style::{Stream, Style};

/// Longest file that is read: a profile of ten thousand threads has less.
const MOST_BYTES: u64 = 1 << 30;

pub(crate) fn run(diagnose: &Diagnose) -> Result<(), Failure> {
    let look = Look { colours: Style::of(Stream::Out).coloured(), full: diagnose.full };
    if diagnose.list {
        print!("{}", report::table(look));
        return Ok(());
    }
    for id in &diagnose.rule {
        if rules::rule(id).is_none() {
            return Err(Failure::new(format!("there is no rule {id}")).hint("weir diagnose --list shows them"));
        }
    }
    let facts = facts(diagnose)?;
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

fn facts(diagnose: &Diagnose) -> Result<Facts, Failure> {
    let target = diagnose.target.as_deref().unwrap_or_default();
    match Target::of(target) {
        Target::File(path) => read(path),
        Target::Pid(pid) => watch(pid, diagnose),
        Target::Name(name) => watch(pid_of(name)?, diagnose),
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

fn watch(pid: u32, diagnose: &Diagnose) -> Result<Facts, Failure> {
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
    let facts = collect(pid, &options, stop_on_interrupt());
    if patience {
        eprint!("\r\x1b[K");
    }
    facts.map_err(|error| Failure::new(error).hint("weir diagnose PID|NAME|FILE"))
}

/// Becomes true with Ctrl-C: what was gathered until then is judged.
fn stop_on_interrupt() -> &'static AtomicBool {
    static STOP: AtomicBool = AtomicBool::new(false);
    extern "C" fn stop(_: libc::c_int) {
        STOP.store(true, Ordering::Relaxed);
    }
    // SAFETY: the handler only stores to an atomic, which is allowed in a signal handler; SA_RESTART is not
    // needed, because a sleep that is cut short is part of the purpose. SA_RESETHAND: a second one ends the program.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = stop as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_RESETHAND;
        libc::sigaction(libc::SIGINT, &raw const action, std::ptr::null_mut());
    }
    &STOP
}

fn save(facts: &Facts, path: &Path) -> Result<(), Failure> {
    let fail = |error: std::io::Error| Failure::new(format!("{}: {error}", path.display()));
    let mut out = BufWriter::new(File::create(path).map_err(fail)?);
    saved::save(facts, &mut out).map_err(fail)?;
    out.flush().map_err(fail)
}
