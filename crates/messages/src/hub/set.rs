//! Sets of topics: what is configured of them, and what is counted.

use crate::history::Bounds;

/// A set of topics as configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicSet {
    /// Its id, which names its stream.
    pub id: String,
    /// The topics that belong to it, as filters.
    pub filters: Vec<String>,
    /// The past that is kept.
    pub history: Bounds,
    /// The longest message, in bytes.
    pub max_message: usize,
    /// Whether clients can see who is connected to a topic.
    pub presence: bool,
}

/// What a hub counts of one set of topics; the first is what is so now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Subscribers.
    pub subscribers: u64,
    /// Messages that were published here.
    pub published: u64,
    /// Messages that were put before subscribers.
    pub delivered: u64,
    /// Gaps that subscribers were told of.
    pub gaps: u64,
    /// Subscribers that had to go because they read too slowly.
    pub slow: u64,
}
