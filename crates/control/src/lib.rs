//! The daemon that holds the policy: the API, the store, and how a change gets to the workers.
//!
//! One thread does everything that a change waits for: a hand-over to another thread costs 16 µs, a third of all that
//! a change may cost. Beside it there are threads only for what blocks: flushing the store to disk, and writing
//! snapshots. The order of a change is checked (and, if something is compiled, tried in the sandbox), stored, published
//! in the journal, acknowledged by the workers, answered; so what was answered survives the death of anything.

mod daemon;
mod error;
mod log;
mod lost_pages;
mod options;
mod shared;
mod workers;

pub mod api;
pub mod auth;
mod authorities;
pub mod backup;
mod bans;
pub mod client;
mod fetch;
pub mod findings;
pub mod health;
mod history;
pub mod listen;
pub mod metrics;
pub mod objects;
mod probes;
pub mod publish;
mod refresh;
pub mod resolve;
pub mod sandbox;
pub mod state;
pub mod store;

pub use daemon::{run, serve};
pub use error::ControlError;
pub use log::Level;
pub use options::{Limits, Options};
pub use state::key_hash;
