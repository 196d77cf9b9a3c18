//! The foundation of the end-to-end tests: a real nginx with the Weir module in its own directory,
//! real origins and real clients, all on loopback.
//!
//! Each test starts what it needs, on ports that no other test uses, and everything ends with the
//! test, so all tests run concurrently. nginx is never mocked: the tests run the same program as users.

pub mod api;
pub mod client;
mod daemon;
pub mod fnv;
pub mod gateway;
pub mod load;
pub mod log;
pub mod nginx;
pub mod origin;
pub mod port;
pub mod setup;
pub mod tls;
pub mod wait;

pub use api::Api;
pub use client::{Connection, Request, Response};
pub use daemon::Daemon;
pub use gateway::{Control, Gateway};
pub use nginx::Nginx;
pub use setup::Setup;
