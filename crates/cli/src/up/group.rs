//! A program in a process group of its own, which cannot outlive us: dropping it stops it, and if
//! we are killed the kernel ends it.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use crate::Failure;

/// How long it may take to stop before it is killed.
const STOP: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(20);
/// How much of its log is shown when it has ended.
const SHOWN_LINES: usize = 5;

/// A running program and everything that it has started.
pub(super) struct Group {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Group {
    /// Starts it. `name` is what people call it, `log` is where it says why it ends.
    pub fn start(name: &'static str, mut command: Command, log: PathBuf) -> Result<Self, Failure> {
        // A group of its own: Ctrl-C reaches us alone, and we stop it in order.
        command.process_group(0);
        let parent = std::process::id();
        // SAFETY: between fork and exec only async-signal-safe calls are made.
        unsafe { command.pre_exec(move || die_with(parent)) };
        let child = command
            .spawn()
            .map_err(|error| Failure::new(format!("{}: {error}", command.get_program().to_string_lossy())))?;
        Ok(Self { name, child, log })
    }

    /// Waits until `ready` says so, at most for `limit`.
    pub fn wait_until(&mut self, limit: Duration, mut ready: impl FnMut() -> bool) -> Result<(), Failure> {
        let start = Instant::now();
        while !ready() {
            self.check_alive()?;
            if weir_measure::interrupt::is_requested() {
                return Err(Failure::new(format!("stopped before {} was ready", self.name)));
            }
            if start.elapsed() > limit {
                return Err(Failure::new(format!("{} is not ready after {} s", self.name, limit.as_secs()))
                    .hint(format!("its log is {}", self.log.display())));
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// The exit status, once it has ended.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>, Failure> {
        Ok(self.child.try_wait()?)
    }

    /// An error, and the end of its log, if it has ended.
    pub fn check_alive(&mut self) -> Result<(), Failure> {
        let Some(status) = self.ended()? else { return Ok(()) };
        show_end(&self.log);
        Err(Failure::new(format!("{} has ended ({status})", self.name)))
    }

    /// Stops it and everything that it has started.
    pub fn stop(&mut self) {
        self.signal(libc::SIGTERM);
        let start = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && start.elapsed() < STOP {
            std::thread::sleep(LOOK);
        }
        // Children whose parent was killed, or one that does not end.
        self.signal(libc::SIGKILL);
        let _ = self.child.wait();
    }

    /// Signals the whole process group, if it still exists.
    fn signal(&self, signal: libc::c_int) {
        let group = libc::pid_t::try_from(self.child.id()).expect("a pid fits its own type");
        // SAFETY: sends a signal to the group that `start` made for it.
        unsafe { libc::kill(-group, signal) };
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.stop();
    }
}

fn show_end(log: &Path) {
    let log = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = log.lines().collect();
    for line in &lines[lines.len().saturating_sub(SHOWN_LINES)..] {
        eprintln!("{line}");
    }
}

/// In the child: end when the parent does, however it does.
fn die_with(parent: u32) -> std::io::Result<()> {
    // SAFETY: prctl with these arguments and getppid only touch this process's own attributes.
    unsafe {
        if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) != 0 {
            return Err(std::io::Error::last_os_error());
        }
        if libc::getppid().cast_unsigned() != parent {
            return Err(std::io::Error::from_raw_os_error(libc::ESRCH));
        }
    }
    Ok(())
}
