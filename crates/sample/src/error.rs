//! Reasons why sampling is not possible, with advice.

use std::io;
use std::path::PathBuf;

/// An error with advice.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SampleError {
    /// The process does not exist.
    #[error("there is no process {pid}; `ps -e` lists all processes")]
    NoSuchProcess {
        /// Its id.
        pid: u32,
    },
    /// No process has this name.
    #[error("there is no process named `{name}`; use a name from `ps -eo comm` or the program's file name")]
    NoSuchName {
        /// The given name.
        name: String,
    },
    /// The control group does not exist.
    #[error("there is no control group {}; give its directory below /sys/fs/cgroup", path.display())]
    NoSuchCgroup {
        /// The path that was tried.
        path: PathBuf,
    },
    /// No process belongs to the container, or several container ids have this prefix.
    #[error("{reason}; use an id from `docker ps`, `podman ps` or `crictl ps`, or a prefix of one")]
    Container {
        /// The problem.
        reason: String,
    },
    /// It exists, but has no process.
    #[error("{what} has no processes")]
    Empty {
        /// `control group /sys/fs/cgroup/x`
        what: String,
    },
    /// Its machine code is not x86-64.
    #[error("process {pid} is a {found} program; only x86-64 programs can be sampled (64 bits, little endian)")]
    ForeignProgram {
        /// Its id.
        pid: u32,
        /// `32-bit`, `AArch64`, ...
        found: String,
    },
    /// Capabilities are missing.
    #[error("sampling needs {}; run as root, or `setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep` on the weir binary", missing.join(", "))]
    Privilege {
        /// Their names.
        missing: Vec<&'static str>,
    },
    /// The kernel rejects BPF or lacks a feature that the programs need.
    #[error("BPF cannot be used here: {reason}; {hint}")]
    Bpf {
        /// The kernel's reason.
        reason: String,
        /// What to do.
        hint: &'static str,
        /// Whether permission was denied (EPERM).
        denied: bool,
    },
    /// Perf events are denied.
    #[error("perf events cannot be used here: {source}; {hint}")]
    PerfEvent {
        /// The error from the kernel.
        source: io::Error,
        /// What to do.
        hint: &'static str,
    },
    /// A requested feature needs BPF.
    #[error("{what} needs BPF, and only perf events can be used here: {reason}")]
    NeedsBpf {
        /// `Sampling of waits`, `counting of system calls`.
        what: &'static str,
        /// The reason why BPF is not available.
        reason: String,
    },
    /// An option is out of range.
    #[error("{option} is {value}; it must be {expected}")]
    Option {
        /// Its name.
        option: &'static str,
        /// The given value.
        value: String,
        /// The allowed values.
        expected: &'static str,
    },
    /// A file or directory of the system cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

impl SampleError {
    pub(crate) fn read(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Read { path: path.into(), source }
    }

    /// A failure of libbpf or of a system call around it, with a suitable hint.
    pub(crate) fn bpf(what: &str, error: &dyn std::fmt::Display, kind: io::ErrorKind) -> Self {
        let hint = match kind {
            io::ErrorKind::PermissionDenied => {
                "CAP_BPF and CAP_PERFMON, or root, are needed; a container may block the bpf system call (seccomp)"
            }
            io::ErrorKind::NotFound => {
                "the kernel needs CONFIG_DEBUG_INFO_BTF (/sys/kernel/btf/vmlinux), which distribution kernels have"
            }
            _ => {
                "Linux 5.15 or newer with BTF and BPF ring buffers is needed; `--backend perf-event` works without BPF"
            }
        };
        Self::Bpf { reason: format!("{what}: {error}"), hint, denied: kind == io::ErrorKind::PermissionDenied }
    }
}
