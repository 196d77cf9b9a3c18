//! Frames of the server, which are not masked (RFC 6455, section 5.1).

use std::ops::Deref;

use super::header::{MAX_CONTROL_BYTES, Opcode};

/// The most bytes of the reason in a close frame.
pub const MAX_REASON_BYTES: usize = MAX_CONTROL_BYTES - 2;

/// The header of a frame: 2 to 10 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    bytes: [u8; 10],
    length: u8,
}

/// A close frame: 4 to 127 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Close {
    bytes: [u8; 2 + MAX_CONTROL_BYTES],
    length: u8,
}

impl Deref for Header {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl Deref for Close {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// The header of a message or control frame in one piece; the payload follows as it is.
///
/// # Panics
///
/// In debug builds, if a control frame is longer than [`MAX_CONTROL_BYTES`].
#[must_use]
pub fn encode(opcode: Opcode, payload_bytes: usize) -> Header {
    debug_assert!(!opcode.is_control() || payload_bytes <= MAX_CONTROL_BYTES, "control frames are short");
    let mut bytes = [0; 10];
    bytes[0] = 0x80 | opcode as u8;
    let length = match payload_bytes {
        0..=125 => {
            bytes[1] = payload_bytes as u8;
            2
        }
        126..=0xffff => {
            bytes[1] = 126;
            bytes[2..4].copy_from_slice(&(payload_bytes as u16).to_be_bytes());
            4
        }
        _ => {
            bytes[1] = 127;
            bytes[2..].copy_from_slice(&(payload_bytes as u64).to_be_bytes());
            10
        }
    };
    Header { bytes, length }
}

/// A close frame. A reason beyond [`MAX_REASON_BYTES`] is cut between characters.
#[must_use]
pub fn close(code: u16, reason: &str) -> Close {
    let reason = &reason[..reason.floor_char_boundary(MAX_REASON_BYTES)];
    let length = 2 + reason.len();
    let mut bytes = [0; 2 + MAX_CONTROL_BYTES];
    bytes[0] = 0x80 | Opcode::Close as u8;
    bytes[1] = length as u8;
    bytes[2..4].copy_from_slice(&code.to_be_bytes());
    bytes[4..2 + length].copy_from_slice(reason.as_bytes());
    Close { bytes, length: 2 + length as u8 }
}
