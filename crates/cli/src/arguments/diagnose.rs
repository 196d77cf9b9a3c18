//! Arguments of `weir diagnose`.

use std::path::PathBuf;

use clap::Args;

/// `weir diagnose`
#[derive(Debug, Args)]
#[command(
    after_help = "Nothing is stopped, restarted or written to. Exit code 0, whatever is found; see --json for scripts."
)]
pub struct Diagnose {
    /// A process by its id or name, or a file: a profile (Weir's, folded, perf script, pprof) or what --save has written.
    #[arg(value_name = "PID|NAME|FILE", required_unless_present = "list")]
    pub target: Option<String>,
    /// How long to watch; 0 looks at files and settings only.
    #[arg(long, visible_alias = "duration", value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(0..=3600))]
    pub seconds: u64,
    /// Samples per second and CPU.
    #[arg(long, visible_alias = "hz", value_name = "HZ", default_value_t = 99, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub frequency: u32,
    /// Where nginx answers with stub_status, to count requests: `http://127.0.0.1:8080/status`.
    #[arg(long, value_name = "URL")]
    pub requests_from: Option<String>,
    /// Only ask this rule; may be given several times.
    #[arg(long, value_name = "ID")]
    pub rule: Vec<String>,
    /// Also write what was gathered to this file, to ask it again.
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Show all evidence.
    #[arg(long)]
    pub full: bool,
    /// The result as JSON.
    #[arg(long)]
    pub json: bool,
    /// List the rules: what they look at, when they speak, and why then.
    #[arg(long, conflicts_with_all = ["target", "save"])]
    pub list: bool,
}
