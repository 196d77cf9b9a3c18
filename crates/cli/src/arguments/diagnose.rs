//! Arguments of `weir diagnose`.

use std::path::PathBuf;

use clap::Args;

/// `weir diagnose`
#[derive(Debug, Args)]
#[command(
    after_help = "The process is not stopped or changed. The exit code is 0 with and without findings; scripts use --json."
)]
pub struct Diagnose {
    /// Process id or name, or a file: a profile (Weir's, folded, perf script, pprof) or the output of --save.
    #[arg(value_name = "PID|NAME|FILE", required_unless_present = "list")]
    pub target: Option<String>,
    /// Seconds to sample; 0 checks only files and settings.
    #[arg(long, visible_alias = "duration", value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(0..=3600))]
    pub seconds: u64,
    /// Samples per second on each CPU.
    #[arg(long, visible_alias = "hz", value_name = "HZ", default_value_t = 99, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub frequency: u32,
    /// Count requests with nginx's stub_status at this URL, such as `http://127.0.0.1:8080/status`.
    #[arg(long, value_name = "URL")]
    pub requests_from: Option<String>,
    /// Apply only this rule; repeatable.
    #[arg(long, value_name = "ID")]
    pub rule: Vec<String>,
    /// Also save the collected facts to this file, which can be diagnosed again.
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Show all evidence.
    #[arg(long)]
    pub full: bool,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
    /// List the rules with their inputs, thresholds and reasons.
    #[arg(long, conflicts_with_all = ["target", "save"])]
    pub list: bool,
}
