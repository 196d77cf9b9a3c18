//! Arguments of `weir control` and of the commands that call its API.

use std::path::PathBuf;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use weir_resource::ResourceKind;

/// `weir control`
#[derive(Debug, Args)]
pub struct Control {
    /// State directory.
    #[arg(long, value_name = "DIR", env = "WEIR_STATE", default_value = crate::state_directory::DEFAULT, hide_env_values = true)]
    pub state: PathBuf,
    /// Socket of the API [default: `control.sock` in the runtime directory].
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Also serve the API on this address, to clients with a token.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<std::net::SocketAddr>,
    /// Certificate (PEM) for --listen.
    #[arg(long, value_name = "FILE", requires = "listen", requires = "tls_key")]
    pub tls_certificate: Option<PathBuf>,
    /// Private key (PEM) of --tls-certificate.
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    pub tls_key: Option<PathBuf>,
    /// Accept only clients with a certificate signed by one of these authorities (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    pub client_authorities: Option<PathBuf>,
    /// Allow --listen without TLS on an address that other machines can reach.
    #[arg(long, requires = "listen")]
    pub insecure: bool,
    /// Policies may also name files (lists, rule sets, geographic databases) below this directory, besides
    /// /etc/weir, /etc/modsecurity, /usr/share/modsecurity-crs, /usr/share/GeoIP and /var/lib/GeoIP; certificates also
    /// below /etc/letsencrypt and /etc/ssl. Symbolic links must not lead out of it. Repeatable.
    #[arg(long, value_name = "DIR")]
    pub files: Vec<PathBuf>,
    /// Memory limit for compiling policies, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(64..=65_536))]
    pub sandbox_memory: u64,
    /// CPU time limit for compiling policies, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub sandbox_cpu: u64,
    /// Seconds between two records of the current revision's costs, for `weir cost --since`.
    #[arg(long, value_name = "SECONDS", env = "WEIR_COST_INTERVAL", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3600), hide_env_values = true)]
    pub cost_interval: u64,
    /// Lowest level of messages on standard error: `error`, `warn`, `info`, `debug`.
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub log: weir_control::Level,
}

/// Options of every change.
#[derive(Clone, Debug, Default, Args)]
pub struct ChangeOptions {
    /// Check and show the change, but do not make it.
    #[arg(long)]
    pub dry_run: bool,
    /// The reason, shown in the list of revisions.
    #[arg(long, short, value_name = "TEXT")]
    pub message: Option<String>,
    /// Return once the change is accepted; by default, once every worker has it.
    #[arg(long)]
    pub no_wait: bool,
    /// Return only once the change is also on disk.
    #[arg(long)]
    pub durable: bool,
    /// Make the change only if this is the newest revision.
    #[arg(long, value_name = "REVISION")]
    pub expect: Option<u64>,
    /// Make the change only once, however often the command is repeated with this key; tells what became of it.
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    /// Name the files that the change captures or no longer uses.
    #[arg(long, short)]
    pub verbose: bool,
    /// Arguments that the command line lacks to repeat exactly this change.
    #[arg(skip)]
    pub again: Vec<String>,
    /// Print the answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `weir apply`
#[derive(Debug, Args)]
pub struct Apply {
    /// Files in YAML or JSON, or directories of them; `-` is standard input.
    #[arg(required = true, value_name = "FILE|DIR")]
    pub files: Vec<PathBuf>,
    /// Also delete resources that the files do not name.
    #[arg(long)]
    pub prune: bool,
    /// Options of the change.
    #[command(flatten)]
    pub options: ChangeOptions,
}

/// `weir refresh`
#[derive(Debug, Args)]
pub struct RefreshFiles {
    /// Resources whose files are read again, such as `lists/office` [default: all].
    #[arg(value_name = "PATH", value_parser = ResourcePath, hide_possible_values = true)]
    pub paths: Vec<String>,
    /// Options of the change.
    #[command(flatten)]
    pub options: ChangeOptions,
}

/// The path of a resource: any text, of which a shell completes the kind.
#[derive(Clone)]
struct ResourcePath;

impl TypedValueParser for ResourcePath {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let kinds = ResourceKind::ALL.into_iter().filter(|kind| kind.parent().is_none());
        Some(Box::new(kinds.map(|kind| PossibleValue::new(kind.plural()))))
    }
}

/// `weir get`
#[derive(Debug, Args)]
pub struct Get {
    /// The path, such as `upstreams`, `upstreams/app`, `upstreams/app/members/a` or `policies/demo/rules/sqli`.
    #[arg(default_value = "state", value_parser = ResourcePath, hide_possible_values = true)]
    pub path: String,
    /// Print JSON instead of YAML.
    #[arg(long)]
    pub json: bool,
}

/// `weir put` and `weir patch`
#[derive(Debug, Args)]
pub struct Change {
    /// The path, such as `upstreams/app/members/a`.
    #[arg(value_parser = ResourcePath, hide_possible_values = true)]
    pub path: String,
    /// The body in YAML or JSON; `-` reads standard input, `@FILE` a file.
    pub body: String,
    /// Options of the change.
    #[command(flatten)]
    pub options: ChangeOptions,
}

/// `weir delete`
#[derive(Debug, Args)]
pub struct Delete {
    /// The path, such as `upstreams/app/members/a`.
    #[arg(value_parser = ResourcePath, hide_possible_values = true)]
    pub path: String,
    /// Options of the change.
    #[command(flatten)]
    pub options: ChangeOptions,
}

/// `weir revisions`
#[derive(Debug, Args)]
pub struct Revisions {
    /// Number of revisions.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub limit: u64,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `weir diff`
#[derive(Debug, Args)]
pub struct Diff {
    /// The revision [default: the newest].
    pub revision: Option<u64>,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `weir rollback`
#[derive(Debug, Args)]
pub struct Rollback {
    /// The revision to restore [default: the one before the newest].
    pub revision: Option<u64>,
    /// Do not ask, even if the newest revision is a rollback or was made by the daemon.
    #[arg(long)]
    pub yes: bool,
    /// Options of the change.
    #[command(flatten)]
    pub options: ChangeOptions,
}

/// `weir backup`
#[derive(Debug, Args)]
pub struct Backup {
    /// The file to write; `-` is standard output.
    pub file: PathBuf,
}

/// `weir restore`
#[derive(Debug, Args)]
pub struct Restore {
    /// The backup.
    pub file: PathBuf,
    /// Make this state directory from the backup, with all revisions and tokens, while no control runs. By default,
    /// the running gateway gets the configuration of the backup as a new revision.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["dry_run", "message", "no_wait", "durable", "json"])]
    pub state: Option<PathBuf>,
    /// Options of the change.
    #[command(flatten)]
    pub options: ChangeOptions,
}

/// `weir watch`
#[derive(Debug, Args)]
pub struct Watch {
    /// Begin after this revision [default: with the next change].
    #[arg(long, value_name = "REVISION")]
    pub since: Option<u64>,
    /// Print JSON, one line per change.
    #[arg(long)]
    pub json: bool,
}

/// The state directory of a command that opens it itself.
#[derive(Debug, Args)]
pub struct NamedState {
    /// State directory [default: that of the daemon behind --control or --runtime].
    #[arg(long = "state", value_name = "DIR", env = "WEIR_STATE", hide_env_values = true)]
    pub named: Option<PathBuf>,
}

/// `weir token`
#[derive(Debug, Subcommand)]
pub enum Token {
    /// Create a token and print it; it is not shown again.
    Create {
        /// Name of the token's holder.
        name: String,
        /// The token's permissions.
        #[arg(long, value_enum, default_value_t = Role::Read)]
        role: Role,
        /// Its end and limits.
        #[command(flatten)]
        limits: TokenLimits,
        /// Where tokens are.
        #[command(flatten)]
        state: NamedState,
    },
    /// Give a role to holders of a client certificate (`weir control --client-authorities`).
    Grant {
        /// The CN of the certificate's subject.
        common_name: String,
        /// The permissions.
        #[arg(long, value_enum, default_value_t = Role::Read)]
        role: Role,
        /// Its end and limits.
        #[command(flatten)]
        limits: TokenLimits,
        /// Where tokens are.
        #[command(flatten)]
        state: NamedState,
    },
    /// List tokens.
    List {
        /// Where tokens are.
        #[command(flatten)]
        state: NamedState,
    },
    /// Revoke a token.
    Revoke {
        /// Name of the token's holder.
        name: String,
        /// Where tokens are.
        #[command(flatten)]
        state: NamedState,
    },
}

/// The end and the limits of a token or certificate.
#[derive(Debug, Args)]
pub struct TokenLimits {
    /// How long it is valid, such as `90d`, `12h` or `30m` [default: until it is revoked].
    #[arg(long = "for", value_name = "TIME")]
    pub valid_for: Option<String>,
    /// Limit it to this site and its routes; repeatable.
    #[arg(long, value_name = "ID")]
    pub site: Vec<String>,
    /// Limit it to resources of this kind, such as `lists`; repeatable. With --site, in addition to the site.
    #[arg(long, value_name = "KIND", value_parser = written_kind())]
    pub kind: Vec<String>,
}

/// The kinds that a token can be limited to, by their plurals.
fn written_kind() -> clap::builder::PossibleValuesParser {
    let kinds = ResourceKind::written().filter(|kind| !kind.is_singleton());
    kinds.map(|kind| kind.plural()).collect::<Vec<_>>().into()
}

/// The permissions of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Role {
    /// Register a probe, and nothing else.
    Probe,
    /// Read.
    Read,
    /// Read and change.
    Edit,
    /// Also roll back, and change settings.
    Admin,
}
