//! Arguments of `weir ablate`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use weir_ablate::{By, LoadChoice, Url};

use super::{NamedState, WhichProbes};

/// `weir ablate`
#[derive(Debug, Args)]
#[command(
    override_usage = "weir ablate --policy FILE [--by rule|plugin|group|policy|tag] [--group PREFIX]...\n       \
        weir ablate --live [--url URL] [--by ...]\n       \
        weir ablate --nginx-conf FILE --variant NAME=FILE... --url URL\n       \
        weir ablate --probe [--app NAME] [--url URL] [--only PLUGIN]\n       \
        weir ablate --restore",
    after_help = "Costs are CPU time per request. A run needs minutes: single rounds on a busy machine prove nothing.\n\
        --live changes the gateway's policies during the run and restores them however it ends."
)]
#[command(group(ArgGroup::new("what").required(true).args(["policy", "live", "nginx_conf", "probe", "restore"])))]
pub struct Ablate {
    /// Ablate this policy file, on a separate nginx; `rs` is the policy of the benchmarks.
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Ablate the policies of the running gateway through its control daemon (--control, --runtime).
    #[arg(long)]
    pub live: bool,
    /// Ablate any nginx: the complete configuration file.
    #[arg(long, value_name = "FILE", requires = "variant", requires = "url")]
    pub nginx_conf: Option<PathBuf>,
    /// Ablate the plugins of the probes in JVMs: each is silenced by turns, under the load that is there.
    #[arg(long)]
    pub probe: bool,
    /// With --probe, which JVMs.
    #[command(flatten)]
    pub which: WhichProbes,
    /// With --probe, also silence plugins at edges: marked requests are then served as business traffic, so only do
    /// this while no load test runs.
    #[arg(long)]
    pub edges: bool,
    /// Only restore the policies that an earlier --live run has left changed.
    #[arg(long)]
    pub restore: bool,
    /// With --nginx-conf, a complete configuration without one part; repeatable.
    #[arg(long, value_name = "NAME=FILE", requires = "nginx_conf", value_parser = variant)]
    pub variant: Vec<(String, PathBuf)>,
    /// The parts to measure.
    #[arg(long, value_enum, default_value_t = By::Group)]
    pub by: By,
    /// Measure the rules whose ids begin with PREFIX as one part; repeatable. The other rules stay on.
    #[arg(long, value_name = "PREFIX", num_args = 1.., conflicts_with = "by")]
    pub group: Vec<String>,
    /// Only the parts with these names.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub only: Vec<String>,
    /// The load: mix (forms as browsers submit them, or GET of --url), wrk, h2load, replay:ACCESS_LOG[@RATE],
    /// or live (none: there is traffic anyway) [default: mix; of --live and --probe without --url: live].
    #[arg(long)]
    pub load: Option<LoadChoice>,
    /// Target of the load.
    #[arg(long)]
    pub url: Option<Url>,
    /// Connections of the load.
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=4000))]
    pub connections: u16,
    /// Number of rounds; each measures every variant [default: 30; with --probe 12].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub rounds: Option<u32>,
    /// Seconds of a measurement; rounded up for wrk and h2load [default: 0.25; with --probe 2].
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub seconds: Option<f64>,
    /// Skip the rounds that find pairs of parts that share work.
    #[arg(long)]
    pub no_pairs: bool,
    /// With --policy, count the engine's instructions with valgrind instead of measuring time: exact on any machine.
    #[arg(long, requires = "policy")]
    pub instructions: bool,
    /// Seed of the random orders [default: from the clock].
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Weir's nginx module [default: beside this program, or the newest build under target/].
    #[arg(long, value_name = "PATH", env = "WEIR_MODULE", hide_env_values = true)]
    pub module: Option<PathBuf>,
    /// Do not pin processes to cores.
    #[arg(long)]
    pub no_pin: bool,
    /// Nice value of all started processes; negative values need root and reduce disturbance by other processes.
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(-20..=19))]
    pub nice: i32,
    /// Write the result as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the result as an HTML page with a chart.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Where the journal is from which --live restores the policies.
    #[command(flatten)]
    pub state: NamedState,
}

/// `weir ablate-guard`
#[derive(Debug, Args)]
pub struct AblateGuard {
    /// Directory of the journal.
    #[arg(long, value_name = "DIR")]
    pub state: PathBuf,
}

fn variant(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => Ok((name.to_owned(), file.into())),
        _ => Err("expected NAME=FILE, such as no-lua=/etc/nginx/no-lua.conf".into()),
    }
}

pub(super) fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds: &f64| (0.02..=600.0).contains(seconds));
    seconds.ok_or_else(|| "expected a number of seconds from 0.02 to 600".into())
}
