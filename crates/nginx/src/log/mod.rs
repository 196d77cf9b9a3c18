//! Weir's own logs, written as JSON straight into buffers.
//!
//! nginx's own JSON format costs 5 µs for 33 fields; here a line costs less than one.

mod access;
mod attack;
mod heartbeat;
mod install;
mod parameter;
mod torn;
mod writer;

pub use access::AccessLog;
pub use heartbeat::{Heartbeat, beat as heartbeat};
pub use install::install;
pub use parameter::{access_from, file_from, heartbeat_from};
pub use writer::{LogFile, LogKind};
