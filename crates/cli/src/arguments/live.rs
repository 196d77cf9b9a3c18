//! Arguments of the commands that speak to `weir control`, and of itself.

use std::path::PathBuf;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use weir_resource::ResourceKind;

/// `weir control`
#[derive(Debug, Args)]
pub struct Control {
    /// Where the store is kept.
    #[arg(long, value_name = "DIR", env = "WEIR_STATE", default_value = "/var/lib/weir", hide_env_values = true)]
    pub state: PathBuf,
    /// Socket of the API; without it `control.sock` in the runtime directory.
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Also answer on this address, to holders of tokens.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<std::net::SocketAddr>,
    /// Certificate (PEM) for --listen.
    #[arg(long, value_name = "FILE", requires = "listen", requires = "tls_key")]
    pub tls_certificate: Option<PathBuf>,
    /// Its key (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    pub tls_key: Option<PathBuf>,
    /// Only answer clients whose certificate one of these authorities (PEM) has signed.
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    pub client_authorities: Option<PathBuf>,
    /// Allow --listen without TLS on addresses that others can reach.
    #[arg(long, requires = "listen")]
    pub insecure: bool,
    /// Memory that compiling policies may take, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(64..=65_536))]
    pub sandbox_memory: u64,
    /// CPU time that compiling policies may take, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub sandbox_cpu: u64,
    /// How often the costs of the revision in force are noted for `weir cost --since`, in seconds.
    #[arg(long, value_name = "SECONDS", env = "WEIR_COST_INTERVAL", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3600), hide_env_values = true)]
    pub cost_interval: u64,
    /// How much is said on standard error: `error`, `warn`, `info`, `debug`.
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub log: weir_control::Level,
}

/// What a change may say besides what is changed.
#[derive(Debug, Args)]
pub struct HowToChange {
    /// Check and show, change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Why, for the list of revisions.
    #[arg(long, short, value_name = "TEXT")]
    pub message: Option<String>,
    /// Answer when the change is accepted, not only when every worker has it.
    #[arg(long)]
    pub no_wait: bool,
    /// Answer only when the change is on the disk, too.
    #[arg(long)]
    pub durable: bool,
    /// The answer as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `weir apply`
#[derive(Debug, Args)]
pub struct Apply {
    /// Files in YAML or JSON, or directories of them; `-` is standard input.
    #[arg(required = true, value_name = "FILE|DIR")]
    pub files: Vec<PathBuf>,
    /// Also delete what the files do not name.
    #[arg(long)]
    pub prune: bool,
    /// How.
    #[command(flatten)]
    pub how: HowToChange,
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
    /// Such as `upstreams`, `upstreams/app`, `upstreams/app/members/a` or `policies/demo/rules/sqli`.
    #[arg(default_value = "state", value_parser = ResourcePath, hide_possible_values = true)]
    pub path: String,
    /// As JSON instead of YAML.
    #[arg(long)]
    pub json: bool,
}

/// `weir put` and `weir patch`
#[derive(Debug, Args)]
pub struct Change {
    /// Such as `upstreams/app/members/a`.
    #[arg(value_parser = ResourcePath, hide_possible_values = true)]
    pub path: String,
    /// In YAML or JSON; `-` is standard input, `@FILE` a file.
    pub body: String,
    /// How.
    #[command(flatten)]
    pub how: HowToChange,
}

/// `weir delete`
#[derive(Debug, Args)]
pub struct Delete {
    /// Such as `upstreams/app/members/a`.
    #[arg(value_parser = ResourcePath, hide_possible_values = true)]
    pub path: String,
    /// How.
    #[command(flatten)]
    pub how: HowToChange,
}

/// `weir revisions`
#[derive(Debug, Args)]
pub struct Revisions {
    /// How many.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub limit: u64,
    /// As JSON.
    #[arg(long)]
    pub json: bool,
}

/// `weir diff`
#[derive(Debug, Args)]
pub struct Diff {
    /// The revision; without it the newest.
    pub revision: Option<u64>,
    /// As JSON.
    #[arg(long)]
    pub json: bool,
}

/// `weir rollback`
#[derive(Debug, Args)]
pub struct Rollback {
    /// The revision to go back to; without it the one before the newest.
    pub revision: Option<u64>,
    /// How.
    #[command(flatten)]
    pub how: HowToChange,
}

/// `weir watch`
#[derive(Debug, Args)]
pub struct Watch {
    /// Begin after this revision; without it with the next change.
    #[arg(long, value_name = "REVISION")]
    pub since: Option<u64>,
    /// As JSON, a line for each.
    #[arg(long)]
    pub json: bool,
}

/// `weir token`
#[derive(Debug, Subcommand)]
pub enum Token {
    /// Make a token and print it; it is not shown again.
    Create {
        /// Whose it is.
        name: String,
        /// What it may do.
        #[arg(long, value_enum, default_value_t = Role::Read)]
        role: Role,
        /// Where the store is kept.
        #[arg(long, value_name = "DIR", env = "WEIR_STATE", default_value = "/var/lib/weir", hide_env_values = true)]
        state: PathBuf,
    },
    /// Give a role to holders of a client certificate (`weir control --client-authorities`).
    Grant {
        /// The CN of the certificate's subject.
        common_name: String,
        /// What it may do.
        #[arg(long, value_enum, default_value_t = Role::Read)]
        role: Role,
        /// Where the store is kept.
        #[arg(long, value_name = "DIR", env = "WEIR_STATE", default_value = "/var/lib/weir", hide_env_values = true)]
        state: PathBuf,
    },
    /// List tokens.
    List {
        /// Where the store is kept.
        #[arg(long, value_name = "DIR", env = "WEIR_STATE", default_value = "/var/lib/weir", hide_env_values = true)]
        state: PathBuf,
    },
    /// Revoke a token.
    Revoke {
        /// Whose it is.
        name: String,
        /// Where the store is kept.
        #[arg(long, value_name = "DIR", env = "WEIR_STATE", default_value = "/var/lib/weir", hide_env_values = true)]
        state: PathBuf,
    },
}

/// What a token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Role {
    /// Read.
    Read,
    /// Read and change.
    Edit,
    /// Also go back to revisions and change settings.
    Admin,
}
