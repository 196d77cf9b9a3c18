//! A WebSocket origin that sends every message back.

use std::io;
use std::net::SocketAddr;

use super::serve;

/// Starts the origin and returns its address.
pub fn start() -> SocketAddr {
    serve(|stream| {
        let mut socket = tungstenite::accept(stream).map_err(|error| io::Error::other(error.to_string()))?;
        while let Ok(message) = socket.read() {
            if message.is_text() || message.is_binary() {
                socket.send(message).map_err(io::Error::other)?;
            }
        }
        Ok(())
    })
}
