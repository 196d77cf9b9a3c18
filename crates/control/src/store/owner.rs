//! The process that a state directory belongs to, as its lock says.

use serde::{Deserialize, Serialize};

/// The process that holds, or held, the lock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Owner {
    /// The process id, in its own namespace.
    pub pid: u32,
    /// The host name.
    pub host: String,
    /// The kernel's boot id.
    pub boot: String,
    /// Whether it ended after writing everything.
    pub clean: bool,
    /// Grows while it runs.
    pub(super) beat: u64,
}

impl Owner {
    /// This process.
    pub(super) fn this() -> Self {
        let line = |path| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        Self {
            pid: std::process::id(),
            host: line("/proc/sys/kernel/hostname"),
            boot: line("/proc/sys/kernel/random/boot_id"),
            ..Self::default()
        }
    }
}

impl std::fmt::Display for Owner {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "process {} on {}", self.pid, self.host)
    }
}
