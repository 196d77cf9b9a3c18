//! `weir inspector` as a child: the side service of the demo. Without it, the demo goes on as its policy says.

use std::process::{Command, Stdio};

use super::group::Group;
use super::run_dir::RunDir;
use super::worker_user::WorkerUser;
use crate::Failure;

/// The configuration, and the directory that it names.
const DEMO: (&str, &str) = (include_str!("../../../../examples/inspector/demo.yaml"), super::installation::DEMO_DIR);

/// Starts it, if its program is installed. Dropping it stops it.
pub(super) fn start(dir: &RunDir) -> Result<Option<Group>, Failure> {
    let Some(program) = crate::command::tools::program() else { return Ok(None) };
    let fail = |error: std::io::Error| Failure::new(format!("weir inspector: {error}"));
    let configuration = dir.path().join("inspector.yaml");
    let folder = dir.path().to_str().expect("the run directory was checked to be text");
    std::fs::write(&configuration, DEMO.0.replace(DEMO.1, folder)).map_err(fail)?;
    let log = dir.path().join("inspector.log");
    let file = std::fs::File::options().create(true).append(true).open(&log).map_err(fail)?;
    let mut command = Command::new(program);
    command.arg("inspector").arg("--config").arg(configuration);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
    let mut group = Group::start("inspector", command, log)?;
    let socket = dir.path().join("inspector.sock");
    group.wait_until(std::time::Duration::from_secs(10), || socket.exists())?;
    if let Some(workers) = WorkerUser::find() {
        std::os::unix::fs::chown(&socket, None, Some(workers.gid)).map_err(fail)?;
    }
    Ok(Some(group))
}
