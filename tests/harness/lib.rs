//! What the end-to-end tests stand on: a real nginx with the Weir module in a directory of its
//! own, real origins and real clients, all on loopback.
//!
//! Everything is started by the test that needs it, on ports that no other test has, and dies
//! with it, so that all tests run at once. There are no mocks of nginx: what is tested is what
//! users run.

pub mod api;
pub mod client;
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
pub use gateway::{Control, Gateway};
pub use nginx::Nginx;
pub use setup::Setup;
