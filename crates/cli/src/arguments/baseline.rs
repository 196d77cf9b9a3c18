//! Arguments of `weir baseline`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

const EXAMPLES: &str = "\
Examples:
  weir baseline save good nginx --requests-from http://127.0.0.1/status
  weir baseline compare good nginx            the process now with the baseline
  weir baseline compare good better           two baselines";

/// `weir baseline`
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Baseline {
    /// Save a process's configuration, environment and profile.
    Save {
        /// Name of the baseline.
        name: String,
        /// Process id or name; of nginx, all its processes.
        #[arg(value_name = "PID|NAME", default_value = "nginx")]
        target: String,
        /// Sampling.
        #[command(flatten)]
        watch: Watching,
        /// Overwrite a baseline of the same name.
        #[arg(long)]
        replace: bool,
        /// Directory of baselines.
        #[command(flatten)]
        place: BaselinePlace,
    },
    /// Show the changes since a baseline: in the context, in the flame graph, and in the cost per request.
    #[command(after_help = "Exit codes: 0 the context is unchanged, 3 it has changed, 1 failed, 2 wrong command line.")]
    Compare {
        /// The baseline to compare with.
        name: String,
        /// Process id or name, which is sampled now, or another baseline.
        #[arg(value_name = "PID|NAME|BASELINE", default_value = "nginx")]
        target: String,
        /// Sampling.
        #[command(flatten)]
        watch: Watching,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
        /// Directory of baselines.
        #[command(flatten)]
        place: BaselinePlace,
    },
    /// List baselines.
    List {
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
        /// Directory of baselines.
        #[command(flatten)]
        place: BaselinePlace,
    },
    /// Delete a baseline.
    Delete {
        /// Name of the baseline.
        name: String,
        /// Directory of baselines.
        #[command(flatten)]
        place: BaselinePlace,
    },
}

/// The directory of baselines.
#[derive(Debug, Args)]
pub struct BaselinePlace {
    /// Directory of baselines [default: `$XDG_DATA_HOME/weir/baselines`, else `~/.local/share/weir/baselines`].
    #[arg(long, value_name = "DIR", env = "WEIR_BASELINES", hide_env_values = true)]
    pub dir: Option<PathBuf>,
}

/// Options of sampling.
#[derive(Debug, Args)]
pub struct Watching {
    /// Seconds to sample; 0 records only the context.
    #[arg(long, visible_alias = "duration", value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(0..=3600))]
    pub seconds: u64,
    /// Samples per second on each CPU.
    #[arg(long, value_name = "HZ", default_value_t = 99, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub hz: u32,
    /// Count requests and CPU time, but take no samples.
    #[arg(long)]
    pub no_profile: bool,
    /// Count requests with nginx's stub_status at this URL. With Weir's module, no option is needed.
    #[arg(long, value_name = "URL")]
    pub requests_from: Option<String>,
    /// Number of requests answered during sampling.
    #[arg(long, value_name = "N", conflicts_with = "requests_from", value_parser = clap::value_parser!(u64).range(1..))]
    pub requests: Option<u64>,
}
