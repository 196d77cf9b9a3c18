//! `weir ablate-guard`: a child of `weir ablate --live` that puts policies back if its parent dies.
//!
//! A pipe connects them. The parent writes one word when it has put everything back itself; if the
//! pipe ends without it, the parent was killed, and nobody else is left. A signal handler or a
//! destructor does not run then, and a parent-death signal would come to the child, not to control.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::journal::{Journal, StateLock};
use super::restore::{Restored, restore};
use crate::Failure;
use crate::arguments::Arguments;

/// The subcommand.
const COMMAND: &str = "ablate-guard";
/// What the parent writes when there is nothing left to do.
const DONE: &[u8] = b"done\n";
/// How long control may be away, such as for a restart, before the guard leaves it to the next run.
const PATIENCE: Duration = Duration::from_secs(120);
const AGAIN: Duration = Duration::from_millis(200);
/// Before each look. The parent may have died with a change under way, which control carries out when
/// it has compiled it: the first look may come too early.
const PAUSES: [Duration; 3] = [Duration::ZERO, Duration::from_secs(1), Duration::from_secs(2)];

/// The parent's end.
#[derive(Debug)]
pub(super) struct Guard {
    child: Child,
}

impl Guard {
    /// Starts it. The journal must be there already.
    pub fn start(arguments: &Arguments, state: &Path) -> Result<Self, Failure> {
        let fail = |error: std::io::Error| Failure::new(format!("weir {COMMAND}: {error}"));
        let mut command = Command::new(std::env::current_exe().map_err(fail)?);
        command.arg("--runtime").arg(&arguments.runtime).arg(COMMAND).arg("--state").arg(state);
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        // SAFETY: between fork and exec only setsid is called, which is async-signal-safe. With a
        // session of its own it hears neither Ctrl-C nor the end of the terminal.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                Ok(())
            });
        }
        Ok(Self { child: command.spawn().map_err(fail)? })
    }

    /// Tells it that everything has been restored, and waits until it ends.
    pub fn dismiss(mut self) {
        if let Some(mut pipe) = self.child.stdin.take() {
            // A guard that has died has nothing to do either.
            let _ = pipe.write_all(DONE);
        }
        let _ = self.child.wait();
    }
}

/// The child's end.
pub(crate) fn run(state: &Path) -> Result<(), Failure> {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGPIPE] {
        // SAFETY: ignores signals before any thread exists. The pipe ends it, and nothing else.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    let mut said = Vec::new();
    // A broken pipe is an ended one.
    let _ = std::io::stdin().take(DONE.len() as u64).read_to_end(&mut said);
    if said == DONE {
        return Ok(());
    }
    // The kernel lets go of the parent's lock when the parent is gone.
    let held = StateLock::wait(state)?;
    let Some(journal) = held.read()? else { return Ok(()) };
    for pause in PAUSES {
        std::thread::sleep(pause);
        let restored = patiently(&journal)?;
        if pause.is_zero() || !restored.restored.is_empty() {
            let _ = writeln!(std::io::stderr(), "weir ablate was killed; {}", restored.say());
        }
    }
    held.clear()
}

/// Puts back, and waits for control if it is away.
fn patiently(journal: &Journal) -> Result<Restored, Failure> {
    let start = Instant::now();
    loop {
        match restore(journal) {
            Err(failure) if start.elapsed() > PATIENCE => return Err(failure.hint("weir ablate --restore tries again")),
            Err(_) => std::thread::sleep(AGAIN),
            restored => return restored,
        }
    }
}
