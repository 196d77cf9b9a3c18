//! One inspector as a worker sees it: its health, its connections, what is remembered of it.

use std::sync::Arc;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use socket2::SockAddr;
use weir_inspect::Inspector;
use weir_inspect::breaker::Breaker;
use weir_inspect::endpoint::{self, Health};
use weir_inspect::memory::Memory;

use super::counters::Counters;
use super::{resolve, tls};

/// Connections to one endpoint that wait for the next question, where each question has one to itself.
pub const MAX_IDLE: usize = 64;
/// Connections to one endpoint.
pub const MAX_LINKS: usize = 1024;

/// One endpoint.
#[derive(Default)]
pub struct Endpoint {
    /// The connection that all questions share.
    pub shared: Option<usize>,
    /// Connections without a question, the last used at the end.
    pub idle: Vec<usize>,
    /// Open connections.
    pub links: usize,
    /// Which of its addresses is tried next.
    turn: usize,
}

/// An inspector and all that goes with it.
pub struct Service {
    /// How it is described.
    pub inspector: Arc<Inspector>,
    /// Equal inspectors of other policies, which find it, too.
    pub equals: Vec<Arc<Inspector>>,
    /// Whether it is asked at all.
    pub breaker: Breaker,
    /// Its endpoints.
    pub endpoints: Vec<Endpoint>,
    /// Their health.
    pub healths: Vec<Health>,
    /// Answers that are remembered.
    pub memory: Memory,
    /// Why the last connection that failed did so.
    pub why: String,
    /// What is told of it.
    pub counters: Counters,
    /// When there was last no room for a question, until it is told that there is again.
    pub busy_ms: Option<u64>,
    tls: Option<Result<Arc<ClientConfig>, String>>,
    turn: usize,
}

impl Service {
    /// An inspector that has not been asked yet.
    pub fn new(inspector: &Arc<Inspector>) -> Self {
        let count = inspector.endpoints.len();
        for endpoint in inspector.endpoints.iter().filter(|endpoint| !endpoint.starts_with("unix:")) {
            let _ = resolve::addresses(endpoint); // so that it is known when it is needed
        }
        Self {
            inspector: Arc::clone(inspector),
            equals: Vec::new(),
            breaker: Breaker::default(),
            endpoints: std::iter::repeat_with(Endpoint::default).take(count).collect(),
            healths: vec![Health::default(); count],
            memory: Memory::default(),
            why: String::new(),
            counters: Counters::of(&inspector.id),
            busy_ms: None,
            tls: inspector.tls.as_ref().map(tls::configure),
            turn: 0,
        }
    }

    /// The next endpoint in turn, if it may be asked and has not just failed.
    pub fn next(&mut self, except: Option<usize>, now_ms: u64) -> Option<usize> {
        self.turn = self.turn.wrapping_add(1);
        endpoint::at(&self.healths, self.turn, except, now_ms)
    }

    /// The address of an endpoint, if it has one.
    pub fn address(&mut self, endpoint: usize) -> Option<SockAddr> {
        let text = self.inspector.endpoints[endpoint].as_str();
        if let Some(path) = text.strip_prefix("unix:") {
            return SockAddr::unix(path).ok();
        }
        let addresses = resolve::addresses(text);
        let turn = &mut self.endpoints[endpoint].turn;
        *turn = turn.wrapping_add(1);
        addresses.get(*turn % addresses.len().max(1)).map(|address| SockAddr::from(*address))
    }

    /// What a TLS connection to an endpoint begins with; `None` without TLS.
    ///
    /// # Errors
    /// If there can be none.
    pub fn tls(&self, endpoint: usize) -> Result<Option<(Arc<ClientConfig>, ServerName<'static>)>, String> {
        let Some(config) = &self.tls else { return Ok(None) };
        let named = self.inspector.tls.as_ref().and_then(|tls| tls.server_name.as_deref());
        let host = named.unwrap_or_else(|| authority(&self.inspector.endpoints[endpoint]));
        let host = if named.is_some() { host } else { host.rsplit_once(':').map_or(host, |(host, _)| host) };
        let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned());
        let name = name.map_err(|_| format!("{host:?} cannot be the name in a certificate; see `server_name`"))?;
        Ok(Some((config.clone()?, name)))
    }
}

/// The authority of an endpoint, for `Host`.
pub fn authority(endpoint: &str) -> &str {
    if endpoint.starts_with("unix:") { "localhost" } else { endpoint }
}
