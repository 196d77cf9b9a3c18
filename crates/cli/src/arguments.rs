//! The command line: one table, from which the parser, the help and the completions come.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

mod ablate;
mod bans;
mod baseline;
mod diagnose;
mod groups;
mod inspector;
mod live;
mod messages;
mod probes;
mod profile;
mod sign;

pub use ablate::{Ablate, AblateGuard};
pub use bans::{Ban, Bans, Unban};
pub use baseline::{Baseline, BaselinePlace, Watching};
pub use diagnose::Diagnose;
pub use inspector::Inspector;
pub use live::{
    Apply, Backup, Change, ChangeOptions, Control, Delete, Diff, Get, NamedState, RefreshFiles, Restore, Revisions,
    Role, Rollback, Token, TokenLimits, Watch,
};
pub use messages::{Publish, Subscribe};
pub use probes::{ProbeAction, Probes, WhichProbes};
pub use profile::{
    Backend, Convert, LEAST_STACK, MOST_HZ, MOST_STACK, Output, Profile, ProfileCommand, ProfileDiff, Record, TopBy,
};
pub use sign::Sign;

/// A gateway and web application firewall inside nginx that measures its own cost.
#[derive(Debug, Parser)]
#[command(name = "weir", version, propagate_version = true, help_template = groups::template())]
#[command(
    after_help = "Exit codes: 0 done, 1 failed (bad policy, nothing running, port taken, ...), 2 wrong command line, 3 unknown (a change was sent, and the connection to control was lost)."
)]
pub struct Arguments {
    /// Runtime directory of nginx, with its switches and counters (`weir_runtime`).
    #[arg(long, global = true, value_name = "DIR", env = "WEIR_RUNTIME", default_value = weir_directives::DEFAULT_RUNTIME, hide_env_values = true)]
    pub runtime: PathBuf,
    /// Socket or URL of the control daemon [default: `control.sock` in the runtime directory].
    #[arg(long, global = true, value_name = "SOCKET|URL", env = "WEIR_CONTROL", hide_env_values = true)]
    pub control: Option<String>,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

impl Arguments {
    /// Whether control is named by a URL.
    pub(crate) fn is_remote(&self) -> bool {
        self.control.as_ref().is_some_and(|control| control.contains("://"))
    }
}

/// The commands of `weir`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start nginx with Weir and its control daemon before a demo site.
    Up(Up),
    /// Run the control daemon, which holds the live configuration.
    Control(Control),
    /// Run the service behind inspectors: rules, counters, risk scores.
    Inspector(Inspector),
    /// Compile policies under limits; only `weir control` uses this.
    #[command(hide = true)]
    Sandbox,
    /// Apply files to the gateway as one change, and show the difference.
    Apply(Apply),
    /// Read files again that resources name, such as lists and rules.
    Refresh(RefreshFiles),
    /// Show the configuration of the gateway, or a part of it.
    Get(Get),
    /// Create or replace a resource or a part of it, such as a member.
    Put(Change),
    /// Change keys of a resource or of a part of it (`null` removes one).
    Patch(Change),
    /// Delete a resource or a part of it.
    Delete(Delete),
    /// List revisions, newest first.
    Revisions(Revisions),
    /// Show the changes of a revision.
    Diff(Diff),
    /// Restore the configuration of an earlier revision as a new one.
    Rollback(Rollback),
    /// Show changes as they happen.
    Watch(Watch),
    /// Ban an address or a network for some time, in all workers at once.
    Ban(Ban),
    /// End a ban of `weir ban`.
    Unban(Unban),
    /// List bans: those of operators and of CrowdSec.
    Bans(Bans),
    /// Publish a message to a topic.
    Publish(Publish),
    /// Print messages of topics as they come, each as a line of JSON.
    Subscribe(Subscribe),
    /// Write configuration, history, files and private keys to one file.
    Backup(Backup),
    /// Restore a backup, in the running gateway or a state directory.
    Restore(Restore),
    /// Create, list and revoke tokens for the API over TCP.
    #[command(subcommand)]
    Token(Token),
    /// Check a policy and show every error in it.
    Check(Check),
    /// Run recorded requests against a policy; show matches and costs.
    Replay(Replay),
    /// Explain which policies a request gets, and what needs its body.
    Explain(Explain),
    /// Sign a request as a rule demands it; print it for curl or send it.
    Sign(Box<Sign>),
    /// List rules of rule sets, or explain one.
    #[command(subcommand)]
    Rules(Rules),
    /// Propose narrow exclusions for false positives in an attack log.
    Tune(Tune),
    /// Print a JSON Schema, for editors.
    Schema {
        /// The format that the schema describes.
        #[arg(value_enum, default_value_t = SchemaOf::Policy)]
        of: SchemaOf,
    },
    /// Show workers, revision, silence and request rates of nginx.
    Status(Json),
    /// Let every request pass, without a reload, or stop doing so.
    Silence {
        /// `on`, `off`, or `status` to show the current state.
        #[arg(value_enum)]
        switch: Switch,
    },
    /// List the probes in JVMs, or arm, disarm, silence and wake them.
    Probes(Probes),
    /// Rank rules, plugins, policies or probes' join points by CPU cost.
    Cost(Cost),
    /// Sample running processes; show their CPU use as a flame graph.
    Profile(Box<Profile>),
    /// Find known performance problems in a process or a profile.
    Diagnose(Diagnose),
    /// Save the state and cost of a process, and compare them later.
    #[command(subcommand)]
    Baseline(Box<Baseline>),
    /// Show or set Weir's level in nginx's error log, without a reload.
    LogLevel {
        /// The new level, or `default` for the configured one; without it, the current level is shown.
        #[arg(value_enum)]
        level: Option<Level>,
    },
    /// Generate the reference pages from the tables in the code.
    Docs(Docs),
    /// Measure what each plugin or rule costs, switched off under load.
    Ablate(Box<Ablate>),
    /// Restore the policies after a killed `weir ablate`; only that command uses this.
    #[command(hide = true)]
    AblateGuard(AblateGuard),
    /// Print a completion script.
    Completions {
        /// The shell.
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Print the version.
    Version,
}

/// `weir up`
#[derive(Debug, Args)]
pub struct Up {
    /// Port on 127.0.0.1 of the demo site.
    #[arg(long, env = "WEIR_PORT", default_value_t = 8080, value_parser = clap::value_parser!(u16).range(1..), hide_env_values = true)]
    pub port: u16,
    /// Initial configuration, as for `weir apply`; repeatable [default: examples/gateway.yaml and
    /// examples/demo.yaml].
    #[arg(long, value_name = "FILE")]
    pub apply: Vec<PathBuf>,
    /// Run without the control daemon: nginx loads this policy file itself.
    #[arg(long, value_name = "FILE", conflicts_with = "apply")]
    pub policy: Option<PathBuf>,
    /// Weir's nginx module [default: beside this program, or in nginx's module directory].
    #[arg(long, value_name = "PATH", env = "WEIR_MODULE", hide_env_values = true)]
    pub module: Option<PathBuf>,
    /// The nginx binary [default: the one in PATH].
    #[arg(long, value_name = "PATH", env = "NGINX_BIN", hide_env_values = true)]
    pub nginx: Option<PathBuf>,
    /// Directory for configuration, logs and runtime files; kept afterwards. By default a temporary
    /// directory `weir-PORT`, which is removed.
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Number of nginx workers.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub workers: u16,
}

/// `weir check`
#[derive(Debug, Args)]
pub struct Check {
    /// A policy in YAML or JSON, or all files and directories of a gateway, as for `weir apply`; with --lint also SecLang
    /// rule files (`*.conf`), read in this order.
    #[arg(required = true, value_name = "FILE|DIR")]
    pub files: Vec<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
    /// Also warn about valid rules that are probably mistakes. Warnings alone are exit code 0.
    #[arg(long)]
    pub lint: bool,
    /// With --lint, also return exit code 1 for warnings.
    #[arg(long, requires = "lint")]
    pub strict: bool,
}

/// The rules to use: those of a policy, or the installed CRS.
#[derive(Debug, Args)]
pub struct RuleSource {
    /// The policy, or the files and directories of a gateway (repeatable) [default: a policy that runs CRS and only
    /// detects].
    #[arg(long, value_name = "FILE|DIR")]
    pub policy: Vec<PathBuf>,
    /// Without --policy: the directory of CRS, from a package or a checkout.
    #[arg(long, value_name = "DIR", conflicts_with = "policy")]
    pub crs: Option<PathBuf>,
    /// Without --policy: the paranoia level of CRS.
    #[arg(long, value_name = "N", conflicts_with = "policy", value_parser = clap::value_parser!(u8).range(1..=4))]
    pub paranoia: Option<u8>,
}

/// The handling of requests that rules cannot read completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Bounds {
    /// They pass.
    Open,
    /// They are refused.
    Closed,
}

/// `weir replay`
#[derive(Debug, Args)]
pub struct Replay {
    /// Raw HTTP requests, a HAR file, or lines of an attack log; `-` is standard input.
    pub file: PathBuf,
    /// The rules to use.
    #[command(flatten)]
    pub source: RuleSource,
    /// Only this policy, as in `weir_apply`; repeatable. Without it, requests get all policies of a policy file, and of a
    /// gateway's files those of their routes.
    #[arg(long, value_name = "ID", requires = "policy")]
    pub policy_id: Vec<String>,
    /// Client address of requests for which the file has none.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub client: std::net::IpAddr,
    /// Run each request N times and show the median time.
    #[arg(long, value_name = "N", default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repeat: u32,
    /// Show only the N most expensive lanes and rules of each request.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// As `weir_bounds` in nginx: whether requests that rules cannot read completely are refused.
    #[arg(long, value_enum, default_value_t = Bounds::Closed)]
    pub bounds: Bounds,
    /// The result as JSON, one line for each request.
    #[arg(long)]
    pub json: bool,
}

/// `weir explain`
#[derive(Debug, Args)]
pub struct Explain {
    /// The URL, such as <https://shop.example.com/upload?id=7>.
    pub url: String,
    /// The method.
    #[arg(short = 'X', long, value_name = "NAME", default_value = "GET")]
    pub method: String,
    /// A header field, such as "Content-Type: application/json"; repeatable.
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    pub header: Vec<String>,
    /// The rules to use.
    #[command(flatten)]
    pub source: RuleSource,
    /// Only this policy, as in `weir_apply`; repeatable.
    #[arg(long, value_name = "ID", requires = "policy")]
    pub policy_id: Vec<String>,
    /// As under `weir detect`: no rule may refuse anything.
    #[arg(long)]
    pub detect: bool,
    /// Client address.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub client: std::net::IpAddr,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `weir rules`
#[derive(Debug, Subcommand)]
pub enum Rules {
    /// Explain a rule: its inputs, its effects, how Weir runs it, and how to exclude it.
    Explain {
        /// The rule's id, such as 942100.
        id: String,
        /// The rules to use.
        #[command(flatten)]
        source: RuleSource,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// List rules.
    List {
        /// Only rules with this tag; repeatable, and then only rules with all the tags.
        #[arg(long, value_name = "TAG")]
        tag: Vec<String>,
        /// Only rules from files whose path contains this text.
        #[arg(long, value_name = "TEXT")]
        file: Option<String>,
        /// The rules to use.
        #[command(flatten)]
        source: RuleSource,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
}

/// `weir tune`
#[derive(Debug, Args)]
#[command(
    override_usage = "weir tune LOG --false-positive REQUEST_ID...\n       weir tune LOG [--rule ID...] [--path PREFIX...] [--all-from ADDRESS...] [--apply FILE...]",
    after_help = "Different options narrow the selection; several values of one option widen it. The log comes first."
)]
#[command(group(clap::ArgGroup::new("which").required(true).multiple(true)))]
pub struct Tune {
    /// The attack log; `-` is standard input.
    pub log: PathBuf,
    /// The request with this id is a false positive; repeatable.
    #[arg(long, value_name = "REQUEST_ID", num_args = 1.., group = "which")]
    pub false_positive: Vec<String>,
    /// Findings of this rule are false positives; repeatable.
    #[arg(long, value_name = "ID", num_args = 1.., group = "which")]
    pub rule: Vec<u64>,
    /// Requests whose path begins with PREFIX are false positives; repeatable.
    #[arg(long, value_name = "PREFIX", num_args = 1.., group = "which")]
    pub path: Vec<String>,
    /// Requests from this address or network are false positives; repeatable.
    #[arg(long, value_name = "ADDRESS", num_args = 1.., group = "which")]
    pub all_from: Vec<String>,
    /// Add the exclusions to the `crs` or `rule_set` action in this policy file, or in these files and directories of a
    /// gateway; the rest stays unchanged.
    #[arg(long, value_name = "FILE|DIR", num_args = 1..)]
    pub apply: Vec<PathBuf>,
    /// The policy's rule with that action, if there are several.
    #[arg(long, value_name = "RULE_ID", requires = "apply")]
    pub into: Option<String>,
    /// With --apply, check and show the change, but do not write it.
    #[arg(long, requires = "apply")]
    pub dry_run: bool,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of commands with only a choice of format.
#[derive(Debug, Args)]
pub struct Json {
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `weir cost`
#[derive(Debug, Args)]
pub struct Cost {
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
    /// Repeat, showing the cost since the last output.
    #[arg(long)]
    pub watch: bool,
    /// Seconds between two outputs of --watch.
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub interval: u64,
    /// Show only the N most expensive rows.
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    /// The subject of each row.
    #[arg(long, value_enum, default_value_t = By::Rule)]
    pub by: By,
    /// Show the cost of each revision and the changes that made it slower: since a revision (`12`), for a
    /// duration (`2h`, `7d`), or since a time (`2026-01-31`, `2026-01-31T12:00`, UTC). Needs the control daemon.
    #[arg(long, value_name = "REVISION|TIME", conflicts_with_all = ["watch", "by"])]
    pub since: Option<String>,
    /// Rank the join points of probes in JVMs; with --by plugin, their plugins.
    #[arg(long, conflicts_with = "since")]
    pub probe: bool,
    /// With --probe, which JVMs.
    #[command(flatten)]
    pub which: WhichProbes,
    /// With --probe, compare the CPU time of all these JVMs with and without their probes, by masking each by turns
    /// under the load that is there.
    #[arg(long, requires = "probe", conflicts_with_all = ["watch", "top", "by"])]
    pub link: bool,
    /// Rounds of --link.
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub rounds: u32,
    /// Seconds of a measurement of --link.
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0, value_parser = ablate::seconds)]
    pub seconds: f64,
}

/// The subject of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// Policy files (`weir_policy`, `weir check`).
    Policy,
    /// Files of `weir apply`.
    Gateway,
}

/// The subject of a row of `weir cost`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Rules, each with its share of the lanes, and plugins.
    Rule,
    /// Plugins, each with the rules whose first action it is.
    Plugin,
    /// Policies; work for all policies is `(weir)`.
    Policy,
    /// Lanes: the transformation and filter passes that rules share.
    Lane,
}

/// `weir silence`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// Let every request pass, from each worker's next request on.
    On,
    /// Apply the policies again.
    Off,
    /// Show the current state.
    Status,
}

/// nginx's log levels, and the configured one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[repr(u32)]
#[allow(missing_docs, reason = "the names are nginx's")]
pub enum Level {
    Default = 0,
    Emerg = 1,
    Alert = 2,
    Crit = 3,
    Error = 4,
    Warn = 5,
    Notice = 6,
    Info = 7,
    Debug = 8,
}

/// `weir docs`
#[derive(Debug, Args)]
pub struct Docs {
    /// The directory to write to.
    #[arg(default_value = "docs/reference")]
    pub dir: PathBuf,
    /// Write nothing; fail if a page is out of date.
    #[arg(long)]
    pub check: bool,
}

/// A shell with completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs, reason = "the names are the shells'")]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}
