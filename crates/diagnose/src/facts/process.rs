//! The process itself: who works in it, what it may use, what it has open.

use serde::{Deserialize, Serialize};

mod cgroup;
mod files;
mod read;
mod sockets;

pub use read::Before;
pub(crate) use read::{cmdline, is_other_namespace, started_ms, youngest_ms};

/// What a process is, by its title.
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

/// The process that was asked for, and those that were watched with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessFacts {
    /// Its id. Of an nginx: the master's, whichever of its processes was asked for.
    pub pid: u32,
    /// What it is.
    pub role: Role,
    /// Path of its executable, as it sees it itself (in a container: inside of it).
    pub exe: String,
    /// Build id of the executable in hexadecimal digits; empty: none.
    pub build_id: String,
    /// Command line.
    pub cmdline: Vec<String>,
    /// Watched processes: the workers of an nginx, else the process and its descendants. By pid.
    pub workers: Vec<WorkerFacts>,
    /// Open files (`RLIMIT_NOFILE`) that the fullest watched process may have.
    pub nofile: Option<Limit>,
    /// Its control group, where that limits the CPU or counts its throttling.
    pub cgroup: Option<CgroupFacts>,
    /// Its TCP sockets, of all watched processes.
    pub sockets: SocketFacts,
    /// Files that it has open below nginx's directories for bodies, or that are unlinked already. At most 64.
    pub temporary_files: Vec<String>,
}

/// One watched process over the window. Counters are differences between the end and the start.
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
    /// Connections accepted, where system calls were counted.
    pub accepted: Option<u64>,
    /// Descriptors open at the end.
    pub open_files: u64,
    /// Established TCP connections at the end.
    pub connections: u64,
    /// Whether the process began or ended within the window; its counters are then partial.
    pub partial: bool,
}

impl WorkerFacts {
    /// CPU time in microseconds.
    #[must_use]
    pub fn cpu_us(&self) -> u64 {
        self.user_us + self.system_us
    }

    /// Whether it is a worker of nginx that takes no more connections: `nginx: worker process is shutting down`.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        self.title.contains("shutting down")
    }
}

/// A limit and how much of it is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// What counts; `u64::MAX`: none.
    pub soft: u64,
    /// What it could be raised to; `u64::MAX`: none.
    pub hard: u64,
    /// What is used.
    pub used: u64,
}

/// The control group of CPU time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CgroupFacts {
    /// Its path below the mount.
    pub path: String,
    /// 1 or 2.
    pub version: u8,
    /// CPU time in each period, in microseconds; `None`: no quota.
    pub quota_us: Option<u64>,
    /// The period in microseconds.
    pub period_us: u64,
    /// Periods that passed in the window.
    pub periods: u64,
    /// Of these, periods in which it was held back.
    pub throttled_periods: u64,
    /// How long it was held back in the window, in microseconds.
    pub throttled_us: u64,
}

/// TCP sockets. Sockets in `TIME_WAIT` belong to no process any more: they are counted over the network
/// namespace, by the addresses at their ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SocketFacts {
    /// Addresses that it listens on, `127.0.0.1:80`, `[::]:443`. At most 256.
    pub listening: Vec<String>,
    /// Its outgoing connections by remote address (not those that came in on a listening port), most first, and
    /// addresses with many sockets in `TIME_WAIT`. At most 256.
    pub remotes: Vec<RemoteSockets>,
    /// Whether the tables were longer than what is read (1,000,000 lines).
    pub cut: bool,
}

/// Connections to one address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RemoteSockets {
    /// Address and port.
    pub address: String,
    /// Established, or being so.
    pub established: u64,
    /// In `TIME_WAIT` with this address at either end, of the network namespace.
    pub time_wait: u64,
}
