//! Topics: sets of them that share memory and history, and what a route lets clients do with them.

use serde::{Deserialize, Serialize};

/// Most resources of this kind: workers divide their memory for messages into that many parts, one for each. A part
/// that is fixed cannot be taken by the messages of another.
pub const MAX_TOPICS: usize = 16;
/// Most bytes of a topic filter.
pub const MAX_FILTER_BYTES: usize = 256;
/// Most levels of a topic filter.
pub const MAX_FILTER_LEVELS: usize = 16;

/// A set of topics that share memory and history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topics {
    /// Its id.
    pub id: String,
    /// The filters of the topics that belong to it, as MQTT has them (version 5.0, section 4.7): levels between slashes,
    /// of which `+` stands for any and a last `#` for all remaining ones, none included. At least one; each of at most
    /// [`MAX_FILTER_BYTES`] and [`MAX_FILTER_LEVELS`].
    pub filters: Vec<String>,
    /// Messages that are kept after they were sent.
    pub history: History,
    /// The largest message in bytes, at least 1.
    pub max_message: u64,
    /// Whether clients can see who is connected to a topic.
    pub presence: bool,
}

/// Messages that clients can still get after they were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// The number of last messages of each topic; 0 keeps none.
    pub count: u32,
    /// The age in ms beyond which a message is not given out.
    pub age_ms: u64,
}

/// At most so many in a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// At least 1.
    pub requests: u64,
    /// In ms, at least 1.
    pub period_ms: u64,
}

/// What a route lets clients do with topics.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Messages {
    /// The id of the set of topics.
    pub topics: String,
    /// Whether clients may publish.
    pub publish: bool,
    /// Whether clients may subscribe.
    pub subscribe: bool,
    /// The number of bytes that may wait for one slow subscriber.
    pub buffer: u64,
    /// The time in ms between two pings on an idle connection, at least 1.
    pub ping_ms: u64,
    /// The number of topic filters that one connection may subscribe to.
    pub max_connection_topics: u32,
    /// Whether clients may use only topics that rules allow.
    pub restricted: bool,
    /// Whether clients may publish by frames of a WebSocket even where policies look at bodies.
    pub uninspected_frames: bool,
    /// How many messages one WebSocket may publish.
    pub publish_rate: Option<Rate>,
    /// Origins of other sites whose pages may connect, in lower case: `https://app.example.com`, or `*` for all. Without
    /// any, only pages of the same origin may.
    pub origins: Vec<String>,
}
