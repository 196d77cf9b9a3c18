//! What a configuration says, with all defaults filled in.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::PathBuf;

use weir_inspect::Answer;
use weir_rules::ir::{Expr, ValueExpr};

/// Most detectors of one service.
pub const MAX_DETECTORS: usize = 64;
/// Most tenants that are named; each has counters of its own in the metrics.
pub const MAX_TENANTS: usize = 1024;
/// Most counters or limits of one detector: one round trip to Redis asks for all of them.
pub const MAX_COUNTERS: usize = 32;

/// The whole configuration.
#[derive(Debug)]
pub struct Config {
    /// Where gateways connect.
    pub listen: Vec<Address>,
    /// Certificate and key for TCP.
    pub tls: Option<TlsFiles>,
    /// The secret that gateways have to know.
    pub token: Option<Secret>,
    /// Where metrics are served.
    pub metrics: Option<SocketAddr>,
    /// Most connections at once.
    pub connections: usize,
    /// Most questions of one connection that are being answered.
    pub in_flight: usize,
    /// Detectors by name.
    pub detectors: BTreeMap<String, DetectorConfig>,
    /// Tenants by name, each with the detectors that are switched off.
    pub tenants: BTreeMap<String, BTreeSet<String>>,
}

/// Where the service listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// `host:port`.
    Tcp(String),
    /// A socket in the file system.
    Unix(PathBuf),
}

/// Files of TLS, PEM.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// Certificates, the server's first.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// Where a secret is.
#[derive(Clone)]
pub enum Secret {
    /// In the configuration.
    Value(String),
    /// In a variable of the environment.
    Environment(String),
    /// In a file, without the line end behind it.
    File(PathBuf),
}

/// A detector.
#[derive(Debug)]
pub enum DetectorConfig {
    /// Policies, evaluated by the engine.
    Rules(PolicyConfig),
    /// Limits by expressions.
    Counters(CountersConfig),
    /// A policy over counters.
    Risk(RiskConfig),
    /// Another server that speaks Envoy's `ext_authz` over gRPC.
    ExtAuthz(ExtAuthzConfig),
}

/// The policy of a detector.
#[derive(Clone, Debug)]
pub struct PolicyConfig {
    /// The file.
    pub policy: PathBuf,
    /// Policies of the file; all of them if empty.
    pub apply: Vec<String>,
    /// Whether a request that rules cannot read completely is refused.
    pub refuses_unreadable: bool,
}

/// A detector of limits.
#[derive(Debug)]
pub struct CountersConfig {
    /// The limits.
    pub limits: Vec<Limit>,
    /// Where their counters are.
    pub store: StoreConfig,
}

/// A detector of risks.
#[derive(Debug)]
pub struct RiskConfig {
    /// The counters that the policy reads.
    pub counters: Vec<Counter>,
    /// Where they are.
    pub store: StoreConfig,
    /// The policy.
    pub policy: PolicyConfig,
    /// Answers by score, the highest first.
    pub thresholds: Vec<(u32, Answer)>,
}

/// What is counted.
#[derive(Clone, Debug)]
pub struct Counter {
    /// Its id, unique in its detector.
    pub id: String,
    /// The requests that count; all of them without it.
    pub when: Option<Expr>,
    /// What they are counted by.
    pub key: ValueExpr,
    /// What is counted instead of requests: how many different values this has.
    pub distinct: Option<ValueExpr>,
    /// The length of the window.
    pub window_ms: u64,
    /// IPv6 addresses that share these bits are counted together.
    pub ipv6_prefix: u8,
}

/// A counter with a limit.
#[derive(Clone, Debug)]
pub struct Limit {
    /// The counter.
    pub counter: Counter,
    /// What may be counted in a window.
    pub most: u64,
    /// The answer beyond it.
    pub answer: Answer,
}

/// Where counters are kept.
#[derive(Clone, Debug)]
pub struct StoreConfig {
    /// Most keys of each counter in memory.
    pub keys: usize,
    /// A server that several services share.
    pub redis: Option<RedisConfig>,
}

/// Redis or Valkey.
#[derive(Clone)]
pub struct RedisConfig {
    /// `redis://user:password@host:port/database`.
    pub url: String,
    /// How long an answer is waited for.
    pub timeout_ms: u64,
    /// What the names of keys begin with.
    pub prefix: String,
}

/// The bridge.
#[derive(Clone, Debug)]
pub struct ExtAuthzConfig {
    /// `http://host:port`.
    pub endpoint: String,
    /// Whether the server gets the body.
    pub with_body: bool,
    /// How long an answer is waited for, if the question does not say less.
    pub timeout_ms: u64,
}

impl Secret {
    /// The secret.
    ///
    /// # Errors
    /// Why it is not there.
    pub fn read(&self) -> Result<String, String> {
        let found = match self {
            Self::Value(value) => value.clone(),
            Self::Environment(name) => {
                std::env::var(name).map_err(|_| format!("the environment has no variable {name}"))?
            }
            Self::File(file) => {
                std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?
            }
        };
        let found = found.trim_end_matches(['\r', '\n']).to_owned();
        if found.is_empty() { Err("it is empty".to_owned()) } else { Ok(found) }
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("hidden")
    }
}

impl std::fmt::Debug for RedisConfig {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("RedisConfig").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(address) => out.write_str(address),
            Self::Unix(path) => write!(out, "unix:{}", path.display()),
        }
    }
}
