//! Arguments of `weir profile`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

const EXAMPLES: &str = "\
Examples:
  weir profile nginx                          all nginx processes for 10 seconds: nginx-PID.html and a table
  weir profile 4711 --duration 30 -o p.svg    one process and its descendants, as SVG
  weir profile nginx --top                    only the table
  weir profile nginx --off-cpu --syscalls     also what it waits for, and its system calls
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
    /// Something else than sampling.
    #[command(subcommand)]
    pub other: Option<ProfileCommand>,
    /// What is sampled, and how.
    #[command(flatten)]
    pub record: Record,
}

/// What can be done with profiles that are there.
#[derive(Debug, Subcommand)]
pub enum ProfileCommand {
    /// Read profiles (folded stacks, perf script, pprof, Weir's own) and write or show them as something else.
    #[command(after_help = "Several files of one kind are added up. `-` is standard input.")]
    Convert(Convert),
    /// Compare two profiles: what got dearer, cheaper, vanished.
    #[command(
        after_help = "Per request where both profiles know their requests (--requests), else by share of the whole."
    )]
    Diff(ProfileDiff),
}

/// Sampling.
#[derive(Debug, Args)]
pub struct Record {
    /// Processes, each with its descendants: a process id, or a name as in `ps -eo comm`.
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
    /// Processes of a container, by the beginning of its id.
    #[arg(long, value_name = "ID", conflicts_with_all = ["targets", "pid", "name", "cgroup"])]
    pub container: Option<String>,
    /// All processes of this machine.
    #[arg(long, conflicts_with_all = ["targets", "pid", "name", "cgroup", "container"])]
    pub all: bool,
    /// How long, in seconds; Ctrl-C ends it earlier and keeps what there is.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    pub duration: f64,
    /// Samples a second on each CPU.
    #[arg(long, value_name = "HZ", default_value_t = 99, value_parser = clap::value_parser!(u32).range(1..=i64::from(weir_sample::MOST_HZ)))]
    pub hz: u32,
    /// Also what it waits for, from waits of MIN_MS milliseconds on (1 without a number).
    #[arg(long, value_name = "MIN_MS", num_args = 0..=1, require_equals = true, default_missing_value = "1", value_parser = milliseconds)]
    pub off_cpu: Option<f64>,
    /// Also count system calls, and how long they take.
    #[arg(long)]
    pub syscalls: bool,
    /// Bytes of each user stack that are read; deeper stacks are cut and counted.
    #[arg(long, value_name = "BYTES", default_value_t = 32_768, value_parser = clap::value_parser!(u32).range(i64::from(weir_sample::LEAST_STACK)..=i64::from(weir_sample::MOST_STACK)))]
    pub stack_bytes: u32,
    /// Do not look for Lua.
    #[arg(long)]
    pub no_lua: bool,
    /// How samples are taken.
    #[arg(long, value_enum, default_value_t = Backend::Auto)]
    pub backend: Backend,
    /// Requests that were answered meanwhile, to show costs per request.
    #[arg(long, value_name = "N", conflicts_with = "requests_from", value_parser = clap::value_parser!(u64).range(1..))]
    pub requests: Option<u64>,
    /// Read that number from nginx's stub_status, before and after. Weir's own nginx needs no option.
    #[arg(long, value_name = "URL")]
    pub requests_from: Option<String>,
    /// What is made of it.
    #[command(flatten)]
    pub output: Output,
}

/// What is made of a profile.
#[derive(Debug, Args)]
pub struct Output {
    /// Write to FILE, as its ending says: .html .svg .folded .pb.gz .speedscope.json .firefox.json
    /// .weir.json.gz; may be given several times. `-` is standard output.
    #[arg(long, short, value_name = "FILE")]
    pub output: Vec<PathBuf>,
    /// Write in this format, whatever the file's name: html, svg, folded, pprof, speedscope, firefox, weir.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Show the N heaviest functions (15 without a number), and write no file unless -o says so.
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "15", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub top: Option<u32>,
    /// What makes a row of the table.
    #[arg(long, value_enum, default_value_t = TopBy::Function)]
    pub by: TopBy,
    /// Sort the table by what passes through a function, not by what it takes itself.
    #[arg(long)]
    pub total: bool,
    /// Graphs from leaves to roots: callers above what they call. The page can do that by itself, too.
    #[arg(long)]
    pub reverse: bool,
    /// Graphs with the root at the top.
    #[arg(long)]
    pub icicle: bool,
    /// Graphs with a box for each line of a function.
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
    /// Requests that were answered meanwhile, if the profile does not say.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub requests: Option<u64>,
    /// What is made of them.
    #[command(flatten)]
    pub output: Output,
}

/// `weir profile diff`
#[derive(Debug, Args)]
pub struct ProfileDiff {
    /// The profile before.
    pub old: PathBuf,
    /// The profile after.
    pub new: PathBuf,
    /// Write a graph (.svg) or a page (.html); may be given several times. Without it a table is shown.
    #[arg(long, short, value_name = "FILE")]
    pub output: Vec<PathBuf>,
    /// The result as JSON.
    #[arg(long)]
    pub json: bool,
    /// Compare shares of the whole, even if requests are known.
    #[arg(long)]
    pub share: bool,
    /// Leave functions below this percentage of both profiles out of tables.
    #[arg(long, value_name = "PERCENT", default_value_t = 0.1, value_parser = percent)]
    pub min_share: f64,
    /// Rows of each table.
    #[arg(long, value_name = "N", default_value_t = 25)]
    pub top: usize,
    /// Compare frame by frame, even where one side only lacks them because of tail calls.
    #[arg(long)]
    pub keep_tail_calls: bool,
    /// The root at the top.
    #[arg(long)]
    pub icicle: bool,
    /// Title of graphs.
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
}

/// How samples are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    /// BPF, or perf events where BPF is refused.
    Auto,
    /// BPF or nothing.
    Ebpf,
    /// Perf events: no Lua, no waits, no system calls.
    PerfEvent,
}

/// What makes a row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TopBy {
    /// A function.
    Function,
    /// A line of a function.
    Line,
    /// A binary, the kernel, a Lua chunk.
    Module,
    /// A thread.
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
