//! How a frame stands in the file: length (4 bytes), kind (4), checksum (8), then the payload, padded to 8 bytes. All
//! numbers little endian.

use super::checksum::checksum;
use crate::limits::FRAME_MAX;

/// Bytes before the payload.
pub(crate) const PREFIX: usize = 16;

const OP: u32 = 1;
const COMMIT: u32 = 2;
const RUNTIME: u32 = 3;

/// A record of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// An operation of the revision that the next commit ends, in JSON.
    Op(&'a [u8]),
    /// The operations since the last commit are this revision.
    Commit {
        /// Number of the revision.
        revision: u64,
        /// Time of the commit, in milliseconds since 1970.
        time_ms: u64,
    },
    /// An operation outside of revisions, in JSON.
    Runtime(&'a [u8]),
}

impl<'a> Frame<'a> {
    /// Bytes that it takes in the file; the payload's length if that is too long.
    pub(crate) fn bytes(&self) -> Result<usize, usize> {
        match self {
            Frame::Op(json) | Frame::Runtime(json) if json.len() > FRAME_MAX => Err(json.len()),
            Frame::Op(json) | Frame::Runtime(json) => Ok(footprint(json.len())),
            Frame::Commit { .. } => Ok(footprint(16)),
        }
    }

    /// Appends the frame as it stands at `offset` of the file.
    pub(crate) fn encode(&self, generation: u64, offset: u64, to: &mut Vec<u8>) {
        let mut commit = [0; 16];
        let (kind, payload) = match *self {
            Frame::Op(json) => (OP, json),
            Frame::Runtime(json) => (RUNTIME, json),
            Frame::Commit { revision, time_ms } => {
                commit[..8].copy_from_slice(&revision.to_le_bytes());
                commit[8..].copy_from_slice(&time_ms.to_le_bytes());
                (COMMIT, &commit[..])
            }
        };
        to.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        to.extend_from_slice(&kind.to_le_bytes());
        to.extend_from_slice(&checksum(generation, offset, kind, payload).to_le_bytes());
        to.extend_from_slice(payload);
        to.resize(to.len().next_multiple_of(8), 0);
    }

    /// The frame at the beginning of `bytes`, which lie at `offset`, and its length in the file; or what is wrong.
    /// `bytes` has to hold at least what [`Frame::needs`] says.
    pub(crate) fn decode(generation: u64, offset: u64, bytes: &'a [u8]) -> Result<(Self, usize), &'static str> {
        let length = Self::needs(bytes)?;
        let kind = u32::from_le_bytes(array(bytes, 4).ok_or("cut off")?);
        let sum = u64::from_le_bytes(array(bytes, 8).ok_or("cut off")?);
        let payload_length = payload_length(bytes).ok_or("cut off")?;
        let payload = bytes.get(PREFIX..PREFIX + payload_length).ok_or("cut off")?;
        if checksum(generation, offset, kind, payload) != sum {
            return Err("the checksum of a frame is wrong");
        }
        let frame = match kind {
            OP => Frame::Op(payload),
            RUNTIME => Frame::Runtime(payload),
            COMMIT => Frame::Commit {
                revision: u64::from_le_bytes(array(payload, 0).ok_or("a commit is too short")?),
                time_ms: u64::from_le_bytes(array(payload, 8).ok_or("a commit is too short")?),
            },
            _ => return Err("a frame of unknown kind"),
        };
        Ok((frame, length))
    }

    /// Bytes in the file of the frame that begins here. `bytes` has to hold [`PREFIX`] bytes.
    pub(crate) fn needs(bytes: &[u8]) -> Result<usize, &'static str> {
        match payload_length(bytes) {
            Some(length) if length <= FRAME_MAX => Ok(footprint(length)),
            Some(_) => Err("the length of a frame is impossible"),
            None => Err("cut off"),
        }
    }
}

fn footprint(payload: usize) -> usize {
    (PREFIX + payload).next_multiple_of(8)
}

fn payload_length(bytes: &[u8]) -> Option<usize> {
    Some(u32::from_le_bytes(array(bytes, 0)?) as usize)
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}
