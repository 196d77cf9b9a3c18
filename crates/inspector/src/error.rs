//! Why the service does not start.

use std::path::PathBuf;

use weir_policy::PolicyErrors;

/// Why the service does not start, or does not take over a changed policy.
#[derive(Debug, thiserror::Error)]
pub enum InspectorError {
    /// The configuration, or a policy that it names, has errors; each has its place.
    #[error("{0}")]
    Document(#[from] PolicyErrors),
    /// A policy that `apply` names is not there.
    #[error("detector `{detector}`: {reason}")]
    Apply {
        /// Name of the detector.
        detector: String,
        /// What is wrong, and a hint.
        reason: String,
    },
    /// A secret is not there.
    #[error("{what}: {reason}")]
    Secret {
        /// The key of the configuration.
        what: &'static str,
        /// Why it cannot be had.
        reason: String,
    },
    /// A socket cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address, as configured.
        address: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// Certificate or key cannot be used.
    #[error("{}: {reason}", file.display())]
    Tls {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The address of another server makes no sense.
    #[error("detector `{detector}`: {address}: {reason}")]
    Address {
        /// Name of the detector.
        detector: String,
        /// The address, as configured.
        address: String,
        /// What is wrong.
        reason: String,
    },
    /// The runtime cannot be started.
    #[error("cannot start threads: {0}")]
    Runtime(#[source] std::io::Error),
}
