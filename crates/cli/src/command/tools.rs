//! The program beside this one for commands that a first run does not need: profiles and diagnosis, the inspectors'
//! service, the reference pages. With its eBPF programs, unwinder and gRPC it would add a quarter to what `make run` builds.

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use crate::Failure;

/// Its file name, beside this program or in a directory of `PATH`.
const PROGRAM: &str = "weir-tools";

/// Where it is, if it is installed.
pub(crate) fn program() -> Option<PathBuf> {
    let beside = std::env::current_exe().ok().map(|own| own.with_file_name(PROGRAM));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = std::env::split_paths(&path).map(|dir| dir.join(PROGRAM));
    beside.into_iter().chain(installed).find(|path| path.is_file())
}

/// Replaces this process by the program, with the same arguments; returns only if that fails.
pub(super) fn run() -> Failure {
    let Some(path) = program() else {
        return Failure::new(format!("this command is part of {PROGRAM}, which is neither beside weir nor in PATH"))
            .hint("`make tools` builds it; on a server, install it beside weir (`make dist`)");
    };
    let error = Command::new(&path).arg0("weir").args(std::env::args_os().skip(1)).exec();
    Failure::new(format!("{}: {error}", path.display()))
}
