//! The process: its workers, limits and open files.

use serde::{Deserialize, Serialize};

mod cgroup;
mod files;
mod read;
mod sockets;

pub use read::ProcessSnapshot;
pub(crate) use read::{cmdline, is_other_namespace, started_ms, youngest_ms};

/// The role of a process, derived from its title.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// `nginx: master process ...`
    NginxMaster,
    /// `nginx: worker process`
    NginxWorker,
    /// A cache manager or loader, or another helper of nginx.
    NginxHelper,
    /// An nginx without a master (`master_process off`).
    NginxSingle,
    /// Anything else.
    #[default]
    Other,
}

/// The requested process, and the processes watched with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessFacts {
    /// Its id. For nginx, the master's, whichever process was requested.
    pub pid: u32,
    /// Its role.
    pub role: Role,
    /// Path of its executable as it sees it (inside its container).
    pub exe: String,
    /// Build id of the executable in hexadecimal digits; empty if there is none.
    pub build_id: String,
    /// Command line.
    pub cmdline: Vec<String>,
    /// Watched processes: the workers of an nginx, otherwise the process and its descendants. By pid.
    pub workers: Vec<WorkerFacts>,
    /// Limit of open files (`RLIMIT_NOFILE`) of the fullest watched process.
    pub nofile: Option<Limit>,
    /// Its control group, if that limits the CPU or counts throttling.
    pub cgroup: Option<CgroupFacts>,
    /// TCP sockets of all watched processes.
    pub sockets: SocketFacts,
    /// Open files below nginx's directories for bodies, or already unlinked. At most 64.
    pub temporary_files: Vec<String>,
}

/// One watched process during the window. Counters are differences between end and start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkerFacts {
    /// Process id.
    pub pid: u32,
    /// Title or command.
    pub title: String,
    /// CPU time in user mode, in microseconds (resolution: the kernel's tick, 10,000).
    pub user_us: u64,
    /// CPU time in the kernel, in microseconds.
    pub system_us: u64,
    /// Page faults that needed the disk.
    pub major_faults: u64,
    /// Memory swapped out at the end, in KiB (`VmSwap`).
    pub swap_kib: u64,
    /// Connections accepted, if system calls were counted.
    pub accepted: Option<u64>,
    /// Open descriptors at the end.
    pub open_files: u64,
    /// Established TCP connections at the end.
    pub connections: u64,
    /// Whether the process started or ended within the window; its counters are then partial.
    pub partial: bool,
}

impl WorkerFacts {
    /// CPU time in microseconds.
    #[must_use]
    pub fn cpu_us(&self) -> u64 {
        self.user_us + self.system_us
    }

    /// Whether it is an nginx worker that accepts no more connections: `nginx: worker process is shutting down`.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        self.title.contains("shutting down")
    }
}

/// A limit and its usage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// The effective limit; `u64::MAX` if unlimited.
    pub soft: u64,
    /// The maximum for the effective limit; `u64::MAX` if unlimited.
    pub hard: u64,
    /// Usage.
    pub used: u64,
}

/// The control group that limits CPU time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CgroupFacts {
    /// Its path below the mount.
    pub path: String,
    /// 1 or 2.
    pub version: u8,
    /// CPU time per period, in microseconds; `None` without a quota.
    pub quota_us: Option<u64>,
    /// The period in microseconds.
    pub period_us: u64,
    /// Number of periods in the window.
    pub periods: u64,
    /// Number of throttled periods.
    pub throttled_periods: u64,
    /// Time of throttling in the window, in microseconds.
    pub throttled_us: u64,
}

/// TCP sockets. Sockets in `TIME_WAIT` have no process: they are counted over the network
/// namespace, by the addresses at both ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SocketFacts {
    /// Listening addresses, `127.0.0.1:80`, `[::]:443`. At most 256.
    pub listening: Vec<String>,
    /// Outgoing connections by remote address, most first (not those accepted on a listening port),
    /// and addresses with many sockets in `TIME_WAIT`. At most 256.
    pub remotes: Vec<RemoteSockets>,
    /// Whether the tables exceeded the limit (1,000,000 lines).
    pub cut: bool,
}

/// Connections to one address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RemoteSockets {
    /// Address and port.
    pub address: String,
    /// Established or being established.
    pub established: u64,
    /// In `TIME_WAIT` with this address at either end, in the network namespace.
    pub time_wait: u64,
}
