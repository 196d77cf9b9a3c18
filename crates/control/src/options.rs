//! The options of `weir control`.

use std::path::PathBuf;
use std::time::Duration;

use crate::log::Level;

/// Bounds of the daemon.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Changes that may be waiting for an answer; more are told to come back (429).
    pub waiting: usize,
    /// Largest body of a request, in bytes; larger ones are 413.
    pub body: usize,
    /// How long workers may take if a request does not say.
    pub timeout: Duration,
    /// The longest that a request may say.
    pub longest_timeout: Duration,
    /// Clients that watch at a time.
    pub watchers: usize,
    /// A snapshot is due after so many revisions.
    pub snapshot_revisions: u64,
    /// Or so long after a change.
    pub snapshot_after: Duration,
    /// How often the ledger is read for the history of costs.
    pub cost_interval: Duration,
    /// How often files are looked at that are refreshed when they change.
    pub refresh_interval: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            waiting: 1_024,
            body: 16 << 20,
            timeout: Duration::from_secs(5),
            longest_timeout: Duration::from_secs(60),
            watchers: 256,
            snapshot_revisions: 20_000,
            snapshot_after: Duration::from_secs(30),
            cost_interval: Duration::from_secs(5),
            refresh_interval: Duration::from_secs(2),
        }
    }
}

/// The options of `weir control`.
#[derive(Clone, Debug)]
pub struct Options {
    /// Directory of the store; made if need be, with mode 0700.
    pub state: PathBuf,
    /// Runtime directory: journal and bus.
    pub runtime: PathBuf,
    /// The addresses of the API.
    pub listen: Vec<crate::listen::Bind>,
    /// The command that is started with the argument `sandbox` for one.
    pub executable: PathBuf,
    /// Directories below which resources may name files; all if there are none. Files of certificates may also be below
    /// the usual directories of certificates.
    pub files: Vec<PathBuf>,
    /// Bounds of the sandbox.
    pub sandbox: crate::sandbox::Limits,
    /// Other bounds.
    pub limits: Limits,
    /// The verbosity of the log.
    pub level: Level,
}
