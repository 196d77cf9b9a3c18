//! `weir control` as a child that cannot outlive us.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::group::Group;
use super::run_dir::RunDir;
use crate::Failure;
use crate::api::Api;

/// How long it may take to answer: a store of many revisions loads in a second.
const START: Duration = Duration::from_secs(30);
/// One that ends sooner after its start would end again.
const SETTLED: Duration = Duration::from_secs(1);

/// A running control daemon. Dropping it stops it.
pub(super) struct Daemon {
    group: Group,
    log: PathBuf,
    started: Instant,
}

fn spawn(dir: &RunDir, log: &Path) -> Result<Group, Failure> {
    let fail = |error: std::io::Error| Failure::new(format!("weir control: {error}"));
    let file = std::fs::File::options().create(true).append(true).open(log).map_err(fail)?;
    let mut command = Command::new(std::env::current_exe().map_err(fail)?);
    command.arg("--runtime").arg(dir.runtime()).arg("control").arg("--state").arg(dir.path().join("state"));
    // Whoever starts a demo may name any file that they may read.
    command.args(["--files", "/"]).arg("--socket").arg(dir.socket()).env_remove("WEIR_CONTROL");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
    Group::start("control", command, log.to_owned())
}

impl Daemon {
    /// Starts it.
    pub fn start(dir: &RunDir) -> Result<Self, Failure> {
        let log = dir.path().join("control.log");
        Ok(Self { group: spawn(dir, &log)?, log, started: Instant::now() })
    }

    /// Waits until it answers.
    pub fn wait_until_ready(&mut self, api: &Api) -> Result<(), Failure> {
        self.group.wait_until(START, || api.get("/healthz").is_ok())
    }

    /// Starts it again if it has ended, as systemd would: workers go on without it. Says how it ended.
    pub fn revive(&mut self, dir: &RunDir) -> Result<Option<String>, Failure> {
        let Some(status) = self.group.ended()? else { return Ok(None) };
        if self.started.elapsed() < SETTLED {
            self.group.check_alive()?;
        }
        self.group = spawn(dir, &self.log)?;
        self.started = Instant::now();
        Ok(Some(status.to_string()))
    }
}
