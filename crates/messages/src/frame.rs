//! The subprotocol `weir.v1`: one JSON object in each text frame of a WebSocket.
//!
//! From the client, one of
//!
//! ```json
//! {"subscribe": ["orders/+", "news/#"], "since": "1f3a:42"}
//! {"unsubscribe": ["news/#"]}
//! {"publish": "orders/7", "data": "any text", "id": 1}
//! {"publish": "orders/7", "base64": "/wo=", "id": 2}
//! {"ping": 1}
//! ```
//!
//! `since` asks for what follows that [cursor](crate::cursor), or with `oldest` for all that is kept; without it, messages
//! begin with now. `id` is any number of the client's, which the answer repeats. `null` is the same as leaving a member out;
//! other members are errors.
//!
//! From the server
//!
//! ```json
//! {"topic": "orders/7", "id": "1f3a:43", "data": "any text"}
//! {"topic": "orders/7", "id": "1f3a:44", "base64": "/wo="}
//! {"gap": "*", "from": "1f3a:45", "to": "1f3a:60"}
//! {"subscribed": ["orders/+"], "at": "1f3a:60"}
//! {"published": "1f3a:61", "id": 1}
//! {"error": "what failed", "hint": "what to do", "about": "news/#"}
//! {"reconnect_ms": 1200}
//! {"pong": 1}
//! ```
//!
//! `base64` stands for payloads that are not UTF-8. A gap says that messages behind the cursor `from`, up to and with `to`,
//! were lost for a filter, or for all (`*`); the next one follows `to`. `at` is where messages begin: those that follow have
//! a greater cursor. `about` is a filter, a topic, or the `id` of a publication. `reconnect_ms` comes
//! before the server closes on purpose, and says when to come back.
//!
//! JSON, because every browser reads it without a library. A message takes some 30 bytes more than its topic, cursor and
//! payload, and 0.2 to 0.4 µs to write, once for all subscribers.

mod request;
mod response;

pub use request::{FrameError, MAX_FILTERS, Request, parse};
pub use response::{
    About, Member, error, gap, message, pong, presence_change, present, published, reconnect, subscribed,
};

#[cfg(test)]
mod tests;
