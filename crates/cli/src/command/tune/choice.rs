//! Which findings somebody calls false positives.
//!
//! Several options narrow each other down; several values of one option add up.

use std::collections::HashSet;
use std::net::IpAddr;

use ipnet::IpNet;
use weir_log::attack::{AttackLine, FindingLine};

use super::path_scope::path_of;
use crate::Failure;
use crate::arguments::Tune;

/// Most request ids on a command line.
const MAX_REQUESTS: usize = 10_000;

/// The findings that were selected on the command line.
pub(super) struct Choice {
    requests: HashSet<String>,
    rules: Vec<String>,
    paths: Vec<String>,
    networks: Vec<IpNet>,
}

impl Choice {
    pub fn new(tune: &Tune) -> Result<Self, Failure> {
        if tune.false_positive.len() > MAX_REQUESTS {
            return Err(
                Failure::new(format!("more than {MAX_REQUESTS} requests")).hint("choose by --path or --all-from")
            );
        }
        let mut networks = Vec::new();
        for text in &tune.all_from {
            let network = text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
            networks.push(network.map_err(|_| {
                Failure::new(format!("--all-from: expected an address or a network such as 192.0.2.0/24, found {text}"))
            })?);
        }
        Ok(Self {
            requests: tune.false_positive.iter().cloned().collect(),
            rules: tune.rule.iter().map(u64::to_string).collect(),
            paths: tune.path.clone(),
            networks,
        })
    }

    /// Whether a request is among those named.
    pub fn names(&self, entry: &AttackLine) -> bool {
        (self.requests.is_empty() || self.requests.contains(&entry.request_id))
            && (self.paths.is_empty() || self.paths.iter().any(|prefix| path_of(entry).starts_with(prefix.as_bytes())))
            && (self.networks.is_empty()
                || entry
                    .client
                    .parse()
                    .is_ok_and(|client: IpAddr| self.networks.iter().any(|one| one.contains(&client))))
    }

    /// Whether a finding of such a request is.
    pub fn names_finding(&self, found: &FindingLine) -> bool {
        self.rules.is_empty() || self.rules.contains(&found.rule)
    }

    /// The requests that were named and that `seen` does not have.
    pub fn missing(&self, seen: &HashSet<String>) -> Vec<&str> {
        let mut missing: Vec<&str> =
            self.requests.iter().map(String::as_str).filter(|id| !seen.contains(*id)).collect();
        missing.sort_unstable();
        missing
    }

    /// Whether requests were named one by one, so that one can be missing.
    pub fn is_of_request(&self, id: &str) -> bool {
        self.requests.contains(id)
    }
}
