//! Messages between clients and topics: what a topic is, which clients want it, and the bytes that carry it.
//!
//! # Why no sockets
//!
//! Everything here takes bytes and gives bytes. nginx owns the connections, the timers and the memory of each; this crate
//! is tested, fuzzed and compared with other implementations without it.
//!
//! # How the parts meet
//!
//! A [`TopicName`] says where a message was published, a [`TopicFilter`] what a client asks for. [`Subscriptions`] finds the
//! clients of a name. A [`Cursor`] is the place of a message in the log, and what a client resumes from. A client is
//! connected by [`websocket`], where [`frame`] gives the text of each frame, or by [`sse`], which goes one way. The
//! [`hub`] of a worker puts them together: it follows the [streams](weir_bus::streams) of messages in shared memory, keeps
//! an index of their [`history`], and has a bounded queue for each [`subscriber`], and for each [`listener`] of a plugin.

pub mod cursor;
pub mod frame;
pub mod history;
pub mod hub;
pub mod listener;
pub mod sse;
pub mod subscriber;
pub mod subscriptions;
pub mod topic;
pub mod websocket;

pub use cursor::{Cursor, CursorError};
pub use subscriptions::Subscriptions;
pub use topic::{TopicError, TopicFilter, TopicName};
