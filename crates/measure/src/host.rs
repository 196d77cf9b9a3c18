//! The machine and the circumstances of a run, as they stand in every file of results.

use serde::{Deserialize, Serialize};

/// The machine and the circumstances.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Processor model.
    pub cpu: String,
    /// CPUs that are online.
    pub cores: usize,
    /// Kernel release.
    pub kernel: String,
    /// Version of nginx.
    pub nginx: String,
    /// Whether the process under test had a core of its own.
    pub pinned: bool,
    /// Rounds and seconds of each turn.
    pub schedule: String,
    /// When the run began, seconds since 1970.
    pub started: u64,
}

impl Host {
    /// Describes this machine.
    #[must_use]
    pub fn here(nginx: &str, pinned: bool, schedule: String) -> Self {
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or(": unknown");
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let started =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Self {
            cpu: model.trim_start_matches([' ', '\t', ':']).to_owned(),
            cores: online(),
            kernel: kernel.trim().to_owned(),
            nginx: nginx.to_owned(),
            pinned,
            schedule,
            started,
        }
    }
}

/// CPUs of this machine, whichever of them this thread may use.
fn online() -> usize {
    // SAFETY: it only reads a number.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }).unwrap_or(1)
}
