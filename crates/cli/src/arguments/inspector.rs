//! `weir inspector`

use std::path::PathBuf;

use clap::Args;

/// `weir inspector`
#[derive(Debug, Args)]
pub struct Inspector {
    /// The configuration (YAML): addresses, detectors, tenants.
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    /// Check the configuration and the policies that it names, and exit.
    #[arg(long)]
    pub check: bool,
}
