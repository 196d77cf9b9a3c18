//! Why a hub refuses what a client or plugin asks for.

use weir_bus::streams::TOPIC_MAX;

use crate::topic::TopicError;

/// A request of a client that is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The topics are not configured, or there is no room for them.
    #[error("the topics of this route are not available")]
    Unavailable,
    /// Not a topic, or not a filter.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// A topic that the route does not have.
    #[error("`{0}` is not among the topics of this route")]
    Foreign(String),
    /// A topic that the policy does not allow the client to use.
    #[error("`{0}` is not among the topics that the policy allows this client")]
    Forbidden(String),
    /// The route takes no messages.
    #[error("clients may not publish here")]
    NotHere,
    /// Rules look at bodies, and frames have none.
    #[error("a policy of this route looks at bodies, which frames are not: publish with POST")]
    Uninspected,
    /// More messages than the route allows over one connection.
    #[error("a connection may publish {requests} messages in {period_ms} ms; send fewer, or later")]
    TooFast {
        /// Messages.
        requests: u64,
        /// In this time.
        period_ms: u64,
    },
    /// The set has no presence.
    #[error("who is connected is not known here; set `presence` of the topics")]
    NoPresence,
    /// Too many topics over one connection.
    #[error("a connection may have {0} topics; unsubscribe from some, or open another connection")]
    TooMany(usize),
    /// The message is longer than topics allow.
    #[error("the message is longer than {0} bytes")]
    TooLong(usize),
    /// Memory was not written in time.
    #[error("the message could not be written in time; try again")]
    TooSlow,
    /// Nobody has claimed the key.
    #[error("the key has no owner")]
    NoOwner,
    /// There is no such worker.
    #[error("there is no worker of this number")]
    NoWorker,
    /// A key that is empty or too long.
    #[error("a key has 1 to {TOPIC_MAX} bytes")]
    Key,
    /// Someone has the key, or listens already.
    #[error("the key is owned by another worker, or by another plugin of this one")]
    Taken,
    /// No more keys, or no more groups.
    #[error("{0}")]
    Full(&'static str),
}
