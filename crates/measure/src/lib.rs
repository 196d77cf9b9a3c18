//! Measuring: programs under load, and the CPU that they spend on one request.
//!
//! `weir ablate` and the bench ask the same question of different subjects. What both need is here:
//! starting programs that end with us, nginx before an origin, load, CPU times from
//! /proc, turns in interleaved rounds, and statistics. Absolute times on shared machines mean
//! nothing: every figure is taken beside its reference in the same round.
//!
//! ```text
//! site ─ nginx, child ─▶ server ─▶ process: CPU          http, wrk ─▶ load
//! rounds: turns in random order ─▶ statistics            host: where it ran
//! ```

pub mod addresses;
pub mod child;
pub mod error;
pub mod geo;
pub mod h2load;
pub mod host;
pub mod http;
pub mod interrupt;
pub mod load_report;
pub mod module;
pub mod nginx;
pub mod placement;
pub mod port;
pub mod process;
pub mod random;
pub mod rounds;
pub mod server;
pub mod site;
pub mod statistics;
pub mod syscalls;
pub mod workload;
pub mod wrk;
