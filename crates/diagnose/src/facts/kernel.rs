//! The kernel's limits and counters.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

mod read;

pub use read::KernelSnapshot;

/// Kernel and machine. Settings below `/proc/sys/net` are those of the process's network namespace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KernelFacts {
    /// `uname -r`.
    pub release: String,
    /// CPUs that are online.
    pub cpus: u32,
    /// CPUs that the process may run on (`Cpus_allowed_list`).
    pub cpus_allowed: Option<u32>,
    /// Name of the CPU.
    pub cpu_model: String,
    /// Frequency governor of the first CPU.
    pub governor: Option<String>,
    /// Settings by name, verbatim: `net.core.somaxconn` to `4096`. See [`SETTINGS`].
    pub settings: BTreeMap<String, String>,
    /// Connection tracking, if it is enabled.
    pub conntrack: Option<Conntrack>,
    /// Counters of `/proc/PID/net/netstat` and `snmp`: `TcpExt.ListenOverflows`, `Tcp.ActiveOpens`, ...
    pub counters: BTreeMap<String, Counter>,
    /// The setting of transparent huge pages: `always`, `madvise`, `never`.
    pub transparent_hugepages: Option<String>,
}

impl KernelFacts {
    /// A setting as a number.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<u64> {
        self.settings.get(name)?.trim().parse().ok()
    }

    /// `net.ipv4.ip_local_port_range`: first and last port.
    #[must_use]
    pub fn port_range(&self) -> Option<(u16, u16)> {
        let mut ends = self.settings.get("net.ipv4.ip_local_port_range")?.split_whitespace();
        Some((ends.next()?.parse().ok()?, ends.next()?.parse().ok()?))
    }

    /// The growth of a counter in the window, such as `TcpExt.ListenOverflows`. `None` if the kernel lacks it.
    #[must_use]
    pub fn grown(&self, counter: &str) -> Option<u64> {
        self.counters.get(counter).map(|counter| counter.after.saturating_sub(counter.before))
    }
}

/// Settings to read, by their `sysctl` names.
pub const SETTINGS: &[&str] = &[
    "net.core.somaxconn",
    "net.core.netdev_max_backlog",
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_max_tw_buckets",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_abort_on_overflow",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_slow_start_after_idle",
    "fs.file-max",
    "vm.swappiness",
    "vm.overcommit_memory",
];

/// Connection tracking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conntrack {
    /// Current number of entries.
    pub count: u64,
    /// Maximum number of entries; beyond it new connections are dropped.
    pub max: u64,
}

/// A counter of the kernel before and after the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter {
    /// At the start.
    pub before: u64,
    /// At the end.
    pub after: u64,
}
