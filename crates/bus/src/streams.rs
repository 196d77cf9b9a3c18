//! Messages that any process publishes and any process follows, with a memory of the past.
//!
//! Where a [`Region`](crate::Region) belongs to one nginx cycle and has a queue for each pair of participants, the
//! streams belong to the machine: workers of the old and the new cycle, workers that were started again, and other
//! processes publish into the same [`Streams`] and read from them, each from its own position. See
//! `docs/adr/021-streams.md`.

mod file;
mod layout;
mod stream;

pub use file::{Follower, Streams};
pub use layout::{BUS, FOLLOWERS_MAX, GRANULE, GROUPS, STREAMS, STREAMS_BYTES_MAX, STREAMS_BYTES_MIN, keys_max};
pub use stream::{Incoming, Outgoing, PATIENCE_MS, PAYLOAD_MAX, PublishError, Read, Stream, TOPIC_MAX};

#[cfg(test)]
mod tests;
