//! Load and measurement: what `weir bench` runs.
//!
//! The question is always the same: how much CPU does the process under test spend on one
//! request, compared with its peer? Absolute times on shared machines mean nothing, so every
//! number is taken beside its baseline in the same round, and every variant is first seen to do
//! the work that its name promises. `bench/README.md` says how, and what to distrust.

pub mod ablate;
mod addresses;
mod attached;
mod check;
mod child;
mod command;
mod comparison;
mod conformance;
mod crs;
mod differential;
mod error;
mod events;
mod geo;
mod growth;
mod haproxy;
mod log_fields;
mod nginx;
mod placement;
mod policy;
mod port;
mod process;
mod random;
mod report;
mod request;
mod rounds;
mod rules;
mod server;
mod silence;
mod site;
mod slices;
mod soak;
mod statistics;
mod stories;
mod turn;
mod variants;
mod wrk;

pub use command::{BenchArguments, Scenario, run};
pub use error::LabError;
