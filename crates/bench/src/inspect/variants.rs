//! The rows: gateways that ask one service or two about requests below `/asked/`, and two that ask none.

use super::service::WORDS;
use crate::crs::variants::weir;
use crate::variants::start_lua;
use weir_measure::error::MeasureError;
use weir_measure::http::{Address, Client, request};
use weir_measure::nginx::{self, NginxParts};
use weir_measure::server::Server;
use weir_measure::site::Site;

/// The row that all ratios refer to.
pub const BASELINE: &str = "nginx";
/// The row of the usual way to ask.
pub const AUTH_REQUEST: &str = "auth-request";
/// The row of Weir that asks nobody.
pub const ASKS_NONE: &str = "weir";

/// A row.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Its name in the results.
    pub name: &'static str,
    /// How many services are asked.
    pub asks: usize,
    /// How they are asked.
    pub way: Way,
}

/// How a gateway asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It does not: the bare proxy.
    Nginx,
    /// nginx's `auth_request`, with kept connections.
    AuthRequest,
    /// Weir, with this protocol.
    Weir(&'static str),
    /// `bench/peers/lua/inspect/gateway.lua`, in parallel or in sequence.
    Lua(bool),
}

/// The table.
pub const VARIANTS: &[Variant] = &[
    row(BASELINE, 0, Way::Nginx),
    row(ASKS_NONE, 0, Way::Weir("weir")),
    row(AUTH_REQUEST, 1, Way::AuthRequest),
    row("weir-forward-auth", 1, Way::Weir("forward_auth")),
    row("weir-own", 1, Way::Weir("weir")),
    row("lua-sequential", 1, Way::Lua(false)),
    row("lua-parallel", 1, Way::Lua(true)),
    row("weir-forward-auth-2", 2, Way::Weir("forward_auth")),
    row("weir-own-2", 2, Way::Weir("weir")),
    row("lua-sequential-2", 2, Way::Lua(false)),
    row("lua-parallel-2", 2, Way::Lua(true)),
];

const fn row(name: &'static str, asks: usize, way: Way) -> Variant {
    Variant { name, asks, way }
}

/// What holds for the questions of a run.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// How long an answer is waited for, in milliseconds.
    pub deadline_ms: u32,
    /// Whether requests pass without an answer.
    pub passes: bool,
}

impl Variant {
    /// Whether it runs Weir.
    #[must_use]
    pub fn is_weir(&self) -> bool {
        matches!(self.way, Way::Weir(_))
    }

    /// Starts it under the name of a row in front of the origin. [`MeasureError::Missing`] if it is not installed here.
    pub fn start(&self, site: &Site, name: &str, ports: [u16; 2], terms: Terms) -> Result<Server, MeasureError> {
        let ports = &ports[..self.asks];
        match self.way {
            Way::Nginx => nginx::start_proxy(site, name, NginxParts::default()),
            Way::AuthRequest => {
                let directory = site.directory_of(name)?;
                nginx::start_proxy(
                    site,
                    name,
                    NginxParts { directory, ..auth_request(site, ports[0], terms.deadline_ms) },
                )
            }
            Way::Weir(protocol) => weir(site, name, &policy(protocol, ports, terms), "weir_apply site;"),
            Way::Lua(parallel) => {
                let ports: String = ports.iter().map(|port| format!("{port}, ")).collect();
                let fail = if terms.passes { "nil" } else { "503" };
                let deadline = terms.deadline_ms;
                let setup = format!(
                    ".configure {{ ports = {{ {ports} }}, parallel = {parallel}, deadline = {deadline}, fail = {fail} }}"
                );
                start_lua(site, name, "require('inspect.gateway')", &setup)
            }
        }
    }

    /// Whether it asks whom its row promises to ask, and only about requests below `/asked/`.
    pub fn check(&self, name: &str, port: u16) -> Result<(), MeasureError> {
        let mut client = Client::new(Address::local(port));
        let asked = WORDS
            .iter()
            .enumerate()
            .map(|(at, word)| (format!("/asked{word}"), if self.asks > at { 403 } else { 200 }));
        for (target, wanted) in asked.chain([("/asked/".into(), 200), (format!("/other{}", WORDS[0]), 200)]) {
            let got = client.exchange(&request("GET", &target, "www.example.com", "", ""))?.status;
            if got != wanted {
                return Err(MeasureError::wrong(name, format!("{target} was answered with {got}, expected {wanted}")));
            }
        }
        Ok(())
    }
}

/// As nginx's documentation and the guides of authenticating proxies have it.
fn auth_request(site: &Site, port: u16, deadline_ms: u32) -> NginxParts {
    let keepalive = site.upstream_keepalive;
    let kept = "proxy_http_version 1.1; proxy_set_header Connection \"\";";
    NginxParts {
        http: format!(
            "  upstream service {{ server 127.0.0.1:{port}; keepalive {keepalive}; keepalive_requests 100000000; }}\n"
        ),
        server: format!(
            "    location /asked/ {{ auth_request /auth; proxy_pass http://origin; {kept} \
             proxy_set_header Host $host; }}\n\
             \x20   location = /auth {{ internal; proxy_pass http://service; {kept} proxy_pass_request_body off; \
             proxy_read_timeout {deadline_ms}ms; proxy_set_header Content-Length \"\"; \
             proxy_set_header X-Original-Method $request_method; proxy_set_header X-Original-URI $request_uri; \
             proxy_set_header X-Real-IP $remote_addr; }}\n"
        ),
        ..NginxParts::default()
    }
}

/// The policy `site`; without ports, its rule only adds a tag.
fn policy(protocol: &str, ports: &[u16], terms: Terms) -> String {
    let Terms { deadline_ms, passes } = terms;
    let fail = if passes { "open" } else { "closed" };
    let mut text = String::from(if ports.is_empty() { "" } else { "inspectors:\n" });
    for (at, port) in ports.iter().enumerate() {
        text += &format!(
            "  i{at}: {{endpoints: [\"127.0.0.1:{port}\"], protocol: {protocol}, deadline: {deadline_ms}ms, fail: {fail}, \
             breaker: {{requests: 1000000}}}}\n"
        );
    }
    text += "policies:\n  - id: site\n    rules:\n";
    let ask = (0..ports.len()).map(|at| format!("inspect: i{at}"));
    let actions = if ports.is_empty() { vec!["tag: asked".to_owned()] } else { ask.collect() };
    for (at, action) in actions.iter().enumerate() {
        text += &format!(
            "      - {{id: r{at}, when: 'starts_with(http.request.uri.path, \"/asked/\")', action: {{{action}}}}}\n"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use weir_policy::Snapshot;

    use super::*;

    #[test]
    fn weir_accepts_the_policy_of_every_row() {
        for variant in VARIANTS {
            let Way::Weir(protocol) = variant.way else { continue };
            for passes in [true, false] {
                let text = policy(protocol, &[7001, 7002][..variant.asks], Terms { deadline_ms: 80, passes });
                let snapshot = Snapshot::parse(&text, Path::new("policy.yaml"));
                let snapshot = snapshot.unwrap_or_else(|errors| panic!("{}: {errors}", variant.name));
                assert_eq!(snapshot.rules().len(), variant.asks.max(1), "{}", variant.name);
            }
        }
    }
}
