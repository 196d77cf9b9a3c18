//! What an inspector answers, in whichever protocol.

/// What is to become of the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Advice {
    /// It goes on.
    #[default]
    Pass,
    /// It is answered with the status, fields and body of the answer.
    Refuse,
    /// It goes on, and the attack log has a line.
    Detect,
    /// The inspector cannot tell: the fail mode decides, as when it does not answer.
    Unable,
}

/// An owned header field: name and value.
pub type OwnedField = (Vec<u8>, Vec<u8>);

/// An answer. Without advice of its own it is [`Advice::Pass`] and changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// What is to become of the request.
    pub advice: Advice,
    /// Status of the response that refuses; 0 for the usual one, 403.
    pub status: u16,
    /// Header fields of the response that refuses.
    pub response_headers: Vec<OwnedField>,
    /// Its body.
    pub body: Vec<u8>,
    /// Fields of the request to set, replacing all of that name. The gateway takes those that the inspector may set.
    pub set_headers: Vec<OwnedField>,
    /// Fields of the request to remove, likewise.
    pub remove_headers: Vec<Vec<u8>>,
    /// Tags for later rules and the logs.
    pub tags: Vec<String>,
    /// What is added to the score.
    pub score: u32,
    /// Why, for the attack log.
    pub reason: String,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It did not come in time.
    #[error("no answer within the deadline")]
    Deadline,
    /// No connection, or it broke.
    #[error("no connection")]
    Unreachable,
    /// What came cannot be read.
    #[error("an answer that cannot be read")]
    Unreadable,
    /// The question or the answer is larger than any may be.
    #[error("a question or an answer that is too large")]
    TooLarge,
    /// The inspector says that it cannot tell.
    #[error("the inspector could not decide")]
    Unable,
    /// It failed too often, and is not asked for a while.
    #[error("the circuit breaker is open")]
    Open,
    /// As many questions as are kept are waiting already.
    #[error("too many questions are waiting")]
    Busy,
}

impl Failure {
    /// All of them, in the order of their counters.
    pub const ALL: [Self; 7] =
        [Self::Deadline, Self::Unreachable, Self::Unreadable, Self::TooLarge, Self::Unable, Self::Open, Self::Busy];

    /// Whether it says that the service is away. A whole answer, whatever it says, is one to this request alone: a client
    /// could otherwise have everybody's questions stopped with requests to which the service has no good answer.
    #[must_use]
    pub const fn is_absence(self) -> bool {
        match self {
            Self::Deadline | Self::Unreachable => true,
            Self::Unreadable | Self::TooLarge | Self::Unable | Self::Open | Self::Busy => false,
        }
    }

    /// A word for logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deadline => "deadline",
            Self::Unreachable => "unreachable",
            Self::Unreadable => "unreadable",
            Self::TooLarge => "too_large",
            Self::Unable => "unable",
            Self::Open => "open",
            Self::Busy => "busy",
        }
    }
}
