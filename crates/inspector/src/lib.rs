//! The service that answers inspectors' questions: `weir inspector`.
//!
//! A gateway asks over Weir's own protocol (`weir-inspect`); here are its answers. A *detector* is one of four kinds: the
//! engine with any policy, limits that several gateways share, a policy over counters, or a bridge to a server of Envoy's
//! `ext_authz`. The engine is the same crate that runs in nginx, so a verdict does not depend on where rules run.
//!
//! ```text
//! connection ─ question ─▶ desk ─▶ detector ─▶ answer ─▶ writer
//! ```

mod arena;
pub mod config;
mod connection;
mod counter;
mod desk;
mod detector;
mod error;
mod ext_authz;
mod listen;
mod log;
mod metrics;
mod policy;
mod request;
mod scrape;
mod server;
mod stop;

pub use config::Config;
pub use error::InspectorError;
pub use server::{Service, check, run};
