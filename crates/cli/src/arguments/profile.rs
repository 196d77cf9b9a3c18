//! Arguments of `weir profile`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Bounds of the sampling rate and of the copied part of a stack, as `weir_sample` has them.
pub const MOST_HZ: u32 = 10_000;
/// Bytes.
pub const LEAST_STACK: u32 = 1024;
/// Bytes.
pub const MOST_STACK: u32 = 65_536;

const EXAMPLES: &str = "\
Examples:
  weir profile nginx                          all nginx processes for 10 seconds: nginx-PID.html and a table
  weir profile 4711 --duration 30 -o p.svg    one process and its descendants, as SVG
  weir profile nginx --top                    only the table
  weir profile nginx --off-cpu --syscalls     also its waits and system calls
  weir profile --container 3f2a -o p.html -o p.weir.json.gz
  weir profile nginx --requests-from http://127.0.0.1/status -o before.weir.json.gz
  perf script | weir profile convert - -o p.html
  weir profile diff before.weir.json.gz after.weir.json.gz -o diff.html";

/// `weir profile`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
#[command(
    override_usage = "weir profile [OPTIONS] [PID|NAME]...\n       weir profile convert FILE... -o OUT\n       weir profile diff OLD NEW [-o OUT]"
)]
pub struct Profile {
    /// Work with existing profiles.
    #[command(subcommand)]
    pub other: Option<ProfileCommand>,
    /// Sampling.
    #[command(flatten)]
    pub record: Record,
}

/// Commands for existing profiles.
#[derive(Debug, Subcommand)]
pub enum ProfileCommand {
    /// Convert profiles (folded stacks, perf script, pprof, Weir's own) to another format, a graph or a table.
    #[command(after_help = "Several files of one format are added up. `-` is standard input.")]
    Convert(Convert),
    /// Compare two profiles: functions that cost more or less, are new or gone.
    #[command(
        after_help = "Costs are per request if both profiles have a number of requests (--requests), else shares of the total."
    )]
    Diff(ProfileDiff),
}

/// Sampling.
#[derive(Debug, Args)]
pub struct Record {
    /// Processes, each with its descendants: process ids, or names as in `ps -eo comm`.
    #[arg(value_name = "PID|NAME")]
    pub targets: Vec<String>,
    /// A process id.
    #[arg(long, value_name = "PID")]
    pub pid: Vec<u32>,
    /// Processes of this name, even if it is a number.
    #[arg(long, value_name = "NAME")]
    pub name: Vec<String>,
    /// Processes of a control group, such as system.slice/nginx.service.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["targets", "pid", "name"])]
    pub cgroup: Option<PathBuf>,
    /// Processes of the container whose id begins with ID.
    #[arg(long, value_name = "ID", conflicts_with_all = ["targets", "pid", "name", "cgroup"])]
    pub container: Option<String>,
    /// All processes of this machine.
    #[arg(long, conflicts_with_all = ["targets", "pid", "name", "cgroup", "container"])]
    pub all: bool,
    /// Seconds to sample; Ctrl-C ends sampling earlier and keeps the samples.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    pub duration: f64,
    /// Samples per second on each CPU.
    #[arg(long, value_name = "HZ", default_value_t = 99, value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_HZ)))]
    pub hz: u32,
    /// Also record waits of at least MIN_MS milliseconds [without a number: 1].
    #[arg(long, value_name = "MIN_MS", num_args = 0..=1, require_equals = true, default_missing_value = "1", value_parser = milliseconds)]
    pub off_cpu: Option<f64>,
    /// Also count and time system calls.
    #[arg(long)]
    pub syscalls: bool,
    /// Bytes read of each user stack; deeper stacks are truncated and counted.
    #[arg(long, value_name = "BYTES", default_value_t = 32_768, value_parser = clap::value_parser!(u32).range(i64::from(LEAST_STACK)..=i64::from(MOST_STACK)))]
    pub stack_bytes: u32,
    /// Do not unwind Lua frames.
    #[arg(long)]
    pub no_lua: bool,
    /// Source of samples.
    #[arg(long, value_enum, default_value_t = Backend::Auto)]
    pub backend: Backend,
    /// Number of requests answered during sampling, for costs per request.
    #[arg(long, value_name = "N", conflicts_with = "requests_from", value_parser = clap::value_parser!(u64).range(1..))]
    pub requests: Option<u64>,
    /// Count requests with nginx's stub_status at this URL. With Weir's module, no option is needed.
    #[arg(long, value_name = "URL")]
    pub requests_from: Option<String>,
    /// Output.
    #[command(flatten)]
    pub output: Output,
}

/// Output of a profile.
#[derive(Debug, Args)]
pub struct Output {
    /// Write to FILE, in the format of its extension: .html .svg .folded .pb.gz .speedscope.json
    /// .firefox.json .weir.json.gz; repeatable. `-` is standard output.
    #[arg(long, short, value_name = "FILE")]
    pub output: Vec<PathBuf>,
    /// Write in this format regardless of the extension: html, svg, folded, pprof, speedscope, firefox, weir.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Show the N most expensive functions [without a number: 15]; without -o, no file is written.
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "15", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub top: Option<u32>,
    /// The subject of each row of the table.
    #[arg(long, value_enum, default_value_t = TopBy::Function)]
    pub by: TopBy,
    /// Sort the table by total cost (with callees) instead of self cost.
    #[arg(long)]
    pub total: bool,
    /// Draw inverted graphs, with callers above callees. The HTML page can also switch to this.
    #[arg(long)]
    pub reverse: bool,
    /// Draw graphs with the root at the top.
    #[arg(long)]
    pub icicle: bool,
    /// Draw a box for each line of a function.
    #[arg(long)]
    pub lines: bool,
    /// Title of graphs.
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
}

/// `weir profile convert`
#[derive(Debug, Args)]
pub struct Convert {
    /// Profiles; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Number of requests answered during sampling, if the profile has none.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub requests: Option<u64>,
    /// Output.
    #[command(flatten)]
    pub output: Output,
}

/// `weir profile diff`
#[derive(Debug, Args)]
pub struct ProfileDiff {
    /// The older profile.
    pub old: PathBuf,
    /// The newer profile.
    pub new: PathBuf,
    /// Write a graph (.svg) or a page (.html) instead of showing a table; repeatable.
    #[arg(long, short, value_name = "FILE")]
    pub output: Vec<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
    /// Compare shares of the total even if the numbers of requests are known.
    #[arg(long)]
    pub share: bool,
    /// Omit functions below this percentage of both profiles.
    #[arg(long, value_name = "PERCENT", default_value_t = 0.1, value_parser = percent)]
    pub min_share: f64,
    /// Maximum rows of each table.
    #[arg(long, value_name = "N", default_value_t = 25)]
    pub top: usize,
    /// Also compare frames that one profile lacks only because of tail calls.
    #[arg(long)]
    pub keep_tail_calls: bool,
    /// Draw graphs with the root at the top.
    #[arg(long)]
    pub icicle: bool,
    /// Title of graphs.
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
}

/// Sources of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    /// BPF, or perf events where BPF is not permitted.
    Auto,
    /// BPF only.
    Ebpf,
    /// Perf events, without Lua, waits and system calls.
    PerfEvent,
}

/// The subject of a row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TopBy {
    /// Functions.
    Function,
    /// Lines of functions.
    Line,
    /// Binaries, the kernel, Lua chunks.
    Module,
    /// Threads.
    Thread,
}

fn within(text: &str, least: f64, most: f64, unit: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("not a number of {unit}"))?;
    if (least..=most).contains(&number) { Ok(number) } else { Err(format!("must be from {least} to {most} {unit}")) }
}

fn seconds(text: &str) -> Result<f64, String> {
    within(text, 0.1, 86_400.0, "seconds")
}

fn milliseconds(text: &str) -> Result<f64, String> {
    within(text, 0.0, 60_000.0, "milliseconds")
}

fn percent(text: &str) -> Result<f64, String> {
    within(text, 0.0, 100.0, "per cent")
}
