//! Why a connection is closed.

/// What a client did wrong. Its connection is closed with [`close_code`](Self::close_code).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// A reserved bit, which only extensions use.
    #[error("a frame has reserved bits set, and no extension was negotiated")]
    ReservedBits,
    /// An opcode without a meaning.
    #[error("a frame has the reserved opcode {0}")]
    Opcode(u8),
    /// A frame without a mask.
    #[error("a frame is not masked, as every frame of a client has to be")]
    Unmasked,
    /// A long control frame.
    #[error("a control frame has more than 125 bytes")]
    LongControl,
    /// A control frame in fragments.
    #[error("a control frame is fragmented")]
    FragmentedControl,
    /// A length of more bytes than it needs, or with its first bit set.
    #[error("the length of a frame is not written in the fewest bytes, or is 2^63 or more")]
    Length,
    /// A continuation of no message.
    #[error("a continuation frame came without a message to continue")]
    NothingToContinue,
    /// A new message before the end of the last one.
    #[error("a message began before the last one had ended")]
    Unfinished,
    /// A code that may not be sent, or half of one.
    #[error("a close frame has a code that may not be sent")]
    CloseCode,
    /// Text that is not UTF-8.
    #[error("a text is not UTF-8")]
    Text,
    /// A message beyond the bound.
    #[error("a message has more than {limit} bytes")]
    TooLong {
        /// The bound in bytes.
        limit: usize,
    },
}

impl ProtocolError {
    /// The code to close with (RFC 6455, section 7.4.1).
    #[must_use]
    pub fn close_code(self) -> u16 {
        match self {
            Self::ReservedBits
            | Self::Opcode(_)
            | Self::Unmasked
            | Self::LongControl
            | Self::FragmentedControl
            | Self::Length
            | Self::NothingToContinue
            | Self::Unfinished
            | Self::CloseCode => 1002,
            Self::Text => 1007,
            Self::TooLong { .. } => 1009,
        }
    }
}
