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
    /// A position in a subscription that has begun.
    #[error("`since` counts until the first `subscribe` without `more`; this connection is past it")]
    Begun,
    /// Too many changes of presence.
    #[error("a connection may join {0} topics at once, and then one a second, where it is known who is connected")]
    Joins(usize),
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

impl Refusal {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::TooLong(_) => {
                "`max_message` of the topics and `weir_messages_zone` bound it, and of a `POST` the route's `body_limit`"
            }
            Self::Begun => "open another connection, or ask again for the topics without `since`",
            Self::Forbidden(_) => "`allow_topics` of the route's policies says which topics a client may use",
            Self::Foreign(_) => "`topics` of the set says which there are; a connection has topics of one set",
            _ => return None,
        })
    }

    /// The topic or filter that is refused, if it is one of several.
    #[must_use]
    pub fn about(&self) -> Option<&str> {
        match self {
            Self::Foreign(name) | Self::Forbidden(name) => Some(name),
            _ => None,
        }
    }
}
