//! The rows: Weir with each scheme, and a gateway in Lua with each sort.

use super::client::{
    APP, CAVAGE, Client, JWT, MESSAGE_ED25519, MESSAGE_HMAC, SECRET, SORTED_TOKENS, SORTED_TOKENS_1000,
};
use super::policy;
use crate::crs::variants::weir;
use crate::variants::start_lua;
use weir_measure::error::MeasureError;
use weir_measure::nginx::{self, NginxParts};
use weir_measure::server::Server;
use weir_measure::site::Site;

/// The row that all ratios refer to.
pub const BASELINE: &str = "nginx";

/// A row.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Its name in the results.
    pub name: &'static str,
    /// The program that verifies.
    pub engine: Engine,
    /// The client whose requests it gets.
    pub client: &'static Client,
    /// The row of fewer selectors that a growth row is compared with.
    pub smaller: Option<&'static str>,
}

/// The program that verifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// None: the bare proxy.
    Nginx,
    /// Weir.
    Weir,
    /// `bench/peers/lua/signature/gateway.lua`, with this sort.
    Lua(&'static str),
}

/// The table.
pub const VARIANTS: &[Variant] = &[
    row(BASELINE, Engine::Nginx, &SORTED_TOKENS),
    row("weir-sorted-tokens", Engine::Weir, &SORTED_TOKENS),
    row("weir-hmac", Engine::Weir, &CAVAGE),
    row("weir-rfc9421-hmac", Engine::Weir, &MESSAGE_HMAC),
    row("weir-rfc9421-ed25519", Engine::Weir, &MESSAGE_ED25519),
    row("weir-jwt", Engine::Weir, &JWT),
    row("lua-table-sort", Engine::Lua("table"), &SORTED_TOKENS),
    row("lua-shell-sort", Engine::Lua("shell"), &SORTED_TOKENS),
    row("lua-smooth-sort", Engine::Lua("smooth"), &SORTED_TOKENS),
    Variant {
        smaller: Some("weir-sorted-tokens"),
        ..row("weir-sorted-tokens-1000", Engine::Weir, &SORTED_TOKENS_1000)
    },
    Variant {
        smaller: Some("lua-shell-sort"),
        ..row("lua-shell-sort-1000", Engine::Lua("shell"), &SORTED_TOKENS_1000)
    },
];

const fn row(name: &'static str, engine: Engine, client: &'static Client) -> Variant {
    Variant { name, engine, client, smaller: None }
}

impl Variant {
    /// Starts it under the name of a row in front of the origin.
    /// [`MeasureError::Missing`] if it is not installed here.
    pub fn start(&self, site: &Site, name: &str) -> Result<Server, MeasureError> {
        match self.engine {
            Engine::Nginx => nginx::start_proxy(site, name, NginxParts::default()),
            Engine::Weir => weir(site, name, &policy::of(self.client), "weir_apply site;"),
            Engine::Lua(sort) => {
                let selectors = self.client.selectors;
                let setup = format!(
                    ".configure {{ sort = '{sort}', selectors = {selectors}, secrets = {{ ['{APP}'] = '{SECRET}' }} }}"
                );
                start_lua(site, name, "require('signature.gateway')", &setup)
            }
        }
    }
}
