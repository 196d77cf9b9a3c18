//! `weir control` as a child that cannot outlive us.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::child::die_with;
use super::run_dir::RunDir;
use super::signal;
use crate::Failure;
use crate::api::Api;

/// How long it may take to answer: a store of many revisions loads in a second.
const START: Duration = Duration::from_secs(30);
/// How long it may take to stop before it is killed.
const STOP: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(20);
/// One that ends sooner after its start would end again.
const SETTLED: Duration = Duration::from_secs(1);

/// A running control daemon. Dropping it stops it.
pub(super) struct Daemon {
    child: Child,
    log: PathBuf,
    started: Instant,
}

fn spawn(dir: &RunDir, log: &Path) -> Result<Child, Failure> {
    let fail = |error: std::io::Error| Failure::new(format!("weir control: {error}"));
    let file = std::fs::File::options().create(true).append(true).open(log).map_err(fail)?;
    let mut command = Command::new(std::env::current_exe().map_err(fail)?);
    command.arg("--runtime").arg(dir.runtime()).arg("control").arg("--state").arg(dir.path().join("state"));
    command.arg("--socket").arg(dir.socket()).env_remove("WEIR_CONTROL");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file).process_group(0);
    let parent = std::process::id();
    // SAFETY: between fork and exec only async-signal-safe calls are made.
    unsafe { command.pre_exec(move || die_with(parent)) };
    command.spawn().map_err(fail)
}

impl Daemon {
    /// Starts it.
    pub fn start(dir: &RunDir) -> Result<Self, Failure> {
        let log = dir.path().join("control.log");
        let child = spawn(dir, &log)?;
        Ok(Self { child, log, started: Instant::now() })
    }

    /// Waits until it answers.
    pub fn wait_until_ready(&mut self, api: &Api) -> Result<(), Failure> {
        let start = Instant::now();
        while api.get("/healthz").is_err() {
            self.check_alive()?;
            if signal::received() {
                return Err(Failure::new("stopped before control was ready"));
            }
            if start.elapsed() > START {
                return Err(Failure::new(format!("control does not answer after {} s", START.as_secs()))
                    .hint(format!("its log is {}", self.log.display())));
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// An error with the end of its log, if it has ended.
    fn check_alive(&mut self) -> Result<(), Failure> {
        let Some(status) = self.child.try_wait()? else { return Ok(()) };
        super::child::show_end(&self.log);
        Err(Failure::new(format!("control has ended ({status})")))
    }

    /// Starts it again if it has ended, as systemd would: workers go on without it. Says how it ended.
    pub fn revive(&mut self, dir: &RunDir) -> Result<Option<String>, Failure> {
        let Some(status) = self.child.try_wait()? else { return Ok(None) };
        if self.started.elapsed() < SETTLED {
            self.check_alive()?;
        }
        self.child = spawn(dir, &self.log)?;
        self.started = Instant::now();
        Ok(Some(status.to_string()))
    }

    /// Stops it.
    pub fn stop(&mut self) {
        self.signal(libc::SIGTERM);
        let start = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && start.elapsed() < STOP {
            std::thread::sleep(LOOK);
        }
        self.signal(libc::SIGKILL);
        let _ = self.child.wait();
    }

    fn signal(&self, signal: libc::c_int) {
        let group = libc::pid_t::try_from(self.child.id()).expect("a pid fits its own type");
        // SAFETY: sends a signal to the group that `start` made for it.
        unsafe { libc::kill(-group, signal) };
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.stop();
    }
}
