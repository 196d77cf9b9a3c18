//! WebSocket, the server's side (RFC 6455): the handshake, frames in, frames out.
//!
//! # Why not a library
//!
//! Crates for WebSocket own the socket, or keep buffers for as long as a connection lives. Most connections here wait for
//! hours: a [`Decoder`] between messages is some 230 bytes and nothing else.
//!
//! No extension is negotiated. permessage-deflate would take a window of up to 32 KiB for each connection, and lets 1 kB
//! become 1 MB.

mod decoder;
mod encode;
mod error;
mod handshake;
mod header;

pub use decoder::{Decoder, Event};
pub use encode::{Close, Header, MAX_REASON_BYTES, close, encode};
pub use error::ProtocolError;
pub use handshake::{Accepted, Handshake, HandshakeError, SUBPROTOCOL, accept_key};
pub use header::{MAX_CONTROL_BYTES, Opcode};

#[cfg(test)]
mod tests;
