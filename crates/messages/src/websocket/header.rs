//! The header of a client's frame (RFC 6455, section 5.2).

use super::error::ProtocolError;

/// The most bytes of a header: two, eight of length, four of mask.
pub(super) const MAX_HEADER_BYTES: usize = 14;
/// The most bytes that a control frame carries (section 5.5).
pub const MAX_CONTROL_BYTES: usize = 125;

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    /// A further fragment of a message.
    Continuation = 0,
    /// A message of text, or its first fragment.
    Text = 1,
    /// A message of bytes, or its first fragment.
    Binary = 2,
    /// The end of the connection.
    Close = 8,
    /// A question whether the other side is there.
    Ping = 9,
    /// Its answer.
    Pong = 10,
}

impl Opcode {
    /// Whether it may come between the fragments of a message.
    #[must_use]
    pub fn is_control(self) -> bool {
        matches!(self, Self::Close | Self::Ping | Self::Pong)
    }
}

impl TryFrom<u8> for Opcode {
    type Error = ProtocolError;

    fn try_from(value: u8) -> Result<Self, ProtocolError> {
        Ok(match value {
            0 => Self::Continuation,
            1 => Self::Text,
            2 => Self::Binary,
            8 => Self::Close,
            9 => Self::Ping,
            10 => Self::Pong,
            _ => return Err(ProtocolError::Opcode(value)),
        })
    }
}

/// A complete header.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameHeader {
    pub opcode: Opcode,
    /// Whether the message ends with this frame.
    pub is_final: bool,
    pub mask: [u8; 4],
    /// The bytes that follow, below 2^63.
    pub length: u64,
}

impl FrameHeader {
    /// Reads the first bytes of a frame; `None` while more are needed. An error is found with the byte that makes it one.
    pub fn parse(bytes: &[u8]) -> Result<Option<Self>, ProtocolError> {
        let [first, second, rest @ ..] = bytes else { return Ok(None) };
        if first & 0x70 != 0 {
            return Err(ProtocolError::ReservedBits);
        }
        let (opcode, is_final) = (Opcode::try_from(first & 0x0f)?, first & 0x80 != 0);
        if second & 0x80 == 0 {
            return Err(ProtocolError::Unmasked);
        }
        let short = second & 0x7f;
        if opcode.is_control() {
            if !is_final {
                return Err(ProtocolError::FragmentedControl);
            }
            if usize::from(short) > MAX_CONTROL_BYTES {
                return Err(ProtocolError::LongControl);
            }
        }
        let (length, rest) = match (short, rest) {
            (126, [a, b, rest @ ..]) => {
                let length = u64::from(u16::from_be_bytes([*a, *b]));
                (Some(length).filter(|length| *length > 125), rest)
            }
            (127, [a, b, c, d, e, f, g, h, rest @ ..]) => {
                let length = u64::from_be_bytes([*a, *b, *c, *d, *e, *f, *g, *h]);
                (Some(length).filter(|length| (1 << 16..1 << 63).contains(length)), rest)
            }
            (126 | 127, _) => return Ok(None),
            (short, rest) => (Some(u64::from(short)), rest),
        };
        let length = length.ok_or(ProtocolError::Length)?;
        Ok(rest.first_chunk().map(|mask| Self { opcode, is_final, mask: *mask, length }))
    }
}
