//! The command line: one table, from which the parser, the help and the completions come.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

mod ablate;
mod baseline;
mod diagnose;
mod live;
mod profile;

pub use ablate::{Ablate, AblateGuard};
pub use baseline::{Baseline, BaselinePlace, Watching};
pub use diagnose::Diagnose;
pub use live::{Apply, Change, Control, Delete, Diff, Get, HowToChange, Revisions, Role, Rollback, Token, Watch};
pub use profile::{Backend, Convert, Output, Profile, ProfileCommand, ProfileDiff, Record, TopBy};

/// A web application firewall inside nginx that knows what it costs.
#[derive(Debug, Parser)]
#[command(name = "weir", version, propagate_version = true, disable_help_subcommand = true)]
#[command(
    after_help = "Exit codes: 0 done, 1 failed (bad policy, nothing running, port taken, ...), 2 wrong command line."
)]
pub struct Arguments {
    /// Where the running nginx keeps switches and counters (`weir_runtime`).
    #[arg(long, global = true, value_name = "DIR", env = "WEIR_RUNTIME", default_value = weir_directives::DEFAULT_RUNTIME, hide_env_values = true)]
    pub runtime: PathBuf,
    /// Where the control daemon answers: a socket or a URL; without it `control.sock` in the runtime directory.
    #[arg(long, global = true, value_name = "SOCKET|URL", env = "WEIR_CONTROL", hide_env_values = true)]
    pub control: Option<String>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What `weir` can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start nginx with Weir and its control in front of a small demo site.
    Up(Up),
    /// Run the daemon that holds the policy and gives it to the workers.
    Control(Control),
    /// Compile policies under limits, for `weir control` alone.
    #[command(hide = true)]
    Sandbox,
    /// Make the gateway what files say: show the difference, and apply it as one change.
    Apply(Apply),
    /// Show what the gateway has: everything, a collection, a resource, or a part of one.
    Get(Get),
    /// Put a resource or a part of it, such as a member, in place.
    Put(Change),
    /// Change some keys of a resource or of a part of it (RFC 7396: `null` removes a key).
    Patch(Change),
    /// Delete a resource or a part of it.
    Delete(Delete),
    /// List revisions, newest first.
    Revisions(Revisions),
    /// Show what a revision has changed.
    Diff(Diff),
    /// Go back to what a revision was, as a new revision.
    Rollback(Rollback),
    /// Show changes as they come.
    Watch(Watch),
    /// Make, list and revoke tokens for the API on TCP.
    #[command(subcommand)]
    Token(Token),
    /// Check a policy and show every error in it.
    Check(Check),
    /// Run recorded requests against a policy, without nginx, and show what fires and what it costs.
    Replay(Replay),
    /// List rules of rule sets, or explain one.
    #[command(subcommand)]
    Rules(Rules),
    /// Propose the narrowest exclusions for false positives in an attack log.
    Tune(Tune),
    /// Print a JSON Schema, for editors.
    Schema {
        /// Of what.
        #[arg(value_enum, default_value_t = SchemaOf::Policy)]
        of: SchemaOf,
    },
    /// Show workers, revision, silence and rates of the running nginx.
    Status(Json),
    /// Let everything pass at once, without a reload, or stop doing so.
    Silence {
        /// `on`, `off`, or `status` to ask.
        #[arg(value_enum)]
        switch: Switch,
    },
    /// Rank what Weir does by what it costs.
    Cost(Cost),
    /// Show where running processes spend their CPU, as a graph and a table, without touching them.
    Profile(Box<Profile>),
    /// Say what is wrong with a process, or in a profile of one, with evidence and a fix.
    Diagnose(Diagnose),
    /// Keep what a process is and costs, and say later what has changed since.
    #[command(subcommand)]
    Baseline(Box<Baseline>),
    /// Show or set the level of Weir's messages in the error log, without a reload.
    LogLevel {
        /// The new level; `default` for the configured one. Without it the level is shown.
        #[arg(value_enum)]
        level: Option<Level>,
    },
    /// Write the reference pages, made from the tables that the code uses.
    Docs(Docs),
    /// Find out what each plugin, rule group or rule costs, by switching it off under load.
    Ablate(Box<Ablate>),
    /// Put back what a killed `weir ablate` has switched off, for that command alone.
    #[command(hide = true)]
    AblateGuard(AblateGuard),
    /// Print a completion script.
    Completions {
        /// For which shell.
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Print the version.
    Version,
}

/// `weir up`
#[derive(Debug, Args)]
pub struct Up {
    /// Port on 127.0.0.1.
    #[arg(long, env = "WEIR_PORT", default_value_t = 8080, value_parser = clap::value_parser!(u16).range(1..), hide_env_values = true)]
    pub port: u16,
    /// What the gateway begins with (files for `weir apply`, may be given several times); without it
    /// examples/gateway.yaml and examples/demo.yaml.
    #[arg(long, value_name = "FILE")]
    pub apply: Vec<PathBuf>,
    /// Without control: a policy file that nginx loads itself, before the demo site.
    #[arg(long, value_name = "FILE", conflicts_with = "apply")]
    pub policy: Option<PathBuf>,
    /// Weir's nginx module; without it the one beside this program, or nginx's own directory.
    #[arg(long, value_name = "PATH", env = "WEIR_MODULE", hide_env_values = true)]
    pub module: Option<PathBuf>,
    /// nginx; without it the one in PATH.
    #[arg(long, value_name = "PATH", env = "NGINX_BIN", hide_env_values = true)]
    pub nginx: Option<PathBuf>,
    /// Directory for configuration, logs and runtime files, which stays afterwards; without it
    /// `weir-PORT` in the directory for temporary files, which is removed.
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Number of nginx workers.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub workers: u16,
}

/// `weir check`
#[derive(Debug, Args)]
pub struct Check {
    /// The policy, in YAML or JSON; with --lint also files of SecLang rules (`*.conf`), read in this order.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The result as JSON.
    #[arg(long)]
    pub json: bool,
    /// Also look for what is right by SecLang but trips people over. Warnings alone are exit code 0.
    #[arg(long)]
    pub lint: bool,
    /// With --lint, exit code 1 for warnings too.
    #[arg(long, requires = "lint")]
    pub strict: bool,
}

/// Which rules: those of a policy, or CRS as it was installed.
#[derive(Debug, Args)]
pub struct RuleSource {
    /// The policy; without it one that runs CRS, and only detects.
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Without --policy: the folder of CRS, a package's or a checkout's.
    #[arg(long, value_name = "DIR", conflicts_with = "policy")]
    pub crs: Option<PathBuf>,
    /// Without --policy: the paranoia level.
    #[arg(long, value_name = "N", conflicts_with = "policy", value_parser = clap::value_parser!(u8).range(1..=4))]
    pub paranoia: Option<u8>,
}

/// `weir replay`
#[derive(Debug, Args)]
pub struct Replay {
    /// Raw HTTP requests, a HAR file, or lines of an attack log; `-` is standard input.
    pub file: PathBuf,
    /// Where the rules come from.
    #[command(flatten)]
    pub source: RuleSource,
    /// Only this policy of the file, as in `weir_apply`; may be given several times.
    #[arg(long, value_name = "ID", requires = "policy")]
    pub policy_id: Vec<String>,
    /// Address that requests come from, unless the file says so.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub client: std::net::IpAddr,
    /// Time each request so often, and show the median.
    #[arg(long, value_name = "N", default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repeat: u32,
    /// Show only the N most expensive lanes and rules of each request.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// The result as JSON, one line for each request.
    #[arg(long)]
    pub json: bool,
}

/// `weir rules`
#[derive(Debug, Subcommand)]
pub enum Rules {
    /// Say what a rule looks at, what it does, how Weir runs it, and how to exclude it.
    Explain {
        /// Its id, such as 942100.
        id: String,
        /// Where the rules come from.
        #[command(flatten)]
        source: RuleSource,
        /// The result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// List rules.
    List {
        /// Only rules with this tag; of several tags, with all of them.
        #[arg(long, value_name = "TAG")]
        tag: Vec<String>,
        /// Only rules of files whose path contains this.
        #[arg(long, value_name = "TEXT")]
        file: Option<String>,
        /// Where the rules come from.
        #[command(flatten)]
        source: RuleSource,
        /// The result as JSON.
        #[arg(long)]
        json: bool,
    },
}

/// `weir tune`
#[derive(Debug, Args)]
#[command(
    override_usage = "weir tune LOG --false-positive REQUEST_ID...\n       weir tune LOG [--rule ID...] [--path PREFIX...] [--all-from ADDRESS...] [--apply POLICY_FILE]",
    after_help = "Several options narrow each other down, several values of one option add up. The log comes first."
)]
#[command(group(clap::ArgGroup::new("which").required(true).multiple(true)))]
pub struct Tune {
    /// The attack log; `-` is standard input.
    pub log: PathBuf,
    /// The request with this id is a false positive; may be given several times.
    #[arg(long, value_name = "REQUEST_ID", num_args = 1.., group = "which")]
    pub false_positive: Vec<String>,
    /// Findings of this rule are false positives; may be given several times.
    #[arg(long, value_name = "ID", num_args = 1.., group = "which")]
    pub rule: Vec<u64>,
    /// Requests whose path begins so are false positives; may be given several times.
    #[arg(long, value_name = "PREFIX", num_args = 1.., group = "which")]
    pub path: Vec<String>,
    /// Requests from this address or network are false positives; may be given several times.
    #[arg(long, value_name = "ADDRESS", num_args = 1.., group = "which")]
    pub all_from: Vec<String>,
    /// Write the exclusions into the `crs` or `rule_set` action of this policy, and leave the rest as it is.
    #[arg(long, value_name = "POLICY_FILE")]
    pub apply: Option<PathBuf>,
    /// The rule of the policy whose action that is, if there are several.
    #[arg(long, value_name = "RULE_ID", requires = "apply")]
    pub into: Option<String>,
    /// With --apply, check and show what would be written, and write nothing.
    #[arg(long, requires = "apply")]
    pub dry_run: bool,
    /// The result as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Commands that only choose their format.
#[derive(Debug, Args)]
pub struct Json {
    /// The result as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `weir cost`
#[derive(Debug, Args)]
pub struct Cost {
    /// The result as JSON.
    #[arg(long)]
    pub json: bool,
    /// Show again and again what came in between.
    #[arg(long)]
    pub watch: bool,
    /// Seconds between two looks with --watch.
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub interval: u64,
    /// Show only the N most expensive.
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    /// What makes a row.
    #[arg(long, value_enum, default_value_t = By::Rule)]
    pub by: By,
    /// What each revision has cost, and which change made what slower: since a revision (`12`), for a time
    /// (`2h`, `7d`), or since a moment (`2026-01-31`, `2026-01-31T12:00`, UTC). From the control daemon.
    #[arg(long, value_name = "REVISION|TIME", conflicts_with_all = ["watch", "by"])]
    pub since: Option<String>,
}

/// What a schema describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// Policy files (`weir_policy`, `weir check`).
    Policy,
    /// Files of `weir apply`.
    Gateway,
}

/// What makes a row of `weir cost`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Each rule with its share of lanes, and each plugin beside the rules.
    Rule,
    /// Rules by the plugin of their first action, and the plugins beside the rules.
    Plugin,
    /// Rules by policy; what serves all policies is `(weir)`.
    Policy,
    /// Each lane: one transformation and filter pass that rules share.
    Lane,
}

/// `weir silence`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// Everything passes, from the next request of every worker on.
    On,
    /// The policy applies again.
    Off,
    /// Say which it is.
    Status,
}

/// nginx's levels, and the one that was configured.
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
    /// Where to.
    #[arg(default_value = "docs/reference")]
    pub dir: PathBuf,
    /// Write nothing; fail if a page differs.
    #[arg(long)]
    pub check: bool,
}

/// A shell that completions are made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs, reason = "the names are the shells'")]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}
