//! The gateway of a soak: a second server of the same nginx, whose upstream, policy and routes change while its requests
//! are answered.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::events::weir::control;
use weir_measure::child::Child;
use weir_measure::error::MeasureError;
use weir_measure::http::{Address, Client, request};
use weir_measure::process::Footprint;
use weir_measure::site::Site;

/// One in this many requests is for the gateway.
pub const SHARE: u64 = 8;
/// One in this many of those is an attack.
const ATTACKS: u64 = 50;

/// How long a change may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A gateway and its control daemon.
pub struct Gateway {
    /// The port that it listens on.
    pub port: u16,
    socket: PathBuf,
    control: Child,
    origin: u16,
    /// Changes that are live in all workers.
    pub changes: u64,
}

/// The server of the gateway.
#[must_use]
pub fn server(port: u16) -> String {
    format!("  server {{\n    listen 127.0.0.1:{port};\n    weir_gateway on;\n  }}\n")
}

impl Gateway {
    /// Starts control beside an nginx whose runtime directory is there, and gives it a configuration.
    pub fn start(site: &Site, directory: &Path, port: u16) -> Result<Self, MeasureError> {
        let (control, socket) = control(site.placement.load, site.placement.nice, directory, &directory.join("run"))?;
        let mut gateway = Self { port, socket, control, origin: site.origin_port, changes: 0 };
        gateway.put(&[
            ("upstreams/app", json!({"members": {"a": gateway.member(1)}})),
            ("policies/waf", policy(0)),
            ("sites/all", json!({"hosts": ["*"], "policies": ["waf"]})),
            ("routes/all", json!({"site": "all", "to": "app"})),
        ])?;
        Ok(gateway)
    }

    fn member(&self, weight: u64) -> Value {
        json!({"address": format!("127.0.0.1:{}", self.origin), "weight": weight})
    }

    fn put(&mut self, documents: &[(&str, Value)]) -> Result<(), MeasureError> {
        let change = |(path, body): &(&str, Value)| json!({"method": "PUT", "path": path, "body": body});
        let body = json!({"changes": documents.iter().map(change).collect::<Vec<_>>()}).to_string();
        let request = request("POST", "/api/v1/transactions", "control", "application/json", &body);
        let answer = Client::new(Address::Unix(self.socket.clone())).patience(PATIENCE).exchange(&request)?;
        let told: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let is_applied = |workers: &Vec<Value>| !workers.is_empty() && workers.iter().all(|w| w["result"] == "applied");
        if answer.status == 200 && told["workers"].as_array().is_some_and(is_applied) {
            return Ok(());
        }
        let words = format!("a change was not applied by all workers: {}: {told:.500}", answer.status);
        Err(MeasureError::wrong("soak", words))
    }

    /// Changes a member, a policy with the Core Rule Set, or a route, in turn.
    pub fn change(&mut self) -> Result<(), MeasureError> {
        let n = self.changes;
        let change = match n % 3 {
            0 => ("upstreams/app", json!({"members": {"a": self.member(n % 7 + 1), "b": self.member(1)}})),
            1 => ("policies/waf", policy(n)),
            _ => ("routes/more", json!({"site": "all", "path": format!("/more-{n}"), "to": "app"})),
        };
        self.put(&[change])?;
        self.changes += 1;
        Ok(())
    }

    /// What control takes.
    pub fn weigh(&mut self) -> Result<Footprint, MeasureError> {
        self.control.expect_running()?;
        Footprint::of(self.control.id())
    }
}

/// The Core Rule Set, and a rule that is another one each time.
fn policy(n: u64) -> Value {
    json!({"rules": [
        {"id": "scanner", "when": format!("http.user_agent contains \"scanner-{n}\""), "action": "block"},
        {"id": "crs", "when": "true", "action": "crs"},
    ]})
}

/// A request to the gateway, and the answer that is right.
#[must_use]
pub fn draw(random: u64) -> (Vec<u8>, u16) {
    let (target, status) = match random % ATTACKS {
        0 => (format!("/shop/{random}?q=%3Cscript%3Ealert({random})%3C/script%3E"), 403),
        _ => (format!("/shop/{random}?page={}&sort=price", random % 40), 200),
    };
    (request("GET", &target, "www.example.com", "", ""), status)
}
