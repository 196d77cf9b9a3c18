//! Weir's logs as data: which fields a line has, and how its bytes are written.
//!
//! The nginx module writes lines, and the command line reads them and makes reference pages. Both take
//! names and meanings from the tables here. Nothing in this crate knows nginx, so its tests can feed it
//! any bytes.

pub mod access;
pub mod attack;
pub mod json;
mod lines;
pub mod request_id;
mod time;

pub use lines::{Destination, LineBuffer};
pub use time::Timestamps;
