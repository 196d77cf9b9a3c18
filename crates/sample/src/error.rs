//! Why sampling is not possible, and what to do about it.

use std::io;
use std::path::PathBuf;

/// What went wrong. Each says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SampleError {
    /// The process is not there.
    #[error("there is no process {pid}; `ps -e` lists those that are")]
    NoSuchProcess {
        /// Its id.
        pid: u32,
    },
    /// No process has this name.
    #[error("no process is called `{name}`; names are those of `ps -eo comm` or the program's file name")]
    NoSuchName {
        /// What was asked for.
        name: String,
    },
    /// The control group is not there.
    #[error("there is no control group {}; give its directory below /sys/fs/cgroup", path.display())]
    NoSuchCgroup {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// No process belongs to the container, or several containers' ids begin so.
    #[error("{reason}; ids are those of `docker ps`, `podman ps` or `crictl ps`, or their beginning")]
    Container {
        /// What was found instead of one container.
        reason: String,
    },
    /// It is there, but has no process.
    #[error("{what} has no process")]
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
    /// The kernel refuses BPF or lacks something that the programs need.
    #[error("BPF cannot be used here: {reason}; {hint}")]
    Bpf {
        /// What it said.
        reason: String,
        /// What to do.
        hint: &'static str,
        /// Whether the kernel denied it (EPERM).
        denied: bool,
    },
    /// Perf events are refused.
    #[error("perf events cannot be used here: {source}; {hint}")]
    PerfEvent {
        /// What the kernel said.
        source: io::Error,
        /// What to do.
        hint: &'static str,
    },
    /// What was asked for needs BPF.
    #[error("{what} needs BPF, and only perf events can be used here: {reason}")]
    NeedsBpf {
        /// `Sampling of waits`, `counting of system calls`.
        what: &'static str,
        /// Why there is no BPF.
        reason: String,
    },
    /// An option is out of its bounds.
    #[error("{option} is {value}; it must be {expected}")]
    Option {
        /// Its name.
        option: &'static str,
        /// What was given.
        value: String,
        /// What is allowed.
        expected: &'static str,
    },
    /// A file or directory of the system cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl SampleError {
    pub(crate) fn read(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Read { path: path.into(), source }
    }

    /// A failure of libbpf or of a system call around it, with the hint that fits.
    pub(crate) fn bpf(what: &str, error: &dyn std::fmt::Display, kind: io::ErrorKind) -> Self {
        let hint = match kind {
            io::ErrorKind::PermissionDenied => {
                "it needs CAP_BPF and CAP_PERFMON, or root; a container may forbid the bpf system call (seccomp)"
            }
            io::ErrorKind::NotFound => {
                "the kernel needs CONFIG_DEBUG_INFO_BTF (/sys/kernel/btf/vmlinux), as distributions' kernels have"
            }
            _ => "Linux 5.15 or newer with BTF and BPF ring buffers is needed; `--backend perf-event` does without BPF",
        };
        Self::Bpf { reason: format!("{what}: {error}"), hint, denied: kind == io::ErrorKind::PermissionDenied }
    }
}
