//! The machine and the circumstances of a run, as they stand in every file of results.

use std::process::Command;

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
    /// The commit that was measured, with `-dirty` behind it if tracked files differ; empty in records that do not say.
    #[serde(default)]
    pub commit: String,
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
            commit: commit().unwrap_or_else(|| "unknown".to_owned()),
        }
    }
}

/// The commit of the repository in which this process runs. Results differ after every run.
fn commit() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        String::from_utf8(output.stdout).ok().map(|text| text.trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short", "HEAD"])?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no", "--", ".", ":!bench/results"])?;
    Some(if changed.is_empty() { commit } else { format!("{commit}-dirty") })
}

/// CPUs of this machine, whichever of them this thread may use.
fn online() -> usize {
    // SAFETY: it only reads a number.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }).unwrap_or(1)
}
