//! Arguments of `weir probes`, and which probes other commands mean.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Which probes a command means: all, unless some are named.
#[derive(Clone, Debug, Default, Args)]
pub struct WhichProbes {
    /// Of probes: only those of these applications; repeatable.
    #[arg(long, value_name = "NAME", value_delimiter = ',', global = true)]
    pub app: Vec<String>,
    /// Of probes: only those in these processes; repeatable.
    #[arg(long, value_name = "PID", value_delimiter = ',', global = true)]
    pub pid: Vec<u32>,
    /// Directory in which probes register [default: WEIR_PROBE_DIR, or `/tmp/weir-probe-UID`].
    #[arg(long, value_name = "DIR", global = true)]
    pub probe_dir: Option<PathBuf>,
}

impl WhichProbes {
    /// Whether any of them was given.
    pub(crate) fn is_given(&self) -> bool {
        !self.app.is_empty() || !self.pid.is_empty() || self.probe_dir.is_some()
    }
}

/// `weir probes`
#[derive(Debug, Args)]
#[command(
    subcommand_value_name = "ACTION",
    subcommand_help_heading = "Actions",
    after_help = "Probes are found by their registration files, and through the control daemon if it runs or is named.\n\
        Without an action, they are listed."
)]
pub struct Probes {
    /// Which probes.
    #[command(flatten)]
    pub which: WhichProbes,
    /// Print the result as JSON.
    #[arg(long, global = true)]
    pub json: bool,
    /// What to do with them.
    #[command(subcommand)]
    pub action: Option<ProbeAction>,
}

/// What to do with probes.
#[derive(Debug, Subcommand)]
pub enum ProbeAction {
    /// Check the isolation of every library in use, and accept shadow traffic if it is ready.
    Arm,
    /// Refuse shadow traffic; everything but its refusal is folded away.
    Disarm,
    /// Fold a plugin away, or the whole probe: marked requests are then not seen as such.
    Silence {
        /// Only this plugin.
        plugin: Option<String>,
    },
    /// End a silence; what was armed before has to be armed again.
    Wake {
        /// Only this plugin.
        plugin: Option<String>,
    },
    /// Show or set the shadow configuration of an application.
    Shadow {
        /// The new configuration in YAML or JSON; `-` is standard input.
        file: Option<PathBuf>,
        /// Only if this is its newest revision in the control daemon.
        #[arg(long, value_name = "REVISION")]
        expect: Option<u64>,
    },
}
