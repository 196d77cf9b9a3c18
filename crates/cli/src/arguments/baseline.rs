//! Arguments of `weir baseline`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

const EXAMPLES: &str = "\
Examples:
  weir baseline save good nginx --requests-from http://127.0.0.1/status
  weir baseline compare good nginx            today, against then
  weir baseline compare good better           two baselines";

/// `weir baseline`
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Baseline {
    /// Watch a process and keep what it is, what it runs in, and where its CPU time goes.
    Save {
        /// Name of the baseline.
        name: String,
        /// A process by its id or name; of an nginx the whole.
        #[arg(value_name = "PID|NAME", default_value = "nginx")]
        target: String,
        /// How to watch.
        #[command(flatten)]
        watch: Watching,
        /// Put it in the place of one of the same name.
        #[arg(long)]
        replace: bool,
        /// Where baselines are kept.
        #[command(flatten)]
        place: BaselinePlace,
    },
    /// Say what changed since: first in the context, then in the flame graph, then in cost per request.
    #[command(
        after_help = "Exit codes: 0 nothing changed in the context, 3 something did, 1 failed, 2 wrong command line."
    )]
    Compare {
        /// The baseline to compare with.
        name: String,
        /// A process by its id or name, which is watched now, or another baseline.
        #[arg(value_name = "PID|NAME|BASELINE", default_value = "nginx")]
        target: String,
        /// How to watch.
        #[command(flatten)]
        watch: Watching,
        /// The result as JSON.
        #[arg(long)]
        json: bool,
        /// Where baselines are kept.
        #[command(flatten)]
        place: BaselinePlace,
    },
    /// List baselines.
    List {
        /// The result as JSON.
        #[arg(long)]
        json: bool,
        /// Where baselines are kept.
        #[command(flatten)]
        place: BaselinePlace,
    },
    /// Delete a baseline.
    Delete {
        /// Its name.
        name: String,
        /// Where baselines are kept.
        #[command(flatten)]
        place: BaselinePlace,
    },
}

/// Where baselines are kept.
#[derive(Debug, Args)]
pub struct BaselinePlace {
    /// Directory of baselines; without it `$XDG_DATA_HOME/weir/baselines` (`~/.local/share`).
    #[arg(long, value_name = "DIR", env = "WEIR_BASELINES", hide_env_values = true)]
    pub dir: Option<PathBuf>,
}

/// How a process is watched.
#[derive(Debug, Args)]
pub struct Watching {
    /// How long; 0 looks once, at the context alone.
    #[arg(long, visible_alias = "duration", value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(0..=3600))]
    pub seconds: u64,
    /// Samples a second on each CPU.
    #[arg(long, value_name = "HZ", default_value_t = 99, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub hz: u32,
    /// Count, but take no samples.
    #[arg(long)]
    pub no_profile: bool,
    /// Read requests from nginx's stub_status, before and after. Weir's own nginx needs no option.
    #[arg(long, value_name = "URL")]
    pub requests_from: Option<String>,
    /// Requests that are answered meanwhile.
    #[arg(long, value_name = "N", conflicts_with = "requests_from", value_parser = clap::value_parser!(u64).range(1..))]
    pub requests: Option<u64>,
}
