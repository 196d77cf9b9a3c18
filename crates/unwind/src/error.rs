//! Errors in reading a process or a binary.

use std::io;
use std::path::PathBuf;

/// An error, with advice.
#[derive(Debug, thiserror::Error)]
pub enum UnwindError {
    /// There is no such process, or it has ended.
    #[error("process {pid} does not exist or has ended")]
    NoProcess {
        /// Its id.
        pid: u32,
    },
    /// The kernel denies access.
    #[error("process {pid}: {what} is refused; run as root or with CAP_SYS_PTRACE")]
    Refused {
        /// Its id.
        pid: u32,
        /// The file in /proc.
        what: &'static str,
    },
    /// The process runs code of another architecture than x86-64.
    #[error("process {pid} runs {found}; only 64-bit x86 programs can be unwound")]
    Foreign {
        /// Its id.
        pid: u32,
        /// Class and machine of its program.
        found: String,
    },
    /// Something about the process could not be read.
    #[error("process {pid}: {what}: {error}")]
    Process {
        /// Its id.
        pid: u32,
        /// The file in /proc.
        what: &'static str,
        /// The error from the kernel.
        error: io::Error,
    },
    /// A binary could not be opened.
    #[error("{}: {error}", path.display())]
    Open {
        /// The path that was tried.
        path: PathBuf,
        /// The error from the kernel.
        error: io::Error,
    },
    /// A binary is malformed.
    #[error("{}: {reason}", path.display())]
    Binary {
        /// The file.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
}

impl UnwindError {
    /// The error of reading the file `what` of a process.
    pub(crate) fn of_process(pid: u32, what: &'static str, error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::ENOENT | libc::ESRCH) => Self::NoProcess { pid },
            Some(libc::EACCES | libc::EPERM) => Self::Refused { pid, what },
            _ => Self::Process { pid, what, error },
        }
    }
}
