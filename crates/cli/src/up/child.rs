//! nginx as a child that cannot outlive us.

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use weir_ledger::Control;

use super::run_dir::RunDir;
use super::signal;
use crate::Failure;
use crate::arguments::Up;

/// How long nginx may take to listen: a policy with a million addresses loads in seconds.
const START: Duration = Duration::from_secs(60);
/// How long nginx may take to stop before it is killed.
const STOP: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(20);

/// A running nginx. Dropping it stops it.
pub(super) struct Nginx {
    child: Child,
    error_log: std::path::PathBuf,
}

impl Nginx {
    /// Checks the configuration and starts nginx with it.
    pub fn start(nginx: &Path, dir: &RunDir, configuration: &Path) -> Result<Self, Failure> {
        let command = || {
            let mut command = Command::new(nginx);
            command.arg("-p").arg(dir.path()).arg("-c").arg(configuration).arg("-e").arg(dir.error_log());
            command.stdin(Stdio::null());
            command
        };
        let fail = |error: std::io::Error| Failure::new(format!("{}: {error}", nginx.display()));
        let test = command().args(["-t", "-q"]).output().map_err(fail)?;
        if !test.status.success() {
            eprint!("{}", String::from_utf8_lossy(&test.stderr));
            return Err(Failure::new("nginx refuses this configuration; it says why above"));
        }
        let mut command = command();
        // A group of its own: Ctrl-C reaches us alone, and we stop nginx in order.
        command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null());
        let parent = std::process::id();
        // SAFETY: between fork and exec only async-signal-safe calls are made.
        unsafe { command.pre_exec(move || die_with(parent)) };
        let child = command.spawn().map_err(fail)?;
        Ok(Self { child, error_log: dir.error_log() })
    }

    /// Waits until it takes connections, all workers run, and signals can be sent to its pid.
    pub fn wait_until_ready(&mut self, dir: &RunDir, up: &Up) -> Result<(), Failure> {
        let start = Instant::now();
        while !is_ready(dir, up) {
            self.check_alive()?;
            if signal::received() {
                return Err(Failure::new("stopped before nginx was ready"));
            }
            if start.elapsed() > START {
                return Err(Failure::new(format!("nginx is not ready after {} s", START.as_secs()))
                    .hint(format!("its log is {}", self.error_log.display())));
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// An error with the end of nginx's log, if it has ended.
    pub fn check_alive(&mut self) -> Result<(), Failure> {
        let Some(status) = self.child.try_wait()? else { return Ok(()) };
        show_end(&self.error_log);
        Err(Failure::new(format!("nginx has ended ({})", status)))
    }

    /// Stops nginx and everything that it started.
    pub fn stop(&mut self) {
        self.signal(libc::SIGTERM);
        let start = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && start.elapsed() < STOP {
            std::thread::sleep(LOOK);
        }
        // Workers whose master was killed, or a master that does not end.
        self.signal(libc::SIGKILL);
        let _ = self.child.wait();
    }

    /// To the whole process group; if it is gone, to nobody.
    fn signal(&self, signal: libc::c_int) {
        let group = libc::pid_t::try_from(self.child.id()).expect("a pid fits its own type");
        // SAFETY: sends a signal to the group that `start` made for nginx.
        unsafe { libc::kill(-group, signal) };
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Shows the last lines of a log.
pub(super) fn show_end(log: &Path) {
    let log = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = log.lines().collect();
    for line in &lines[lines.len().saturating_sub(5)..] {
        eprintln!("{line}");
    }
}

fn is_ready(dir: &RunDir, up: &Up) -> bool {
    let workers =
        || Control::open(&dir.runtime()).map_or(0, |control| control.workers().iter().filter(|one| one.alive).count());
    TcpStream::connect((Ipv4Addr::LOCALHOST, up.port)).is_ok()
        && fs::read_to_string(dir.path().join("nginx.pid")).is_ok_and(|pid| pid.ends_with('\n'))
        && workers() >= usize::from(up.workers)
}

/// In the child: end when the parent does, however it does.
pub(super) fn die_with(parent: u32) -> std::io::Result<()> {
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
