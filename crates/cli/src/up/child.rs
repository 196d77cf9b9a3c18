//! nginx as a child that cannot outlive us.

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use weir_ledger::Control;

use super::group::Group;
use super::run_dir::RunDir;
use crate::Failure;
use crate::arguments::Up;

/// How long nginx may take to listen: a policy with a million addresses loads in seconds.
const START: Duration = Duration::from_secs(60);

/// A running nginx. Dropping it stops it.
pub(super) struct Nginx(Group);

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
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Group::start("nginx", command, dir.error_log()).map(Self)
    }

    /// Waits until it takes connections, all workers run, and signals can be sent to its pid.
    pub fn wait_until_ready(&mut self, dir: &RunDir, up: &Up) -> Result<(), Failure> {
        self.0.wait_until(START, || is_ready(dir, up))
    }

    /// An error with the end of nginx's log, if it has ended.
    pub fn check_alive(&mut self) -> Result<(), Failure> {
        self.0.check_alive()
    }

    /// Stops nginx and everything that it started.
    pub fn stop(&mut self) {
        self.0.stop();
    }
}

fn is_ready(dir: &RunDir, up: &Up) -> bool {
    let workers =
        || Control::open(&dir.runtime()).map_or(0, |control| control.workers().iter().filter(|one| one.alive).count());
    TcpStream::connect((Ipv4Addr::LOCALHOST, up.port)).is_ok()
        && fs::read_to_string(dir.path().join("nginx.pid")).is_ok_and(|pid| pid.ends_with('\n'))
        && workers() >= usize::from(up.workers)
}
